//! JSON against a JSON Schema, with the place of each mistake.
//!
//! Schemas are compiled once and kept by their text. They reach no network and no file, and their
//! patterns run in linear time.

mod effort;

use std::collections::VecDeque;
use std::rc::Rc;
use std::thread;

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use effort::{Size, bounded};

/// How many bytes a schema may have as JSON.
pub const MAX_SCHEMA_BYTES: usize = 1024 * 1024;

/// How many mistakes are told.
const MAX_PROBLEMS: usize = 20;

/// How many schemas are kept, and how many bytes of them together.
const MAX_KEPT: usize = 64;
const MAX_KEPT_BYTES: usize = 4 * MAX_SCHEMA_BYTES;

/// How many bytes a message may have: values that are shown in it may be large.
const MAX_MESSAGE_BYTES: usize = 300;

/// How deep a check may nest on the stack of whoever asks.
const MAX_LEVELS_HERE: usize = 600;

/// The stack of a check that may nest deeper; what of it is not needed is never touched.
const STACK_BYTES: usize = 512 * 1024 * 1024;

/// What one compiled pattern may take.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Nobody means such a schema.
    #[error("the schema has {0} bytes; at most {MAX_SCHEMA_BYTES} are taken")]
    TooLarge(usize),
    /// It is no schema; what is wrong, and where in it.
    #[error("not a JSON Schema: {0}")]
    NotASchema(Problem),
    /// Its references make more work of this value than anybody waits for.
    #[error("checking this value against the schema takes too long")]
    TooMuchWork,
    /// The system gives no thread for a schema that nests deeply.
    #[error("could not start a thread to check a deep schema")]
    Thread(#[source] std::io::Error),
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
    /// [`SchemaError`] if the schema is too large, is none, or cannot be checked in time.
    pub fn check(&mut self, schema: &str, value: &Value) -> Result<Vec<Problem>, SchemaError> {
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
        let (size, of_value) = (Size::of(&json), Size::of(value));
        if size.deepest(of_value) > MAX_LEVELS_HERE {
            return elsewhere(|| {
                within_bounds(&json, size, value, of_value)?;
                Ok(problems(&compile(&json)?, value))
            });
        }
        within_bounds(&json, size, value, of_value)?;
        let validator = self.compiled(schema, &json)?;
        Ok(problems(&validator, value))
    }

    fn compiled(&mut self, schema: &str, json: &Value) -> Result<Rc<Validator>, SchemaError> {
        if let Some(at) = self.kept.iter().position(|(text, _)| text == schema)
            && let Some(found) = self.kept.remove(at)
        {
            let validator = Rc::clone(&found.1);
            self.kept.push_back(found);
            return Ok(validator);
        }
        let validator = Rc::new(compile(json)?);
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

fn within_bounds(
    schema: &Value,
    size: Size,
    value: &Value,
    of_value: Size,
) -> Result<(), SchemaError> {
    match size.is_small(of_value) {
        true => Ok(()),
        false => bounded(schema, value).map_err(|_| SchemaError::TooMuchWork),
    }
}

fn problems(validator: &Validator, value: &Value) -> Vec<Problem> {
    if validator.is_valid(value) {
        return Vec::new();
    }
    let problems = validator.iter_errors(value).take(MAX_PROBLEMS);
    problems.map(|error| Problem::new(&error)).collect()
}

/// Runs what may recurse deeply on a stack that has room for it.
fn elsewhere<T: Send>(
    work: impl FnOnce() -> Result<T, SchemaError> + Send,
) -> Result<T, SchemaError> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES);
        let handle = thread
            .spawn_scoped(scope, work)
            .map_err(SchemaError::Thread)?;
        // A panic there is a panic of this check.
        handle.join().unwrap_or(Err(SchemaError::TooMuchWork))
    })
}

fn compile(json: &Value) -> Result<Validator, SchemaError> {
    let patterns = PatternOptions::regex()
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES);
    jsonschema::options()
        .offline()
        .with_pattern_options(patterns)
        .build(json)
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

    /// Definitions `d0` to `dN`, each made of the next one, and a reference to the first.
    fn chained(
        count: usize,
        of_next: impl Fn(serde_json::Value) -> serde_json::Value,
    ) -> serde_json::Value {
        let mut definitions = serde_json::Map::new();
        for n in 0..count {
            let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
            definitions.insert(format!("d{n}"), of_next(next));
        }
        definitions.insert(format!("d{count}"), json!({ "type": "string" }));
        json!({ "$defs": definitions, "$ref": "#/$defs/d0" })
    }

    #[test]
    fn references_that_multiply_are_refused_before_they_do() {
        let twice = |next: serde_json::Value| json!({ "anyOf": [next.clone(), next] });
        assert_eq!(check(chained(8, twice), json!("x")), "");
        insta::assert_snapshot!(check(chained(60, twice), json!(1)), @"error: checking this value against the schema takes too long");
        // Through the parts of a value, too, and by names instead of pointers.
        let nested = (0..100).fold(json!(1), |inner, _| json!([inner]));
        let branches = json!([{ "items": { "$ref": "#me" } }, { "items": { "$ref": "#me" } }]);
        let schema = json!({ "$anchor": "me", "anyOf": branches });
        insta::assert_snapshot!(check(schema, nested.clone()), @"error: checking this value against the schema takes too long");
        let branches =
            json!([{ "items": { "$ref": "x:/a%2Fb" } }, { "items": { "$ref": "x:/a%2Fb" } }]);
        let schema = json!({ "$id": "x:/a%2Fb", "anyOf": branches });
        insta::assert_snapshot!(check(schema, nested), @"error: checking this value against the schema takes too long");
    }

    #[test]
    fn references_in_circles_and_long_chains_are_fine() {
        assert_eq!(check(json!({ "$ref": "#" }), json!(1)), "");
        assert_eq!(check(json!({ "allOf": [{ "$ref": "#" }] }), json!(1)), "");
        let tree = json!({ "type": "array", "items": { "$ref": "#" } });
        assert_eq!(check(tree.clone(), json!([[], [[]]])), "");
        insta::assert_snapshot!(check(tree, json!([[], [1]])), @r#"/1/0: 1 is not of type "array" (type)"#);
        // As deep as this a usual stack ends.
        insta::assert_snapshot!(check(chained(8000, |next| next), json!(1)), @r#"1 is not of type "string" (type)"#);
        let arrays = (0..100).fold(json!("x"), |inner, _| json!([inner]));
        let down = json!({ "anyOf": [{ "type": "string" }, { "items": { "$ref": "#" } }] });
        assert_eq!(check(down, arrays), "");
    }

    #[test]
    fn much_against_much_is_refused() {
        let many: Vec<_> = (0..2000)
            .map(|n| json!({ "items": { "maximum": n } }))
            .collect();
        let values: Vec<_> = (0..2000).collect();
        insta::assert_snapshot!(check(json!({ "allOf": many }), json!(values)), @"error: checking this value against the schema takes too long");
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
