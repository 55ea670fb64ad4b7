//! How much work a check is, before it is done: references can make a short schema take for ever,
//! or nest deeper than a stack is.
//!
//! The work is that of the validator: each pair of a subschema and a part of the value, as often
//! as it is met. What cannot be known exactly counts too high rather than too low.

use std::collections::HashMap;
use std::ptr;

use serde_json::Value;

/// How many pairs may be met. Each takes microseconds at most.
const MAX_MEETINGS: u64 = 500_000;

/// How many different pairs are looked at.
const MAX_PAIRS: usize = 500_000;

/// How deep subschemas may be in each other, references followed.
const MAX_DEPTH: usize = 50_000;

/// How many subschemas may have names of their own.
const MAX_NAMED: usize = 64;

/// A check would take too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

/// The size of a JSON value.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    pub(super) nodes: usize,
    pub(super) depth: usize,
    /// Keys that are `$ref` or of its kind.
    pub(super) references: usize,
}

impl Size {
    pub(super) fn of(value: &Value) -> Self {
        let parts: Vec<&Value> = match value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(members) => members.values().collect(),
            _ => Vec::new(),
        };
        let references = match value {
            Value::Object(members) => members.keys().filter(|key| is_reference(key)).count(),
            _ => 0,
        };
        let mut size = Size {
            nodes: 1,
            depth: 0,
            references,
        };
        for part in parts {
            let part = Size::of(part);
            size.nodes += part.nodes;
            size.references += part.references;
            size.depth = size.depth.max(part.depth);
        }
        size.depth += 1;
        size
    }

    /// How deep a check of a value of the size `value` can nest, at most.
    pub(super) fn deepest(self, value: Size) -> usize {
        match self.references {
            0 => self.depth,
            references => (references + 1)
                .saturating_mul(self.depth)
                .saturating_mul(value.depth),
        }
    }

    /// Whether a check is certainly short.
    pub(super) fn is_small(self, value: Size) -> bool {
        self.references == 0 && self.nodes.saturating_mul(value.nodes) < 1_000_000
    }
}

fn is_reference(key: &str) -> bool {
    matches!(key, "$ref" | "$dynamicRef" | "$recursiveRef")
}

/// Whether `value` can be checked against `schema` in reasonable time.
pub(super) fn bounded(schema: &Value, value: &Value) -> Result<(), TooMuch> {
    let mut walk = Walk {
        root: schema,
        named: Vec::new(),
        known: HashMap::new(),
    };
    walk.find_named(schema)?;
    walk.meet(schema, value, 0).map(drop)
}

struct Walk<'a> {
    root: &'a Value,
    /// Subschemas with `$id` or an anchor.
    named: Vec<&'a Value>,
    /// The work of pairs; none yet of those that are being looked at.
    known: HashMap<(usize, usize), u64>,
}

impl<'a> Walk<'a> {
    fn find_named(&mut self, value: &'a Value) -> Result<(), TooMuch> {
        let parts: Vec<&'a Value> = match value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(members) => {
                let names = ["$id", "id", "$anchor", "$dynamicAnchor"];
                if names
                    .iter()
                    .any(|name| members.get(*name).is_some_and(Value::is_string))
                {
                    self.named.push(value);
                }
                members.values().collect()
            }
            _ => Vec::new(),
        };
        if self.named.len() > MAX_NAMED {
            return Err(TooMuch);
        }
        parts.into_iter().try_for_each(|part| self.find_named(part))
    }

    /// The work of checking `value` against `schema`.
    fn meet(&mut self, schema: &'a Value, value: &'a Value, depth: usize) -> Result<u64, TooMuch> {
        let Value::Object(keywords) = schema else {
            return Ok(1);
        };
        let pair = (
            ptr::from_ref(schema) as usize,
            ptr::from_ref(value) as usize,
        );
        if let Some(known) = self.known.get(&pair) {
            return Ok(*known);
        }
        if depth > MAX_DEPTH || self.known.len() >= MAX_PAIRS {
            return Err(TooMuch);
        }
        // A circle that eats nothing of the value is no work: the validator sees it, too.
        self.known.insert(pair, 0);
        let mut work: u64 = 1;
        for (keyword, subject) in keywords {
            for (subschema, part) in self.applied(keyword, subject, value) {
                work = work.saturating_add(self.meet(subschema, part, depth + 1)?);
                if work > MAX_MEETINGS {
                    return Err(TooMuch);
                }
            }
        }
        self.known.insert(pair, work);
        Ok(work)
    }

    /// What a keyword applies to what of a value.
    fn applied(
        &self,
        keyword: &str,
        subject: &'a Value,
        value: &'a Value,
    ) -> Vec<(&'a Value, &'a Value)> {
        let here = |schema| (schema, value);
        match (keyword, subject, value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target), _) => {
                self.targets(target).into_iter().map(here).collect()
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas), _) => {
                schemas.iter().map(here).collect()
            }
            ("not" | "if" | "then" | "else", _, _) => vec![here(subject)],
            ("dependentSchemas" | "dependencies", Value::Object(schemas), _) => {
                schemas.values().map(here).collect()
            }
            ("properties", Value::Object(schemas), Value::Object(members)) => members
                .iter()
                .filter_map(|(name, member)| Some((schemas.get(name)?, member)))
                .collect(),
            ("patternProperties", Value::Object(schemas), Value::Object(members)) => schemas
                .values()
                .flat_map(|schema| members.values().map(move |member| (schema, member)))
                .collect(),
            (
                "additionalProperties" | "unevaluatedProperties" | "propertyNames",
                _,
                Value::Object(members),
            ) => members.values().map(|member| (subject, member)).collect(),
            ("items" | "prefixItems", Value::Array(schemas), Value::Array(items)) => {
                schemas.iter().zip(items).collect()
            }
            (
                "items" | "additionalItems" | "unevaluatedItems" | "contains",
                _,
                Value::Array(items),
            ) => items.iter().map(|item| (subject, item)).collect(),
            _ => Vec::new(),
        }
    }

    /// What a reference may mean. What is not found here is a schema that the validator brings.
    fn targets(&self, target: &str) -> Vec<&'a Value> {
        let (base, fragment) = target.split_once('#').unwrap_or((target, ""));
        let named = |value: &Value, key: &str| {
            let text = value.get(key).and_then(Value::as_str).unwrap_or_default();
            text.trim_end_matches('#').to_owned()
        };
        let is_base = |value: &&'a Value| {
            let ids = [named(value, "$id"), named(value, "id")];
            base.is_empty() || ids.iter().any(|id| !id.is_empty() && same_end(id, base))
        };
        let mut found: Vec<&'a Value> = self.named.iter().copied().filter(is_base).collect();
        if base.is_empty() {
            found.push(self.root);
        }
        let fragment = decoded(fragment);
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let is_anchor = |value: &&'a Value| {
                let hash = format!("#{fragment}");
                named(value, "$anchor") == fragment
                    || named(value, "$dynamicAnchor") == fragment
                    || [named(value, "$id"), named(value, "id")].contains(&hash)
            };
            return self.named.iter().copied().filter(is_anchor).collect();
        }
        let mut targets: Vec<&'a Value> = found
            .into_iter()
            .filter_map(|base| base.pointer(&fragment))
            .collect();
        targets.sort_by_key(|target| ptr::from_ref(*target) as usize);
        targets.dedup_by_key(|target| ptr::from_ref(*target) as usize);
        targets
    }
}

/// Whether one of two addresses may be the other, written relative to something.
fn same_end(id: &str, base: &str) -> bool {
    let last = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
    last(id) == last(base)
}

/// A fragment without its percent signs.
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
