//! `panto.json`: JSON text to Lua values and back, without loss.
//!
//! Lua knows no arrays and no null: `json.array` marks a table as an array, and `json.null` is
//! null. Integers are exact over all 64 bits; a number that no Lua number holds is kept as text.
//! What JSON cannot say (NaN, functions, tables with mixed or sparse keys, text that is not
//! UTF-8) is an error that names the path to it.

mod decode;
mod encode;
mod number;

use std::fmt;

use mlua::{Lua, LuaString, Table, Value};

use decode::decode;
use encode::encode;
use number::BigNumber;

use crate::args::Arg;
use crate::fault::{Fault, values};
use crate::shim::Shim;

/// How deep arrays and objects may nest.
const MAX_DEPTH: usize = 128;
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Why a text or a value is none of JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError(String);

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for JsonError {}

/// JSON in one Lua state, without loss. Clones share its marks.
#[derive(Clone)]
pub struct Json {
    /// The metatable that marks a table as an array.
    array: Table,
}

impl Json {
    /// How many bytes a text may have, in either direction.
    pub const MAX_BYTES: usize = MAX_BYTES;

    pub(crate) fn new(lua: &Lua) -> mlua::Result<Self> {
        let array = lua.create_table()?;
        array.raw_set("__name", "panto.json.array")?;
        array.raw_set("__metatable", "panto.json.array")?;
        Ok(Self { array })
    }

    /// Reads one JSON value.
    ///
    /// # Errors
    ///
    /// Where the text stops being JSON.
    pub fn decode(&self, lua: &Lua, text: &[u8]) -> Result<Value, JsonError> {
        decode(lua, self, text)
    }

    /// Writes one JSON value.
    ///
    /// # Errors
    ///
    /// The path to what JSON cannot say.
    pub fn encode(&self, value: &Value) -> Result<String, JsonError> {
        encode(self, value)
    }

    /// A JSON value as Lua has it.
    ///
    /// # Errors
    ///
    /// Lua is out of memory, or the value is larger than what [`Json::decode`] reads.
    pub fn value_to_lua(&self, lua: &Lua, value: &serde_json::Value) -> Result<Value, Fault> {
        self.text_to_lua(lua, &value.to_string())
    }

    /// A JSON object as Lua has it.
    ///
    /// # Errors
    ///
    /// As [`Json::value_to_lua`].
    pub fn object_to_lua(
        &self,
        lua: &Lua,
        object: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<Value, Fault> {
        // Writing a map of JSON values cannot fail.
        let text = serde_json::to_string(object).unwrap_or_default();
        self.text_to_lua(lua, &text)
    }

    fn text_to_lua(&self, lua: &Lua, text: &str) -> Result<Value, Fault> {
        self.decode(lua, text.as_bytes())
            .map_err(|error| Fault::expected(error.to_string()))
    }

    /// An argument as a JSON value.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn argument(&self, argument: &Arg) -> Result<serde_json::Value, Fault> {
        let text = encode(self, &argument.value).map_err(|error| argument.wrong(error))?;
        serde_json::from_str(&text).map_err(|error| argument.wrong(error))
    }

    /// An argument that must be a JSON object; an empty table is one.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn object_argument(
        &self,
        argument: &Arg,
    ) -> Result<serde_json::Map<String, serde_json::Value>, Fault> {
        argument.table()?;
        match self.argument(argument)? {
            serde_json::Value::Object(object) => Ok(object),
            _ => Err(argument.wrong("a JSON object expected, got an array")),
        }
    }

    /// Whether a table was marked as an array.
    fn is_array(&self, table: &Table) -> bool {
        table.metatable().is_some_and(|mark| mark == self.array)
    }

    /// Marks a table as an array.
    ///
    /// # Errors
    ///
    /// Lua has no memory left.
    pub fn mark(&self, table: &Table) -> mlua::Result<()> {
        table.set_metatable(Some(self.array.clone()))
    }

    /// The table `panto.json`.
    pub(crate) fn module(&self, lua: &Lua, shim: &Shim) -> mlua::Result<Table> {
        let table = lua.create_table()?;
        let json = self.clone();
        table.raw_set(
            "decode",
            shim.function(lua, "decode", move |lua, mut args| {
                let text: LuaString = args.next("text").string()?.clone();
                match decode(lua, &json, &text.as_bytes()) {
                    Ok(value) => values(lua, value),
                    Err(error) => Err(Fault::expected(error.to_string())),
                }
            })?,
        )?;
        let json = self.clone();
        table.raw_set(
            "encode",
            shim.function(lua, "encode", move |lua, mut args| {
                let value = args.next("value");
                if value.value.is_nil() {
                    return Err(value.wrong("value expected, got nil; null is `json.null`"));
                }
                match encode(&json, &value.value) {
                    Ok(text) => values(lua, text),
                    Err(error) => Err(Fault::expected(error.to_string())),
                }
            })?,
        )?;
        let json = self.clone();
        table.raw_set(
            "array",
            shim.function(lua, "array", move |lua, mut args| {
                let argument = args.next("table");
                if argument.value.is_nil() {
                    let table = lua.create_table()?;
                    json.mark(&table)?;
                    return values(lua, table);
                }
                let table = argument.table()?;
                if table.has_metatable() && !json.is_array(table) {
                    return Err(argument.wrong("the table has a metatable already"));
                }
                json.mark(table)?;
                values(lua, table)
            })?,
        )?;
        table.raw_set(
            "number",
            shim.function(lua, "number", |lua, mut args| {
                let text = args.next("text");
                match BigNumber::parse(&text.text()?) {
                    Some(number) => values(lua, number),
                    None => Err(text.wrong("not a JSON number")),
                }
            })?,
        )?;
        table.raw_set("null", Value::NULL)?;
        Ok(table)
    }
}

/// Where in a value something is: `.name[3]`. At the top it is empty.
#[derive(Debug, Default)]
struct Path(Vec<Step>);

#[derive(Debug)]
enum Step {
    Key(String),
    /// Counted from 1.
    Position(usize),
}

/// How many steps of a long path are shown at each end.
const SHOWN: usize = 8;

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("the value");
        }
        for (depth, step) in self.0.iter().enumerate() {
            // The middle of a long path says little.
            if depth == SHOWN && self.0.len() > 2 * SHOWN {
                f.write_str(" … ")?;
            }
            if (SHOWN..self.0.len().saturating_sub(SHOWN)).contains(&depth) {
                continue;
            }
            let plain = |key: &str| {
                let named = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
                !key.is_empty() && key.len() <= 64 && key.bytes().all(named)
            };
            match step {
                Step::Position(position) => write!(f, "[{position}]")?,
                Step::Key(key) if plain(key) && depth == 0 => f.write_str(key)?,
                Step::Key(key) if plain(key) => write!(f, ".{key}")?,
                Step::Key(key) => write!(f, "[{:?}]", shortened(key))?,
            }
        }
        Ok(())
    }
}

/// A key as it is shown in a path.
fn shortened(key: &str) -> &str {
    &key[..key.floor_char_boundary(64)]
}
