//! Tool input as models write it: what a tool may see, and what a model hears otherwise.
//!
//! Reading is linear in the input and bounded in depth; what passes here decodes later.

mod check;
mod excerpt;

use std::fmt;

use serde_json::{Value, json};

use crate::raw_json::RawJson;
use crate::surrogates;
use crate::tool::ToolDeclaration;
use check::{Kind, check};
use excerpt::{Excerpt, Malformed};

/// Reads the input of a call of the declared tool.
///
/// A JSON object is kept byte for byte, without blanks around it; only escapes of lone
/// surrogates, which no decoder takes, become `\ufffd`. Nothing, blanks and `null` mean `{}` if
/// no key is required. Whether the object fits the schema is for the tool to say.
///
/// # Errors
///
/// [`InputError`] for anything else: its text is the result that the model gets.
pub fn parse(input: &str, declaration: &ToolDeclaration) -> Result<RawJson, InputError> {
    let error = |problem| InputError::new(declaration, problem);
    if input.trim().is_empty() {
        return absent("is empty", declaration);
    }
    let repaired = surrogates::mended(input);
    match check(&repaired) {
        Ok(Kind::Object) => RawJson::parse(&repaired)
            .map_err(|cause| error(Problem::Malformed(Malformed::new(&repaired, &cause)))),
        Ok(Kind::Null) => absent("is `null`", declaration),
        Ok(Kind::Other(found)) => Err(error(Problem::NotAnObject {
            found,
            quote: Excerpt::at(input, 0).after,
        })),
        Err(cause) => Err(error(Problem::Malformed(Malformed::new(input, &cause)))),
    }
}

/// The input of a call as a JSON object, for protocols that take nothing else in a history.
///
/// An object is given as [`parse`] does, nothing and `null` are `{}`, and any other text is the
/// value of the one key `malformed_input`.
pub fn wire_object(input: &str) -> RawJson {
    let repaired = surrogates::mended(input);
    match check(&repaired) {
        Ok(Kind::Object) => {
            if let Ok(object) = RawJson::parse(&repaired) {
                return object;
            }
        }
        Ok(Kind::Null) => return empty_object(),
        _ if input.trim().is_empty() => return empty_object(),
        _ => {}
    }
    RawJson::from_value(&json!({ "malformed_input": input }))
}

/// Why a tool call was not run as the model wrote it; the text is for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    tool: String,
    problem: Box<Problem>,
    keys: Vec<(String, Required)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Problem {
    Absent(&'static str),
    NotAnObject { found: &'static str, quote: String },
    Malformed(Malformed),
    Unfit(String),
    Truncated { bytes: usize, before: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Required {
    Yes,
    No,
}

impl InputError {
    /// A call in whose input the output limit cut the model's answer.
    pub fn truncated(input: &str, declaration: &ToolDeclaration) -> Self {
        Self::new(
            declaration,
            Problem::Truncated {
                bytes: input.len(),
                before: Excerpt::at(input, input.len()).before,
            },
        )
    }

    /// An object that a tool could not decode, with the decoder's words.
    pub(crate) fn unfit(cause: &serde_json::Error, declaration: &ToolDeclaration) -> Self {
        Self::new(declaration, Problem::Unfit(cause.to_string()))
    }

    fn new(declaration: &ToolDeclaration, problem: Problem) -> Self {
        let required = declaration.required_keys();
        let mut keys: Vec<_> = declaration
            .keys()
            .into_iter()
            .map(|key| match required.contains(&key) {
                true => (key.to_owned(), Required::Yes),
                false => (key.to_owned(), Required::No),
            })
            .collect();
        for key in required {
            if !keys.iter().any(|(known, _)| known == key) {
                keys.push((key.to_owned(), Required::Yes));
            }
        }
        Self {
            tool: declaration.name.as_str().to_owned(),
            problem: Box::new(problem),
            keys,
        }
    }
}

impl std::error::Error for InputError {}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = &self.tool;
        match &*self.problem {
            Problem::Absent(how) => write!(f, "the input of `{tool}` {how}")?,
            Problem::NotAnObject { found, quote } => write!(
                f,
                "the input of `{tool}` is {found}, not a JSON object: `{quote}`"
            )?,
            Problem::Malformed(malformed) => {
                write!(f, "the input of `{tool}` is not valid JSON: {malformed}")?;
            }
            Problem::Unfit(cause) => write!(f, "the input of `{tool}` does not fit: {cause}")?,
            Problem::Truncated { bytes, before } => write!(
                f,
                "the output limit cut the input of `{tool}` after {bytes} bytes, at `{before}`; \
                 the call was not run"
            )?,
        }
        f.write_str("\nexpected one JSON object ")?;
        write_keys(f, &self.keys)?;
        if matches!(*self.problem, Problem::Truncated { .. }) {
            f.write_str("\ncall again with a shorter input, or split the work over several calls")?;
        }
        Ok(())
    }
}

fn write_keys(f: &mut fmt::Formatter<'_>, keys: &[(String, Required)]) -> fmt::Result {
    if keys.is_empty() {
        return f.write_str("without keys: `{}`");
    }
    f.write_str("with these keys: ")?;
    for (position, (key, required)) in keys.iter().enumerate() {
        let comma = if position == 0 { "" } else { ", " };
        let note = match required {
            Required::Yes => " (required)",
            Required::No => "",
        };
        write!(f, "{comma}`{key}`{note}")?;
    }
    Ok(())
}

fn empty_object() -> RawJson {
    RawJson::from_value(&Value::Object(serde_json::Map::new()))
}

fn absent(how: &'static str, declaration: &ToolDeclaration) -> Result<RawJson, InputError> {
    if declaration.required_keys().is_empty() {
        Ok(empty_object())
    } else {
        Err(InputError::new(declaration, Problem::Absent(how)))
    }
}

#[cfg(test)]
mod tests;
