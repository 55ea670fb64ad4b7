//! Messages and blocks as Lua tables, and back.

use bytes::Bytes;
use mlua::{Lua, Table, Value};
use pantograph::{
    Attachment, Block, Message, RawJson, ToolCall, ToolContent, ToolResult, ToolStatus, Usage,
};

use crate::args::{Arg, Options, type_name};
use crate::fault::Fault;
use crate::json::Json;

/// A copy of a message. Its place in the session's tree is not shown.
pub(crate) fn message_table(lua: &Lua, json: &Json, message: &Message) -> Result<Table, Fault> {
    let table = lua.create_table()?;
    table.raw_set("role", message.role.as_str())?;
    let blocks = lua.create_table()?;
    for block in &message.blocks {
        blocks.raw_push(block_table(lua, block)?)?;
    }
    table.raw_set("blocks", blocks)?;
    if !message.metadata.is_empty() {
        table.raw_set("metadata", json.object_to_lua(lua, &message.metadata)?)?;
    }
    if let Some(usage) = &message.usage {
        table.raw_set("usage", usage_table(lua, usage)?)?;
    }
    if let Some(stop) = message.stop {
        table.raw_set("stop", stop.as_str())?;
    }
    if let Some(origin) = &message.origin {
        table.raw_set("model", origin.reference.as_str())?;
        table.raw_set("reasoning", origin.reasoning.as_deref())?;
    }
    Ok(table)
}

/// Token counts; what was not reported is absent.
pub(crate) fn usage_table(lua: &Lua, usage: &Usage) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("input", usage.input)?;
    table.raw_set("output", usage.output)?;
    table.raw_set("cache_read", usage.cache_read)?;
    table.raw_set("cache_write", usage.cache_write)?;
    table.raw_set("reasoning", usage.reasoning)?;
    Ok(table)
}

fn block_table(lua: &Lua, block: &Block) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let raw = |raw: &Option<RawJson>| match raw {
        Some(raw) => table.raw_set("raw", raw.as_str()),
        None => Ok(()),
    };
    match block {
        Block::Text { text, raw: item } => {
            table.raw_set("type", "text")?;
            table.raw_set("text", text.as_str())?;
            raw(item)?;
        }
        Block::Thinking {
            text,
            signature,
            raw: item,
        } => {
            table.raw_set("type", "thinking")?;
            table.raw_set("text", text.as_str())?;
            table.raw_set("signature", signature.as_deref())?;
            raw(item)?;
        }
        Block::ToolCall(call) => {
            table.raw_set("type", "tool_call")?;
            table.raw_set("id", &*call.id)?;
            table.raw_set("name", &*call.name)?;
            table.raw_set("input", call.input.as_str())?;
            raw(&call.raw)?;
        }
        Block::ToolResult(result) => {
            table.raw_set("type", "tool_result")?;
            table.raw_set("id", &*result.call)?;
            table.raw_set("status", result.status.as_str())?;
            let content = lua.create_table()?;
            for part in &result.content {
                content.raw_push(match part {
                    ToolContent::Text(text) => text_table(lua, text)?,
                    ToolContent::Attachment(attachment) => attachment_table(lua, attachment)?,
                })?;
            }
            table.raw_set("content", content)?;
        }
        Block::Attachment(attachment) => return attachment_table(lua, attachment),
        Block::Opaque { raw } => {
            table.raw_set("type", "opaque")?;
            table.raw_set("raw", raw.as_str())?;
        }
        Block::Summary { text } => {
            table.raw_set("type", "summary")?;
            table.raw_set("text", text.as_str())?;
        }
    }
    Ok(table)
}

fn text_table(lua: &Lua, text: &str) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("type", "text")?;
    table.raw_set("text", text)?;
    Ok(table)
}

/// An attachment with its bytes; one whose file is gone is a text that says so.
fn attachment_table(lua: &Lua, attachment: &Attachment) -> mlua::Result<Table> {
    match attachment.bytes() {
        Ok(data) => {
            let table = lua.create_table()?;
            table.raw_set("type", "attachment")?;
            table.raw_set("media_type", attachment.media_type.as_str())?;
            table.raw_set("data", lua.create_string(&data)?)?;
            Ok(table)
        }
        Err(error) => {
            let media_type = &attachment.media_type;
            text_table(lua, &format!("[attachment {media_type} left out: {error}]"))
        }
    }
}

