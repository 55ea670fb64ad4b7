//! Plain data, as it crosses the border of a sandbox.

use std::collections::BTreeMap;

/// A value that is the same on both sides of the border; always a copy.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Lua's `nil`. In a list it leaves a hole, in a map it is as good as absent.
    Nil,
    /// A truth value.
    Boolean(bool),
    /// A number that Lua keeps as an integer.
    Integer(i64),
    /// A number that Lua keeps as a float.
    Number(f64),
    /// A string: bytes, which need not be UTF-8.
    String(Vec<u8>),
    /// A table with the keys 1 to n.
    List(Vec<Value>),
    /// A table whose keys are strings. An empty table leaves a sandbox as an empty map.
    Map(BTreeMap<Vec<u8>, Value>),
}

impl Value {
    /// The text of a string that is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The entries of a list; an empty table is an empty list too.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(values) => Some(values),
            Self::Map(entries) if entries.is_empty() => Some(&[]),
            _ => None,
        }
    }

    /// What a table has under a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Map(entries) => entries.get(name.as_bytes()),
            _ => None,
        }
    }

    /// The value as JSON. Bytes that are not UTF-8 become replacement characters, and numbers that
    /// are none or infinite become `null`: JSON has neither.
    pub fn to_json(&self) -> serde_json::Value {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self {
            Self::Nil => serde_json::Value::Null,
            Self::Boolean(value) => (*value).into(),
            Self::Integer(value) => (*value).into(),
            Self::Number(value) => (*value).into(),
            Self::String(bytes) => text(bytes).into(),
            Self::List(values) => values.iter().map(Self::to_json).collect(),
            Self::Map(entries) => entries
                .iter()
                .map(|(name, value)| (text(name), value.to_json()))
                .collect(),
        }
    }
}

impl From<&serde_json::Value> for Value {
    /// An integer that Lua has none for becomes a float.
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(value) => Self::Boolean(*value),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(integer) => Self::Integer(integer),
                None => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => text.as_str().into(),
            serde_json::Value::Array(values) => Self::List(values.iter().map(Self::from).collect()),
            serde_json::Value::Object(entries) => Self::Map(
                entries
                    .iter()
                    .map(|(name, value)| (name.clone().into_bytes(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.as_bytes().to_vec())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into_bytes())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_comes_back_as_it_was() {
        let json = serde_json::json!({
            "text": "é", "list": [1, 2.5, true, ["x"]], "none": null, "big": i64::MAX, "object": {},
        });
        assert_eq!(Value::from(&json).to_json(), json);
    }

    #[test]
    fn what_json_lacks_is_replaced() {
        let value = Value::List(vec![
            Value::String(vec![b'a', 0xff]),
            Value::Number(f64::INFINITY),
        ]);
        assert_eq!(value.to_json(), serde_json::json!(["a\u{fffd}", null]));
    }
}
