//! What each API refuses, as its documentation and its own error messages have it.
//!
//! A validator takes a body and gives every refusal that the API would have for it, in the API's
//! words where they are known. They know nothing of how requests are made here.

pub(crate) mod anthropic;
pub(crate) mod google_generate;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
mod schema;

use std::fmt::Display;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The refusals of one body.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Vec<String>);

impl Refusals {
    /// Refuses unless `condition` holds.
    fn unless(&mut self, condition: bool, refusal: impl Display) {
        if !condition {
            self.0.push(refusal.to_string());
        }
    }

    pub(crate) fn into_vec(self) -> Vec<String> {
        self.0
    }
}

/// What a provider gives with its own items, and knows again: only `model` signs so.
pub(crate) fn sign(model: &str, what: &str) -> String {
    let digest = Sha256::new()
        .chain_update(model)
        .chain_update([0])
        .chain_update(what)
        .finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether nobody finds anything in a text: Python's white space is more than Unicode's.
fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}' | '\u{feff}'))
}

/// Whether a text is `min` to `max` of these characters.
fn matches(text: &str, allowed: &str, min: usize, max: usize) -> bool {
    (min..=max).contains(&text.len())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || allowed.contains(c))
}

/// The text of a field, or nothing.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The items of a field that may be missing.
fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// The keys of an object that are not among the known.
fn unknown<'a>(value: &'a Value, known: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let keys = value
        .as_object()
        .into_iter()
        .flat_map(|object| object.keys());
    keys.map(String::as_str).filter(|key| !known.contains(key))
}

/// Every text anywhere in a value, keys too.
fn each_text<'a>(value: &'a Value, visit: &mut impl FnMut(&'a str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, visit)),
        Value::Object(object) => {
            for (key, value) in object {
                visit(key);
                each_text(value, visit);
            }
        }
        _ => {}
    }
}

/// Bytes of base64, if it is such with padding.
fn base64(data: &str) -> Option<Vec<u8>> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(data).ok()
}

/// What image the bytes are.
fn image_type(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', ..] => "image/webp",
        _ => "unknown",
    }
}