/// Reads text, or a list of blocks as [`message_table`] gives them.
pub(crate) fn blocks_argument(argument: &Arg) -> Result<Vec<Block>, Fault> {
    match &argument.value {
        Value::String(_) => Ok(vec![Block::text(argument.text()?)]),
        Value::Table(_) => {
            let blocks = argument.list()?;
            if blocks.is_empty() {
                return Err(argument.wrong("at least one block expected"));
            }
            blocks.into_iter().map(block_argument).collect()
        }
        _ => Err(argument.wrong(format_args!(
            "string or list of blocks expected, got {}",
            type_name(&argument.value)
        ))),
    }
}

fn block_argument(argument: Arg) -> Result<Block, Fault> {
    let kind: Value = argument.table()?.raw_get("type")?;
    let kind = argument.part(".type", kind);
    match kind.text()?.as_str() {
        "text" => {
            let options = argument.options(&["type", "text", "raw"])?;
            Ok(Block::Text {
                text: options.get("text")?.text()?,
                raw: raw_field(&options)?,
            })
        }
        "thinking" => {
            let options = argument.options(&["type", "text", "signature", "raw"])?;
            let signature = options.given("signature")?;
            Ok(Block::Thinking {
                text: options.get("text")?.text()?,
                signature: signature.map(|field| field.text()).transpose()?,
                raw: raw_field(&options)?,
            })
        }
        "tool_call" => {
            let options = argument.options(&["type", "id", "name", "input", "raw"])?;
            Ok(Block::ToolCall(ToolCall {
                id: options.get("id")?.text()?.into(),
                name: options.get("name")?.text()?.into(),
                input: options.get("input")?.text()?,
                raw: raw_field(&options)?,
            }))
        }
        "tool_result" => {
            let options = argument.options(&["type", "id", "status", "content"])?;
            Ok(Block::ToolResult(ToolResult {
                call: options.get("id")?.text()?.into(),
                status: match options.given("status")? {
                    Some(status) => status_argument(&status)?,
                    None => ToolStatus::Ok,
                },
                content: content_argument(&options.get("content")?)?,
            }))
        }
        "attachment" => Ok(Block::Attachment(attachment_argument(argument)?)),
        "opaque" => {
            let options = argument.options(&["type", "raw"])?;
            match raw_field(&options)? {
                Some(raw) => Ok(Block::Opaque { raw }),
                None => Err(options.get("raw")?.wrong("string expected, got nil")),
            }
        }
        "summary" => {
            let options = argument.options(&["type", "text"])?;
            Ok(Block::Summary {
                text: options.get("text")?.text()?,
            })
        }
        _ => Err(kind.wrong(
            "expected one of text, thinking, tool_call, tool_result, attachment, opaque, summary",
        )),
    }
}

fn status_argument(argument: &Arg) -> Result<ToolStatus, Fault> {
    match argument.text()?.as_str() {
        "ok" => Ok(ToolStatus::Ok),
        "error" => Ok(ToolStatus::Error),
        "cancelled" => Ok(ToolStatus::Cancelled),
        _ => Err(argument.wrong("expected one of ok, error, cancelled")),
    }
}

fn content_argument(argument: &Arg) -> Result<Vec<ToolContent>, Fault> {
    if argument.value.is_string() {
        return Ok(vec![ToolContent::Text(argument.text()?)]);
    }
    let parts = argument.list()?;
    let parts = parts.into_iter().map(|part| match block_argument(part)? {
        Block::Text { text, .. } => Ok(ToolContent::Text(text)),
        Block::Attachment(attachment) => Ok(ToolContent::Attachment(attachment)),
        _ => Err(argument.wrong("a tool's content has text and attachments only")),
    });
    parts.collect()
}

fn attachment_argument(argument: Arg) -> Result<Attachment, Fault> {
    let options = argument.options(&["type", "media_type", "data"])?;
    let data = options.get("data")?;
    let data = Bytes::copy_from_slice(&data.string()?.as_bytes());
    Ok(Attachment::new(options.get("media_type")?.text()?, data))
}

fn raw_field(options: &Options) -> Result<Option<RawJson>, Fault> {
    let Some(field) = options.given("raw")? else {
        return Ok(None);
    };
    match RawJson::parse(&field.text()?) {
        Ok(raw) => Ok(Some(raw)),
        Err(error) => Err(field.wrong(format_args!("not JSON: {error}"))),
    }
}
