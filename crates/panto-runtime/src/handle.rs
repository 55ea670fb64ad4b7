//! The way into Lua for a host's code on the owner thread, functions that Lua calls included.

use std::rc::Rc;
use std::sync::Arc;

use mlua::{AnyUserData, Function, IntoLuaMulti, Lua, MultiValue, Table};
use panto_lua::{Arg, Fault};
use pantograph::{Agent, Protocol, SessionStore, ToolDeclaration};

use crate::driven::Drive;
use crate::entry::Later;
use crate::executor::Executor;
use crate::failure::Failure;
use crate::hooks::Hooks;
use crate::protocol::EffortLevel;
use crate::surroundings::LaneAgent;
use crate::tools::RegisterError;

/// The way into Lua for code on the thread that owns it. Clones are the same.
///
/// It keeps nothing alive, so functions that Lua holds may have it.
#[derive(Clone)]
pub struct LuaHandle(Later);

impl LuaHandle {
    pub(crate) fn new(executor: Later) -> Self {
        Self(executor)
    }

    fn executor(&self) -> Option<Rc<Executor>> {
        self.0.borrow().upgrade()
    }

    /// The executor and its Lua state, unless they are gone.
    fn alive(&self) -> Option<(Rc<Executor>, Lua)> {
        let executor = self.executor()?;
        let lua = executor.lua()?;
        Some((executor, lua))
    }

    /// Calls a Lua function that must not wait. `what` names it in messages, such as
    /// ``the `on` handler of `x` ``.
    ///
    /// A yield fails it, with [`crate::MUST_NOT_WAIT`], even one that Lua code catches. Inside a
    /// tool call it runs on behalf of that call's agent.
    ///
    /// # Errors
    ///
    /// What it raised, or that the Lua state is gone.
    pub fn call(
        &self,
        what: &str,
        function: &Function,
        arguments: impl IntoLuaMulti,
    ) -> Result<MultiValue, Failure> {
        let (executor, lua) = self.alive().ok_or_else(|| Failure::gone(what))?;
        let arguments = arguments.into_lua_multi(&lua);
        let arguments = arguments.map_err(|error| Failure::of(what, &error))?;
        executor.call(&lua, what, function, arguments)
    }

    /// Runs a Lua function that may wait, as a coroutine, while [`run_until`] drives it. It begins
    /// when its turn comes; the future gives what it returned.
    ///
    /// [`run_until`]: crate::LuaRuntime::run_until
    ///
    /// # Errors
    ///
    /// What it raised, or that the Lua state is gone: here or from the future.
    pub fn drive(
        &self,
        what: &str,
        function: Function,
        arguments: impl IntoLuaMulti,
    ) -> Result<Drive, Failure> {
        let (executor, lua) = self.alive().ok_or_else(|| Failure::gone(what))?;
        let arguments = arguments.into_lua_multi(&lua);
        let arguments = arguments.map_err(|error| Failure::of(what, &error))?;
        Ok(Drive::start(&executor, what, function, arguments))
    }

    /// Registers a Lua function as a tool for all agents, or replaces one that `owner` registered.
    /// The [session's agent](Self::set_session_agent) shows it with its next request.
    ///
    /// # Errors
    ///
    /// Another owner has the name, or the Lua state is gone.
    pub fn register_tool(
        &self,
        owner: &str,
        declaration: ToolDeclaration,
        handler: Function,
    ) -> Result<(), RegisterError> {
        let executor = self.executor().ok_or(RegisterError::Gone)?;
        executor.register_tool(owner, declaration, handler)
    }

    /// Takes a tool away that `owner` registered; gives whether there was one.
    pub fn unregister_tool(&self, owner: &str, name: &str) -> bool {
        self.executor()
            .is_some_and(|executor| executor.unregister_tool(owner, name))
    }

    /// Registers a protocol, as `{ name, open, effort_levels?, cancel_turn?, reset_context?,
    /// release_context?, close? }`, or replaces one that `owner` registered: streams that are open
    /// go on as they began, and with the last of them the replaced one is closed. Gives its name.
    ///
    /// # Errors
    ///
    /// What is wrong with the table; another owner has the name; the Lua state is gone.
    pub fn register_protocol(&self, owner: &str, protocol: Arg) -> Result<String, Fault> {
        let (executor, lua) = self
            .alive()
            .ok_or_else(|| Fault::of(&RegisterError::Gone))?;
        let name = executor.protocols.register(owner, protocol)?;
        executor.close_idle_protocols(&lua);
        Ok(name)
    }

    /// Takes a protocol away that `owner` registered; gives whether there was one. Streams that
    /// are open go on.
    pub fn unregister_protocol(&self, owner: &str, name: &str) -> bool {
        let Some((executor, lua)) = self.alive() else {
            return false;
        };
        let was_there = executor.protocols.unregister(owner, name);
        executor.close_idle_protocols(&lua);
        was_there
    }

    /// A registered protocol, for an agent's configuration. It asks whatever is registered under
    /// its name when a stream begins.
    pub fn protocol(&self, name: &str) -> Option<Arc<dyn Protocol>> {
        self.executor()?.protocols.source(name)
    }

    /// The effort levels that a protocol was registered with.
    pub fn effort_levels(&self, protocol: &str) -> Vec<EffortLevel> {
        let executor = self.executor();
        executor
            .map(|executor| executor.protocols.effort_levels(protocol))
            .unwrap_or_default()
    }

    /// Sets what may rewrite what enters a conversation.
    pub fn set_hooks(&self, hooks: Hooks) {
        if let Some(executor) = self.executor() {
            executor.turn_hooks.set(&hooks);
            let previous = executor.hooks.replace(hooks);
            drop(previous);
        }
    }

    /// The session store that a Lua table is, as `panto.agent` takes one; for agents of any kind.
    /// Its methods run while [`run_until`] drives Lua.
    ///
    /// [`run_until`]: crate::LuaRuntime::run_until
    ///
    /// # Errors
    ///
    /// The table lacks a method, or the Lua state is gone.
    pub fn session_store(&self, table: Table) -> Result<Arc<dyn SessionStore>, Failure> {
        const WHAT: &str = "the session store";
        let (executor, lua) = self.alive().ok_or_else(|| Failure::gone(WHAT))?;
        let store = executor.session_store(&lua, table);
        store.map_err(|message| Failure::new(WHAT, message))
    }

    /// Sets the agent of code that no tool call runs.
    pub fn set_session_agent(&self, agent: Option<Agent>) {
        if let Some(executor) = self.executor() {
            let previous = executor.session.replace(agent);
            // With nothing borrowed: it may be the last handle.
            drop(previous);
        }
    }

    /// A handle for Lua: the agent whose tool call runs the code that uses it, else the session's.
    ///
    /// # Errors
    ///
    /// Lua is out of memory, or gone.
    pub fn current_agent(&self) -> mlua::Result<AnyUserData> {
        let gone = || mlua::Error::runtime(RegisterError::Gone);
        let (executor, lua) = self.alive().ok_or_else(gone)?;
        let lender = LaneAgent {
            executor: Rc::clone(&self.0),
            lane: None,
        };
        executor.module.borrowed(&lua, Rc::new(lender))
    }
}
