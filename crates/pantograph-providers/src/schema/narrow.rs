//! What single providers refuse in schemas that the others take.

use serde_json::{Map, Value};

use super::keywords::Holds;

/// Leaves out the keys that the Messages API refuses, and says in words that there are more.
///
/// It takes keys of 1 to 64 letters, digits, `_`, `.` and `-`, and refuses the whole request for
/// any other, such as OData's `$top`.
pub(crate) fn keep_legal_keys(schema: &mut Value) {
    each_object(schema, &mut |object| {
        let Some(Value::Object(properties)) = object.get_mut("properties") else {
            return;
        };
        let mut dropped: Vec<String> = Vec::new();
        properties.retain(|key, _| {
            let keep = is_legal(key);
            if !keep {
                dropped.push(format!("`{key}`"));
            }
            keep
        });
        if dropped.is_empty() {
            return;
        }
        if let Some(Value::Array(required)) = object.get_mut("required") {
            required.retain(|key| key.as_str().is_some_and(is_legal));
        }
        if object.get("additionalProperties") == Some(&Value::Bool(false)) {
            object.shift_remove("additionalProperties");
        }
        let words = format!("It also has the keys {}.", dropped.join(", "));
        let text = match object.get("description").and_then(Value::as_str) {
            Some(text) => format!("{text} {words}"),
            None => words,
        };
        object.insert("description".into(), text.into());
    });
}

fn is_legal(key: &str) -> bool {
    let byte = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    (1..=64).contains(&key.len()) && key.bytes().all(byte)
}

/// What llama.cpp's conversion to a grammar knows of a subschema. It refuses patterns that are
/// not anchored and bounds of more than some thousand repetitions, so neither is sent.
const GRAMMAR_KEYWORDS: &[&str] = &[
    "type",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "enum",
    "const",
    "oneOf",
    "anyOf",
    "allOf",
    "format",
];

/// Leaves what can become a grammar of llama.cpp.
///
/// Source: `common/json-schema-to-grammar.cpp` of llama.cpp. A subschema that is not empty and
/// says nothing of the value's form is an error there, so it becomes the empty one.
pub(crate) fn keep_grammar(schema: &mut Value) {
    each_object(schema, &mut |object| {
        object.retain(|keyword, _| GRAMMAR_KEYWORDS.contains(&keyword.as_str()));
        let has_form = object
            .iter()
            .any(|(keyword, value)| match keyword.as_str() {
                "description" | "required" | "format" => false,
                "additionalProperties" => value != &Value::Bool(true),
                _ => true,
            });
        if !has_form {
            object.clear();
        }
    });
}

/// Visits a schema and all in it, the inner first.
fn each_object(schema: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(object) = schema else {
        return;
    };
    for (keyword, value) in object.iter_mut() {
        match (Holds::of(keyword), value) {
            (Some(Holds::One), schema) => each_object(schema, visit),
            (Some(Holds::List), Value::Array(schemas)) => {
                for schema in schemas {
                    each_object(schema, visit);
                }
            }
            (Some(Holds::Named), Value::Object(schemas)) => {
                for schema in schemas.values_mut() {
                    each_object(schema, visit);
                }
            }
            _ => {}
        }
    }
    visit(object);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_that_the_messages_api_refuses_are_said_in_words() {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "$top": { "type": "integer" },
                "in": { "type": "object", "description": "Where.", "properties": { "a b": {} } },
                "properties": { "type": "object", "properties": { "x": {} } },
            },
            "required": ["$top", "in"],
            "additionalProperties": false,
        });
        keep_legal_keys(&mut schema);
        insta::assert_snapshot!(schema, @r#"{"type":"object","properties":{"in":{"type":"object","description":"Where. It also has the keys `a b`.","properties":{}},"properties":{"type":"object","properties":{"x":{}}}},"required":["in"],"description":"It also has the keys `$top`."}"#);
    }

    #[test]
    fn what_can_be_no_grammar_is_left_out() {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "any": { "description": "Anything." },
                "name": { "type": "string", "pattern": "x", "maxLength": 100_000 },
                "open": { "additionalProperties": true },
                "list": { "type": "array", "items": { "not": {} }, "minItems": 1 },
            },
        });
        keep_grammar(&mut schema);
        insta::assert_snapshot!(schema, @r#"{"type":"object","properties":{"any":{},"name":{"type":"string"},"open":{},"list":{"type":"array","items":{}}}}"#);
    }
}
