//! How Lua is entered: on whose behalf, under whose clock, and whether it may wait.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{Lua, MultiValue, Thread};

use crate::deadline::Deadline;
use crate::entry::MUST_NOT_WAIT;
use crate::executor::Executor;
use crate::failure::Failure;
use crate::lanes::LaneId;
use crate::raw::{Main, Running, Word};
use crate::watchdog::Watchdog;

/// What is ambient while Lua runs.
pub(crate) struct Entering {
    main: Main,
    watchdog: Option<Watchdog>,
    /// For each call that must not wait, innermost last: whether it tried to.
    synchronous: RefCell<Vec<bool>>,
    /// What ran before each callback of the loop, innermost last.
    callbacks: RefCell<Vec<Running>>,
}

impl Entering {
    pub(crate) fn new(main: Main, watchdog: Option<Watchdog>) -> Self {
        Self {
            main,
            watchdog,
            synchronous: RefCell::default(),
            callbacks: RefCell::default(),
        }
    }
}

impl Executor {
    /// Enters Lua on behalf of a lane, on the main coroutine or in another.
    pub(crate) fn enter<'a>(
        &'a self,
        lua: &'a Lua,
        lane: LaneId,
        thread: Option<&Thread>,
    ) -> Entered<'a> {
        Entered {
            executor: self,
            lua,
            previous: self.begin(lua, lane),
            _running: self.entering.main.running(thread),
        }
    }

    /// A step begins on behalf of a lane; gives what was ambient, for [`Executor::finish`].
    fn begin(&self, lua: &Lua, lane: LaneId) -> Word {
        if let Some(watchdog) = &self.entering.watchdog {
            watchdog.enter();
        }
        self.entering.main.replace_word(lua, lane.word())
    }

    /// The step that began last ends.
    fn finish(&self, lua: &Lua, previous: Word) {
        self.entering.main.replace_word(lua, previous);
        if let Some(watchdog) = &self.entering.watchdog {
            watchdog.leave();
        }
    }

    /// A callback of the loop begins in a lane; gives the lane that was ambient.
    pub(crate) fn enter_callback(&self, lua: &Lua, lane: LaneId) -> LaneId {
        let previous = self.begin(lua, lane);
        self.entering
            .callbacks
            .borrow_mut()
            .push(self.entering.main.running(None));
        LaneId::of_word(previous)
    }

    pub(crate) fn leave_callback(&self, lua: &Lua, previous: LaneId) {
        drop(self.entering.callbacks.borrow_mut().pop());
        self.finish(lua, previous.word());
    }

    /// The state is about to be closed: its finalizers are one step.
    pub(crate) fn enter_closing(self: &Rc<Self>, lua: &Lua) -> Closing {
        let running = self.entering.main.closing(lua);
        let deadline = running.as_ref().and_then(|_| Deadline::start());
        if running.is_some()
            && let Some(watchdog) = &self.entering.watchdog
        {
            watchdog.enter();
        }
        Closing {
            executor: Rc::clone(self),
            running,
            _deadline: deadline,
        }
    }

    /// Calls a function that must not wait, to its end.
    ///
    /// Inside Lua code it keeps that code's lane; else it is the session's.
    pub(crate) fn call(
        &self,
        lua: &Lua,
        what: &str,
        function: &mlua::Function,
        arguments: MultiValue,
    ) -> Result<MultiValue, Failure> {
        let attempt = Synchronous::begin(self);
        let outcome = {
            let _entered = self.enter(lua, LaneId::current(lua), None);
            self.entry.call(what, function, arguments)
        };
        match outcome {
            // It says where.
            Err(failure) if failure.message.ends_with(MUST_NOT_WAIT) => Err(failure),
            _ if attempt.tried_to_wait() => Err(Failure::new(what, MUST_NOT_WAIT)),
            outcome => outcome,
        }
    }

    /// Notes that the innermost call that must not wait tried to; false if there is none.
    pub(crate) fn note_wait(&self) -> bool {
        let mut synchronous = self.entering.synchronous.borrow_mut();
        synchronous.last_mut().is_some_and(|tried| {
            *tried = true;
            true
        })
    }
}

/// A call that must not wait is under way; it is not when this goes, by a panic or otherwise.
struct Synchronous<'a>(&'a Executor);

impl<'a> Synchronous<'a> {
    fn begin(executor: &'a Executor) -> Self {
        executor.entering.synchronous.borrow_mut().push(false);
        Self(executor)
    }

    fn tried_to_wait(&self) -> bool {
        self.0.entering.synchronous.borrow().last() == Some(&true)
    }
}

impl Drop for Synchronous<'_> {
    fn drop(&mut self) {
        self.0.entering.synchronous.borrow_mut().pop();
    }
}

/// The state is being closed. Dropped when it is.
pub(crate) struct Closing {
    executor: Rc<Executor>,
    running: Option<Running>,
    _deadline: Option<Deadline>,
}

impl Drop for Closing {
    fn drop(&mut self) {
        if self.running.take().is_some()
            && let Some(watchdog) = &self.executor.entering.watchdog
        {
            watchdog.leave();
        }
    }
}

/// Lua is being entered.
pub(crate) struct Entered<'a> {
    executor: &'a Executor,
    lua: &'a Lua,
    previous: Word,
    _running: Running,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.executor.finish(self.lua, self.previous);
    }
}
