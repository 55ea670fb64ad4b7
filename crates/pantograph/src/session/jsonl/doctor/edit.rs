//! Changing one field of a line, and nothing else.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::ids::MessageId;
use crate::session::jsonl::decode::Text;

/// Where a text stands in a line, counted from 1, in bytes; 1 if nowhere.
pub(super) fn column_of(line: &[u8], text: &str) -> u64 {
    line.windows(text.len())
        .position(|part| part == text.as_bytes())
        .map_or(1, |at| at as u64 + 1)
}

/// The line with one field replaced, all others byte for byte.
pub(super) fn with_field(line: &[u8], field: &str, id: Option<&MessageId>) -> Vec<u8> {
    let value = serde_json::json!(id.map(|id| id.as_str())).to_string();
    let Ok(Fields(fields)) = serde_json::from_slice(line) else {
        return line.to_vec();
    };
    let parts: Vec<String> = fields
        .into_iter()
        .map(|(key, raw)| {
            let raw = if key.0 == field { &value } else { raw.get() };
            format!("{}:{raw}", serde_json::json!(key.0))
        })
        .collect();
    format!("{{{}}}", parts.join(",")).into_bytes()
}

/// A JSON object's fields in order, values as they are written.
struct Fields<'a>(Vec<(Text<'a>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}
