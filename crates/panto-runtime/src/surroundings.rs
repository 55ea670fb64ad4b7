//! On whose behalf Lua code runs: for the native module, for callbacks of the loop, and for the
//! agent that extensions find.

use std::rc::Rc;

use mlua::Lua;
use panto_lua::{Enclosing, Lender, Surroundings};
use panto_luv::{CallbackContext, ContextToken};
use pantograph::{Agent, Submission};

use crate::entry::Later;
use crate::executor::Executor;
use crate::lanes::LaneId;

/// The lanes, for those who are told of the code that runs.
pub(crate) struct Around(pub(crate) Later);

impl Around {
    fn executor(&self) -> Option<Rc<Executor>> {
        self.0.borrow().upgrade()
    }
}

impl Surroundings for Around {
    fn enclosing(&self, lua: &Lua) -> Option<Enclosing> {
        let executor = self.executor()?;
        let lanes = executor.lanes.borrow();
        let lane = LaneId::current(lua);
        let agent = lanes.agent(lane)?;
        Some(Enclosing {
            agent: agent.id(),
            label: agent.label().map(str::to_owned),
            cancel: lanes.cancel(lane)?.clone(),
        })
    }
}

impl CallbackContext for Around {
    fn capture(&self, lua: &Lua) -> ContextToken {
        LaneId::current(lua).number()
    }

    fn enter(&self, lua: &Lua, token: ContextToken) -> ContextToken {
        let Some(executor) = self.executor() else {
            return token;
        };
        let entered = executor.enter_callback(lua, LaneId::from_number(token));
        entered.number()
    }

    fn leave(&self, lua: &Lua, previous: ContextToken) {
        if let Some(executor) = self.executor() {
            executor.leave_callback(lua, LaneId::from_number(previous));
        }
    }

    fn was_stopped(&self) -> bool {
        crate::raw::has_expired()
    }
}

/// The agent of a lane, for as long as it has calls under way.
pub(crate) struct LaneAgent {
    pub(crate) executor: Later,
    /// `None` is that of the code that asks.
    pub(crate) lane: Option<LaneId>,
}

impl Lender for LaneAgent {
    fn agent(&self) -> Option<Agent> {
        let executor = self.executor.borrow().upgrade()?;
        let lane = match self.lane {
            Some(lane) => lane,
            None => LaneId::current(&executor.lua()?),
        };
        if lane == LaneId::SESSION {
            return executor.session.borrow().clone();
        }
        let lanes = executor.lanes.borrow();
        lanes.agent(lane).cloned()
    }

    fn submit(&self, agent: &Agent, submission: Submission) {
        if let Some(executor) = self.executor.borrow().upgrade() {
            (executor.reports.submit)(agent, submission);
        }
    }
}
