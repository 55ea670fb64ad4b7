//! Keywords whose values are not of the shape that JSON Schema gives them.
//!
//! A provider checks a whole schema against the draft and refuses all of a request for one bad
//! keyword, so such a keyword is left out: the schema then says less, and the tool checks what
//! it gets anyway. Source: JSON Schema 2020-12, the vocabularies' meta-schemas.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::keywords::Holds;

const TYPES: &[&str] = &[
    "null", "boolean", "object", "array", "number", "string", "integer",
];

/// Leaves out keywords of another shape.
pub(super) fn repair(object: &mut Map<String, Value>) {
    object.retain(|keyword, value| fits(keyword, value));
}

/// Gives an array the `items` that OpenAI wants of each.
pub(super) fn give_items(object: &mut Map<String, Value>) {
    let is_array = match object.get("type") {
        Some(Value::String(name)) => name == "array",
        Some(Value::Array(names)) => names.iter().any(|name| name == "array"),
        _ => false,
    };
    if is_array && !object.contains_key("items") {
        object.insert("items".into(), json!({}));
    }
}

/// Whether a keyword's value has its shape; what can be put right in place is.
fn fits(keyword: &str, value: &mut Value) -> bool {
    match Holds::of(keyword) {
        Some(Holds::One) => return value.is_object() || value.is_boolean(),
        Some(Holds::List) => return is_filled_list(value),
        Some(Holds::Named) => return value.is_object(),
        None => {}
    }
    match keyword {
        "type" => fits_type(value),
        "required" => is_list(value) && !is_emptied(value, |_| true),
        "enum" => is_filled_list(value),
        "examples" => value.is_array(),
        "dependentRequired" => value.as_object_mut().is_some_and(|keys| {
            keys.values_mut().all(|list| {
                is_list(list) && {
                    is_emptied(list, |_| true);
                    true
                }
            })
        }),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minContains" | "maxContains"
        | "minProperties" | "maxProperties" => value.is_u64(),
        "title" | "description" | "format" | "pattern" | "contentEncoding" | "contentMediaType" => {
            value.is_string()
        }
        "deprecated" | "readOnly" | "writeOnly" | "uniqueItems" => value.is_boolean(),
        _ => true,
    }
}

fn fits_type(value: &mut Value) -> bool {
    let known = |name: &str| TYPES.contains(&name);
    match value {
        Value::String(name) => known(name),
        Value::Array(_) => !is_emptied(value, known),
        _ => false,
    }
}

fn is_list(value: &Value) -> bool {
    value.is_array()
}

fn is_filled_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty())
}

/// Keeps each text of a list once that `keep` wants; gives whether nothing is left.
fn is_emptied(value: &mut Value, keep: impl Fn(&str) -> bool) -> bool {
    let Value::Array(list) = value else {
        return true;
    };
    let mut seen = HashSet::new();
    list.retain(|item| {
        item.as_str()
            .is_some_and(|text| keep(text) && seen.insert(text.to_owned()))
    });
    list.is_empty()
}
