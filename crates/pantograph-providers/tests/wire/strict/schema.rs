//! Whether a tool's schema is JSON Schema, and one that providers take.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Refusals, text};

/// Checks a schema against the draft 2020-12, and against what providers want of its root.
pub(super) fn check(at: &str, schema: &Value, refusals: &mut Refusals) {
    refusals.unless(
        text(schema, "type") == "object",
        format_args!("{at}.type: Input should be 'object'"),
    );
    refusals.unless(
        schema["properties"].is_object(),
        format_args!("{at}: object schema missing properties"),
    );
    for keyword in ["oneOf", "anyOf", "allOf", "enum", "not", "const"] {
        refusals.unless(
            schema.get(keyword).is_none(),
            format_args!("{at}: does not support {keyword} at the top level"),
        );
    }
    let mut problems = Vec::new();
    meta(schema, &mut problems);
    refusals.0.extend(
        problems
            .into_iter()
            .map(|problem| format!("{at}: JSON schema is invalid: {problem}")),
    );
}

/// Checks that OpenAI finds items in every array.
pub(super) fn arrays_have_items(at: &str, schema: &Value, refusals: &mut Refusals) {
    each(schema, &mut |object| {
        let types = &object.get("type").cloned().unwrap_or_default();
        let is_array = types == "array"
            || types
                .as_array()
                .is_some_and(|types| types.contains(&"array".into()));
        refusals.unless(
            !is_array || object.contains_key("items"),
            format_args!("{at}: array schema missing items"),
        );
    });
}

/// Visits every subschema that is an object.
pub(super) fn each(schema: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
    let Value::Object(object) = schema else {
        return;
    };
    visit(object);
    for (keyword, value) in object {
        match (&**keyword, value) {
            ("properties" | "patternProperties" | "$defs", Value::Object(schemas)) => {
                schemas.values().for_each(|schema| each(schema, visit));
            }
            ("oneOf" | "anyOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter().for_each(|schema| each(schema, visit));
            }
            ("items" | "additionalProperties" | "not" | "if" | "then" | "else", schema) => {
                each(schema, visit);
            }
            _ => {}
        }
    }
}

fn meta(schema: &Value, problems: &mut Vec<String>) {
    let Value::Object(object) = schema else {
        if !schema.is_boolean() {
            problems.push(format!("{schema} is no schema"));
        }
        return;
    };
    for (keyword, value) in object {
        let is_sound = match &**keyword {
            "type" => is_type(value),
            "required" => are_distinct_texts(value),
            "enum" => value.is_array(),
            "oneOf" | "anyOf" | "allOf" | "prefixItems" => {
                let list = value.as_array();
                list.into_iter()
                    .flatten()
                    .for_each(|one| meta(one, problems));
                list.is_some_and(|list| !list.is_empty())
            }
            "properties" | "patternProperties" | "dependentSchemas" | "$defs" => {
                let schemas = value.as_object();
                let values = schemas.into_iter().flat_map(|schemas| schemas.values());
                values.for_each(|one| meta(one, problems));
                schemas.is_some()
            }
            "items"
            | "additionalProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties" => {
                meta(value, problems);
                true
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" => value.is_u64(),
            "title" | "description" | "format" | "pattern" | "$ref" | "$schema" | "$id" => {
                value.is_string()
            }
            "uniqueItems" | "deprecated" | "readOnly" => value.is_boolean(),
            _ => true,
        };
        if !is_sound {
            problems.push(format!("`{keyword}` is {value}"));
        }
    }
}

fn is_type(value: &Value) -> bool {
    let known = |value: &Value| {
        let names = [
            "null", "boolean", "object", "array", "number", "string", "integer",
        ];
        value.as_str().is_some_and(|name| names.contains(&name))
    };
    match value.as_array() {
        Some(names) => !names.is_empty() && are_distinct_texts(value) && names.iter().all(known),
        None => known(value),
    }
}

fn are_distinct_texts(value: &Value) -> bool {
    let mut seen = HashSet::new();
    value.as_array().is_some_and(|list| {
        list.iter()
            .all(|item| item.as_str().is_some_and(|text| seen.insert(text)))
    })
}
