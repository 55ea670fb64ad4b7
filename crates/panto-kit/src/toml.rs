//! TOML as Lua tables, with the place of what is none.

use mlua::{Lua, Table, Value};
use panto_lua::{Fault, Json};

use crate::position::Position;

/// How many bytes a text may have.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Why a text is no TOML, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct TomlError {
    /// What is wrong, in one line.
    pub message: String,
    /// From 1.
    pub line: usize,
    /// In characters from 1.
    pub column: usize,
}

/// Reads a TOML document. A byte order mark is no part of it.
///
/// # Errors
///
/// [`TomlError`] for what is too long, no UTF-8 or no TOML.
pub fn read(text: &[u8]) -> Result<toml::Table, TomlError> {
    if text.len() > MAX_BYTES {
        let message = format!(
            "{} bytes, of which at most {MAX_BYTES} are read",
            text.len()
        );
        return Err(TomlError::new(text, 0, message));
    }
    let text = match std::str::from_utf8(text) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let message = "bytes that are not UTF-8".to_owned();
            return Err(TomlError::new(text, error.valid_up_to(), message));
        }
    };
    toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        TomlError::new(text.as_bytes(), offset, message)
    })
}

impl TomlError {
    fn new(text: &[u8], offset: usize, message: String) -> Self {
        let Position { line, column } = Position::of(text, offset);
        Self {
            message,
            line,
            column,
        }
    }
}

/// A document as Lua has it: arrays marked as those of `panto.json`, dates and times as text.
pub(crate) fn to_lua(lua: &Lua, json: &Json, table: &toml::Table) -> Result<Value, Fault> {
    let made = lua.create_table()?;
    for (key, value) in table {
        made.raw_set(key.as_str(), value_to_lua(lua, json, value)?)?;
    }
    Ok(Value::Table(made))
}

fn value_to_lua(lua: &Lua, json: &Json, value: &toml::Value) -> Result<Value, Fault> {
    Ok(match value {
        toml::Value::String(text) => Value::String(lua.create_string(text)?),
        toml::Value::Integer(integer) => Value::Integer(*integer),
        toml::Value::Float(float) => Value::Number(*float),
        toml::Value::Boolean(boolean) => Value::Boolean(*boolean),
        toml::Value::Datetime(datetime) => Value::String(lua.create_string(datetime.to_string())?),
        toml::Value::Table(table) => to_lua(lua, json, table)?,
        toml::Value::Array(items) => {
            let list = array(lua, json)?;
            for item in items {
                list.raw_push(value_to_lua(lua, json, item)?)?;
            }
            Value::Table(list)
        }
    })
}

/// An empty table that is marked as an array.
pub(crate) fn array(lua: &Lua, json: &Json) -> Result<Table, Fault> {
    let value = json.value_to_lua(lua, &serde_json::Value::Array(Vec::new()))?;
    match value {
        Value::Table(table) => Ok(table),
        // JSON's empty array is a table.
        _ => Ok(lua.create_table()?),
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, read};

    fn refused(text: impl AsRef<[u8]>) -> String {
        read(text.as_ref()).expect_err("refused").to_string()
    }

    #[test]
    fn a_mistake_has_its_place() {
        insta::assert_snapshot!(refused("a = 1\nb = [1,\n\"ü\", x]\n"), @"line 3, column 6: string values must be quoted, expected literal string");
        insta::assert_snapshot!(refused("a = 1\na = 2"), @"line 2, column 1: duplicate key");
        insta::assert_snapshot!(refused(b"a = \"\xff\""), @"line 1, column 6: bytes that are not UTF-8");
        insta::assert_snapshot!(refused("x".repeat(MAX_BYTES + 1)), @"line 1, column 1: 4194305 bytes, of which at most 4194304 are read");
        assert_eq!(
            read("\u{feff}a = 1".as_bytes()).map(|table| table.len()),
            Ok(1)
        );
    }

    #[test]
    fn deep_nesting_is_refused_and_not_a_crash() {
        let deep = format!("a = {}", "[".repeat(100_000));
        assert!(read(deep.as_bytes()).is_err());
        let keys = vec!["a"; 50_000].join(".");
        let _ = read(format!("{keys} = 1").as_bytes());
    }
}
