//! What a source file returns: extensions, and tools.

use std::path::PathBuf;

use mlua::{Function, Table, Value};

use crate::extensions::{LayerName, Rank};

/// An extension that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: PathBuf,
    /// Whose it is.
    pub layer: LayerName,
    /// What became of it.
    pub status: ExtensionStatus,
}

/// What became of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtensionStatus {
    /// It is active.
    Active,
    /// Another one of its name is, from the file that is named.
    Shadowed(PathBuf),
    /// The configuration keeps it out.
    Denied,
    /// It failed; why.
    Failed(String),
}

/// An entry that a source returned.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) file: PathBuf,
    pub(super) layer: LayerName,
    pub(super) rank: Rank,
    pub(super) does: Does,
}

pub(super) enum Does {
    Activate(Function),
    /// One tool, as `register_tool` takes it.
    Tool(Table),
}

const SHAPES: &str = "expected `{ name, activate }`, `{ name, description, schema, handler }`, \
                      or a list of these";

/// Reads what a source returned: each entry's name and what it does.
///
/// # Errors
///
/// What is wrong with it, in words for its author.
pub(super) fn read(returned: &Value) -> Result<Vec<(String, Does)>, String> {
    let Value::Table(table) = returned else {
        return Err(format!("it returned {}; {SHAPES}", named(returned)));
    };
    let is_entry = ["name", "activate", "handler"]
        .iter()
        .any(|key| !matches!(get(table, key), Value::Nil));
    if is_entry {
        return Ok(vec![entry(table)?]);
    }
    let length = table.raw_len();
    if length == 0 {
        let is_empty = table.is_empty();
        return if is_empty {
            Ok(Vec::new())
        } else {
            Err(format!("it returned a table without `name`; {SHAPES}"))
        };
    }
    (1..=length)
        .map(|position| match table.raw_get(position) {
            Ok(Value::Table(table)) => {
                entry(&table).map_err(|wrong| format!("entry {position}: {wrong}"))
            }
            Ok(other) => Err(format!("entry {position} is {}; {SHAPES}", named(&other))),
            Err(error) => Err(error.to_string()),
        })
        .collect()
}

fn entry(table: &Table) -> Result<(String, Does), String> {
    let name = match get(table, "name") {
        Value::String(name) => name.to_string_lossy(),
        Value::Nil => return Err(format!("it has no `name`; {SHAPES}")),
        other => return Err(format!("its `name` is {}, not text", named(&other))),
    };
    if name.trim().is_empty() || name.chars().any(char::is_control) || name.len() > 100 {
        return Err("its `name` is blank, too long, or has control characters".to_owned());
    }
    let does = match (get(table, "activate"), get(table, "handler")) {
        (Value::Function(activate), Value::Nil) => Does::Activate(activate),
        (Value::Nil, Value::Function(_)) => Does::Tool(table.clone()),
        (Value::Nil, Value::Nil) => {
            return Err(format!(
                "`{name}` has neither `activate` nor `handler`; {SHAPES}"
            ));
        }
        (Value::Nil, other) => {
            return Err(format!(
                "`handler` of `{name}` is {}, not a function",
                named(&other)
            ));
        }
        (Value::Function(_), _) => {
            return Err(format!(
                "`{name}` has both `activate` and `handler`; {SHAPES}"
            ));
        }
        (other, _) => {
            return Err(format!(
                "`activate` of `{name}` is {}, not a function",
                named(&other)
            ));
        }
    };
    Ok((name, does))
}

/// Without running code of the table's.
fn get(table: &Table, key: &str) -> Value {
    table.raw_get(key).unwrap_or(Value::Nil)
}

fn named(value: &Value) -> String {
    match value {
        Value::Nil => "nothing".to_owned(),
        Value::Integer(_) => "a number".to_owned(),
        other => format!("a {}", other.type_name()),
    }
}
