//! What Lua code raised, for those who show it.

use std::fmt;

use mlua::{LuaString, Table, Value};

/// An error that Lua code raised and did not catch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// What was running, such as ``the tool `read` ``.
    pub what: String,
    /// What was raised, as text.
    pub message: String,
    /// Where, innermost frame first; empty where that is not known.
    pub traceback: String,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            message: message.into(),
            traceback: String::new(),
        }
    }

    pub(crate) fn gone(what: impl Into<String>) -> Self {
        Self::new(what, "the Lua state is gone")
    }

    /// Reads what the Lua half makes of an error: message and traceback.
    pub(crate) fn read(what: impl Into<String>, value: &Value) -> Self {
        let mut failure = Self::new(what, "");
        match value {
            Value::Table(table) => {
                let field = |name: &str| text_field(table, name);
                let message = field("message").unwrap_or_default();
                // What Rust raised, as Lua writes it.
                failure.message = match message.strip_prefix("runtime error: ") {
                    Some(raised) => raised.to_owned(),
                    None => message,
                };
                failure.traceback = field("traceback").unwrap_or_default();
            }
            // An error in the function that makes the table.
            Value::String(text) => failure.message = text.to_string_lossy(),
            other => failure.message = format!("(error object is a {} value)", other.type_name()),
        }
        failure
    }

    /// An error that Lua gave to Rust.
    pub(crate) fn of(what: impl Into<String>, error: &mlua::Error) -> Self {
        let mut failure = Self::new(what, "");
        let mut error = error;
        while let mlua::Error::CallbackError { cause, traceback } = error {
            failure.traceback.clone_from(traceback);
            error = cause;
        }
        failure.message = match error {
            mlua::Error::RuntimeError(text) => text.clone(),
            other => other.to_string(),
        };
        failure
    }

    /// The message's first line that says something, for a model.
    pub fn first_line(&self) -> &str {
        let mut lines = self.message.lines().map(str::trim);
        lines
            .find(|line| !line.is_empty())
            .unwrap_or("it failed without a message")
    }
}

/// What a value is, in words.
pub(crate) fn named(value: &Value) -> String {
    match value {
        Value::Nil => "nothing".to_owned(),
        Value::Integer(_) => "a number".to_owned(),
        other => format!("a {}", other.type_name()),
    }
}

fn text_field(table: &Table, name: &str) -> Option<String> {
    let text: Option<LuaString> = table.raw_get(name).ok()?;
    text.map(|text| text.to_string_lossy())
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {}", self.what, self.message)
    }
}

impl std::error::Error for Failure {}
