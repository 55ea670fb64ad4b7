//! The second argument of a tool's handler.

use std::rc::Rc;

use mlua::{Function, Lua, Table, Value};
use panto_lua::{Arg, Args, Fault, values};

use crate::entry::Later;
use crate::executor::Executor;
use crate::frame::ContextId;
use crate::live::{HandlerKey, ToolCall};
use crate::options::Progress;
use crate::surroundings::LaneAgent;

/// The `__index` of every context. It has `tool_call_id` and `tool_name`; `batch_id`, `turn_id`,
/// `agent`, `output`, `progress` and `cancelled` are made when they are first read.
pub(crate) fn index(lua: &Lua, executor: &Later) -> mlua::Result<Function> {
    let later = Rc::clone(executor);
    lua.create_function(move |lua, (context, name): (Table, Value)| {
        let (Value::String(name), Some(executor)) = (name, later.borrow().upgrade()) else {
            return Ok(Value::Nil);
        };
        let field = Field {
            key: executor.live.key(ContextId::of(&context)),
            executor: &executor,
            later: &later,
        };
        let value = field.make(lua, &name.to_string_lossy())?;
        if !value.is_nil() {
            context.raw_set(name, &value)?;
        }
        Ok(value)
    })
}

impl Executor {
    /// Looks at a tool call, if it runs.
    fn call_of<T>(&self, key: Option<HandlerKey>, look: impl FnOnce(&ToolCall) -> T) -> Option<T> {
        self.live.call(key?, look)
    }
}

/// What is made when it is read.
struct Field<'a> {
    /// `None` when the call has ended.
    key: Option<HandlerKey>,
    executor: &'a Rc<Executor>,
    later: &'a Later,
}

impl Field<'_> {
    fn make(&self, lua: &Lua, name: &str) -> mlua::Result<Value> {
        match name {
            "batch_id" => self.text(lua, |call| call.batch.id.to_string()),
            "turn_id" => self.text(lua, |call| call.batch.turn.to_string()),
            "agent" => self.agent(lua),
            "output" => self.function(lua, "output", |executor, key, argument| {
                let chunk = argument.text()?;
                executor.call_of(key, |call| call.reply.output(&chunk));
                Ok(())
            }),
            "progress" => self.function(lua, "progress", |executor, key, argument| {
                let data = executor.module.json().object_argument(&argument)?;
                let progress = executor.call_of(key, |call| Progress::new(call, data));
                if let Some(progress) = progress {
                    (executor.reports.progress)(&progress);
                }
                Ok(())
            }),
            "cancelled" => self.cancelled(lua),
            _ => Ok(Value::Nil),
        }
    }

    fn text(&self, lua: &Lua, of: impl FnOnce(&ToolCall) -> String) -> mlua::Result<Value> {
        match self.executor.call_of(self.key, of) {
            Some(text) => Ok(Value::String(lua.create_string(text)?)),
            None => Ok(Value::Nil),
        }
    }

    /// The agent that raised the call, for as long as it has calls under way.
    fn agent(&self, lua: &Lua) -> mlua::Result<Value> {
        let lane = self.executor.call_of(self.key, |call| call.batch.lane);
        let Some(lane) = lane else {
            return Ok(Value::Nil);
        };
        let lender = LaneAgent {
            executor: Rc::clone(self.later),
            lane: Some(lane),
        };
        let module = &self.executor.module;
        Ok(Value::UserData(module.borrowed(lua, Rc::new(lender))?))
    }

    /// A function of one argument, which may be called as a method.
    fn function(
        &self,
        lua: &Lua,
        name: &'static str,
        body: impl Fn(&Executor, Option<HandlerKey>, Arg) -> Result<(), Fault> + 'static,
    ) -> mlua::Result<Value> {
        let module = &self.executor.module;
        let key = self.key;
        let later = Rc::clone(self.later);
        let argument_name = if name == "output" { "chunk" } else { "data" };
        let function = module.function(lua, name, move |lua, mut args: Args| {
            let mut argument = args.next(argument_name);
            // A context is a table that has this very function.
            if let Value::Table(table) = &argument.value
                && table.raw_get::<Value>("tool_call_id")?.is_string()
                && table.raw_get::<Value>(name)?.is_function()
            {
                argument = args.next(argument_name);
            }
            if let Some(executor) = later.borrow().upgrade() {
                body(&executor, key, argument)?;
            }
            values(lua, true)
        })?;
        Ok(Value::Function(function))
    }

    /// Whether the turn was asked to stop; true once the call has ended.
    fn cancelled(&self, lua: &Lua) -> mlua::Result<Value> {
        let cancel = self
            .executor
            .call_of(self.key, |call| call.batch.cancel.clone());
        let later = Rc::clone(self.later);
        let key = self.key;
        let function = lua.create_function(move |_, _: mlua::MultiValue| {
            let executor = later.borrow().upgrade();
            let is_live = executor.is_some_and(|executor| executor.call_of(key, |_| ()).is_some());
            Ok(!is_live || cancel.as_ref().is_none_or(|cancel| cancel.is_asked()))
        })?;
        Ok(Value::Function(function))
    }
}
