use super::*;
use proptest::prelude::*;

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
    assert_eq!(clean(&schema, SchemaRules::JsonSchema), schema);
    assert_eq!(
        shown(json!({ "type": "object" }), SchemaRules::JsonSchema),
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
    insta::assert_snapshot!(shown(schema, SchemaRules::JsonSchema), @r#"{"type":"object","description":"Finds. Give one of these: `a` and `k`; or `b` and `k`.","properties":{"in":{"type":"string"},"all":{},"a":{"anyOf":[{"type":"string"},{"type":"integer"}]},"k":{},"b":{}},"required":["in","all","k"]}"#);
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
    insta::assert_snapshot!(shown(schema, SchemaRules::JsonSchema), @r#"{"type":"object","properties":{"text":{"type":"string","description":"mine"},"tree":{"type":"object","properties":{"next":{}}},"gone":{},"far":{},"own":{"type":"object","properties":{"text":{"type":"string","description":"mine"},"tree":{"type":"object","properties":{"next":{}}},"gone":{},"far":{},"own":{}}}}}"#);
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
    assert!(shown(schema, SchemaRules::JsonSchema).len() < 2_000_000);
}

#[test]
fn openapi_has_one_type_and_enums_of_strings() {
    let schema = json!({
        "type": "object",
        "properties": {
            "maybe": { "type": ["string", "null"] },
            "size": { "type": "integer", "enum": [1, 2], "description": "The size." },
            "word": { "enum": ["a", "b"] },
            "blank": { "enum": ["", "a"] },
            "nothing": { "type": "string", "enum": [""] },
            "fixed": { "const": "x" },
            "option": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            "all": { "allOf": [{ "type": "object", "properties": { "p": { "type": "string" } } }] },
        },
        "additionalProperties": false,
    });
    insta::assert_snapshot!(properties(schema), @r#"
    maybe: {"nullable":true,"type":"string"}
    size: {"type":"integer","description":"The size. One of 1, 2."}
    word: {"enum":["a","b"],"type":"string"}
    blank: {"enum":["a"],"type":"string"}
    nothing: {"type":"string"}
    fixed: {"enum":["x"],"type":"string"}
    option: {"nullable":true,"type":"string"}
    all: {"properties":{"p":{"type":"string"}},"type":"object"}
    "#);
}

#[test]
fn openapi_alternatives_stand_alone() {
    let schema = json!({
        "type": "object",
        "properties": {
            "either": { "type": ["string", "integer"], "description": "Which.", "minimum": 1 },
            "list": { "type": ["array", "string", "null"], "items": { "type": "integer" } },
            "choice": {
                "description": "A choice.",
                "oneOf": [
                    { "type": "string", "description": "A name." },
                    { "type": "array", "items": { "const": 1 } },
                ],
            },
            "parts": {
                "type": "object",
                "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
                "anyOf": [{ "required": ["a"] }, { "required": ["b"] }],
            },
            "short": { "type": "string", "anyOf": [{ "maxLength": 1 }, { "pattern": "x" }] },
        },
    });
    insta::assert_snapshot!(properties(schema), @r#"
    either: {"anyOf":[{"type":"string","description":"Which."},{"type":"integer","minimum":1}]}
    list: {"anyOf":[{"type":"array","items":{"type":"integer"},"nullable":true},{"type":"string","nullable":true}]}
    choice: {"anyOf":[{"type":"string","description":"A choice. A name."},{"type":"array","items":{"description":"One of 1.","type":"integer"}}]}
    parts: {"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"description":"Give one of these: `a`; or `b`."}
    short: {"type":"string"}
    "#);
}

#[test]
fn openapi_has_only_the_keywords_of_each_type() {
    let schema = json!({
        "type": "object",
        "title": "Title",
        "properties": {
            "any": true,
            "described": { "description": "Anything." },
            "url": { "type": "string", "format": "uri", "pattern": "^h", "minimum": 1, "default": "" },
            "time": { "type": "string", "format": "date-time", "minLength": 1 },
            "count": { "type": "integer", "format": "uint8", "minimum": 0, "exclusiveMaximum": 9 },
            "bare": { "type": "array", "uniqueItems": true },
            "pair": { "type": "array", "items": [{ "type": "string" }, { "type": "integer" }] },
            "tuple": { "type": "array", "prefixItems": [{ "type": "string" }], "minItems": 1 },
            "map": { "type": "object", "additionalProperties": { "type": "string" }, "required": ["x"] },
            "untyped": { "properties": { "x": { "minLength": 1 } }, "required": ["x", "y"] },
            "odd": { "type": "file", "x-own": 1 },
        },
        "required": ["any", "undeclared"],
    });
    insta::assert_snapshot!(properties(schema.clone()), @r#"
    any: {"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"type":"array","items":{"type":"string"}}]}
    described: {"anyOf":[{"type":"string","description":"Anything."},{"type":"number"},{"type":"boolean"},{"type":"object"},{"type":"array","items":{"type":"string"}}]}
    url: {"type":"string"}
    time: {"type":"string","format":"date-time","minLength":1}
    count: {"type":"integer","minimum":0}
    bare: {"type":"array","items":{"type":"string"}}
    pair: {"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer"}]}}
    tuple: {"type":"array","minItems":1,"items":{"type":"string"}}
    map: {"type":"object"}
    untyped: {"properties":{"x":{"minLength":1,"type":"string"}},"required":["x"],"type":"object"}
    odd: {"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"type":"array","items":{"type":"string"}}]}
    "#);
    let cleaned = clean(&schema, SchemaRules::OpenApi);
    assert_eq!(cleaned["required"], json!(["any"]));
    assert_eq!(cleaned.get("title"), None);
}

/// The properties of an OpenAPI schema, one a line.
fn properties(schema: Value) -> String {
    let schema = clean(&schema, SchemaRules::OpenApi);
    let properties = schema["properties"].as_object().unwrap().iter();
    let lines: Vec<String> = properties
        .map(|(name, property)| format!("{name}: {property}"))
        .collect();
    lines.join("\n")
}

/// Panics where Google would refuse a schema.
fn check(schema: &Value) {
    let object = schema.as_object().unwrap();
    if let Some(members) = object.get("anyOf") {
        assert_eq!(object.len(), 1, "{schema}");
        let members = members.as_array().unwrap();
        assert!(members.len() > 1, "{schema}");
        return members.iter().for_each(check);
    }
    let own: &[&str] = match object["type"].as_str().unwrap() {
        "string" => &["enum", "format", "minLength", "maxLength"],
        "number" | "integer" => &["format", "minimum", "maximum"],
        "boolean" => &[],
        "array" => &["items", "minItems", "maxItems"],
        "object" => &["properties", "required", "minProperties", "maxProperties"],
        other => panic!("the type {other}"),
    };
    for key in object.keys() {
        let is_common = matches!(&**key, "type" | "description" | "nullable");
        assert!(is_common || own.contains(&&**key), "{key} in {schema}");
    }
    if object["type"] == "array" {
        check(&object["items"]);
    }
    for value in object
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        assert!(
            value.as_str().is_some_and(|value| !value.is_empty()),
            "{schema}"
        );
    }
    let properties = object.get("properties").and_then(Value::as_object);
    for property in properties.into_iter().flatten() {
        check(property.1);
    }
    for key in required(schema) {
        assert!(properties.unwrap().contains_key(&key), "{schema}");
    }
}

/// Schemas in any shape, also in ones that no schema has.
fn schemas() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(vec!["string", "null", "integer", "object", "array", "odd"]);
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!({})),
        word().prop_map(|word| json!({ "type": word })),
        Just(json!({ "const": 1 })),
        Just(json!({ "enum": ["a", "", null] })),
        Just(json!({ "type": "integer", "enum": [1, 2] })),
        Just(json!({ "$ref": "#/properties/a" })),
        Just(json!({ "required": ["a"] })),
        Just(json!({ "minimum": 1, "format": "uri", "pattern": "x" })),
    ];
    leaf.prop_recursive(4, 40, 4, move |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..4);
        let types = prop::collection::vec(word(), 0..3);
        let key = prop::sample::select(vec!["anyOf", "oneOf", "allOf", "items", "prefixItems"]);
        prop_oneof![
            (key, list(), word()).prop_map(|(key, members, word)| {
                json!({ key: members, "type": word, "description": "What." })
            }),
            (types, inner.clone(), inner.clone()).prop_map(|(types, one, other)| {
                json!({ "type": types, "items": one, "properties": { "a": other } })
            }),
            (list(), inner.clone(), inner.clone()).prop_map(|(members, one, other)| {
                json!({
                    "properties": { "a": one, "b": other },
                    "required": ["a", "c"],
                    "anyOf": members,
                    "additionalProperties": false,
                })
            }),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_a_schema_is_google_takes_what_becomes_of_it(schema in schemas()) {
        let schema = clean(&schema, SchemaRules::OpenApi);
        prop_assert_eq!(&schema["type"], "object");
        check(&schema);
    }
}
