//! Threads that run a Lua function in a state of their own.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle, ThreadId};

use mlua::{AnyUserData, Value};
use parking_lot::Mutex;

use crate::api::Api;
use crate::call::Call;
use crate::failure::Failure;
use crate::isolated::{self, Program};

#[cfg(target_os = "linux")]
mod linux;

/// A thread, as Lua holds it.
struct Thread {
    id: ThreadId,
    /// What waits for its end; `None` for threads that this state did not start, or no longer holds.
    handle: RefCell<Option<JoinHandle<()>>>,
    number: Number,
}

/// The system's number of a thread, as long as it runs: after that it may be another's. Who holds the lock keeps the
/// thread from ending.
#[cfg(target_os = "linux")]
type Number = Arc<Mutex<Option<rustix::process::Pid>>>;
/// Elsewhere there is nothing to do with it.
#[cfg(not(target_os = "linux"))]
type Number = Arc<Mutex<Option<()>>>;

#[cfg(target_os = "linux")]
use linux::own_number;
#[cfg(not(target_os = "linux"))]
fn own_number() {}

#[cfg(target_os = "linux")]
impl Thread {
    /// Does something with the number of a thread that runs.
    fn with_number<T>(
        &self,
        act: impl FnOnce(rustix::process::Pid) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let number = self.number.lock();
        let number = number.ok_or_else(|| Failure::from(rustix::io::Errno::SRCH))?;
        act(number)
    }
}

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_thread", new_thread)?;
    api.function("thread_self", |call| {
        Ok(call.lua.create_any_userdata(Rc::new(Thread {
            id: thread::current().id(),
            handle: RefCell::new(None),
            number: Arc::new(Mutex::new(Some(own_number()))),
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
    #[cfg(target_os = "linux")]
    linux::register(api)?;
    let methods = [
        ("equal", "thread_equal"),
        ("join", "thread_join"),
        ("detach", "thread_detach"),
    ];
    api.class::<Rc<Thread>>("luv_thread_t", &[&methods[..], MORE_METHODS].concat())
}

#[cfg(target_os = "linux")]
use linux::METHODS as MORE_METHODS;
#[cfg(not(target_os = "linux"))]
const MORE_METHODS: &[(&str, &str)] = &[];

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
    let number = Number::default();
    let own = Arc::clone(&number);
    let (begun, has_begun) = std::sync::mpsc::channel();
    let handle = builder.spawn(move || {
        *own.lock() = Some(own_number());
        // Nobody may be waiting any more, and this goes on.
        let _ = begun.send(());
        if let Err(raised) = program.run(arguments) {
            inbox.push(Box::new(move |uv| uv.report("new_thread", raised)));
        }
        *own.lock() = None;
    })?;
    // So that whatever is asked of the thread next finds its number.
    let _ = has_begun.recv();
    Ok(call.lua.create_any_userdata(Rc::new(Thread {
        id: handle.thread().id(),
        handle: RefCell::new(Some(handle)),
        number,
    }))?)
}
