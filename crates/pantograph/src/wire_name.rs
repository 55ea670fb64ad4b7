//! Tool names as providers accept them, and back.
//!
//! Providers take 1 to 64 letters, digits, `_` and `-`; one name with a dot makes them refuse
//! the whole request. A protocol makes one [`WireNames`] a request, encodes what it sends and
//! decodes what it hears.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// How long a name may be on the wire.
const MAX_BYTES: usize = 64;

/// How many hexadecimal digits tell apart names that would be the same.
const HASH_DIGITS: usize = 10;

/// The names of one request's tools, both ways.
///
/// A legal name is its own wire name. In any other a dot becomes `__`. If that is not legal, or
/// is the wire name of another tool, a hash of the canonical name follows a cut form of it.
/// The order of the tools does not matter, and a tool that collides with none has the same wire
/// name whatever else there is.
#[derive(Debug, Clone, Default)]
pub struct WireNames {
    by_name: HashMap<Arc<str>, Arc<str>>,
    by_wire: HashMap<Arc<str>, Arc<str>>,
}

impl WireNames {
    /// Names the tools of a request. A name that comes twice counts once.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut wires = Self::default();
        wires.add(names.into_iter().collect());
        wires
    }

    /// The same with names that only the history has, such as tools that an agent no longer has
    /// and names that a model made up. The tools keep their wire names.
    pub fn with_history<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let known = &self.by_name;
        let fresh = names.into_iter().filter(|name| !known.contains_key(*name));
        let fresh = fresh.collect();
        self.add(fresh);
        self
    }

    /// The name for the wire.
    ///
    /// Any text has one. That of a name which was not given beforehand is never the wire name of
    /// one that was, and always the same beside the same names.
    pub fn encode<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        if let Some(wire) = self.by_name.get(name) {
            return Cow::Borrowed(wire);
        }
        if is_legal(name) && self.is_free(name) {
            return Cow::Borrowed(name);
        }
        Cow::Owned(self.free_hashed(name))
    }

    /// The canonical name of what a model calls; `None` if no given name is written so.
    ///
    /// Models copy names from text as well, so a canonical name stands for itself.
    pub fn decode(&self, wire: &str) -> Option<&str> {
        self.by_wire
            .get(wire)
            .or_else(|| self.by_name.get_key_value(wire).map(|(name, _)| name))
            .map(|name| &**name)
    }

    fn add(&mut self, names: BTreeSet<&str>) {
        let (legal, others): (Vec<&str>, Vec<&str>) =
            names.into_iter().partition(|name| is_legal(name));
        let mut hashed = Vec::new();
        for name in legal {
            if self.is_free(name) {
                self.insert(name, name);
            } else {
                hashed.push(name);
            }
        }
        let dotted: Vec<(&str, Option<String>)> = others
            .into_iter()
            .map(|name| (name, dots_encoded(name).filter(|wire| self.is_free(wire))))
            .collect();
        let mut seen = HashSet::new();
        let shared: HashSet<&str> = dotted
            .iter()
            .filter_map(|(_, wire)| wire.as_deref().filter(|wire| !seen.insert(*wire)))
            .collect();
        for (name, wire) in &dotted {
            match wire {
                Some(wire) if !shared.contains(&**wire) => self.insert(name, wire),
                _ => hashed.push(name),
            }
        }
        // The sort keeps the outcome independent of how names got here.
        hashed.sort_unstable();
        for name in hashed {
            let wire = self.free_hashed(name);
            self.insert(name, &wire);
        }
    }

    fn insert(&mut self, name: &str, wire: &str) {
        let name: Arc<str> = Arc::from(name);
        let wire: Arc<str> = if *name == *wire {
            Arc::clone(&name)
        } else {
            Arc::from(wire)
        };
        self.by_wire.insert(Arc::clone(&wire), Arc::clone(&name));
        self.by_name.insert(name, wire);
    }

    fn is_free(&self, wire: &str) -> bool {
        !self.by_wire.contains_key(wire)
    }

    /// The first hashed form that no given name has. A second is needed only beside a tool whose
    /// name was made to look like the first.
    fn free_hashed(&self, name: &str) -> String {
        let mut attempt = 0_u64;
        loop {
            let wire = hashed(name, attempt);
            if self.is_free(&wire) {
                return wire;
            }
            attempt += 1;
        }
    }
}

fn is_legal(name: &str) -> bool {
    (1..=MAX_BYTES).contains(&name.len()) && name.bytes().all(is_legal_byte)
}

fn is_legal_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The name with `__` for each dot, if that is legal.
fn dots_encoded(name: &str) -> Option<String> {
    // Longer names cannot fit; a model can make up one of any size.
    if name.len() > MAX_BYTES {
        return None;
    }
    Some(name.replace('.', "__")).filter(|wire| is_legal(wire))
}

/// A legal name that starts as the given one does and ends with its hash.
fn hashed(name: &str, attempt: u64) -> String {
    let mut wire = String::with_capacity(MAX_BYTES + 2);
    for c in name.chars() {
        if wire.len() > MAX_BYTES {
            break;
        }
        match c {
            '.' => wire.push_str("__"),
            c if c.is_ascii() && is_legal_byte(c as u8) => wire.push(c),
            _ => wire.push('_'),
        }
    }
    wire.truncate(MAX_BYTES - HASH_DIGITS - 1);
    wire.push('_');
    let digest = Sha256::new()
        .chain_update(name)
        .chain_update(attempt.to_le_bytes())
        .finalize();
    for digit in digest
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .take(HASH_DIGITS)
    {
        wire.extend(char::from_digit(u32::from(digit), 16));
    }
    wire
}

#[cfg(test)]
mod tests;
