//! Threads that run a Lua function in a state of their own.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle, ThreadId};

use mlua::{AnyUserData, Value};

use crate::api::Api;
use crate::call::Call;
use crate::failure::Failure;
use crate::isolated::{self, Program};

/// A thread, as Lua holds it.
struct Thread {
    id: ThreadId,
    /// What waits for its end; `None` for threads that this state did not start, or no longer holds.
    handle: RefCell<Option<JoinHandle<()>>>,
}

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_thread", new_thread)?;
    api.function("thread_self", |call| {
        Ok(call.lua.create_any_userdata(Rc::new(Thread {
            id: thread::current().id(),
            handle: RefCell::new(None),
        }))?)
    })?;
    api.function("thread_equal", |call| {
        Ok(argument(call, 1)?.id == argument(call, 2)?.id)
    })?;
    api.function("thread_join", |call| {
        let thread = argument(call, 1)?;
        let handle = thread.handle.borrow_mut().take();
        match handle {
            // A thread that waits for itself would wait forever.
            Some(handle) if handle.thread().id() != thread::current().id() => {
                // How it ended was reported; that it did is what was asked.
                let _ = handle.join();
                Ok(true)
            }
            _ => Err(call.system("EINVAL")),
        }
    })?;
    api.function("thread_detach", |call| {
        match argument(call, 1)?.handle.borrow_mut().take() {
            Some(_) => Ok(true),
            None => Err(call.system("EINVAL")),
        }
    })?;
    register_names(api)?;
    api.class::<Rc<Thread>>(
        "luv_thread_t",
        &[
            ("equal", "thread_equal"),
            ("join", "thread_join"),
            ("detach", "thread_detach"),
            #[cfg(target_os = "linux")]
            ("getname", "thread_getname"),
        ],
    )
}

#[cfg(target_os = "linux")]
fn register_names(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("thread_setname", |call| {
        // The system has room for 15 bytes and the end.
        let mut name = call.bytes(1)?;
        name.truncate(15);
        let name = std::ffi::CString::new(name).map_err(|_| call.system("EINVAL"))?;
        rustix::thread::set_name(&name)?;
        Ok(0)
    })?;
    api.function("thread_getname", |call| {
        // Of others the system tells only by a number that is not portable to keep.
        if argument(call, 1)?.id != thread::current().id() {
            return Err(call.system("ENOTSUP"));
        }
        let name = rustix::thread::name()?;
        Ok(call.lua.create_string(name.as_bytes())?)
    })?;
    api.function("thread_getcpu", |_| Ok(rustix::thread::sched_getcpu() + 1))
}

#[cfg(not(target_os = "linux"))]
fn register_names(_: &mut Api<'_>) -> mlua::Result<()> {
    Ok(())
}

fn argument(call: &Call<'_>, position: usize) -> Result<Rc<Thread>, Failure> {
    let userdata = call.userdata(position, "luv_thread")?;
    match userdata.borrow::<Rc<Thread>>() {
        Ok(thread) => Ok(Rc::clone(&thread)),
        Err(_) => Err(call.bad(position, "luv_thread expected, got another userdata")),
    }
}

fn new_thread(call: &Call<'_>) -> Result<AnyUserData, Failure> {
    let options = match call.value(1) {
        Value::Table(options) => Some(options),
        _ => None,
    };
    let entry = if options.is_some() { 2 } else { 1 };
    let mut builder = thread::Builder::new();
    if let Some(options) = options
        && let Some(size) = options.get::<Option<usize>>("stack_size")?
    {
        builder = builder.stack_size(size);
    }
    let program = Program::from_argument(call, entry)?;
    let arguments = isolated::arguments(call, entry + 1)?;
    let inbox = Arc::clone(&call.uv.queue().inbox);
    let handle = builder.spawn(move || {
        if let Err(message) = program.run(arguments) {
            inbox.push(Box::new(move |uv| uv.report("new_thread", message)));
        }
    })?;
    Ok(call.lua.create_any_userdata(Rc::new(Thread {
        id: handle.thread().id(),
        handle: RefCell::new(Some(handle)),
    }))?)
}
