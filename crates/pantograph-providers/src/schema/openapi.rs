//! The part of OpenAPI that Google takes as schemas.
//!
//! Each schema has one `type`, with only the keywords of that type, or `anyOf` and nothing else;
//! `null` is `nullable`; an `enum` holds strings that are not empty; an array has `items`; what is
//! required is declared. One schema that is otherwise makes the API refuse the whole request.

use serde_json::{Map, Value, json};

use super::{flatten_root, merge_properties, require, required};

/// Keywords of any type.
const COMMON: &[&str] = &["type", "description", "nullable"];

/// What restricts nothing stands for a value of any type.
const ANY: [&str; 5] = ["string", "number", "boolean", "object", "array"];

/// The OpenAPI form of a subschema whose own subschemas have it already.
pub(super) fn translate(object: &mut Map<String, Value>) {
    if let Some(value) = object.shift_remove("const") {
        object.insert("enum".into(), json!([value]));
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(Value::Array(members)) = object.shift_remove(key) {
            one_of(object, members);
        }
    }
    if let Some(Value::Array(members)) = object.shift_remove("allOf") {
        for member in members {
            merge_properties(object, &member);
            require(object, required(&member));
            for (key, value) in member.as_object().into_iter().flatten() {
                if !matches!(&**key, "properties" | "required") && !object.contains_key(key) {
                    object.insert(key.clone(), value.clone());
                }
            }
        }
    }
    if let Some(Value::Array(types)) = object.get("type") {
        let types = types.iter().map(|name| json!({ "type": name })).collect();
        object.shift_remove("type");
        one_of(object, types);
    }
    string_enum(object);
}

/// Leaves of a schema, and of those in it, what the API takes.
pub(super) fn restrict(schema: &mut Map<String, Value>) {
    one_list_of_items(schema);
    if let Some(Value::Array(members)) = schema.get("anyOf") {
        let kinds = || members.iter().map(|member| member.get("type"));
        let is_object = schema.contains_key("properties");
        match kinds().all(|kind| kind.is_none_or(|kind| is_object && kind == "object")) {
            true => flatten_root(schema),
            false => return alternatives(schema),
        }
    }
    let Some(kind) = kind(schema) else {
        return any(schema);
    };
    schema.insert("type".into(), kind.into());
    let own = keywords(kind);
    schema.retain(|key, _| COMMON.contains(&&**key) || own.contains(&&**key));
    match kind {
        "object" => object(schema),
        "array" => array(schema),
        _ => {}
    }
    known_format(schema, kind);
}

/// Alternatives stand alone, so what else there is goes into each of them.
fn alternatives(schema: &mut Map<String, Value>) {
    let Some(Value::Array(mut members)) = schema.shift_remove("anyOf") else {
        return;
    };
    let description = schema.shift_remove("description");
    for member in &mut members {
        if let Value::Object(member) = member {
            for (key, value) in &*schema {
                if !member.contains_key(key) {
                    member.insert(key.clone(), value.clone());
                }
            }
        }
    }
    if let (Some(Value::String(words)), Some(Value::Object(first))) =
        (description, members.first_mut())
    {
        let words = match first.get("description").and_then(Value::as_str) {
            Some(own) => format!("{words} {own}"),
            None => words,
        };
        first.insert("description".into(), words.into());
    }
    for member in &mut members {
        if let Value::Object(member) = member {
            restrict(member);
        }
    }
    schema.clear();
    schema.insert("anyOf".into(), members.into());
}

fn any(schema: &mut Map<String, Value>) {
    let members = ANY.map(|kind| json!({ "type": kind }));
    schema.retain(|key, _| COMMON.contains(&&**key));
    schema.shift_remove("type");
    schema.insert("anyOf".into(), members.to_vec().into());
    alternatives(schema);
}

/// The type that a schema has, or that its keywords are of; `None` if it may be any.
fn kind(schema: &Map<String, Value>) -> Option<&'static str> {
    const KINDS: [&str; 6] = ["string", "number", "integer", "boolean", "array", "object"];
    if let Some(named) = schema.get("type") {
        let named = named.as_str()?;
        return KINDS.into_iter().find(|kind| *kind == named).or({
            // The API has no type of only `null`.
            (named == "null").then_some("string")
        });
    }
    KINDS.into_iter().find(|kind| {
        let own = keywords(kind);
        schema
            .keys()
            .any(|key| key != "format" && own.contains(&&**key))
    })
}

