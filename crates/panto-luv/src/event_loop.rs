//! The loop itself: what it consists of, and the handle to it that hosts and functions hold.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, Lua, WeakLua};

use crate::callback::Door;
use crate::clock::Clock;
use crate::closing::Closing;
use crate::descriptors::Descriptors;
use crate::fs_event::Watches;
use crate::handle::Handles;
use crate::process::Children;
use crate::queue::{Inbox, Queue};
use crate::steps::Steps;
use crate::tasks::Tasks;
use crate::tty::Original;

mod driver;
mod phases;
mod run;
mod runtime;

pub use driver::Driver;
pub use run::{AlreadyRunning, Mode};
pub(crate) use runtime::Runtime;

/// The loop of one Lua state. Clones are the same loop.
///
/// It never leaves the thread that owns the Lua state; what other threads may have is a [`Remote`]. Once the
/// state is gone the loop has nothing to call and does nothing.
#[derive(Clone)]
pub struct Uv(Rc<Inner>);

struct Inner {
    lua: WeakLua,
    door: Door,
    /// Makes a function of a callable value.
    callable: Function,
    environment: RefCell<BTreeMap<OsString, OsString>>,
    clock: Clock,
    queue: Rc<Queue>,
    tasks: Tasks,
    steps: Steps,
    handles: Handles,
    descriptors: Descriptors,
    closing: RefCell<Vec<Closing>>,
    /// Active handles that are referenced, and requests.
    alive: Cell<usize>,
    state: Cell<State>,
    stopped: Cell<bool>,
    metrics: Metrics,
    watches: Watches,
    children: Rc<Children>,
    terminal: Original,
    terminal_is_taken: Box<dyn Fn() -> bool>,
    // Dropped last: the descriptors that it watches go first.
    runtime: Runtime,
}

/// Whether somebody drives the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Resting,
    /// In a call of `run`.
    Running(Mode),
    /// By a host, pass by pass.
    Driven,
}

/// What `uv.metrics_info` tells.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) loop_count: Cell<u64>,
    pub(crate) events: Cell<u64>,
    pub(crate) idle_ns: Cell<u64>,
    pub(crate) measures_idle: Cell<bool>,
}

/// What [`Uv::new`] is made of.
pub(crate) struct Parts {
    pub(crate) door: Door,
    pub(crate) callable: Function,
    pub(crate) runtime: Runtime,
    pub(crate) environment: BTreeMap<OsString, OsString>,
    pub(crate) terminal_is_taken: Box<dyn Fn() -> bool>,
}

impl Uv {
    pub(crate) fn new(lua: &Lua, parts: Parts) -> Self {
        let uv = Self(Rc::new(Inner {
            lua: lua.weak(),
            door: parts.door,
            callable: parts.callable,
            runtime: parts.runtime,
            environment: RefCell::new(parts.environment),
            clock: Clock::default(),
            queue: Rc::default(),
            tasks: Tasks::default(),
            steps: Steps::default(),
            handles: Handles::default(),
            descriptors: Descriptors::default(),
            closing: RefCell::default(),
            alive: Cell::new(0),
            state: Cell::new(State::Resting),
            stopped: Cell::new(false),
            metrics: Metrics::default(),
            watches: Watches::default(),
            children: Rc::default(),
            terminal: Original::default(),
            terminal_is_taken: parts.terminal_is_taken,
        }));
        uv.clock().update();
        uv
    }

    /// A door to this loop for other threads.
    pub fn remote(&self) -> Remote {
        Remote(Arc::clone(&self.0.queue.inbox))
    }

    /// Whether there is anything left to wait for: active referenced handles, requests, handles that close.
    pub fn is_alive(&self) -> bool {
        self.0.alive.get() > 0 || !self.0.closing.borrow().is_empty() || !self.0.queue.is_empty()
    }

    /// Makes [`run`](Self::run) return as soon as its current iteration is over.
    pub fn stop(&self) {
        self.0.stopped.set(true);
        self.0.queue.inbox.ring();
    }

