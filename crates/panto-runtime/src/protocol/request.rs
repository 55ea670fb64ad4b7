//! What `open` is told.

use std::rc::{Rc, Weak};

use mlua::{Function, Lua, Table, Value};
use panto_lua::{Fault, Module};
use pantograph::protocol::{Request, ToolChoice};
use pantograph::{Role, transcript};

use crate::executor::Executor;

/// The table; `messages`, `history_transcript` and `tools` are built when they are first read.
///
/// System messages are in `system` and nowhere else, so that nobody sends them twice.
pub(super) fn request_table(
    lua: &Lua,
    executor: &Rc<Executor>,
    protocol: &str,
    request: Request,
    notify: Function,
) -> mlua::Result<Table> {
    let model = &request.model;
    let table = lua.create_table()?;
    table.raw_set("protocol", protocol)?;
    table.raw_set("provider", model.reference.provider())?;
    table.raw_set("model", model.wire_model.as_str())?;
    table.raw_set("purpose", request.purpose.as_str())?;
    table.raw_set("context", &*request.context)?;
    table.raw_set("system", system(&request))?;
    table.raw_set("tool_choice", tool_choice(lua, &request.tool_choice)?)?;
    table.raw_set("notify", notify)?;
    let effort = model.effective_reasoning(&request.tool_choice);
    table.raw_set("effort", effort.filter(|label| !label.is_empty()))?;
    let index = index(lua, Rc::downgrade(executor), request)?;
    let metatable = lua.create_table()?;
    metatable.raw_set("__index", index)?;
    metatable.raw_set("__metatable", false)?;
    table.set_metatable(Some(metatable))?;
    Ok(table)
}

fn index(lua: &Lua, executor: Weak<Executor>, request: Request) -> mlua::Result<Function> {
    lua.create_function(move |lua, (table, key): (Table, Value)| {
        let (Value::String(name), Some(executor)) = (&key, executor.upgrade()) else {
            return Ok(Value::Nil);
        };
        let module = &executor.module;
        let made = match &*name.to_string_lossy() {
            "messages" => Value::Table(messages(lua, module, &request).map_err(raised)?),
            "tools" => Value::Table(tools(lua, module, &request).map_err(raised)?),
            "history_transcript" => {
                Value::String(lua.create_string(transcript(request.conversation.messages()))?)
            }
            _ => return Ok(Value::Nil),
        };
        table.raw_set(key, &made)?;
        Ok(made)
    })
}

fn raised(fault: Fault) -> mlua::Error {
    match fault {
        Fault::Misuse(message) | Fault::Expected { message, .. } => mlua::Error::runtime(message),
        Fault::Lua(error) => error,
    }
}

/// The system prompt, and the conversation's system messages behind it.
fn system(request: &Request) -> Option<String> {
    let prompt = request.system_prompt.as_deref().map(str::to_owned);
    let messages = request.conversation.system_messages();
    let parts = prompt
        .into_iter()
        .chain(messages.map(|message| message.text()));
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn tool_choice(lua: &Lua, choice: &ToolChoice) -> mlua::Result<Value> {
    let word = match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "required",
        ToolChoice::Named(name) => {
            let table = lua.create_table()?;
            table.raw_set("name", name.as_str())?;
            return Ok(Value::Table(table));
        }
    };
    Ok(Value::String(lua.create_string(word)?))
}

fn messages(lua: &Lua, module: &Module, request: &Request) -> Result<Table, Fault> {
    let list = lua.create_table()?;
    let messages = request.conversation.messages().iter();
    for message in messages.filter(|message| message.role != Role::System) {
        list.raw_push(module.message(lua, message)?)?;
    }
    Ok(list)
}

fn tools(lua: &Lua, module: &Module, request: &Request) -> Result<Table, Fault> {
    let list = lua.create_table()?;
    for declaration in &request.tools {
        let table = lua.create_table()?;
        table.raw_set("name", declaration.name.as_str())?;
        table.raw_set("description", &*declaration.description)?;
        let schema = module.json().value_to_lua(lua, &declaration.schema)?;
        table.raw_set("schema", schema)?;
        list.raw_push(table)?;
    }
    Ok(list)
}
