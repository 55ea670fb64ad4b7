//! Thinking, and what it was thought after.
//!
//! The newest models hold each thinking block to what stood before it: the system prompt, the
//! tools and every earlier message. A request with a block behind anything else is refused ("the
//! block is bound to a different conversation"), as it would be after a compaction, with other
//! tools, or beside an instruction that comes and goes. So a block is kept with a [`Prefix`] of the
//! request that it answered, and goes back only behind the same one.
//!
//! Thinking itself does not count, if all that is missing stood before all that is there: what may
//! not be sent takes everything before it along. Neither do marks for the cache, effort and tool
//! choice.
//!
//! Source: platform.claude.com/docs, "Preserved thinking" and "Prefix checks on thinking blocks".

use std::fmt;

use pantograph::RawJson;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// In the place of a [`Prefix`]: the block never goes back.
pub(super) const NEVER: &str = "never";

/// A digest of a request up to some place in it, as it is kept beside thinking. The same on every
/// machine and in every version, since sessions keep it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix(u64);

impl Prefix {
    /// Of nothing.
    pub(super) const fn new() -> Self {
        Self(0x243f_6a88_85a3_08d3)
    }

    /// Goes on with a text, which is told apart from the same text in two.
    pub(super) fn add(&mut self, text: &str) {
        let (words, rest) = text.as_bytes().as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        self.mix(u64::from_le_bytes(last));
        self.mix(text.len() as u64);
    }

    /// Fast, and good enough against chance: nobody gains by a collision.
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64) ^ ((product >> 64) as u64) ^ self.0.rotate_left(23);
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What is kept beside a thinking block, or around one that the provider does not show.
#[derive(Deserialize)]
struct Kept<'a> {
    /// The [`Prefix`] that it was thought after.
    after: &'a str,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
}

/// A block that the provider does not show, byte for byte, with what it was thought after.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Redacted<'a> {
    item: &'a RawValue,
    #[serde(skip)]
    pub(super) after: &'a str,
}

/// What to keep beside a thinking block that was thought `after`.
pub(super) fn note(after: &str) -> Option<RawJson> {
    RawJson::parse(&format!(r#"{{"after":"{after}"}}"#)).ok()
}

/// What to keep of an item that the provider does not show and that was thought `after`.
pub(super) fn wrap(item: &RawJson, after: &str) -> Option<RawJson> {
    RawJson::parse(&format!(
        r#"{{"after":"{after}","item":{}}}"#,
        item.as_str()
    ))
    .ok()
}

/// What a thinking block was thought after, if that was kept.
pub(super) fn noted(note: &RawJson) -> Option<&str> {
    let kept: Kept<'_> = serde_json::from_str(note.as_str()).ok()?;
    Some(kept.after)
}

/// The item, if [`wrap`] made this of one.
pub(super) fn unwrap(raw: &RawJson) -> Option<Redacted<'_>> {
    let kept: Kept<'_> = serde_json::from_str(raw.as_str()).ok()?;
    Some(Redacted {
        item: kept.item?,
        after: kept.after,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> String {
        let mut prefix = Prefix::new();
        texts.iter().for_each(|text| prefix.add(text));
        prefix.to_string()
    }

    #[test]
    fn a_prefix_is_the_same_tomorrow_and_tells_texts_apart() {
        assert_eq!(of(&["system", "Hello, you."]), "d6ba7765d248a0f2");
        let texts: [&[&str]; 8] = [
            &[],
            &[""],
            &["", ""],
            &["\0"],
            &["abcdefgh"],
            &["abcdefgh", ""],
            &["abcdefg", "h"],
            &["abcdefgh\0"],
        ];
        let all: std::collections::HashSet<String> = texts.iter().map(|texts| of(texts)).collect();
        assert_eq!(all.len(), texts.len());
    }

    #[test]
    fn an_item_comes_out_as_it_went_in() {
        let item = r#"{"type":"redacted_thinking",  "data":"Em4KAhgB\/x=="}"#;
        let wrapped = wrap(&RawJson::parse(item).unwrap(), "0123").unwrap();
        let redacted = unwrap(&wrapped).unwrap();
        assert_eq!(redacted.after, "0123");
        assert_eq!(serde_json::to_string(&redacted).unwrap(), item);
        assert!(unwrap(&RawJson::parse(item).unwrap()).is_none());
        assert_eq!(noted(&note(NEVER).unwrap()), Some(NEVER));
    }
}
