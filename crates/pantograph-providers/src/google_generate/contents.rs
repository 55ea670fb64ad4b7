//! A conversation as contents.

use std::borrow::Cow;

use pantograph::{RawJson, ToolStatus};
use serde::Serialize;
use serde_json::value::RawValue;

use super::item;
use crate::attachment::File;
use crate::history::{self, Call, ResultPart, Speaker, Turn};

/// The signature that is documented for calls that another model made. Newer models refuse an
/// answer whose first call has none; older ones do not look at it.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// What a function says whose response is a file.
const FILE_IS_ATTACHED: &str = "(see the attached file)";

/// What differs between servers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) has_call_ids: bool,
    pub(super) files: Files,
}

/// Where the files of results go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    /// Into the response of the function.
    InResults,
    /// Into a content of their own, behind all responses.
    AfterResults,
}

/// What one role says at a time.
#[derive(Serialize)]
pub(super) struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Part<'a> {
    Text {
        text: Cow<'a, str>,
    },
    #[serde(rename_all = "camelCase")]
    Blob {
        inline_data: Blob<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: FunctionCall<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<Signature<'a>>,
    },
    #[serde(rename_all = "camelCase")]
    Response {
        function_response: FunctionResponse<'a>,
    },
    /// A part of the provider's own, verbatim.
    Own(&'a RawValue),
    /// The same, of a kind that only the provider understands.
    Opaque(&'a RawJson),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
pub(super) struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: &'a RawJson,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Signature<'a> {
    Own(&'a RawValue),
    Foreign(&'static str),
}

#[derive(Serialize)]
pub(super) struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: Response<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'a>>,
}

/// The keys that the API gives a meaning.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Response<'a> {
    Output(Cow<'a, str>),
    Error(Cow<'a, str>),
}

/// The turns as contents.
///
/// Responses of functions are all that is in their content, since the API takes what else there
/// is for another turn. So the user may speak twice in a row, which it allows.
pub(super) fn contents<'a>(turns: &'a [Turn<'a>], rules: Rules) -> Vec<Content<'a>> {
    let mut writer = Writer {
        rules,
        contents: Vec::new(),
        can_go_on: false,
    };
    for turn in turns {
        match turn.speaker {
            Speaker::User => writer.user(asked(turn)),
            Speaker::Assistant => writer.model(answered(turn, rules)),
            Speaker::Tool => writer.results(turn),
        }
    }
    writer.contents
}

struct Writer<'a> {
    rules: Rules,
    contents: Vec<Content<'a>>,
    /// The last content is the user's, and no response.
    can_go_on: bool,
}

impl<'a> Writer<'a> {
    fn user(&mut self, parts: Vec<Part<'a>>) {
        match self.contents.last_mut() {
            Some(last) if self.can_go_on => last.parts.extend(parts),
            _ => self.push("user", parts),
        }
        self.can_go_on = true;
    }

    fn model(&mut self, parts: Vec<Part<'a>>) {
        // An answer of which nothing may be sent is as if it had not been.
        if !parts.is_empty() {
            self.push("model", parts);
            self.can_go_on = false;
        }
    }

    fn results(&mut self, turn: &'a Turn<'a>) {
        let results = || {
            turn.parts.iter().filter_map(|part| match part {
                history::Part::Result(result) => Some(result),
                _ => None,
            })
        };
        let responses = results().map(|result| response(result, self.rules));
        let responses = responses.collect();
        self.push("user", responses);
        self.can_go_on = false;
        if self.rules.files == Files::AfterResults {
            let files: Vec<Part<'a>> = results().flat_map(labelled_files).collect();
            if !files.is_empty() {
                self.user(files);
            }
        }
    }

    fn push(&mut self, role: &'static str, parts: Vec<Part<'a>>) {
        self.contents.push(Content { role, parts });
    }
}

fn asked<'a>(turn: &'a Turn<'a>) -> Vec<Part<'a>> {
    let parts = turn.parts.iter().filter_map(|part| match part {
        history::Part::Text { text, .. } => Some(self::text(text)),
        history::Part::File(file) => Some(blob(file)),
        _ => None,
    });
    parts.collect()
}

fn answered<'a>(turn: &'a Turn<'a>, rules: Rules) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    let mut has_calls = false;
    for part in &turn.parts {
        match part {
            // The model reads nothing from thoughts that are not signed.
            history::Part::Thinking { raw, .. } => {
                parts.extend(raw.iter().flat_map(|raw| item::pieces(raw)).map(Part::Own));
            }
            history::Part::Text { text, raw } => {
                let own = raw.map(|raw| item::pieces(raw)).unwrap_or_default();
                if own.is_empty() && !text.trim().is_empty() {
                    parts.push(self::text(text));
                }
                parts.extend(own.into_iter().map(Part::Own));
            }
            history::Part::Call(call) => {
                let missing = (!has_calls).then_some(Signature::Foreign(FOREIGN_SIGNATURE));
                parts.push(self::call(call, missing, rules));
                has_calls = true;
            }
            history::Part::Opaque(raw) => parts.push(Part::Opaque(raw)),
            history::Part::File(_) | history::Part::Result(_) => {}
        }
    }
    parts
}

/// A call; `missing` stands for a signature that it does not have.
fn call<'a>(call: &'a Call<'a>, missing: Option<Signature<'a>>, rules: Rules) -> Part<'a> {
    let own = call.raw.and_then(item::signature).map(Signature::Own);
    Part::Call {
        function_call: FunctionCall {
            id: rules.has_call_ids.then_some(call.id),
            name: &call.name,
            args: &call.input,
        },
        thought_signature: own.or(missing),
    }
}

fn response<'a>(result: &'a ResultPart<'a>, rules: Rules) -> Part<'a> {
    let files = files(result).map(blob);
    let text = said(result);
    Part::Response {
        function_response: FunctionResponse {
            id: rules.has_call_ids.then_some(result.call),
            name: &result.name,
            response: match result.status {
                ToolStatus::Ok => Response::Output(text),
                ToolStatus::Error | ToolStatus::Cancelled => Response::Error(text),
            },
            parts: match rules.files {
                Files::InResults => files.collect(),
                Files::AfterResults => Vec::new(),
            },
        },
    }
}

/// The texts of a result, a line each.
fn said<'a>(result: &'a ResultPart<'a>) -> Cow<'a, str> {
    let texts: Vec<&str> = result
        .content
        .iter()
        .filter_map(|content| match content {
            history::Content::Text(text) => Some(&**text),
            history::Content::File(_) => None,
        })
        .collect();
    match texts[..] {
        [] => Cow::Borrowed(FILE_IS_ATTACHED),
        [text] => Cow::Borrowed(text),
        _ => Cow::Owned(texts.join("\n")),
    }
}

fn files<'a>(result: &'a ResultPart<'a>) -> impl Iterator<Item = &'a File> {
    result.content.iter().filter_map(|content| match content {
        history::Content::File(file) => Some(file),
        history::Content::Text(_) => None,
    })
}

/// The files of a result, each after words that say whose it is.
fn labelled_files<'a>(result: &'a ResultPart<'a>) -> impl Iterator<Item = Part<'a>> {
    files(result).flat_map(|file| {
        let label = format!("The attachment of the response of `{}`:", result.name);
        [Part::Text { text: label.into() }, blob(file)]
    })
}

fn text(text: &str) -> Part<'_> {
    Part::Text { text: text.into() }
}

fn blob(file: &File) -> Part<'_> {
    Part::Blob {
        inline_data: Blob {
            mime_type: &file.media_type,
            data: &file.data,
        },
    }
}
