//! JSON against a JSON Schema, with the place of each mistake.
//!
//! Schemas are compiled once and kept by their text. They reach no network and no file, and their
//! patterns run in linear time.

use std::collections::VecDeque;
use std::rc::Rc;

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// How many bytes a schema may have as JSON.
pub const MAX_SCHEMA_BYTES: usize = 1024 * 1024;

/// How many mistakes are told.
const MAX_PROBLEMS: usize = 20;

/// How many schemas are kept, and how many bytes of them together.
const MAX_KEPT: usize = 64;
const MAX_KEPT_BYTES: usize = 4 * MAX_SCHEMA_BYTES;

/// How many bytes a message may have: values that are shown in it may be large.
const MAX_MESSAGE_BYTES: usize = 300;

/// What one compiled pattern may take.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Nobody means such a schema.
    #[error("the schema has {0} bytes; at most {MAX_SCHEMA_BYTES} are taken")]
    TooLarge(usize),
    /// It is no schema; what is wrong, and where in it.
    #[error("not a JSON Schema: {0}")]
    NotASchema(Problem),
}

/// One mistake in a value, or in a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, as a JSON pointer; empty at the top.
    pub pointer: String,
    /// The keyword of the schema that refuses it.
    pub keyword: String,
    /// What is wrong, in one line.
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "{pointer}: {}", self.message),
        }
    }
}

/// Compiled schemas, those used last kept.
#[derive(Default)]
pub struct Schemas {
    kept: VecDeque<(String, Rc<Validator>)>,
}

impl Schemas {
    /// Checks `value` against `schema`, a schema as JSON text; gives the mistakes, up to twenty.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] if the schema is too large, or none.
    pub fn check(&mut self, schema: &str, value: &Value) -> Result<Vec<Problem>, SchemaError> {
        let validator = self.compiled(schema)?;
        if validator.is_valid(value) {
            return Ok(Vec::new());
        }
        let problems = validator.iter_errors(value).take(MAX_PROBLEMS);
        Ok(problems.map(|error| Problem::new(&error)).collect())
    }

    fn compiled(&mut self, schema: &str) -> Result<Rc<Validator>, SchemaError> {
        if let Some(at) = self.kept.iter().position(|(text, _)| text == schema)
            && let Some(found) = self.kept.remove(at)
        {
            let validator = Rc::clone(&found.1);
            self.kept.push_back(found);
            return Ok(validator);
        }
        let validator = Rc::new(compile(schema)?);
        self.kept
            .push_back((schema.to_owned(), Rc::clone(&validator)));
        while self.kept.len() > MAX_KEPT || self.bytes() > MAX_KEPT_BYTES {
            self.kept.pop_front();
        }
        Ok(validator)
    }

    fn bytes(&self) -> usize {
        self.kept.iter().map(|(text, _)| text.len()).sum()
    }
}

fn compile(schema: &str) -> Result<Validator, SchemaError> {
    if schema.len() > MAX_SCHEMA_BYTES {
        return Err(SchemaError::TooLarge(schema.len()));
    }
    let json: Value = serde_json::from_str(schema).map_err(|error| {
        SchemaError::NotASchema(Problem {
            pointer: String::new(),
            keyword: String::new(),
            message: error.to_string(),
        })
    })?;
    let patterns = PatternOptions::regex()
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES);
    jsonschema::options()
        .offline()
        .with_pattern_options(patterns)
        .build(&json)
        .map_err(|error| SchemaError::NotASchema(Problem::new(&error)))
}

