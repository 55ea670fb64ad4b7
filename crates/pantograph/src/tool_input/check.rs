//! Whether a text is JSON that decodes, and what kind of value.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// How deep input may nest. Below the limit of `serde_json`, so that it still decodes inside
/// other values.
const MAX_DEPTH: usize = 100;

/// Replaces escapes of surrogates that are not one of a pair. Nothing moves: both escapes have
/// the same length. Looks at backslashes only, since valid JSON has them in strings only.
pub(super) fn repair_surrogates(input: &str) -> Cow<'_, str> {
    // Most inputs have none, and this search is the faster by far.
    if !input.contains("\\u") {
        return Cow::Borrowed(input);
    }
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = input.as_bytes()[at..].iter().position(|&b| b == b'\\') {
        let escape = at + found;
        at = match unit(input, escape) {
            Some(0xd800..=0xdbff) if matches!(unit(input, escape + 6), Some(0xdc00..=0xdfff)) => {
                escape + 12
            }
            Some(0xd800..=0xdfff) => {
                repaired.push_str(&input[copied..escape]);
                repaired.push_str("\\ufffd");
                copied = escape + 6;
                copied
            }
            _ => (escape + 2).min(input.len()),
        };
    }
    if copied == 0 {
        return Cow::Borrowed(input);
    }
    repaired.push_str(&input[copied..]);
    Cow::Owned(repaired)
}

/// The UTF-16 unit that a `\uXXXX` at `offset` stands for.
fn unit(input: &str, offset: usize) -> Option<u16> {
    let hex = input
        .as_bytes()
        .get(offset..offset + 6)?
        .strip_prefix(b"\\u")?;
    hex.iter().try_fold(0, |unit, &digit| {
        Some(unit << 4 | char::from(digit).to_digit(16)? as u16)
    })
}

/// What a whole JSON text is.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Object,
    Null,
    Other(&'static str),
}

/// Decodes a text without keeping anything.
///
/// `RawValue` and `IgnoredAny` check the grammar only: they take numbers out of range and any
/// depth, at which a tool would fail later.
pub(super) fn check(text: &str) -> Result<Kind, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let kind = Check { depth: 0 }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(kind)
}

#[derive(Clone, Copy)]
struct Check {
    depth: usize,
}

impl Check {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(format_args!(
                "more than {MAX_DEPTH} levels of nesting"
            )));
        }
        Ok(Self {
            depth: self.depth + 1,
        })
    }
}

impl<'de> DeserializeSeed<'de> for Check {
    type Value = Kind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Check {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Kind, E> {
        Ok(Kind::Other("a boolean"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Kind, E> {
        Ok(Kind::Other("a number"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Kind, E> {
        Ok(Kind::Other("a number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Kind, E> {
        Ok(Kind::Other("a number"))
    }

    fn visit_str<E>(self, _: &str) -> Result<Kind, E> {
        Ok(Kind::Other("a string"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Kind, A::Error> {
        let inner = self.deeper()?;
        while items.next_element_seed(inner)?.is_some() {}
        Ok(Kind::Other("an array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Kind, A::Error> {
        let inner = self.deeper()?;
        while entries.next_key_seed(inner)?.is_some() {
            entries.next_value_seed(inner)?;
        }
        Ok(Kind::Object)
    }
}
