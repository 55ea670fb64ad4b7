//! Lua values to JSON text. Keys are sorted: the same value always gives the same text.

use std::fmt::{Display, Write};

use mlua::{Table, Value};

use super::number::BigNumber;
use super::{Json, JsonError, MAX_BYTES, MAX_DEPTH, Path, Step};

/// Writes one JSON value.
pub(super) fn encode(json: &Json, value: &Value) -> Result<String, JsonError> {
    let mut encoder = Encoder {
        json,
        out: String::new(),
        path: Path::default(),
    };
    encoder.value(value)?;
    Ok(encoder.out)
}

struct Encoder<'a> {
    json: &'a Json,
    out: String,
    path: Path,
}

/// What a table is in JSON.
enum Shape {
    Array(usize),
    /// With the keys in order.
    Object(Vec<(String, Value)>),
}

impl Encoder<'_> {
    fn value(&mut self, value: &Value) -> Result<(), JsonError> {
        match value {
            Value::Nil => return Err(self.wrong("is nil; null is `json.null`")),
            Value::Boolean(true) => self.out.push_str("true"),
            Value::Boolean(false) => self.out.push_str("false"),
            Value::Integer(integer) => self.display(integer),
            Value::Number(number) if number.is_finite() => self.debug(*number),
            Value::Number(number) => {
                return Err(self.wrong(format_args!("is {number}, which JSON cannot say")));
            }
            Value::String(string) => match string.to_str() {
                Ok(text) if text.len() > MAX_BYTES => return Err(too_long()),
                Ok(text) => self.string(&text),
                Err(_) => return Err(self.wrong("is a string that is not UTF-8")),
            },
            Value::Table(table) => self.table(table)?,
            value if value.is_null() => self.out.push_str("null"),
            Value::UserData(userdata) => match userdata.borrow::<BigNumber>() {
                Ok(number) => self.out.push_str(number.as_str()),
                Err(_) => return Err(self.wrong("is a userdata, which JSON cannot say")),
            },
            other => {
                let kind = other.type_name();
                return Err(self.wrong(format_args!("is a {kind}, which JSON cannot say")));
            }
        }
        if self.out.len() > MAX_BYTES {
            return Err(too_long());
        }
        Ok(())
    }

    fn table(&mut self, table: &Table) -> Result<(), JsonError> {
        if self.path.0.len() >= MAX_DEPTH {
            return Err(self.wrong(format_args!(
                "is nested deeper than {MAX_DEPTH} levels, or contains itself"
            )));
        }
        match self.shape(table)? {
            Shape::Array(len) => {
                self.out.push('[');
                for position in 1..=len {
                    if position > 1 {
                        self.out.push(',');
                    }
                    let element: Value = table
                        .raw_get(position)
                        .map_err(|error| self.wrong(crate::fault::error_text(&error)))?;
                    self.inside(Step::Position(position), &element)?;
                }
                self.out.push(']');
            }
            Shape::Object(fields) => {
                self.out.push('{');
                for (count, (key, value)) in fields.into_iter().enumerate() {
                    if count > 0 {
                        self.out.push(',');
                    }
                    self.string(&key);
                    self.out.push(':');
                    self.inside(Step::Key(key), &value)?;
                }
                self.out.push('}');
            }
        }
        Ok(())
    }

    fn inside(&mut self, step: Step, value: &Value) -> Result<(), JsonError> {
        self.path.0.push(step);
        self.value(value)?;
        self.path.0.pop();
        Ok(())
    }

    /// Looks at the keys alone, without metamethods.
    fn shape(&self, table: &Table) -> Result<Shape, JsonError> {
        let len = table.raw_len();
        let mut positions = 0;
        let mut fields = Vec::new();
        let mut wrong = None;
        let seen = table.for_each(|key: Value, value: Value| {
            match &key {
                Value::Integer(position) if usize::try_from(*position).is_ok_and(|at| at >= 1) => {
                    positions += 1;
                }
                Value::String(key) => match key.to_str() {
                    Ok(key) => fields.push((key.to_owned(), value)),
                    Err(_) => wrong = Some("has a key that is not UTF-8".to_owned()),
                },
                other => {
                    wrong = Some(format!(
                        "has a key that is neither a string nor a position: {}",
                        key_text(other)
                    ));
                }
            }
            Ok(())
        });
        seen.map_err(|error| self.wrong(crate::fault::error_text(&error)))?;
        if let Some(wrong) = wrong {
            return Err(self.wrong(wrong));
        }
        if positions > 0 && !fields.is_empty() {
            return Err(self.wrong("has both positions and names as keys"));
        }
        if positions != len {
            return Err(self.wrong(format_args!(
                "is a list with holes; an empty place is `json.null`"
            )));
        }
        if positions > 0 {
            return Ok(Shape::Array(positions));
        }
        if self.json.is_array(table) {
            return match fields.is_empty() {
                true => Ok(Shape::Array(0)),
                false => Err(self.wrong("is marked as an array and has names as keys")),
            };
        }
        fields.sort_by(|(left, _), (right, _)| left.cmp(right));
        Ok(Shape::Object(fields))
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        let mut rest = text;
        let special = |c: char| matches!(c, '"' | '\\' | '\0'..='\x1f' | '\x7f');
        while let Some(at) = rest.find(special) {
            self.out.push_str(&rest[..at]);
            // What was found is ASCII, one byte long.
            match rest.as_bytes()[at] {
                b'"' => self.out.push_str("\\\""),
                b'\\' => self.out.push_str("\\\\"),
                b'\n' => self.out.push_str("\\n"),
                b'\r' => self.out.push_str("\\r"),
                b'\t' => self.out.push_str("\\t"),
                byte => self.display(format_args!("\\u{byte:04x}")),
            }
            rest = &rest[at + 1..];
        }
        self.out.push_str(rest);
        self.out.push('"');
    }

    fn display(&mut self, value: impl Display) {
        // Writing to a `String` cannot fail.
        let _ = write!(self.out, "{value}");
    }

    /// The shortest text that reads back as the same float, and as a float.
    fn debug(&mut self, number: f64) {
        let _ = write!(self.out, "{number:?}");
    }

    fn wrong(&self, what: impl Display) -> JsonError {
        JsonError(format!("{} {what}", self.path))
    }
}

fn too_long() -> JsonError {
    JsonError(format!("the text would have more than {MAX_BYTES} bytes"))
}

fn key_text(key: &Value) -> String {
    match key {
        Value::Integer(key) => key.to_string(),
        Value::Number(key) => key.to_string(),
        Value::Boolean(key) => key.to_string(),
        other => format!("a {}", other.type_name()),
    }
}
