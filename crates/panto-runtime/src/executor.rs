//! The executor: brings what other threads post into Lua, one step at a time.
//!
//! A step is one entry into Lua that ends by itself: it starts a handler, resumes one, or makes a
//! call that must not wait. Everything here runs on the owner thread. Nothing is borrowed while
//! Lua runs, since Lua may come back.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mlua::{Lua, WeakLua};
use panto_lua::Module;
use pantograph::{Agent, ToolOutput, ToolReply};
use tokio::runtime::Handle;

use crate::entering::Entering;
use crate::entry::Entry;
use crate::failure::Failure;
use crate::frame::Frame;
use crate::handlers::{Batch, Start};
use crate::hooks::{Hooks, LuaHooks};
use crate::inbox::{Call, Inbox, Unit};
use crate::lanes::{LaneId, Lanes, Turns};
use crate::live::Live;
use crate::options::Reports;
use crate::protocol::{Protocols, Streams};
use crate::store::Stores;
use crate::tools::Tools;
use crate::waiter::Resume;
use crate::waits::Waits;

/// Tool steps of one visit: so many, or so long.
const STEPS: usize = 64;
const TIME: Duration = Duration::from_millis(1);
/// How long an answer may wait for those that come after it.
const GATHER: Duration = Duration::from_micros(100);

/// The state of one owner thread.
pub(crate) struct Executor {
    lua: WeakLua,
    pub(crate) inbox: Arc<Inbox>,
    /// Where agents run, and whose clock deadlines are of.
    pub(crate) agents: Handle,
    pub(crate) entry: Entry,
    pub(crate) reports: Reports,
    pub(crate) tools: Tools,
    pub(crate) protocols: Protocols,
    pub(crate) streams: Streams,
    pub(crate) hooks: RefCell<Hooks>,
    pub(crate) turn_hooks: Arc<LuaHooks>,
    pub(crate) stores: Stores,
    /// What is below every handler.
    pub(crate) frame: Frame,
    /// The native module.
    pub(crate) module: Module,
    pub(crate) entering: Entering,
    pub(crate) lanes: RefCell<Lanes>,
    /// The agent of code that no batch raised.
    pub(crate) session: RefCell<Option<Agent>>,
    steps: RefCell<Turns<Step>>,
    calls: RefCell<VecDeque<Call>>,
    pub(crate) live: Live,
    /// What calls have answered and their turns do not know yet.
    pub(crate) answers: RefCell<Vec<(ToolReply, ToolOutput)>>,
    pub(crate) waits: Waits<Then>,
    /// The key of the wait of each parked coroutine, which the wait keeps from being collected.
    pub(crate) parked: RefCell<HashMap<usize, u64>>,
    pub(crate) is_ending: Cell<bool>,
}

/// One entry into Lua, in its lane's turn.
pub(crate) enum Step {
    /// A handler begins.
    Start(Start),
    /// What a coroutine waited for is there.
    Resume(Resume),
}

/// What is done when a wait is over.
pub(crate) enum Then {
    Resume(Resume),
    /// The batch has had its time.
    Force(Weak<Batch>),
}

/// What an executor is made of.
pub(crate) struct Parts {
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) agents: Handle,
    pub(crate) entry: Entry,
    pub(crate) entering: Entering,
    pub(crate) reports: Reports,
    pub(crate) tools: Tools,
    pub(crate) turn_hooks: Arc<LuaHooks>,
    pub(crate) stores: Stores,
    pub(crate) frame: Frame,
    pub(crate) module: Module,
}

impl Executor {
    pub(crate) fn new(lua: &Lua, parts: Parts) -> Self {
        Self {
            lua: lua.weak(),
            waits: Waits::new(&parts.inbox),
            protocols: Protocols::new(&parts.inbox),
            streams: Streams::default(),
            hooks: RefCell::default(),
            turn_hooks: parts.turn_hooks,
            inbox: parts.inbox,
            agents: parts.agents,
            entry: parts.entry,
            reports: parts.reports,
            tools: parts.tools,
            stores: parts.stores,
            frame: parts.frame,
            module: parts.module,
            entering: parts.entering,
            lanes: RefCell::default(),
            session: RefCell::default(),
            steps: RefCell::default(),
            calls: RefCell::default(),
            live: Live::default(),
            answers: RefCell::default(),
            parked: RefCell::default(),
            is_ending: Cell::new(false),
        }
    }

    /// The Lua state, unless it is gone.
    pub(crate) fn lua(&self) -> Option<Lua> {
        self.lua.try_upgrade()
    }

