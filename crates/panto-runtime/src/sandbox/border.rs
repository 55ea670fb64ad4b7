//! Copies values over the border of a Lua state, without running any of its code: tables are read
//! and written raw.

use std::collections::BTreeMap;

use mlua::{Lua, MultiValue};

use super::budget::Budget;
use super::value::Value;

/// How deep tables may nest on their way out; one that holds itself is as deep as it gets.
const DEEPEST: usize = 64;

/// What each value counts of the output, beside its text.
const VALUE_BYTES: usize = 32;

/// How long the place of a value may be in a message.
const LONGEST_PLACE: usize = 60;

/// Copies values out, or says which of them cannot leave.
pub(super) fn outward(values: &MultiValue, budget: &Budget) -> Result<Vec<Value>, String> {
    let several = values.len() > 1;
    values
        .iter()
        .enumerate()
        .map(|(index, value)| {
            leaving(value, budget, 0).map_err(|refusal| {
                let place = if several {
                    format!("value {}{}", index + 1, refusal.place)
                } else {
                    format!("the value{}", refusal.place)
                };
                format!("{place}: {}", refusal.reason)
            })
        })
        .collect()
}

/// Why a value cannot leave, and where in its table it stands.
struct Refusal {
    place: String,
    reason: String,
}

impl Refusal {
    fn new(reason: impl Into<String>) -> Self {
        Self {
            place: String::new(),
            reason: reason.into(),
        }
    }

    fn inside(mut self, key: &str) -> Self {
        // Of a table that holds itself the innermost few names say enough.
        if self.place.len() < LONGEST_PLACE {
            self.place.insert_str(0, key);
        } else if !self.place.starts_with('…') {
            self.place.insert(0, '…');
        }
        self
    }
}

fn leaving(value: &mlua::Value, budget: &Budget, depth: usize) -> Result<Value, Refusal> {
    let text_bytes = match value {
        mlua::Value::String(text) => text.as_bytes().len(),
        _ => 0,
    };
    budget.spend(1 + text_bytes as u64 / 64);
    if !budget.spend_output(VALUE_BYTES + text_bytes) {
        let most = budget.limits().output;
        return Err(Refusal::new(format!(
            "more than the {most} bytes that may leave at once"
        )));
    }
    Ok(match value {
        mlua::Value::Nil => Value::Nil,
        mlua::Value::Boolean(value) => Value::Boolean(*value),
        mlua::Value::Integer(value) => Value::Integer(*value),
        mlua::Value::Number(value) => Value::Number(*value),
        mlua::Value::String(text) => Value::String(text.as_bytes().to_vec()),
        mlua::Value::Table(_) if depth == DEEPEST => {
            return Err(Refusal::new(format!(
                "tables nest deeper than {DEEPEST}, or hold themselves"
            )));
        }
        mlua::Value::Table(table) => leaving_table(table, budget, depth)?,
        other => {
            return Err(Refusal::new(format!(
                "a {} cannot leave the sandbox",
                other.type_name()
            )));
        }
    })
}

fn leaving_table(table: &mlua::Table, budget: &Budget, depth: usize) -> Result<Value, Refusal> {
    let mut numbered = BTreeMap::new();
    let mut named = BTreeMap::new();
    for pair in table.pairs::<mlua::Value, mlua::Value>() {
        let (key, value) =
            pair.map_err(|_| Refusal::new("the table cannot be read: memory ran out"))?;
        match key {
            mlua::Value::Integer(index) => {
                let value = leaving(&value, budget, depth + 1)
                    .map_err(|refusal| refusal.inside(&format!("[{index}]")))?;
                numbered.insert(index, value);
            }
            mlua::Value::String(name) => {
                let value = leaving(&value, budget, depth + 1)
                    .map_err(|refusal| refusal.inside(&format!(".{}", name.display())))?;
                if !budget.spend_output(name.as_bytes().len()) {
                    return Err(Refusal::new("its names are larger than what may leave"));
                }
                named.insert(name.as_bytes().to_vec(), value);
            }
            other => {
                return Err(Refusal::new(format!(
                    "a {} as a key cannot leave the sandbox",
                    other.type_name()
                )));
            }
        }
    }
    if numbered.is_empty() {
        return Ok(Value::Map(named));
    }
    if !named.is_empty() {
        return Err(Refusal::new(
            "a table with names and list entries cannot leave the sandbox",
        ));
    }
    if !numbered.keys().copied().eq(1..=numbered.len() as i64) {
        return Err(Refusal::new("a list with holes cannot leave the sandbox"));
    }
    Ok(Value::List(numbered.into_values().collect()))
}

/// Copies a value in.
///
/// # Errors
///
/// That the sandbox's memory does not hold it.
pub(super) fn inward(lua: &Lua, value: &Value, budget: &Budget) -> mlua::Result<mlua::Value> {
    budget.spend(1);
    Ok(match value {
        Value::Nil => mlua::Value::Nil,
        Value::Boolean(value) => mlua::Value::Boolean(*value),
        Value::Integer(value) => mlua::Value::Integer(*value),
        Value::Number(value) => mlua::Value::Number(*value),
        Value::String(bytes) => mlua::Value::String(lua.create_string(bytes)?),
        Value::List(values) => {
            let table = lua.create_table_with_capacity(values.len(), 0)?;
            for (index, value) in values.iter().enumerate() {
                table.raw_set(index + 1, inward(lua, value, budget)?)?;
            }
            mlua::Value::Table(table)
        }
        Value::Map(entries) => {
            let table = lua.create_table_with_capacity(0, entries.len())?;
            for (name, value) in entries {
                table.raw_set(lua.create_string(name)?, inward(lua, value, budget)?)?;
            }
            mlua::Value::Table(table)
        }
    })
}

/// Copies several values in.
pub(super) fn all_inward(lua: &Lua, values: &[Value], budget: &Budget) -> mlua::Result<MultiValue> {
    values
        .iter()
        .map(|value| inward(lua, value, budget))
        .collect()
}
