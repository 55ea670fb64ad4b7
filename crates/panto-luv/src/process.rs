//! Children: spawning them, their standard streams, their end; and signals to processes.

use std::cell::{Cell, RefCell};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::rc::Rc;

use mlua::MultiValue;
use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::api::Api;
use crate::call::Call;
use crate::callback::Callback;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Base, Handle, Kind, Shell};
use crate::signals;

mod children;
mod options;

pub(crate) use children::Children;
pub use children::kill_children;

/// A child. Active until it ends.
pub(crate) struct Process {
    base: Base,
    pid: i32,
    ended: Cell<bool>,
    callback: RefCell<Option<Callback>>,
}

impl Handle for Process {
    fn base(&self) -> &Base {
        &self.base
    }

    fn shut(&self, _uv: &Uv) {
        self.callback.take();
        children::let_go(self.pid);
    }

    fn unreferenced(&self) {
        children::let_go(self.pid);
    }
}

impl Process {
    fn end(&self, uv: &Uv, status: ExitStatus) {
        self.base.set_active(uv, false);
        let callback = self.callback.take();
        if let Some(callback) = callback {
            let signal = status.signal().unwrap_or(0);
            uv.invoke(&callback, (status.code().unwrap_or(0), signal));
        }
    }
}

const WHAT: &str = "uv_process";

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("spawn", spawn)?;
    api.function("process_kill", |call| {
        let process = call.handle::<Process>(1, WHAT)?;
        let signal = signals::number_or_term(call, 2)?;
        // Its number may be another's by now.
        if process.ended.get() {
            return Err(call.system("ESRCH"));
        }
        kill(process.pid, signal)?;
        Ok(0)
    })?;
    api.function("process_get_pid", |call| {
        Ok(call.handle::<Process>(1, WHAT)?.pid)
    })?;
    api.function("kill", |call| {
        let pid = call.narrow(1)?;
        kill(pid, signals::number_or_term(call, 2)?)?;
        Ok(0)
    })?;
    api.function("disable_stdio_inheritance", |_| {
        // Nothing that this crate or std opens is inherited in the first place.
        Ok(())
    })?;
    api.handle::<Process>(
        "uv_process_t",
        &[("kill", "process_kill"), ("get_pid", "process_get_pid")],
    )
}

fn spawn(call: &Call<'_>) -> Result<MultiValue, Failure> {
    let child = options::read(call)?;
    let callback = call.optional_callback(3)?;
    let whole = child.whole();
    let (mut child, pid) = child.start(call.uv)?;
    children::began(call.uv, pid, whole);
    let userdata = call.adopt(Process {
        base: Base::new(Kind::Process),
        pid,
        ended: Cell::new(false),
        callback: RefCell::new(callback),
    })?;
    let process = Rc::clone(&userdata.borrow::<Shell<Process>>()?.0);
    process.base.set_active(call.uv, true);
    let queue = Rc::clone(call.uv.queue());
    let children = Rc::clone(call.uv.children());
    // Detached: a child whose handle is closed is still to be reaped.
    call.uv.tasks().spawn_detached(async move {
        if let Ok(status) = child.wait().await {
            process.ended.set(true);
            children::ended(&children, pid);
            queue.push(move |uv| process.end(uv, status));
        }
    });
    call.uv.queue().inbox.ring();
    Ok(mlua::IntoLuaMulti::into_lua_multi(
        (userdata, pid),
        call.lua,
    )?)
}

/// Sends a signal to a process, or to a group of them: one's own for 0, another's for a negative number.
fn kill(pid: i32, signal: i32) -> Result<(), Errno> {
    use rustix::process as system;
    let signal = match signal {
        0 => None,
        number => Some(Signal::from_named_raw(number).ok_or(Errno::INVAL)?),
    };
    let target = Pid::from_raw(pid.saturating_abs());
    match (target, signal) {
        (None, Some(signal)) => system::kill_current_process_group(signal),
        (None, None) => system::test_kill_current_process_group(),
        (Some(group), Some(signal)) if pid < 0 => system::kill_process_group(group, signal),
        (Some(group), None) if pid < 0 => system::test_kill_process_group(group),
        (Some(process), Some(signal)) => system::kill_process(process, signal),
        (Some(process), None) => system::test_kill_process(process),
    }
}
