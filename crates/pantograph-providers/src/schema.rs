//! Tool schemas as providers accept them.
//!
//! For every provider: the root is an object without `oneOf`, `anyOf` and `allOf`; `$ref`s are
//! replaced by what they name. The keys of the alternatives at the root are all there, none of
//! them required that is not required by each, and the description says which belong together;
//! the tool itself checks what it got. The order of keys stays, so that prompt caches hit. What
//! is no JSON Schema of the draft 2020-12 is left out.

mod keywords;
mod narrow;
mod openapi;
mod shape;

pub(crate) use narrow::{keep_grammar, keep_legal_keys};

use std::collections::BTreeSet;

use keywords::Holds;
use serde_json::{Map, Value, json};

/// How far references and nesting are followed. What lies deeper takes any value.
const MAX_DEPTH: usize = 48;

/// How many subschemas there may be once references are replaced.
const MAX_SCHEMAS: usize = 5_000;

/// What a provider takes beside the rules for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaRules {
    /// JSON Schema.
    JsonSchema,
    /// The part of OpenAPI that Google takes, see [`openapi`].
    OpenApi,
}

/// The schema for the wire.
pub(crate) fn clean(schema: &Value, rules: SchemaRules) -> Value {
    let mut cleaner = Cleaner {
        root: schema,
        rules,
        open: Vec::new(),
        left: MAX_SCHEMAS,
    };
    let mut object = match cleaner.schema(schema) {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    flatten_root(&mut object);
    if object.get("type").and_then(Value::as_str) != Some("object") {
        object.insert("type".into(), "object".into());
    }
    if !object.contains_key("properties") {
        object.insert("properties".into(), json!({}));
    }
    if rules == SchemaRules::OpenApi {
        object.shift_remove("nullable");
        openapi::restrict(&mut object);
    }
    Value::Object(object)
}

struct Cleaner<'a> {
    root: &'a Value,
    rules: SchemaRules,
    /// The references that are being replaced.
    open: Vec<&'a str>,
    left: usize,
}

impl<'a> Cleaner<'a> {
    fn schema(&mut self, schema: &'a Value) -> Value {
        let Value::Object(object) = schema else {
            // `true` is any value; `false` has no other way to be said.
            return json!({});
        };
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || self.open.len() > MAX_DEPTH {
            return json!({});
        }
        self.open.push("");
        let cleaned = self.object(object);
        self.open.pop();
        Value::Object(cleaned)
    }

    fn object(&mut self, object: &'a Map<String, Value>) -> Map<String, Value> {
        let mut cleaned = match object.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.reference(reference),
            None => Map::new(),
        };
        for (key, value) in object {
            if key.starts_with('$') || key == "definitions" {
                continue;
            }
            let value = match (Holds::of(key), value) {
                // A tuple, as drafts before 2020-12 wrote it.
                (_, Value::Array(_)) if key == "items" => {
                    cleaned.insert("prefixItems".into(), self.each_item(value));
                    continue;
                }
                (Some(Holds::One), Value::Object(_)) => self.schema(value),
                (Some(Holds::List), Value::Array(_)) => self.each_item(value),
                (Some(Holds::Named), Value::Object(_)) => self.each_value(value),
                _ => value.clone(),
            };
            cleaned.insert(key.clone(), value);
        }
        shape::repair(&mut cleaned);
        match self.rules {
            SchemaRules::OpenApi => openapi::translate(&mut cleaned),
            SchemaRules::JsonSchema => shape::give_items(&mut cleaned),
        }
        cleaned
    }

    fn each_value(&mut self, value: &'a Value) -> Value {
        let Value::Object(object) = value else {
            return json!({});
        };
        let entries = object.iter();
        Value::Object(
            entries
                .map(|(key, value)| (key.clone(), self.schema(value)))
                .collect(),
        )
    }

    fn each_item(&mut self, value: &'a Value) -> Value {
        let items = value.as_array().into_iter().flatten();
        Value::Array(items.map(|item| self.schema(item)).collect())
    }

    /// What a reference names. One that names what it stands in takes any value there.
    fn reference(&mut self, reference: &'a str) -> Map<String, Value> {
        let target = reference
            .strip_prefix('#')
            .and_then(|path| self.root.pointer(path));
        let Some(Value::Object(target)) = target.filter(|_| !self.open.contains(&reference)) else {
            return Map::new();
        };
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return Map::new();
        }
        self.open.push(reference);
        let cleaned = self.object(target);
        self.open.pop();
        cleaned
    }
}

/// Takes the combinations at the root apart.
fn flatten_root(object: &mut Map<String, Value>) {
    let mut take = |key: &str| match object.shift_remove(key) {
        Some(Value::Array(members)) => members,
        _ => Vec::new(),
    };
    let all = take("allOf");
    let alternatives = [take("anyOf"), take("oneOf")];
    for key in [
        "not",
        "if",
        "then",
        "else",
        "enum",
        "const",
        "dependentSchemas",
    ] {
        object.shift_remove(key);
    }
    for member in &all {
        merge_properties(object, member);
        require(object, required(member));
    }
    for members in alternatives.iter().filter(|members| !members.is_empty()) {
        for member in members {
            merge_properties(object, member);
        }
        let mut sets = members.iter().map(required);
        let by_each = sets.next().unwrap_or_default();
        require(object, sets.fold(by_each, |each, set| &each & &set));
        describe_alternatives(object, members);
    }
}

/// Adds the member's properties that are not there yet.
fn merge_properties(object: &mut Map<String, Value>, member: &Value) {
    let Some(Value::Object(added)) = member.get("properties") else {
        return;
    };
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    let Value::Object(properties) = properties else {
        return;
    };
    for (name, schema) in added {
        match properties.get(name) {
            None => {
                properties.insert(name.clone(), schema.clone());
            }
            // The same key with another meaning in another alternative.
            Some(other) if other != schema => {
                let either = json!({ "anyOf": [other, schema] });
                properties.insert(name.clone(), either);
            }
            Some(_) => {}
        }
    }
}

fn required(schema: &Value) -> BTreeSet<String> {
    let keys = schema.get("required").and_then(Value::as_array);
    let keys = keys.into_iter().flatten();
    keys.filter_map(|key| Some(key.as_str()?.to_owned()))
        .collect()
}

fn require(object: &mut Map<String, Value>, keys: BTreeSet<String>) {
    if keys.is_empty() {
        return;
    }
    let list = object.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(list) = list {
        for key in keys {
            let key = Value::String(key);
            if !list.contains(&key) {
                list.push(key);
            }
        }
    }
}

/// Says in words what the schema no longer says.
fn describe_alternatives(object: &mut Map<String, Value>, members: &[Value]) {
    let sets: Vec<String> = members
        .iter()
        .map(required)
        .filter(|keys| !keys.is_empty())
        .map(|keys| {
            keys.iter()
                .map(|key| format!("`{key}`"))
                .collect::<Vec<_>>()
                .join(" and ")
        })
        .collect();
    if sets.len() < 2 {
        return;
    }
    let mut text = match object.get("description").and_then(Value::as_str) {
        Some(description) => format!("{description} "),
        None => String::new(),
    };
    text.push_str(&format!("Give one of these: {}.", sets.join("; or ")));
    object.insert("description".into(), text.into());
}

#[cfg(test)]
mod tests;