    /// Closes every handle, and forgets what waits in the queue. Nobody is called back for any of it: for a host whose
    /// session is over.
    pub fn end(&self) {
        for (_, handle) in self.handles().all() {
            if !handle.base().is_closing() {
                handle.base().set_closing(self);
                handle.shut(self);
            }
            self.handles().release(handle.base().id());
        }
        let closing = std::mem::take(&mut *self.closing().borrow_mut());
        drop(closing);
        drop(self.queue().take());
    }

    /// Has `job` run on the owner thread in the loop's pending phase, once `future` has completed. Until then the
    /// loop is alive.
    ///
    /// The future is polled while the loop waits, on its runtime, and must not touch Lua; the job may. Both are
    /// dropped when the loop is.
    pub fn when<T: 'static>(
        &self,
        future: impl Future<Output = T> + 'static,
        job: impl FnOnce(&Uv, T) + 'static,
    ) {
        self.add_alive();
        self.when_unreferenced(future, |uv, output| {
            uv.drop_alive();
            job(uv, output);
        });
    }

    /// The same without keeping the loop alive.
    pub fn when_unreferenced<T: 'static>(
        &self,
        future: impl Future<Output = T> + 'static,
        job: impl FnOnce(&Uv, T) + 'static,
    ) {
        // The queue and not the loop, which holds the task.
        let queue = Rc::clone(self.queue());
        self.tasks().spawn_detached(async move {
            let output = future.await;
            queue.push(move |uv| job(uv, output));
        });
        self.0.queue.inbox.ring();
    }

    /// The Lua state, unless it is gone.
    pub(crate) fn lua(&self) -> Option<Lua> {
        self.0.lua.try_upgrade()
    }

    /// The Lua function that every callback is called through, for a host that tells the frames of this crate from
    /// those of its own code.
    pub fn entry(&self) -> &mlua::Function {
        &self.0.door.enter
    }

    pub(crate) fn door(&self) -> &Door {
        &self.0.door
    }

    pub(crate) fn callable(&self) -> &Function {
        &self.0.callable
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    pub(crate) fn environment(&self) -> &RefCell<BTreeMap<OsString, OsString>> {
        &self.0.environment
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    pub(crate) fn queue(&self) -> &Rc<Queue> {
        &self.0.queue
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    pub(crate) fn steps(&self) -> &Steps {
        &self.0.steps
    }

    pub(crate) fn handles(&self) -> &Handles {
        &self.0.handles
    }

    pub(crate) fn descriptors(&self) -> &Descriptors {
        &self.0.descriptors
    }

    pub(crate) fn closing(&self) -> &RefCell<Vec<Closing>> {
        &self.0.closing
    }

    pub(crate) fn watches(&self) -> &Watches {
        &self.0.watches
    }

    pub(crate) fn children(&self) -> &Rc<Children> {
        &self.0.children
    }

    pub(crate) fn terminal(&self) -> &Original {
        &self.0.terminal
    }

    /// Whether somebody else draws on the terminal, so that its mode is not to be changed.
    pub(crate) fn terminal_is_taken(&self) -> bool {
        (self.0.terminal_is_taken)()
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// One more thing keeps the loop alive.
    pub(crate) fn add_alive(&self) {
        self.0.alive.set(self.0.alive.get() + 1);
    }

    /// One thing fewer keeps the loop alive.
    pub(crate) fn drop_alive(&self) {
        self.0.alive.set(self.0.alive.get().saturating_sub(1));
    }

    /// The mode of the call of `run` that is under way.
    pub(crate) fn running_mode(&self) -> Option<Mode> {
        match self.0.state.get() {
            State::Running(mode) => Some(mode),
            State::Driven => Some(Mode::Default),
            State::Resting => None,
        }
    }
}

/// Brings work to the loop from any thread.
#[derive(Clone)]
pub struct Remote(Arc<Inbox>);

impl Remote {
    /// Has `job` run on the owner thread in the loop's pending phase, and wakes the loop if it waits.
    ///
    /// It does not keep the loop alive, and is dropped unrun when the loop is.
    pub fn post(&self, job: impl FnOnce(&Uv) + Send + 'static) {
        self.0.push(Box::new(job));
    }
}
