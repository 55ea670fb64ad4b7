//! What a tool's handler may return.

use crate::failure::named;
use mlua::{LuaString, MultiValue, Table, Value};
use panto_lua::Json;
use pantograph::{Attachment, Metadata, ToolContent, ToolOutput, ToolStatus};

const EXPECTED: &str = "expected a string, or a table with `text`, `attachments` or both";

/// Reads what a handler returned: text, or `{ text?, attachments?, details?, status? }`.
///
/// # Errors
///
/// What is wrong with anything else, in words for the model and the author.
pub(crate) fn read(json: &Json, values: &MultiValue) -> Result<ToolOutput, String> {
    match values.front().unwrap_or(&Value::Nil) {
        Value::String(text) => Ok(ToolOutput::text(text.to_string_lossy())),
        Value::Table(table) => read_table(json, table),
        // As Lua functions say that they failed.
        Value::Nil if let Some(Value::String(message)) = values.get(1) => {
            Ok(ToolOutput::error(message.to_string_lossy()))
        }
        other => Err(format!("the handler returned {}; {EXPECTED}", named(other))),
    }
}

fn read_table(json: &Json, table: &Table) -> Result<ToolOutput, String> {
    let mut content = Vec::new();
    match field(table, "text")? {
        Value::Nil => {}
        Value::String(text) => content.push(ToolContent::Text(text.to_string_lossy())),
        other => {
            let found = named(&other);
            return Err(format!(
                "the handler returned {found} as `text`; a string expected"
            ));
        }
    }
    match field(table, "attachments")? {
        Value::Nil if content.is_empty() => {
            return Err(format!(
                "the handler returned a table without `text` and `attachments`; {EXPECTED}"
            ));
        }
        Value::Nil => {}
        Value::Table(list) => {
            for position in 1..=list.raw_len() {
                let entry = list.raw_get(position).map_err(|error| error.to_string())?;
                let attachment = read_attachment(&entry).map_err(|wrong| {
                    format!("the handler returned {wrong} as attachment {position}")
                })?;
                content.push(ToolContent::Attachment(attachment));
            }
        }
        other => {
            let found = named(&other);
            return Err(format!(
                "the handler returned {found} as `attachments`; a list expected"
            ));
        }
    }
    Ok(ToolOutput {
        status: read_status(table)?,
        content,
        details: read_details(json, table)?,
    })
}

fn read_status(table: &Table) -> Result<ToolStatus, String> {
    let known = [ToolStatus::Ok, ToolStatus::Error, ToolStatus::Cancelled];
    let wrong = |found: String| {
        format!("the handler returned {found} as `status`; `ok`, `error` or `cancelled` expected")
    };
    match field(table, "status")? {
        Value::Nil => Ok(ToolStatus::Ok),
        Value::String(text) => {
            let text = text.to_string_lossy();
            let found = known.into_iter().find(|status| status.as_str() == text);
            found.ok_or_else(|| wrong(format!("`{text}`")))
        }
        other => Err(wrong(named(&other))),
    }
}

fn read_details(json: &Json, table: &Table) -> Result<Metadata, String> {
    let wrong =
        |found: &str| format!("the handler returned {found} as `details`; a JSON object expected");
    match field(table, "details")? {
        Value::Nil => Ok(Metadata::new()),
        details @ Value::Table(_) => {
            let text = json.encode(&details);
            let text = text.map_err(|error| wrong(&format!("a table ({error})")))?;
            serde_json::from_str(&text).map_err(|_| wrong("an array"))
        }
        other => Err(wrong(&named(&other))),
    }
}

fn read_attachment(entry: &Value) -> Result<Attachment, String> {
    let Value::Table(entry) = entry else {
        return Err(named(entry));
    };
    let Value::String(data) = field(entry, "data")? else {
        return Err("a table without a string `data`".to_owned());
    };
    let media_type = match field(entry, "media_type")? {
        Value::Nil => media_type_of(&data.as_bytes()).to_owned(),
        Value::String(text) => text.to_string_lossy(),
        other => return Err(format!("{} as `media_type`", named(&other))),
    };
    Ok(Attachment::new(media_type, copied(&data)))
}

/// Without running code of the table's.
fn field(table: &Table, name: &str) -> Result<Value, String> {
    table.raw_get(name).map_err(|error| error.to_string())
}

fn copied(text: &LuaString) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// What the first bytes say of those that come without a type.
fn media_type_of(data: &[u8]) -> &'static str {
    match Attachment::image_type(data) {
        Some(image) => image,
        None if data.starts_with(b"%PDF") => "application/pdf",
        None => "application/octet-stream",
    }
}
