//! Timers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::api::Api;
use crate::call::Call;
use crate::callback::Callback;
use crate::clock::DueKey;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Base, Handle, Kind};

/// A timer. It is active exactly while it is filed in the clock.
pub(crate) struct Timer {
    base: Base,
    due: Cell<Option<DueKey>>,
    repeat_ms: Cell<u64>,
    callback: RefCell<Option<Callback>>,
}

impl Handle for Timer {
    fn base(&self) -> &Base {
        &self.base
    }

    fn shut(&self, uv: &Uv) {
        self.stop(uv);
        self.callback.take();
    }
}

impl Timer {
    fn start(self: &Rc<Self>, uv: &Uv, after_ms: u64) {
        self.stop(uv);
        let key = uv.clock().schedule(after_ms, Rc::clone(self));
        self.due.set(Some(key));
        self.base.set_active(uv, true);
        // A host that waits may have to wait less.
        uv.queue().inbox.ring();
    }

    fn stop(&self, uv: &Uv) {
        if let Some(key) = self.due.take() {
            uv.clock().unschedule(key);
            self.base.set_active(uv, false);
        }
    }

    fn restart_if_repeating(self: &Rc<Self>, uv: &Uv) {
        self.stop(uv);
        match self.repeat_ms.get() {
            0 => {}
            repeat => self.start(uv, repeat),
        }
    }
}

/// Runs every timer that is due by the cached time. What a callback starts is for the next round, whatever its timeout.
pub(crate) fn run_due(uv: &Uv) {
    for (key, timer) in uv.clock().take_due() {
        // An earlier callback of this round may have stopped or restarted it.
        if timer.due.get() != Some(key) {
            continue;
        }
        timer.restart_if_repeating(uv);
        let callback = timer.callback.borrow().clone();
        if let Some(callback) = callback
            && !uv.invoke_again(&callback, ())
        {
            timer.stop(uv);
        }
    }
}

const WHAT: &str = "uv_timer";

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_timer", |call| {
        call.adopt(Timer {
            base: Base::new(Kind::Timer),
            due: Cell::new(None),
            repeat_ms: Cell::new(0),
            callback: RefCell::new(None),
        })
    })?;
    api.function("timer_start", start)?;
    api.function("timer_stop", |call| {
        call.handle::<Timer>(1, WHAT)?.stop(call.uv);
        Ok(0)
    })?;
    api.function("timer_again", |call| {
        let timer = call.open_handle::<Timer>(1, WHAT)?;
        if timer.callback.borrow().is_none() {
            return Err(call.system("EINVAL"));
        }
        if timer.repeat_ms.get() > 0 {
            timer.restart_if_repeating(call.uv);
        }
        Ok(0)
    })?;
    api.function("timer_set_repeat", |call| {
        let timer = call.handle::<Timer>(1, WHAT)?;
        timer.repeat_ms.set(milliseconds(call, 2)?);
        Ok(())
    })?;
    api.function("timer_get_repeat", |call| {
        Ok(as_lua(call.handle::<Timer>(1, WHAT)?.repeat_ms.get()))
    })?;
    api.function("timer_get_due_in", |call| {
        let due = call.handle::<Timer>(1, WHAT)?.due.get();
        let now = call.uv.clock().now();
        Ok(as_lua(due.map_or(0, |(due, _)| due.saturating_sub(now))))
    })?;
    api.handle::<Timer>(
        "uv_timer_t",
        &[
            ("start", "timer_start"),
            ("stop", "timer_stop"),
            ("again", "timer_again"),
            ("set_repeat", "timer_set_repeat"),
            ("get_repeat", "timer_get_repeat"),
            ("get_due_in", "timer_get_due_in"),
        ],
    )
}

fn start(call: &Call<'_>) -> Result<i64, Failure> {
    let timer = call.handle::<Timer>(1, WHAT)?;
    let timeout = milliseconds(call, 2)?;
    let repeat = milliseconds(call, 3)?;
    let callback = call.callback(4)?;
    if timer.base.is_closing() {
        return Err(call.system("EINVAL"));
    }
    timer.callback.replace(Some(callback));
    timer.repeat_ms.set(repeat);
    timer.start(call.uv, timeout);
    Ok(0)
}

/// A length of time. A negative one is endless in libuv, which reads it as unsigned; here it is misuse.
fn milliseconds(call: &Call<'_>, position: usize) -> Result<u64, Failure> {
    u64::try_from(call.integer(position)?)
        .map_err(|_| call.bad(position, "milliseconds must not be negative"))
}

/// A time for Lua, whose integers are signed.
fn as_lua(milliseconds: u64) -> i64 {
    i64::try_from(milliseconds).unwrap_or(i64::MAX)
}
