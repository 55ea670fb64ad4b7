//! A conversation as input items.

use std::borrow::Cow;
use std::fmt::Write;

use pantograph::RawJson;
use serde::Serialize;

use super::OpenAiResponsesFlags;
use super::item;
use crate::attachment::{self, DataUrl, File};
use crate::harmless;
use crate::history::{Call, Content, Part, ResultPart, Speaker, Turn};

/// An item of the request's input.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    Known(Known<'a>),
    /// The provider's own reasoning, verbatim.
    Reasoning(&'a RawJson),
    /// Another item of the provider's own, verbatim.
    Own(&'a RawJson),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Known<'a> {
    Message {
        role: &'static str,
        content: Said<'a>,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Said<'a>,
    },
}

/// Content: one text, or parts.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Said<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<SaidPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum SaidPart<'a> {
    #[serde(rename = "input_text")]
    Text { text: &'a str },
    #[serde(rename = "input_image")]
    Image {
        detail: &'static str,
        image_url: DataUrl<'a>,
    },
    #[serde(rename = "input_file")]
    File {
        filename: &'static str,
        file_data: DataUrl<'a>,
    },
}

/// The input: the system's texts, the turns, and an instruction that holds for this answer only.
/// It comes last, since what lies before it is the beginning of the next request.
pub(super) fn items<'a>(
    system: Vec<Cow<'a, str>>,
    turns: &'a [Turn<'a>],
    instruction: Option<String>,
    flags: OpenAiResponsesFlags,
) -> Vec<Item<'a>> {
    let role = match flags.system_role {
        true => "system",
        false => "developer",
    };
    let message = |text| message(role, Said::Text(text));
    let mut items: Vec<Item<'a>> = system.into_iter().map(message).collect();
    for turn in turns {
        match turn.speaker {
            Speaker::User => items.push(asked(&turn.parts)),
            Speaker::Assistant => answered(&turn.parts, &mut items),
            Speaker::Tool => items.extend(turn.parts.iter().filter_map(|part| match part {
                Part::Result(result) => Some(output(result, flags)),
                _ => None,
            })),
        }
    }
    items.extend(instruction.map(Cow::Owned).map(message));
    items
}

fn message<'a>(role: &'static str, content: Said<'a>) -> Item<'a> {
    Item::Known(Known::Message { role, content })
}

fn asked<'a>(parts: &'a [Part<'a>]) -> Item<'a> {
    let parts = parts.iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(SaidPart::Text { text }),
        Part::File(file) => Some(self::file(file)),
        _ => None,
    });
    message("user", Said::Parts(parts.collect()))
}

/// Adds an answer's items.
///
/// The provider's own items belong together: it refuses reasoning that nothing follows, and
/// items with ids whose reasoning is missing. So the first is left out, and the others are
/// written anew, without ids.
fn answered<'a>(parts: &'a [Part<'a>], items: &mut Vec<Item<'a>>) {
    let start = items.len();
    let mut is_whole = true;
    // Whether what followed the last reasoning was left out.
    let mut is_bare = false;
    for part in parts {
        match part {
            Part::Thinking { raw, .. } => {
                if is_bare {
                    pop_reasoning(items, start);
                }
                let raw = raw.filter(|raw| item::is_reasoning_whole(raw));
                is_whole = raw.is_some();
                items.extend(raw.map(Item::Reasoning));
                is_bare = false;
            }
            // The API refuses content without anything in it, its own too.
            Part::Text { text, .. } if harmless::is_blank(text) => is_bare = true,
            Part::Text { text, raw } => match raw.filter(|_| is_whole) {
                Some(raw) => items.push(Item::Own(raw)),
                None => {
                    let text = Cow::Borrowed(&**text);
                    items.push(message("assistant", Said::Text(text)));
                }
            },
            Part::Call(call) => items.push(self::call(call, is_whole)),
            Part::Opaque(raw) if is_whole => items.push(Item::Own(raw)),
            Part::Opaque(_) | Part::File(_) | Part::Result(_) => {}
        }
    }
    pop_reasoning(items, start);
}

/// Takes the reasoning back with which the items from `start` on end.
fn pop_reasoning(items: &mut Vec<Item<'_>>, start: usize) {
    while items.len() > start && matches!(items.last(), Some(Item::Reasoning(_))) {
        items.pop();
    }
}

fn call<'a>(call: &'a Call<'a>, is_whole: bool) -> Item<'a> {
    match call.raw.filter(|raw| is_whole && item::is_call(raw, call)) {
        Some(raw) => Item::Own(raw),
        None => Item::Known(Known::FunctionCall {
            call_id: call.id,
            name: &call.name,
            arguments: call.input.as_str(),
        }),
    }
}

fn output<'a>(result: &'a ResultPart<'a>, flags: OpenAiResponsesFlags) -> Item<'a> {
    let has_files = result
        .content
        .iter()
        .any(|content| matches!(content, Content::File(_)));
    let output = match has_files && !flags.text_results {
        true => Said::Parts(result.content.iter().map(content).collect()),
        false => Said::Text(text(&result.content)),
    };
    Item::Known(Known::FunctionCallOutput {
        call_id: result.call,
        output,
    })
}

fn content<'a>(content: &'a Content<'a>) -> SaidPart<'a> {
    match content {
        Content::Text(text) => SaidPart::Text { text },
        Content::File(file) => self::file(file),
    }
}

/// The texts, a line each, and a line for each file.
fn text<'a>(content: &'a [Content<'a>]) -> Cow<'a, str> {
    if let [Content::Text(text)] = content {
        return Cow::Borrowed(text);
    }
    let mut whole = String::new();
    for (position, content) in content.iter().enumerate() {
        if position > 0 {
            whole.push('\n');
        }
        // Writing into memory does not fail.
        let _ = match content {
            Content::Text(text) => whole.write_str(text),
            Content::File(file) => whole.write_str(&attachment::left_out(
                &file.media_type,
                "this provider takes only text from tools",
            )),
        };
    }
    Cow::Owned(whole)
}

fn file(file: &File) -> SaidPart<'_> {
    match file.is_image() {
        true => SaidPart::Image {
            detail: "auto",
            image_url: DataUrl(file),
        },
        false => SaidPart::File {
            filename: "document.pdf",
            file_data: DataUrl(file),
        },
    }
}
