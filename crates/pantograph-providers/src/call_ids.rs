//! Ids of tool calls as a provider takes them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use pantograph::CallId;
use sha2::{Digest, Sha256};

/// Which ids a provider takes: letters, digits and, unless said otherwise, `_` and `-`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdRule {
    pub(crate) min: usize,
    pub(crate) max: usize,
    pub(crate) punctuation: bool,
}

impl IdRule {
    /// Up to `max` letters, digits, `_` and `-`.
    pub(crate) const fn up_to(max: usize) -> Self {
        Self {
            min: 1,
            max,
            punctuation: true,
        }
    }

    fn allows(self, id: &str) -> bool {
        (self.min..=self.max).contains(&id.len())
            && id.bytes().all(|byte| {
                byte.is_ascii_alphanumeric() || (self.punctuation && matches!(byte, b'_' | b'-'))
            })
    }

    /// An id that this rule allows, made from any other.
    fn hashed(self, id: &str, attempt: u64) -> String {
        let digest = Sha256::new()
            .chain_update(id)
            .chain_update(attempt.to_le_bytes())
            .finalize();
        let mut wire = String::from(if self.punctuation { "call_" } else { "" });
        let length = self.max.clamp(self.min, 32.max(self.min));
        for digit in digest.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
            if wire.len() < length {
                wire.extend(char::from_digit(u32::from(digit), 16));
            }
        }
        wire
    }
}

/// The ids of one request's calls, on the wire.
///
/// An id that the rule allows is its own wire id. Any other gets a hash of itself, so that the
/// same conversation leaves the same bytes every time, and two ids never become one.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallIds {
    changed: HashMap<CallId, Arc<str>>,
}

impl CallIds {
    pub(crate) fn new<'a>(rule: IdRule, ids: impl IntoIterator<Item = &'a CallId>) -> Self {
        let (legal, others): (Vec<&CallId>, Vec<&CallId>) =
            ids.into_iter().partition(|id| rule.allows(id));
        if others.is_empty() {
            return Self::default();
        }
        let mut taken: HashSet<Arc<str>> = legal.into_iter().map(Arc::clone).collect();
        let mut changed = HashMap::new();
        // Sorted, so that the outcome does not depend on where an id stands.
        for id in others.into_iter().collect::<BTreeSet<_>>() {
            let mut attempt = 0;
            let wire = loop {
                let wire: Arc<str> = rule.hashed(id, attempt).into();
                if taken.insert(Arc::clone(&wire)) {
                    break wire;
                }
                attempt += 1;
            };
            changed.insert(Arc::clone(id), wire);
        }
        Self { changed }
    }

    /// The wire id of one of the calls.
    pub(crate) fn get<'a>(&'a self, id: &'a CallId) -> &'a str {
        self.changed.get(id).unwrap_or(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NINE: IdRule = IdRule {
        min: 9,
        max: 9,
        punctuation: false,
    };

    #[test]
    fn only_ids_that_the_rule_refuses_change() {
        let ids: Vec<CallId> = ["toolu_01", "call|fc_1", "", "abcdef123"]
            .map(CallId::from)
            .to_vec();
        let wire = |rule| {
            let map = CallIds::new(rule, &ids);
            ids.iter()
                .map(|id| map.get(id).to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        insta::assert_snapshot!(wire(IdRule::up_to(64)), @"toolu_01 call_6d116dfe9bc834719eb6eebcc50 call_af5570f5a1810b7af78caf4bc70 abcdef123");
        insta::assert_snapshot!(wire(NINE), @"27c7a6580 6d116dfe9 af5570f5a abcdef123");
    }

    #[test]
    fn an_id_that_looks_like_a_hash_keeps_it() {
        let foreign = CallId::from("a b");
        let rule = IdRule::up_to(64);
        let alone = CallIds::new(rule, [&foreign]);
        let twin = CallId::from(alone.get(&foreign));
        let both = CallIds::new(rule, [&foreign, &twin]);
        assert_eq!(both.get(&twin), &*twin);
        assert_ne!(both.get(&foreign), &*twin);
    }

    proptest! {
        #[test]
        fn wire_ids_are_legal_distinct_and_independent_of_order(
            ids in proptest::collection::hash_set(".{0,80}", 0..20),
            nine in any::<bool>(),
        ) {
            let rule = if nine { NINE } else { IdRule::up_to(40) };
            let ids: Vec<CallId> = ids.into_iter().map(CallId::from).collect();
            let forwards = CallIds::new(rule, &ids);
            let backwards = CallIds::new(rule, ids.iter().rev());
            let mut seen = HashSet::new();
            for id in &ids {
                let wire = forwards.get(id);
                prop_assert!(rule.allows(wire), "{wire}");
                prop_assert!(seen.insert(wire.to_owned()));
                prop_assert_eq!(wire, backwards.get(id));
            }
        }
    }
}