    /// Does what is there to do, within a bound.
    ///
    /// The order is: what ends something, calls that others wait for, steps of handlers.
    pub(crate) fn visit(self: &Rc<Self>) {
        let Some(lua) = self.lua() else { return };
        self.receive(&lua);
        self.make_calls(&lua);
        let began = Instant::now();
        let mut answered = Duration::ZERO;
        for done in 1.. {
            let step = self.steps.borrow_mut().pop();
            let Some((lane, step)) = step else { break };
            self.guarded("a step of Lua", || self.step(&lua, lane, step));
            let passed = began.elapsed();
            if passed > answered + GATHER {
                self.answer();
                answered = passed;
            }
            if done == STEPS || passed > TIME {
                break;
            }
        }
        self.answer();
    }

    /// Makes the calls that are there now, as many as fit the time, in the order in which they
    /// came.
    fn make_calls(self: &Rc<Self>, lua: &Lua) {
        let began = Instant::now();
        let count = self.calls.borrow().len();
        for _ in 0..count {
            let call = self.calls.borrow_mut().pop_front();
            let Some(call) = call else { break };
            self.guarded("a call into Lua", || call(self, lua));
            if began.elapsed() > TIME {
                break;
            }
        }
    }

    fn receive(self: &Rc<Self>, lua: &Lua) {
        for unit in self.inbox.take() {
            match unit {
                Unit::Batch(batch, handlers) => self.accept(batch, handlers),
                Unit::Urgent(call) => self.guarded("a call into Lua", || call(self, lua)),
                Unit::Call(call) => self.calls.borrow_mut().push_back(call),
                Unit::Woken(key) => {
                    let woken = {
                        let _clock = self.agents.enter();
                        self.waits.woken(key)
                    };
                    if let Some(then) = woken {
                        self.guarded("the end of a wait", || self.then(lua, then));
                    }
                }
            }
        }
    }

    pub(crate) fn then(&self, lua: &Lua, then: Then) {
        match then {
            Then::Resume(resume) => self.push(resume.lane(), Step::Resume(resume)),
            Then::Force(batch) => {
                if let Some(batch) = batch.upgrade() {
                    self.force(lua, &batch);
                }
            }
        }
    }

    fn step(self: &Rc<Self>, lua: &Lua, lane: LaneId, step: Step) {
        match step {
            Step::Start(start) => self.start(lua, lane, start),
            Step::Resume(resume) => self.resume(lua, resume),
        }
    }

    pub(crate) fn push(&self, lane: LaneId, step: Step) {
        self.steps.borrow_mut().push(lane, step);
        // Whoever pushes may be code of the host's, while the owner waits.
        self.inbox.ring();
    }

    /// Whether a visit has something to do.
    fn has_work(&self) -> bool {
        !self.steps.borrow().is_empty()
            || !self.calls.borrow().is_empty()
            || !self.answers.borrow().is_empty()
            || !self.inbox.is_empty()
    }

    /// Completes when a visit has something to do, and the runtime has looked for events since the
    /// last visit.
    pub(crate) async fn stirred(&self) {
        let mut has_waited = false;
        while !self.has_work() {
            let mut rung = pin!(self.inbox.rung());
            poll_fn(|cx| {
                let polled = rung.as_mut().poll(cx);
                has_waited |= polled.is_pending();
                polled
            })
            .await;
        }
        // Descriptors and timers are looked at also when there is always work.
        if !has_waited {
            tokio::task::yield_now().await;
        }
    }

    /// Takes the steps that have not begun.
    pub(crate) fn take_steps(&self) -> Turns<Step> {
        std::mem::take(&mut *self.steps.borrow_mut())
    }

    /// A panic ends what panicked, and nothing else.
    pub(crate) fn guarded(&self, what: &str, work: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            let text = panic
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "a panic without words".to_owned());
            self.reports
                .error(&Failure::new(what, format!("internal error: {text}")));
        }
    }

    /// Asks every turn to stop that has calls here.
    pub(crate) fn cancel_lanes(&self, grace: Duration) {
        let cancels = self.lanes.borrow().cancels();
        for cancel in cancels {
            cancel.ask_within(grace);
        }
    }

    /// Takes nothing from other threads any more, and ends what is left.
    pub(crate) fn close_inbox(self: &Rc<Self>, lua: &Lua) {
        self.is_ending.set(true);
        for unit in self.inbox.close() {
            match unit {
                Unit::Batch(batch, handlers) => self.accept(batch, handlers),
                // Whoever waits for a call hears that the state is gone.
                Unit::Call(_) | Unit::Urgent(_) | Unit::Woken(_) => {}
            }
        }
        self.force_all(lua);
        self.answer();
        let calls = self.calls.take();
        drop(calls);
        self.streams.clear();
        self.waits.clear();
        self.parked.borrow_mut().clear();
    }
}
