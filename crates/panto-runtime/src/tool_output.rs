//! What a tool's handler may return.

use crate::failure::named;
use mlua::{LuaString, MultiValue, Table, Value};
use pantograph::{Attachment, ToolContent, ToolOutput, ToolStatus};

const EXPECTED: &str = "expected a string, or a table with `text`, `attachments` or both";

/// Reads what a handler returned: text, or `{ text?, attachments? }`.
///
/// # Errors
///
/// What is wrong with anything else, in words for the model and the author.
pub(crate) fn read(values: &MultiValue) -> Result<ToolOutput, String> {
    match values.front().unwrap_or(&Value::Nil) {
        Value::String(text) => Ok(ToolOutput::text(text.to_string_lossy())),
        Value::Table(table) => read_table(table),
        // As Lua functions say that they failed.
        Value::Nil if let Some(Value::String(message)) = values.get(1) => {
            Ok(ToolOutput::error(message.to_string_lossy()))
        }
        other => Err(format!("the handler returned {}; {EXPECTED}", named(other))),
    }
}

fn read_table(table: &Table) -> Result<ToolOutput, String> {
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
        status: ToolStatus::Ok,
        content,
    })
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
