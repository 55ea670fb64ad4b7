//! Signal handles: a callback for signals to this process.
//!
//! Unlike libuv, tokio leaves its handler in place when nobody watches a signal any more: from the first start on, the
//! signal no longer does to the process what it does by default.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tokio::signal::unix::{SignalKind, signal};

use crate::api::Api;
use crate::call::Call;
use crate::callback::Callback;
use crate::errno::UvError;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Base, Handle, Kind};
use crate::signals;
use crate::tasks::TaskGuard;

/// A watcher of one signal.
pub(crate) struct SignalHandle {
    base: Base,
    callback: RefCell<Option<Callback>>,
    watch: RefCell<Option<TaskGuard>>,
    generation: Cell<u64>,
}

/// Whether it goes on after the first signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Times {
    Once,
    Always,
}

impl Handle for SignalHandle {
    fn base(&self) -> &Base {
        &self.base
    }

    fn shut(&self, uv: &Uv) {
        self.stop(uv);
    }
}

impl SignalHandle {
    fn stop(&self, uv: &Uv) {
        self.generation.set(self.generation.get() + 1);
        self.callback.take();
        self.watch.take();
        self.base.set_active(uv, false);
    }

    fn start(
        self: &Rc<Self>,
        uv: &Uv,
        number: i32,
        times: Times,
        callback: Callback,
    ) -> Result<(), Failure> {
        let mut signals = {
            let _runtime = uv.runtime().enter()?;
            signal(SignalKind::from_raw(number)).map_err(|error| match error.raw_os_error() {
                // One that cannot be caught, or that tokio refuses to catch.
                None => UvError::named("EINVAL"),
                Some(number) => UvError::from_raw(number),
            })?
        };
        self.stop(uv);
        self.callback.replace(Some(callback));
        self.base.set_active(uv, true);
        let generation = self.generation.get();
        let queue = Rc::clone(uv.queue());
        let handle = Rc::clone(self);
        let guard = uv.tasks().spawn(async move {
            while signals.recv().await.is_some() {
                let handle = Rc::clone(&handle);
                queue.push(move |uv| handle.visit(uv, generation, number, times));
            }
        });
        self.watch.replace(Some(guard));
        uv.queue().inbox.ring();
        Ok(())
    }

    fn visit(&self, uv: &Uv, generation: u64, number: i32, times: Times) {
        if self.generation.get() != generation {
            return;
        }
        let callback = self.callback.borrow().clone();
        if times == Times::Once {
            self.stop(uv);
        }
        if let Some(callback) = callback {
            uv.invoke(&callback, signals::name_of(number));
        }
    }
}

const WHAT: &str = "uv_signal";

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_signal", |call| {
        call.adopt(SignalHandle {
            base: Base::new(Kind::Signal),
            callback: RefCell::new(None),
            watch: RefCell::new(None),
            generation: Cell::new(0),
        })
    })?;
    api.function("signal_start", |call| start(call, Times::Always))?;
    api.function("signal_start_oneshot", |call| start(call, Times::Once))?;
    api.function("signal_stop", |call| {
        call.handle::<SignalHandle>(1, WHAT)?.stop(call.uv);
        Ok(0)
    })?;
    api.handle::<SignalHandle>(
        "uv_signal_t",
        &[
            ("start", "signal_start"),
            ("start_oneshot", "signal_start_oneshot"),
            ("stop", "signal_stop"),
        ],
    )
}

fn start(call: &Call<'_>, times: Times) -> Result<i64, Failure> {
    let handle = call.open_handle::<SignalHandle>(1, WHAT)?;
    let number = signals::number(call, 2)?;
    let callback = call.callback(3)?;
    if signals::name_of(number) == "unknown" {
        return Err(call.system("EINVAL"));
    }
    handle.start(call.uv, number, times, callback)?;
    Ok(0)
}
