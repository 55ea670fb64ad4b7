use super::*;

const OPENAPI: SchemaRules = SchemaRules {
    keywords: Some(&[
        "type",
        "description",
        "properties",
        "required",
        "items",
        "enum",
        "nullable",
        "anyOf",
    ]),
    openapi: true,
};

fn shown(schema: Value, rules: SchemaRules) -> String {
    clean(&schema, rules).to_string()
}

#[test]
fn a_plain_schema_stays_as_it_is() {
    let schema = json!({
        "type": "object",
        "properties": { "z": { "type": ["integer", "null"], "enum": [1, null] }, "a": {} },
        "required": ["z"],
        "additionalProperties": { "type": "string" },
    });
    assert_eq!(clean(&schema, SchemaRules::JSON_SCHEMA), schema);
    assert_eq!(
        shown(json!({ "type": "object" }), SchemaRules::JSON_SCHEMA),
        r#"{"type":"object","properties":{}}"#
    );
}

#[test]
fn combinations_at_the_root_become_keys_and_words() {
    let schema = json!({
        "type": "object",
        "description": "Finds.",
        "properties": { "in": { "type": "string" } },
        "required": ["in"],
        "allOf": [{ "properties": { "all": {} }, "required": ["all"] }],
        "anyOf": [
            { "properties": { "a": { "type": "string" }, "k": {} }, "required": ["a", "k"] },
            { "properties": { "a": { "type": "integer" }, "b": {} }, "required": ["k", "b"] },
        ],
        "not": { "required": ["in", "a"] },
    });
    insta::assert_snapshot!(shown(schema, SchemaRules::JSON_SCHEMA), @r#"{"type":"object","description":"Finds. Give one of these: `a` and `k`; or `b` and `k`.","properties":{"in":{"type":"string"},"all":{},"a":{"anyOf":[{"type":"string"},{"type":"integer"}]},"k":{},"b":{}},"required":["in","all","k"]}"#);
}

#[test]
fn references_are_replaced_and_never_for_ever() {
    let schema = json!({
        "type": "object",
        "properties": {
            "text": { "$ref": "#/$defs/text", "description": "mine" },
            "tree": { "$ref": "#/definitions/tree" },
            "gone": { "$ref": "#/$defs/gone" },
            "far": { "$ref": "https://elsewhere.example/schema" },
            "own": { "$ref": "#" },
        },
        "$defs": { "text": { "type": "string", "description": "theirs" } },
        "definitions": {
            "tree": {
                "type": "object",
                "properties": { "next": { "$ref": "#/definitions/tree" } },
            },
        },
    });
    insta::assert_snapshot!(shown(schema, SchemaRules::JSON_SCHEMA), @r#"{"type":"object","properties":{"text":{"type":"string","description":"mine"},"tree":{"type":"object","properties":{"next":{}}},"gone":{},"far":{},"own":{"type":"object","properties":{"text":{"type":"string","description":"mine"},"tree":{"type":"object","properties":{"next":{}}},"gone":{},"far":{},"own":{}}}}}"#);
}

#[test]
fn references_that_double_at_each_step_have_a_bound() {
    let mut definitions = Map::new();
    for step in 0..60 {
        let next = json!({ "$ref": format!("#/$defs/{}", step + 1) });
        let both = json!({ "properties": { "a": next, "b": next } });
        definitions.insert(step.to_string(), both);
    }
    let schema = json!({
        "type": "object",
        "properties": { "x": { "$ref": "#/$defs/0" } },
        "$defs": definitions,
    });
    assert!(shown(schema, SchemaRules::JSON_SCHEMA).len() < 2_000_000);
}

#[test]
fn openapi_has_one_type_and_enums_of_strings() {
    let schema = json!({
        "type": "object",
        "properties": {
            "maybe": { "type": ["string", "null"] },
            "either": { "type": ["string", "integer"] },
            "size": { "type": "integer", "enum": [1, 2], "description": "The size." },
            "word": { "enum": ["a", "b"] },
            "fixed": { "const": "x" },
            "option": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            "choice": { "oneOf": [{ "type": "string" }, { "type": "array", "items": { "const": 1 } }] },
            "all": { "allOf": [{ "type": "object", "properties": { "p": { "type": "string" } } }] },
            "any": true,
        },
        "additionalProperties": false,
    });
    insta::assert_snapshot!(shown(schema, OPENAPI), @r#"{"type":"object","properties":{"maybe":{"nullable":true,"type":"string"},"either":{"anyOf":[{"type":"string"},{"type":"integer"}]},"size":{"type":"integer","description":"The size. One of 1, 2."},"word":{"enum":["a","b"],"type":"string"},"fixed":{"enum":["x"],"type":"string"},"option":{"nullable":true,"type":"string"},"choice":{"anyOf":[{"type":"string"},{"type":"array","items":{"description":"One of 1.","type":"integer"}}]},"all":{"properties":{"p":{"type":"string"}},"type":"object"},"any":{}}}"#);
}
