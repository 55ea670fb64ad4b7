//! Fs poll handles: a look at a path every so often.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use mlua::Value;

use crate::api::Api;
use crate::call::Call;
use crate::callback::Callback;
use crate::errno::UvError;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::fs::{Follow, Stat};
use crate::handle::{Base, Handle, Kind};
use crate::request::RequestKind;
use crate::tasks::TaskGuard;

/// A watcher of one path.
pub(crate) struct FsPoll {
    base: Base,
    path: RefCell<PathBuf>,
    interval: Cell<Duration>,
    callback: RefCell<Option<Callback>>,
    /// What the last look found; `None` before the first.
    last: RefCell<Option<Result<Stat, UvError>>>,
    pause: RefCell<Option<TaskGuard>>,
    generation: Cell<u64>,
}

impl Handle for FsPoll {
    fn base(&self) -> &Base {
        &self.base
    }

    fn shut(&self, uv: &Uv) {
        self.stop(uv);
    }
}

impl FsPoll {
    fn stop(&self, uv: &Uv) {
        self.generation.set(self.generation.get() + 1);
        self.callback.take();
        self.pause.take();
        self.last.take();
        self.base.set_active(uv, false);
    }

    fn look(self: &Rc<Self>, uv: &Uv, generation: u64) {
        if self.generation.get() != generation {
            return;
        }
        let path = self.path.borrow().clone();
        let handle = Rc::clone(self);
        // Not as a request of the loop's: the handle keeps it alive, unless it is unreferenced.
        let looked = uv.blocking(
            RequestKind::Fs,
            move || Stat::of_path(&path, Follow::Links),
            move |uv, found| handle.found(uv, generation, found),
        );
        if looked.is_err() {
            self.stop(uv);
        }
    }

    fn found(self: &Rc<Self>, uv: &Uv, generation: u64, found: Result<Stat, UvError>) {
        if self.generation.get() != generation {
            return;
        }
        let before = self.last.replace(Some(found.clone()));
        // The first look is what the later ones are compared with; only that it failed is news.
        let is_news = match &before {
            None => found.is_err(),
            Some(before) => *before != found,
        };
        let callback = self.callback.borrow().clone();
        if let (true, Some(callback), Some(lua)) = (is_news, callback, uv.lua()) {
            let table = |stat: Option<&Stat>| stat.and_then(|stat| stat.to_table(&lua).ok());
            let before = table(before.as_ref().and_then(|before| before.as_ref().ok()));
            match &found {
                Ok(stat) => uv.invoke(&callback, (Value::Nil, before, table(Some(stat)))),
                Err(error) => uv.invoke(&callback, (error.name(), before)),
            }
        }
        if self.generation.get() == generation {
            self.pause(uv, generation);
        }
    }

    fn pause(self: &Rc<Self>, uv: &Uv, generation: u64) {
        let interval = self.interval.get();
        let queue = Rc::clone(uv.queue());
        let handle = Rc::clone(self);
        let guard = uv.tasks().spawn(async move {
            tokio::time::sleep(interval).await;
            queue.push(move |uv| handle.look(uv, generation));
        });
        self.pause.replace(Some(guard));
        uv.queue().inbox.ring();
    }
}

const WHAT: &str = "uv_fs_poll";

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_fs_poll", |call| {
        call.adopt(FsPoll {
            base: Base::new(Kind::FsPoll),
            path: RefCell::default(),
            interval: Cell::default(),
            callback: RefCell::new(None),
            last: RefCell::new(None),
            pause: RefCell::new(None),
            generation: Cell::new(0),
        })
    })?;
    api.function("fs_poll_start", start)?;
    api.function("fs_poll_stop", |call| {
        call.handle::<FsPoll>(1, WHAT)?.stop(call.uv);
        Ok(0)
    })?;
    api.function("fs_poll_getpath", |call| {
        let handle = call.handle::<FsPoll>(1, WHAT)?;
        if !handle.base.is_active() {
            return Err(call.system("EINVAL"));
        }
        let path = handle.path.borrow();
        let path = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
        Ok(call.lua.create_string(path)?)
    })?;
    api.handle::<FsPoll>(
        "uv_fs_poll_t",
        &[
            ("start", "fs_poll_start"),
            ("stop", "fs_poll_stop"),
            ("getpath", "fs_poll_getpath"),
        ],
    )
}

fn start(call: &Call<'_>) -> Result<i64, Failure> {
    let handle = call.open_handle::<FsPoll>(1, WHAT)?;
    let path = call.path(2)?;
    let interval = call.narrow::<u32>(3)?;
    let callback = call.callback(4)?;
    // As libuv: starting what is started changes nothing.
    if handle.base.is_active() {
        return Ok(0);
    }
    handle.path.replace(path);
    handle
        .interval
        .set(Duration::from_millis(u64::from(interval.max(1))));
    handle.callback.replace(Some(callback));
    handle.base.set_active(call.uv, true);
    handle.look(call.uv, handle.generation.get());
    Ok(0)
}
