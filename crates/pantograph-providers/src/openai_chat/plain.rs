//! The event that most of an answer is made of: a piece of text, or of a thought.

use serde::Deserialize;

use crate::frame::Text;
use crate::lenient::Absent;

/// A piece as it mostly comes, read in one pass. Any other event is none such, and is looked at
/// with more care.
pub(super) struct Plain<'a> {
    pub(super) thought: Option<Text<'a>>,
    pub(super) text: Option<Text<'a>>,
}

impl<'a> Plain<'a> {
    /// Reads an event, if it is plain.
    pub(super) fn read(data: &'a str) -> Option<Self> {
        let event: Event<'_> = serde_json::from_str(data).ok()?;
        let [Choice { index, delta, .. }] = event.choices;
        let is_error = event
            .object
            .is_some_and(|object| object.eq_ignore_ascii_case("error"));
        // Another answer than the first is not read at all.
        (index.unwrap_or_default() == 0 && !is_error).then_some(Self {
            thought: delta.reasoning_content,
            text: delta.content,
        })
    }
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    choices: [Choice<'a>; 1],
    object: Option<&'a str>,
    #[serde(rename = "usage")]
    _usage: Option<Absent>,
    #[serde(rename = "x_groq")]
    _x_groq: Option<Absent>,
    #[serde(rename = "error")]
    _error: Option<Absent>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: Option<u32>,
    #[serde(borrow)]
    delta: Delta<'a>,
    #[serde(rename = "finish_reason")]
    _finish_reason: Option<Absent>,
    #[serde(rename = "usage")]
    _usage: Option<Absent>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<Text<'a>>,
    #[serde(rename = "reasoning")]
    _reasoning: Option<Absent>,
    #[serde(rename = "reasoning_details")]
    _reasoning_details: Option<Absent>,
    #[serde(rename = "refusal")]
    _refusal: Option<Absent>,
    #[serde(rename = "tool_calls")]
    _tool_calls: Option<Absent>,
    #[serde(rename = "function_call")]
    _function_call: Option<Absent>,
}
