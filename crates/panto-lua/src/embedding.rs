//! What the module needs from its host.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mlua::{Function, Lua, Table};
use pantograph::{
    AgentId, AgentOptions, Cancel, NoHooks, NoTools, SessionStore, ToolDeclaration, ToolSource,
    TurnHooks,
};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::wait::{Blocking, Waiter};

/// What the module needs from its host.
///
/// Everything but the runtime has a default, with which the module serves a plain embedder:
/// waits block the thread, agents have no tools, and stores are those of the core.
pub struct Embedding {
    pub(crate) runtime: Handle,
    pub(crate) waiter: Rc<dyn Waiter>,
    pub(crate) tools: Arc<dyn ToolSource>,
    pub(crate) hooks: Arc<dyn TurnHooks>,
    pub(crate) options: AgentOptions,
    pub(crate) cwd: PathBuf,
    pub(crate) local_tools: Option<Rc<dyn LocalTools>>,
    pub(crate) table_stores: Option<Rc<dyn TableStores>>,
    pub(crate) surroundings: Option<Rc<dyn Surroundings>>,
}

impl Embedding {
    /// An embedding whose agents and jobs run on `runtime`, which has its time enabled and
    /// threads of its own: the thread of the Lua state may wait for them.
    pub fn new(runtime: Handle) -> Self {
        Self {
            waiter: Rc::new(Blocking {
                runtime: runtime.clone(),
            }),
            runtime,
            tools: Arc::new(NoTools),
            hooks: Arc::new(NoHooks),
            options: AgentOptions::default(),
            cwd: PathBuf::from("/"),
            local_tools: None,
            table_stores: None,
            surroundings: None,
        }
    }

    /// Lets `waiter` decide how Lua code waits.
    pub fn waiter(mut self, waiter: Rc<dyn Waiter>) -> Self {
        self.waiter = waiter;
        self
    }

    /// Runs the tools of every agent that Lua makes on `tools`, by name.
    pub fn tools(mut self, tools: Arc<dyn ToolSource>) -> Self {
        self.tools = tools;
        self
    }

    /// Gives every agent that Lua makes these hooks.
    pub fn hooks(mut self, hooks: Arc<dyn TurnHooks>) -> Self {
        self.hooks = hooks;
        self
    }

    /// Sets what agents that Lua makes allow themselves.
    pub fn agent_options(mut self, options: AgentOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the directory that new sessions name if Lua gives none.
    pub fn cwd(mut self, cwd: impl AsRef<Path>) -> Self {
        cwd.as_ref().clone_into(&mut self.cwd);
        self
    }

    /// Runs the handlers of `agent:register_tool`. Without it that method is refused.
    pub fn local_tools(mut self, tools: Rc<dyn LocalTools>) -> Self {
        self.local_tools = Some(tools);
        self
    }

    /// Makes stores of Lua tables. Without it they are refused.
    pub fn table_stores(mut self, stores: Rc<dyn TableStores>) -> Self {
        self.table_stores = Some(stores);
        self
    }

    /// Asks `surroundings` whose tool call it is that runs. Without it none ever does.
    pub fn surroundings(mut self, surroundings: Rc<dyn Surroundings>) -> Self {
        self.surroundings = Some(surroundings);
        self
    }

    /// Whose tool call runs the code that calls.
    pub(crate) fn enclosing(&self, lua: &Lua) -> Option<Enclosing> {
        self.surroundings.as_ref()?.enclosing(lua)
    }
}

/// Knows whose tool calls Lua code runs for.
pub trait Surroundings {
    /// The turn whose tool call runs the code that calls; `None` outside of one.
    ///
    /// What runs inside is forced to stop before the turn is, and cannot wait for that turn.
    fn enclosing(&self, lua: &Lua) -> Option<Enclosing>;
}

/// A turn that waits for a tool call.
#[derive(Debug, Clone)]
pub struct Enclosing {
    /// The agent whose turn it is.
    pub agent: AgentId,
    /// Its label, if it has one.
    pub label: Option<String>,
    /// The turn's signal.
    pub cancel: Cancel,
}

impl Enclosing {
    /// How long what runs inside may go on after a cancel: within three quarters of what the turn
    /// has left, so that it can still tell what came of it.
    pub(crate) fn bounded(&self, grace: Duration) -> Duration {
        match self.cancel.deadline() {
            Some(deadline) => grace.min(deadline.saturating_duration_since(Instant::now()) * 3 / 4),
            None => grace,
        }
    }
}

/// Runs Lua functions as tools of one agent.
pub trait LocalTools {
    /// A source that runs `handler` for calls of the declared tool, and only for those.
    ///
    /// It is called from other threads, and must bring the calls to the one that owns `lua`.
    ///
    /// # Errors
    ///
    /// Why the handler is not taken, in words for the caller.
    fn adopt(
        &self,
        lua: &Lua,
        declaration: &ToolDeclaration,
        handler: Function,
    ) -> Result<Arc<dyn ToolSource>, String>;
}

/// Makes session stores of Lua tables.
pub trait TableStores {
    /// The store that `table` is. Its methods may need the thread that owns `lua`: the module
    /// waits for them through its [`Waiter`].
    ///
    /// # Errors
    ///
    /// Why the table is no store, in words for the caller.
    fn adopt(&self, lua: &Lua, table: Table) -> Result<Arc<dyn SessionStore>, String>;
}
