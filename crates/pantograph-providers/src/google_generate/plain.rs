//! The event that most of an answer is made of: a piece of text, and the counts so far.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::frame::Text;
use crate::lenient::Absent;

/// A piece of text as it mostly comes, read in one pass. Any other event is none such, and is
/// looked at with more care.
pub(super) struct Plain<'a> {
    pub(super) text: Text<'a>,
    pub(super) is_thought: bool,
    pub(super) usage: Option<&'a RawValue>,
}

impl<'a> Plain<'a> {
    /// Reads an event, if it is plain.
    pub(super) fn read(data: &'a str) -> Option<Self> {
        let event: Event<'_> = serde_json::from_str(data).ok()?;
        let [Candidate { index, content, .. }] = event.candidates;
        let [part] = content.parts;
        // Another answer than the first is not read at all.
        (index.unwrap_or_default() == 0).then_some(Self {
            text: part.text,
            is_thought: part.thought,
            usage: event.usage_metadata,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    #[serde(borrow)]
    candidates: [Candidate<'a>; 1],
    #[serde(borrow)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(rename = "promptFeedback")]
    _prompt_feedback: Option<Absent>,
    #[serde(rename = "error")]
    _error: Option<Absent>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    index: Option<u32>,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(rename = "finishReason")]
    _finish_reason: Option<Absent>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: [Part<'a>; 1],
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(default)]
    thought: bool,
    #[serde(rename = "thoughtSignature")]
    _thought_signature: Option<Absent>,
    #[serde(rename = "functionCall")]
    _function_call: Option<Absent>,
}
