//! Lua functions as hooks of turns: what may rewrite what enters a conversation.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use mlua::{Function, Lua, MultiValue, Table, Value};
use pantograph::{CheckedInput, HookContext, HookedCall, HookedResult, TurnHooks};

use crate::executor::Executor;
use crate::failure::Failure;
use crate::inbox::{Gone, Inbox};

/// The functions that may rewrite what enters a conversation, of every agent. Each gets one table
/// and must not wait; what it raises is reported.
///
/// The table has `agent`, `label`, `session`, `turn`, and what is listed.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    /// Gets `text`; gives the text to store instead, or nil.
    pub user_message: Option<Function>,
    /// Gets `id`, `tool_name` and `input`, a table; gives the input for the tool instead, or nil.
    /// When it raises, the call is not run.
    pub tool_input: Option<Function>,
    /// Gets `id`, `tool_name`, `output`, `status` and `interrupted`; gives the text to store
    /// instead, or nil.
    pub tool_result: Option<Function>,
}

const NOT_CHECKED: &str = "The call was not run: what checks it first failed.";
const NO_TABLE: &str = "it returned something that is no JSON object";
const NO_TEXT: &str = "it returned something that is no text";

/// The hooks as agents have them.
#[derive(Default)]
pub(crate) struct LuaHooks {
    inbox: Arc<Inbox>,
    /// Whether there is a function, so that nobody waits for the owner in vain.
    user_message: AtomicBool,
    tool_input: AtomicBool,
    tool_result: AtomicBool,
}

impl LuaHooks {
    pub(crate) fn new(inbox: &Arc<Inbox>) -> Self {
        Self {
            inbox: Arc::clone(inbox),
            ..Self::default()
        }
    }

    pub(crate) fn set(&self, hooks: &Hooks) {
        let set = |flag: &AtomicBool, function: &Option<Function>| {
            flag.store(function.is_some(), Ordering::Release);
        };
        set(&self.user_message, &hooks.user_message);
        set(&self.tool_input, &hooks.tool_input);
        set(&self.tool_result, &hooks.tool_result);
    }

    /// Asks a function on the owner thread. `None` if there is none.
    async fn ask<T: Send + 'static>(
        &self,
        context: &HookContext,
        which: fn(&Hooks) -> &Option<Function>,
        fill: impl FnOnce(&Executor, &Lua, &Table) -> mlua::Result<()> + Send + 'static,
        read: fn(&Executor, Value) -> Result<T, &'static str>,
    ) -> Option<Result<Option<T>, Failure>> {
        let context = context.clone();
        let asked = self.inbox.call(move |executor, lua| {
            let function = which(&executor.hooks.borrow()).clone()?;
            let asking = Asking {
                executor,
                lua,
                function,
            };
            Some(asking.ask(&context, fill, read))
        });
        // A panic is caught on the owner thread, and leaves nothing.
        asked
            .await
            .unwrap_or_else(|Gone| Some(Err(Failure::gone("a hook"))))
    }
}

struct Asking<'a> {
    executor: &'a Rc<Executor>,
    lua: &'a Lua,
    function: Function,
}

impl Asking<'_> {
    fn ask<T>(
        &self,
        context: &HookContext,
        fill: impl FnOnce(&Executor, &Lua, &Table) -> mlua::Result<()>,
        read: fn(&Executor, Value) -> Result<T, &'static str>,
    ) -> Result<Option<T>, Failure> {
        const WHAT: &str = "a hook";
        let outcome = self
            .table(context, fill)
            .map_err(|error| Failure::of(WHAT, &error));
        let outcome = outcome.and_then(|table| {
            let arguments = MultiValue::from_iter([Value::Table(table)]);
            self.executor
                .call(self.lua, WHAT, &self.function, arguments)
        });
        let outcome = outcome.and_then(|mut values| match values.pop_front() {
            None | Some(Value::Nil) => Ok(None),
            Some(value) => match read(self.executor, value) {
                Ok(value) => Ok(Some(value)),
                Err(wrong) => Err(Failure::new(WHAT, wrong)),
            },
        });
        if let Err(failure) = &outcome {
            self.executor.reports.error(failure);
        }
        outcome
    }

    fn table(
        &self,
        context: &HookContext,
        fill: impl FnOnce(&Executor, &Lua, &Table) -> mlua::Result<()>,
    ) -> mlua::Result<Table> {
        let table = self.lua.create_table()?;
        table.raw_set("agent", context.agent.to_string())?;
        table.raw_set("label", context.label.as_deref())?;
        table.raw_set("session", context.session.to_string())?;
        table.raw_set("turn", context.turn.to_string())?;
        fill(self.executor, self.lua, &table)?;
        Ok(table)
    }
}

fn text(_: &Executor, value: Value) -> Result<String, &'static str> {
    match &value {
        Value::String(text) => Ok(text.to_string_lossy()),
        _ => Err(NO_TEXT),
    }
}

fn object(
    executor: &Executor,
    value: Value,
) -> Result<serde_json::Map<String, serde_json::Value>, &'static str> {
    let json = executor.module.json();
    let text = json.encode(&value).map_err(|_| NO_TABLE)?;
    serde_json::from_str(&text).map_err(|_| NO_TABLE)
}

#[async_trait]
impl TurnHooks for LuaHooks {
    async fn user_message(&self, context: &HookContext, said: &str) -> Option<String> {
        if !self.user_message.load(Ordering::Acquire) {
            return None;
        }
        let said = said.to_owned();
        let fill = move |_: &Executor, _: &Lua, table: &Table| table.raw_set("text", said);
        let asked = self.ask(context, |hooks| &hooks.user_message, fill, text);
        asked.await?.ok().flatten()
    }

    async fn tool_input(&self, context: &HookContext, call: HookedCall<'_>) -> CheckedInput {
        if !self.tool_input.load(Ordering::Acquire) {
            return CheckedInput::AsIs;
        }
        let (id, name) = (call.id.to_owned(), call.tool_name.to_owned());
        let input = call.input.to_owned();
        let fill = move |executor: &Executor, lua: &Lua, table: &Table| {
            table.raw_set("id", id)?;
            table.raw_set("tool_name", name)?;
            let input = executor.module.json().decode(lua, input.as_bytes());
            table.raw_set("input", input.map_err(mlua::Error::runtime)?)
        };
        match self
            .ask(context, |hooks| &hooks.tool_input, fill, object)
            .await
        {
            None | Some(Ok(None)) => CheckedInput::AsIs,
            Some(Ok(Some(changed))) => CheckedInput::Changed(changed),
            Some(Err(_)) => CheckedInput::Refused(NOT_CHECKED.to_owned()),
        }
    }

    async fn tool_result(&self, context: &HookContext, result: HookedResult<'_>) -> Option<String> {
        if !self.tool_result.load(Ordering::Acquire) {
            return None;
        }
        let (id, name) = (result.id.to_owned(), result.tool_name.to_owned());
        let output = result.output.to_owned();
        let (status, interrupted) = (result.status, result.interrupted);
        let fill = move |_: &Executor, _: &Lua, table: &Table| {
            table.raw_set("id", id)?;
            table.raw_set("tool_name", name)?;
            table.raw_set("output", output)?;
            table.raw_set("status", status.as_str())?;
            table.raw_set("interrupted", interrupted)
        };
        let asked = self.ask(context, |hooks| &hooks.tool_result, fill, text);
        asked.await?.ok().flatten()
    }
}
