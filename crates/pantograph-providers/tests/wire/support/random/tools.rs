//! Tools with schemas of every kind that an extension may come with.

use pantograph::ToolDeclaration;
use serde_json::{Value, json};

pub(super) fn declarations() -> Vec<ToolDeclaration> {
    let with = |name: &str, description: &str, mut schema: Value| {
        schema["type"] = "object".into();
        ToolDeclaration::new(name, description, schema).unwrap()
    };
    let long = "k".repeat(65);
    vec![
        with(
            "files.read",
            "Reads.\0",
            json!({ "properties": { "path": { "type": "string" } }, "required": ["path"] }),
        ),
        with("files__read", " ", json!({})),
        with(
            "find",
            &"long ".repeat(1_000),
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "anyOf": [{ "properties": { "a": { "$ref": "#/$defs/a" } }, "required": ["a"] }, true, { "required": "b" }],
                "oneOf": [{ "$ref": "#/$defs/a" }],
                "allOf": [{ "properties": { "c": { "type": "array" } } }, { "if": {}, "then": {} }],
                "not": {}, "enum": [{}], "const": {}, "if": {}, "then": {},
                "$defs": { "a": { "type": "object", "properties": { "a": { "$ref": "#/$defs/a" } } } },
            }),
        ),
        with(
            "odd.schema",
            "",
            json!({
                "properties": {
                    "word": "number", "yes": true, "no": false, "": {}, "$top": { "type": "integer" },
                    "a b": { "description": "spaced" }, "ü": {}, long.clone(): {},
                    "unknown": { "type": "str" }, "types": { "type": ["array", "array", "null", 7] },
                    "no_types": { "type": [] }, "list": { "type": "array", "items": "string" },
                    "tuple": { "type": "array", "items": [{ "type": "string" }, 7] },
                    "draft4": { "type": "number", "minimum": 1, "exclusiveMinimum": true, "divisibleBy": 2 },
                    "counts": { "type": "string", "minLength": -1, "maxLength": 1.5, "pattern": 7, "format": {} },
                    "huge": { "type": "string", "maxLength": 1_000_000, "pattern": "[" },
                    "empty": { "enum": [], "anyOf": [], "oneOf": {}, "required": true },
                    "described": { "title": 7, "description": "Only this.", "examples": 1, "readOnly": 1 },
                    "deep": { "type": "object", "properties": [], "additionalProperties": "no", "patternProperties": { "^x": { "type": 1 } } },
                    "gone": { "$ref": "https://elsewhere.example/schema.json" }, "self": { "$ref": "#" },
                    "$ref": { "type": "string" }, "properties": { "type": "object", "properties": { "type": { "type": "string" } } },
                    "many": { "type": "integer", "multipleOf": 0, "uniqueItems": "yes" },
                    "depends": { "dependentRequired": { "a": "b" }, "dependentSchemas": 1, "contains": 1, "propertyNames": [] },
                    "nul": { "const": null, "default": { "type": 7, "$ref": 1 } },
                },
                "required": ["word", "word", 7, "$top", long],
                "additionalProperties": false,
            }),
        ),
        with(
            "properties.gone",
            "d",
            json!({ "properties": ["a"], "required": "a", "description": 7, "title": [] }),
        ),
        with(
            "null_properties",
            "d",
            json!({ "properties": null, "additionalProperties": { "type": "array" } }),
        ),
        with(
            "a",
            "d",
            json!({ "definitions": { "x y": { "type": "string" } }, "properties": { "p": { "$ref": "#/definitions/x y" }, "q": { "allOf": [{ "type": "array" }] } } }),
        ),
    ]
}
