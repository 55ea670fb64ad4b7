//! What stands between a turn and its tools: handlers that rewrite, tools that want a yes, and the
//! count of what other agents spend.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use mlua::{Lua, Table, Value};
use panto_runtime::{Hooks, LuaRuntime};
use pantograph::{
    AgentId, CheckedInput, HookContext, HookedCall, HookedResult, Outcome, TurnHooks, UsageTotal,
    async_trait,
};
use parking_lot::Mutex;

use super::ask::{self, Asker};
use super::events::{Event, is_hook};
use super::shared::Shared;
use super::{HostError, HostOptions};

/// The hooks of every agent of a session: around those that are Lua.
pub(super) struct HostHooks {
    inner: OnceLock<Arc<dyn TurnHooks>>,
    session_agent: OnceLock<AgentId>,
    ask_before: HashSet<String>,
    asker: Arc<dyn Asker>,
    by_others: Mutex<(UsageTotal, u32)>,
}

impl HostHooks {
    pub(super) fn new(options: &HostOptions) -> Self {
        Self {
            inner: OnceLock::new(),
            session_agent: OnceLock::new(),
            ask_before: options.ask_before.iter().cloned().collect(),
            asker: Arc::clone(&options.asker),
            by_others: Mutex::default(),
        }
    }

    /// The same, round `inner`. Once.
    pub(super) fn around(self: Arc<Self>, inner: Arc<dyn TurnHooks>) -> Arc<dyn TurnHooks> {
        let _ = self.inner.set(inner);
        self
    }

    pub(super) fn set_session_agent(&self, agent: AgentId) {
        let _ = self.session_agent.set(agent);
    }

    pub(super) fn spent_by_others(&self) -> (UsageTotal, u32) {
        *self.by_others.lock()
    }

    /// Lets the session tell what the turn has said so far, before a handler is asked: a turn is
    /// polled again only when its events have been passed on.
    async fn inner(&self) -> Option<&Arc<dyn TurnHooks>> {
        tokio::task::yield_now().await;
        self.inner.get()
    }
}

#[async_trait]
impl TurnHooks for HostHooks {
    async fn user_message(&self, context: &HookContext, text: &str) -> Option<String> {
        self.inner().await?.user_message(context, text).await
    }

    async fn tool_input(&self, context: &HookContext, call: HookedCall<'_>) -> CheckedInput {
        let Some(inner) = self.inner().await else {
            return CheckedInput::AsIs;
        };
        let checked = inner.tool_input(context, call).await;
        if matches!(checked, CheckedInput::Refused(_)) || !self.ask_before.contains(call.tool_name)
        {
            return checked;
        }
        // What is asked about is what would run.
        let changed = match &checked {
            CheckedInput::Changed(input) => serde_json::to_string(input).ok(),
            _ => None,
        };
        let input = changed.as_deref().unwrap_or(call.input);
        let agent = context.label.as_deref().map(str::to_owned);
        match ask::allow(&*self.asker, agent, call.tool_name, input).await {
            Ok(()) => checked,
            Err(why) => CheckedInput::Refused(why),
        }
    }

    async fn tool_result(&self, context: &HookContext, result: HookedResult<'_>) -> Option<String> {
        self.inner().await?.tool_result(context, result).await
    }

    fn settled(&self, context: &HookContext, outcome: &Outcome) {
        if self.session_agent.get() != Some(&context.agent) {
            let mut spent = self.by_others.lock();
            spent.0.merge(&outcome.usage);
            spent.1 += 1;
        }
    }
}

/// Has the runtime ask listeners of the three events that may be changed.
pub(super) fn install(runtime: &LuaRuntime, shared: &Rc<Shared>) -> Result<(), HostError> {
    shared.set_hooks(runtime.lua())?;
    Ok(())
}

/// An event that may be changed: its name, the field, and the field of the hook's table.
struct Changeable {
    event: &'static str,
    field: &'static str,
}

const USER_MESSAGE: Changeable = Changeable {
    event: "user_message",
    field: "text",
};
const TOOL_CALL_COMPLETE: Changeable = Changeable {
    event: "tool_call_complete",
    field: "input",
};
const TOOL_RESULT: Changeable = Changeable {
    event: "tool_result",
    field: "output",
};

impl Shared {
    /// Takes note of a new listener: turns wait only for events that somebody hears.
    pub(super) fn hooks_changed(&self, name: &str) {
        if is_hook(name)
            && let Err(error) = self.set_hooks(&self.lua.clone())
        {
            tracing::error!(%error, "the hooks could not be set");
        }
    }

    fn set_hooks(&self, lua: &Lua) -> mlua::Result<()> {
        let hook = |hook: &'static Changeable| -> mlua::Result<Option<mlua::Function>> {
            if !self.is_heard(hook.event) {
                return Ok(None);
            }
            let shared = self.me.clone();
            let function =
                lua.create_function(move |lua, context: Table| match shared.upgrade() {
                    Some(shared) => shared.ask_listeners(lua, hook, &context),
                    None => Ok(Value::Nil),
                })?;
            Ok(Some(function))
        };
        self.handle.set_hooks(Hooks {
            user_message: hook(&USER_MESSAGE)?,
            tool_input: hook(&TOOL_CALL_COMPLETE)?,
            tool_result: hook(&TOOL_RESULT)?,
        });
        Ok(())
    }

    fn ask_listeners(&self, lua: &Lua, hook: &Changeable, context: &Table) -> mlua::Result<Value> {
        let of_session = {
            let agent: String = context.raw_get("agent")?;
            let session = self.session();
            session.is_some_and(|session| session.agent().id().to_string() == agent)
        };
        if of_session {
            self.catch_up();
        }
        let fields = lua.create_table()?;
        for pair in context.pairs::<mlua::LuaString, Value>() {
            let (key, value) = pair?;
            fields.raw_set(key, value)?;
        }
        if let Ok(id) = context.raw_get::<String>("id") {
            let listening = self.listening().filter(|_| of_session);
            let index = listening.and_then(|listening| listening.index(&id));
            fields.raw_set("index", index)?;
        }
        if hook.event == TOOL_RESULT.event {
            let status: String = context.raw_get("status")?;
            fields.raw_set("result_ok", status == "ok")?;
        }
        let event = Event::writable(hook.event, fields, hook.field, self.module.json());
        Ok(self.fire(event).unwrap_or(Value::Nil))
    }
}