impl Problem {
    fn new(error: &ValidationError<'_>) -> Self {
        let full = error.to_string();
        let mut message: String = full
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        if message.len() > MAX_MESSAGE_BYTES {
            // What is wrong stands at the end, the value at the beginning.
            let half = MAX_MESSAGE_BYTES / 2;
            let head = &message[..message.floor_char_boundary(half)];
            let tail = &message[message.ceil_char_boundary(message.len() - half)..];
            message = format!("{head} … {tail}");
        }
        Self {
            pointer: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
            message,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may unwrap")]
mod tests {
    use serde_json::json;

    use super::{MAX_KEPT, MAX_SCHEMA_BYTES, Schemas};

    fn check(schema: serde_json::Value, value: serde_json::Value) -> String {
        match Schemas::default().check(&schema.to_string(), &value) {
            Ok(problems) => problems
                .iter()
                .map(|problem| format!("{problem} ({})\n", problem.keyword))
                .collect(),
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn each_mistake_has_its_place() {
        let schema = json!({
            "type": "object",
            "required": ["name"],
            "additionalProperties": false,
            "properties": {
                "name": { "type": "string", "pattern": "^[a-z]+$" },
                "list": { "type": "array", "items": { "enum": ["a", "b"] } },
                "a/b": { "type": "integer" },
            },
        });
        assert_eq!(
            check(schema.clone(), json!({ "name": "x", "list": ["a"] })),
            ""
        );
        let wrong = json!({ "name": "X1", "list": ["a", "c"], "a/b": "1", "more": null });
        insta::assert_snapshot!(check(schema.clone(), wrong), @r#"
        /name: "X1" does not match "^[a-z]+$" (pattern)
        /list/1: "c" is not one of "a" or "b" (enum)
        /a~1b: "1" is not of type "integer" (type)
        Additional properties are not allowed ('more' was unexpected) (additionalProperties)
        "#);
        insta::assert_snapshot!(check(schema, json!({})), @r#""name" is a required property (required)"#);
        insta::assert_snapshot!(check(json!(false), json!(1)), @"False schema does not allow 1 (falseSchema)");
    }

    #[test]
    fn what_is_no_schema_is_told() {
        insta::assert_snapshot!(check(json!({ "type": "text" }), json!(1)), @r#"error: not a JSON Schema: /type: "text" is not valid under any of the schemas listed in the 'anyOf' keyword"#);
        insta::assert_snapshot!(check(json!({ "required": {} }), json!(1)), @r#"error: not a JSON Schema: /required: {} is not of type "array""#);
        insta::assert_snapshot!(check(json!({ "pattern": "(" }), json!("")), @r#"error: not a JSON Schema: /pattern: "(" is not a "regex""#);
        insta::assert_snapshot!(check(json!({ "pattern": "(?=a)" }), json!("")), @r#"error: not a JSON Schema: /pattern: "(?=a)" is not a "regex""#);
        insta::assert_snapshot!(check(json!({ "pattern": "(\\w{500}){500}" }), json!("")), @r#"error: not a JSON Schema: /pattern: "(\\w{500}){500}" is not a "regex""#);
        insta::assert_snapshot!(check(json!(1), json!("")), @r#"error: not a JSON Schema: 1 is not of types "boolean", "object""#);
    }

    #[test]
    fn nothing_is_fetched() {
        insta::assert_snapshot!(check(json!({ "$ref": "file:///etc/passwd" }), json!(1)), @"error: not a JSON Schema: Resource 'file:///etc/passwd' is not present in a registry and retrieving it failed: Retrieval is disabled, cannot fetch file:///etc/passwd");
        insta::assert_snapshot!(check(json!({ "$ref": "http://127.0.0.1:9/x" }), json!(1)), @"error: not a JSON Schema: Resource 'http://127.0.0.1:9/x' is not present in a registry and retrieving it failed: Retrieval is disabled, cannot fetch http://127.0.0.1:9/x");
    }

    #[test]
    fn messages_are_short_and_in_one_line() {
        let shown = check(
            json!({ "type": "integer" }),
            json!(format!("{}\n\u{1b}[2J", "é".repeat(9000))),
        );
        assert!(shown.len() < 400 && shown.contains("integer"), "{shown}");
        assert!(!shown.trim_end().contains(char::is_control));
    }

    #[test]
    fn large_schemas_are_read_up_to_a_limit() {
        let property = |n: usize| {
            (
                format!("p{n}"),
                json!({ "type": "string", "pattern": "^[a-z]+$" }),
            )
        };
        let properties: serde_json::Map<_, _> = (0..10_000).map(property).collect();
        let schema = json!({ "properties": properties }).to_string();
        assert!(schema.len() < MAX_SCHEMA_BYTES);
        let problems = Schemas::default()
            .check(&schema, &json!({ "p7": 7 }))
            .unwrap();
        assert_eq!(problems[0].pointer, "/p7");
        let larger = format!("{schema}{}", " ".repeat(MAX_SCHEMA_BYTES));
        assert!(Schemas::default().check(&larger, &json!(1)).is_err());
    }

    #[test]
    fn schemas_are_kept_up_to_a_number() {
        let mut schemas = Schemas::default();
        for n in 0..3 * MAX_KEPT {
            schemas
                .check(&json!({ "maximum": n }).to_string(), &json!(0))
                .unwrap();
            schemas.check("{}", &json!(0)).unwrap();
        }
        assert_eq!(schemas.kept.len(), MAX_KEPT);
    }
}
