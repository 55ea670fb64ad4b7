//! Reasoning details: what OpenRouter gives of a model's reasoning, and wants back whole.

use pantograph::RawJson;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The keys that hold text which comes in pieces.
const TEXTS: &[&str] = &["text", "summary"];

/// The details since the last block. Each is kept as it came, but that those that came in
/// pieces are put together.
#[derive(Default)]
pub(super) struct Details {
    items: Vec<Item>,
}

struct Item {
    fields: Map<String, Value>,
    /// As it came, if it came whole.
    raw: Option<Box<str>>,
}

impl Details {
    /// Takes one in; gives the readable text in it.
    pub(super) fn take(&mut self, raw: &RawValue) -> String {
        let Ok(fields) = serde_json::from_str::<Map<String, Value>>(raw.get()) else {
            return String::new();
        };
        let text = TEXTS
            .iter()
            .find_map(|key| fields.get(*key)?.as_str())
            .unwrap_or_default()
            .to_owned();
        match self.items.last_mut() {
            Some(last) if is_piece_of(&last.fields, &fields) => last.add(fields),
            _ => self.items.push(Item {
                fields,
                raw: Some(raw.get().into()),
            }),
        }
        text
    }

    /// The details as one list, which is then empty; `None` if it is.
    pub(super) fn drain(&mut self) -> Option<RawJson> {
        if self.items.is_empty() {
            return None;
        }
        let items: Vec<String> = self
            .items
            .drain(..)
            .map(|item| match item.raw {
                Some(raw) => raw.into(),
                None => Value::Object(item.fields).to_string(),
            })
            .collect();
        RawJson::parse(&format!("[{}]", items.join(","))).ok()
    }
}

impl Item {
    fn add(&mut self, piece: Map<String, Value>) {
        self.raw = None;
        for (key, value) in piece {
            match (self.fields.get_mut(&key), value) {
                (_, Value::Null) => {}
                (Some(Value::String(text)), Value::String(more)) if TEXTS.contains(&&*key) => {
                    text.push_str(&more);
                }
                (_, value) => {
                    self.fields.insert(key, value);
                }
            }
        }
    }
}

/// Whether two details are pieces of one: readable, of one type, under one number. A signature
/// ends it: what is signed must not grow.
fn is_piece_of(last: &Map<String, Value>, next: &Map<String, Value>) -> bool {
    let same = |key: &str| last.get(key) == next.get(key);
    let is_signed = last.get("signature").is_some_and(Value::is_string);
    let is_readable = TEXTS
        .iter()
        .any(|key| last.contains_key(*key) || next.contains_key(*key));
    same("type") && same("index") && is_readable && !is_signed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_together(details: &[&str]) -> String {
        let mut all = Details::default();
        let texts: Vec<String> = details
            .iter()
            .map(|raw| all.take(serde_json::from_str(raw).unwrap()))
            .collect();
        format!("{texts:?}\n{}", all.drain().unwrap().as_str())
    }

    #[test]
    fn pieces_become_one_and_what_came_whole_keeps_its_bytes() {
        let shown = put_together(&[
            r#"{"type":"reasoning.text","text":"Let me","index":0,"signature":null}"#,
            r#"{"type":"reasoning.text","text":" see.","index":0}"#,
            r#"{"type":"reasoning.text","index":0,"signature":"c2ln\/"}"#,
            r#"{ "type":"reasoning.encrypted", "data":"A\/B", "index":1 }"#,
            r#"{"type":"reasoning.encrypted","data":"C","index":1}"#,
        ]);
        insta::assert_snapshot!(shown, @r#"
        ["Let me", " see.", "", "", ""]
        [{"type":"reasoning.text","text":"Let me see.","index":0,"signature":"c2ln/"},{ "type":"reasoning.encrypted", "data":"A\/B", "index":1 },{"type":"reasoning.encrypted","data":"C","index":1}]
        "#);
    }

    #[test]
    fn a_signed_text_does_not_grow() {
        let shown = put_together(&[
            r#"{"type":"reasoning.text","text":"a","signature":"1"}"#,
            r#"{"type":"reasoning.text","text":"b"}"#,
            r#"{"type":"reasoning.summary","summary":"c"}"#,
        ]);
        insta::assert_snapshot!(shown, @r#"
        ["a", "b", "c"]
        [{"type":"reasoning.text","text":"a","signature":"1"},{"type":"reasoning.text","text":"b"},{"type":"reasoning.summary","summary":"c"}]
        "#);
    }
}