/// The keywords of a type.
fn keywords(kind: &str) -> &'static [&'static str] {
    match kind {
        "string" => &["enum", "format", "minLength", "maxLength"],
        "number" | "integer" => &["format", "minimum", "maximum"],
        "array" => &["items", "minItems", "maxItems"],
        "object" => &["properties", "required", "minProperties", "maxProperties"],
        _ => &[],
    }
}

fn object(schema: &mut Map<String, Value>) {
    let mut declared = Vec::new();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties {
            declared.push(Value::String(name.clone()));
            if let Value::Object(property) = property {
                restrict(property);
            }
        }
    } else {
        schema.shift_remove("properties");
    }
    let is_empty = match schema.get_mut("required") {
        Some(Value::Array(keys)) => {
            keys.retain(|key| declared.contains(key));
            keys.is_empty()
        }
        _ => true,
    };
    if is_empty {
        schema.shift_remove("required");
    }
}

fn array(schema: &mut Map<String, Value>) {
    match schema.get_mut("items") {
        Some(Value::Object(items)) => restrict(items),
        _ => {
            schema.insert("items".into(), json!({ "type": "string" }));
        }
    }
}

/// A list that says of each item what it is becomes one that says what any may be.
fn one_list_of_items(schema: &mut Map<String, Value>) {
    let items = match schema.get("items") {
        Some(Value::Array(items)) => items.clone(),
        None => match schema.get("prefixItems") {
            Some(Value::Array(items)) => items.clone(),
            _ => return,
        },
        Some(_) => return,
    };
    let mut any = Map::new();
    one_of(&mut any, items);
    schema.insert("items".into(), any.into());
}

/// Formats that only describe are refused.
fn known_format(schema: &mut Map<String, Value>, kind: &str) {
    let known: &[&str] = match kind {
        "string" => &["enum", "date-time"],
        "number" => &["float", "double"],
        "integer" => &["int32", "int64"],
        _ => &[],
    };
    let is_known = schema
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(|format| known.contains(&format));
    if !is_known {
        schema.shift_remove("format");
    }
}

/// Alternatives: `null` among them is `nullable`, and a single one stands for itself.
fn one_of(object: &mut Map<String, Value>, mut members: Vec<Value>) {
    let all = members.len();
    members.retain(|member| member.get("type").and_then(Value::as_str) != Some("null"));
    if members.len() < all {
        object.insert("nullable".into(), true.into());
    }
    match <[Value; 1]>::try_from(members) {
        Ok([Value::Object(only)]) => {
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
        Ok(_) => {}
        Err(members) => {
            object.insert("anyOf".into(), members.into());
        }
    }
}

/// Values that are no strings are listed in the description instead.
fn string_enum(object: &mut Map<String, Value>) {
    let Some(Value::Array(values)) = object.get("enum") else {
        return;
    };
    let values: Vec<Value> = values
        .iter()
        .filter(|value| **value != "")
        .cloned()
        .collect();
    if values.is_empty() {
        object.shift_remove("enum");
        return;
    }
    if values.iter().all(Value::is_string) && object.get("type").is_none_or(|t| t == "string") {
        object.insert("enum".into(), values.into());
        object.entry("type").or_insert_with(|| "string".into());
        return;
    }
    let all = |is: fn(&Value) -> bool| values.iter().all(is);
    let of_values = if all(Value::is_boolean) {
        Some("boolean")
    } else if all(|value| value.is_i64() || value.is_u64()) {
        Some("integer")
    } else if all(Value::is_number) {
        Some("number")
    } else {
        None
    };
    let values: Vec<String> = values.iter().map(Value::to_string).collect();
    let mut text = match object.get("description").and_then(Value::as_str) {
        Some(description) => format!("{description} "),
        None => String::new(),
    };
    text.push_str(&format!("One of {}.", values.join(", ")));
    object.insert("description".into(), text.into());
    object.shift_remove("enum");
    if let Some(name) = of_values {
        object.entry("type").or_insert_with(|| name.into());
    }
}
