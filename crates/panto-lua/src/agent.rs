//! Agents as Lua has them: its own, and the one that its host lends.

mod build;
mod local;
mod methods;
mod tools;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use mlua::{MetaMethod, MultiValue, UserData, UserDataFields, UserDataMethods};
use pantograph::{Agent, Submission};

use crate::class;
use crate::fault::Fault;
use crate::job::Shared;
use crate::store::Reach;

pub(crate) use build::constructor;
use local::LocalRouter;
pub(crate) use tools::tool;

/// Lends Lua an agent that the host runs: `panto.ext.agent`.
///
/// Lua may read it, set its tools, config and system prompt, and submit to it; its turns are
/// the host's.
pub trait Lender {
    /// The agent of the code that runs now; `None` when there is none, or no longer.
    fn agent(&self) -> Option<Agent>;

    /// Queues what Lua code submits, and tells the host's loop of it.
    fn submit(&self, agent: &Agent, submission: Submission);
}

/// An agent.
pub(crate) enum LuaAgent {
    /// Made by Lua.
    Owned(Rc<Owned>),
    /// The host's.
    Borrowed(Rc<dyn Lender>),
}

/// An agent that Lua made.
pub(crate) struct Owned {
    /// Gone once it was closed.
    agent: RefCell<Option<Agent>>,
    reach: Reach,
    router: Arc<LocalRouter>,
    job: RefCell<Weak<Shared>>,
}

impl Owned {
    /// The agent, whatever it does.
    pub(crate) fn agent(&self) -> Result<Agent, Fault> {
        let agent = self.agent.borrow();
        agent
            .clone()
            .ok_or_else(|| Fault::expected("the agent is closed; make another with panto.agent"))
    }

    /// The agent, if no job has it.
    pub(crate) fn free(&self) -> Result<Agent, Fault> {
        let agent = self.agent()?;
        match self.job.borrow().upgrade() {
            Some(job) if !job.is_settled() => Err(Fault::expected(match job.is_closed() {
                true => "the agent is still closing its last job; try again when that has settled",
                false => {
                    "the agent has a live job; wait for job:result(), or end it with \
                     job:request_cancel() or job:close()"
                }
            })),
            _ => Ok(agent),
        }
    }

    /// Lets go of the agent. Its session is free once its live turn, if any, has settled.
    fn close(&self) {
        if let Some(job) = self.job.borrow().upgrade() {
            job.cancel();
        }
        *self.agent.borrow_mut() = None;
    }
}

impl LuaAgent {
    pub(crate) fn owned(owned: Owned) -> Self {
        Self::Owned(Rc::new(owned))
    }

    pub(crate) fn borrowed(lender: Rc<dyn Lender>) -> Self {
        Self::Borrowed(lender)
    }

    /// The agent, to read it.
    fn read(&self) -> Result<Agent, Fault> {
        match self {
            Self::Owned(owned) => owned.agent(),
            Self::Borrowed(lender) => lent(&**lender),
        }
    }

    /// The agent, to change it: not while a job has it.
    fn change(&self) -> Result<Agent, Fault> {
        match self {
            Self::Owned(owned) => owned.free(),
            Self::Borrowed(lender) => lent(&**lender),
        }
    }

    /// The agent for what only Lua's own may do.
    fn own(&self, method: &str) -> Result<&Rc<Owned>, Fault> {
        match self {
            Self::Owned(owned) => Ok(owned),
            Self::Borrowed(_) => Err(Fault::expected(format!(
                "{method} is refused: this agent is borrowed, and its host runs its turns; \
                 use submit, or make an agent of your own with panto.agent"
            ))),
        }
    }

    fn reach(&self) -> Reach {
        match self {
            Self::Owned(owned) => owned.reach,
            // The host's store may be anything.
            Self::Borrowed(_) => Reach::Host,
        }
    }
}

fn lent(lender: &dyn Lender) -> Result<Agent, Fault> {
    let agent = lender.agent();
    agent.ok_or_else(|| Fault::expected("there is no session agent here (any longer)"))
}

impl UserData for LuaAgent {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        class::fields(fields);
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Close, |_, this, _: MultiValue| {
            if let Self::Owned(owned) = this {
                owned.close();
            }
            Ok(())
        });
    }
}
