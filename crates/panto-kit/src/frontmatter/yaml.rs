//! Strict YAML into values that are text as it was written.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_yaml::{DuplicateKeyPolicy, Location, NonFiniteFloatPolicy, Options, Spanned};

use super::fences::Block;
use super::lines::Place;
use super::words::clean;
use super::{Code, Data, Notes};

const MAX_DEPTH: usize = 16;

/// Why YAML refuses a block, and where in the block, both from 1.
pub(super) struct Refused {
    pub(super) message: String,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// What a block is as YAML.
pub(super) enum Parsed {
    /// Nothing but comments.
    Empty,
    Map(Vec<(String, Data)>),
    /// Something without keys.
    Other,
}

/// Parses a block; what was odd in it is noted only if it is YAML.
pub(super) fn parse(block: &Block<'_>, notes: &mut Notes) -> Result<Parsed, Refused> {
    let raw: Spanned<Raw> = serde_yaml::from_str_with_options(block.text, options())
        .map_err(|error| Refused::new(&error))?;
    let mut reader = Reader { block, notes };
    Ok(match raw.value {
        Raw::Null => Parsed::Empty,
        Raw::Map(pairs) => Parsed::Map(reader.pairs(pairs)),
        _ => Parsed::Other,
    })
}

impl Refused {
    fn new(error: &serde_yaml::Error) -> Self {
        let location = error.location().unwrap_or(Location::UNKNOWN);
        let count = |n: u64| usize::try_from(n).unwrap_or(1).max(1);
        let message = error.without_snippet().to_string();
        let line = message.lines().next().unwrap_or_default();
        // The place is told apart, as one of the whole text.
        let line = line.rfind(" at line ").map_or(line, |end| &line[..end]);
        Self {
            message: line.chars().filter(|c| !c.is_control()).take(200).collect(),
            line: count(location.line()),
            column: count(location.column()),
        }
    }
}

fn options() -> Options {
    serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_events: 8_000,
            max_nodes: 4_000,
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_aliases: 64,
            max_anchors: 64,
            max_recorded_anchor_events: 2_000,
            max_recorded_anchor_bytes: 256 * 1024,
            max_total_scalar_bytes: 256 * 1024,
            max_documents: 1,
            max_merge_keys: 16,
        },
        with_snippet: false,
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        ignore_binary_tag_for_string: true,
        alias_limits: serde_yaml::alias_limits! {
            max_total_replayed_events: 2_000,
            max_replay_stack_depth: MAX_DEPTH,
            max_alias_expansions_per_anchor: 64,
        },
    }
}

/// A node as the parser gives it.
enum Raw {
    Null,
    /// Quoted, or plain and nothing else than text.
    Text(String),
    /// What the parser takes for a boolean or a number, in its words.
    Typed(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Nodes)
    }
}

struct Nodes;

macro_rules! typed {
    ($($name:ident: $type:ty),*) => {
        $(fn $name<E>(self, value: $type) -> Result<Raw, E> {
            Ok(Raw::Typed(value.to_string()))
        })*
    };
}

impl<'de> Visitor<'de> for Nodes {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML")
    }

    typed!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128, visit_f64: f64);

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            if pairs.len() >= 4_000 {
                return Err(A::Error::custom("too many keys"));
            }
            pairs.push(pair);
        }
        Ok(Raw::Map(pairs))
    }
}

/// Makes values of nodes.
struct Reader<'a, 'b> {
    block: &'a Block<'b>,
    notes: &'a mut Notes,
}

impl Reader<'_, '_> {
    fn pairs(&mut self, raw: Vec<(Spanned<Raw>, Spanned<Raw>)>) -> Vec<(String, Data)> {
        let mut pairs: Vec<(String, Data)> = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        for (key, value) in raw {
            let place = self.place(&key);
            let Some(key) = self.key(key) else {
                continue;
            };
            if seen.contains(&key) {
                let message = format!("`{key}` is there twice; this one counts");
                self.notes.warning(Code::DuplicateKey, place, message);
                pairs.retain(|(known, _)| *known != key);
            } else {
                seen.push(key.clone());
            }
            if let Some(value) = self.value(value) {
                pairs.push((key, value));
            }
        }
        pairs
    }

    fn key(&mut self, key: Spanned<Raw>) -> Option<String> {
        let place = self.place(&key);
        let written = self.written(&key);
        match key.value {
            Raw::Text(text) => Some(clean(text, place, self.notes)),
            Raw::Typed(text) => Some(written.unwrap_or(text)),
            _ => {
                let message = "a key that is no text; it is left out";
                self.notes.warning(Code::OddKey, place, message);
                None
            }
        }
    }

    fn value(&mut self, raw: Spanned<Raw>) -> Option<Data> {
        let place = self.place(&raw);
        let written = self.written(&raw);
        self.tag(&raw);
        match raw.value {
            Raw::Null => None,
            Raw::Text(text) => Some(Data::Text(clean(text, place, self.notes))),
            Raw::Typed(text) => Some(self.typed(written.unwrap_or(text), place)),
            Raw::List(items) => {
                let items = items.into_iter();
                Some(Data::List(
                    items.filter_map(|item| self.value(item)).collect(),
                ))
            }
            Raw::Map(pairs) => Some(Data::Map(self.pairs(pairs))),
        }
    }

    /// A plain scalar that is not only text.
    fn typed(&mut self, written: String, place: Place) -> Data {
        match written.as_str() {
            "true" => return Data::Boolean(true),
            "false" => return Data::Boolean(false),
            _ => {}
        }
        if let Ok(integer) = written.parse::<i64>()
            && integer.to_string() == written
        {
            return Data::Integer(integer);
        }
        let message = format!("`{written}` is taken as text; quotes would say so");
        self.notes.info(Code::Type, place, message);
        Data::Text(written)
    }

    /// The scalar as it stands in the text.
    fn written(&self, node: &Spanned<Raw>) -> Option<String> {
        let span = node.defined.span();
        let start = usize::try_from(span.byte_offset()?).ok()?;
        let len = usize::try_from(span.byte_len()?).ok()?;
        let text = self.block.text.get(start..start.checked_add(len)?)?.trim();
        let is_plain = !text.is_empty() && !text.starts_with(['"', '\'', '!', '&', '|', '>']);
        is_plain.then(|| text.to_owned())
    }

    /// Says that a tag means nothing here.
    fn tag(&mut self, node: &Spanned<Raw>) {
        let span = node.defined.span();
        let start = span.byte_offset().and_then(|at| usize::try_from(at).ok());
        let Some(text) = start.and_then(|at| Some((at, self.block.text.get(..at)?))) else {
            return;
        };
        let (at, before) = text;
        let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
        let here = self.block.text.get(at..).unwrap_or_default();
        let word = match line.split_whitespace().next_back() {
            Some(word) if word.starts_with('!') => word,
            _ if here.starts_with('!') => here.split_whitespace().next().unwrap_or_default(),
            _ => return,
        };
        if matches!(word, "!" | "!!str" | "!!seq" | "!!map" | "!!int" | "!!bool") {
            return;
        }
        let word: String = word.chars().filter(|c| !c.is_control()).take(60).collect();
        let place = self.place(node);
        let message = format!("the tag `{word}` means nothing here");
        self.notes.warning(Code::Tag, place, message);
    }

    fn place(&self, node: &Spanned<Raw>) -> Place {
        let count = |n: u64| usize::try_from(n).unwrap_or(1).max(1);
        let location = node.referenced;
        self.block
            .place(count(location.line()), count(location.column()))
    }
}
