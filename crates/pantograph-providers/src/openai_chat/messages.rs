//! The messages of a request.

use std::borrow::Cow;

use pantograph::{RawJson, ToolStatus};
use serde::Serialize;
use serde_json::value::RawValue;

use super::flags::{OpenAiChatFlags, ThinkingReplay};
use crate::attachment::{DataUrl, File};
use crate::harmless;
use crate::history::{Call, Content, History, Part, ResultPart, Speaker, Turn};
use crate::prompt_cache::{CacheControl, EPHEMERAL};

/// How many of the last turns that are not the model's are marked: the last for the next
/// request, the one before it to find what this one's predecessor wrote.
const MARKED_TURNS: usize = 2;

/// What the model is said to have said where it must have said something.
const FILLER: &str = "(I have the results.)";

/// What stands in a result for each of its files, which only a user can send.
const FILE_FOLLOWS: &str = "[an attachment, in the user message that follows the results]";

/// What a failed call's result begins with; the protocol has no other place to say so.
const FAILED: &str = "[the call failed]";

/// One message.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(super) enum Message<'a> {
    System {
        content: Body<'a>,
    },
    Developer {
        content: Body<'a>,
    },
    User {
        content: Body<'a>,
    },
    Assistant(Answer<'a>),
    Tool {
        tool_call_id: &'a str,
        content: Body<'a>,
    },
}

/// What is said. One text is sent as such: not every server takes a list of parts.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Body<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<MarkedPiece<'a>>),
}

#[derive(Default, Serialize)]
pub(super) struct Answer<'a> {
    /// `null` beside calls.
    content: Option<Body<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
    /// What its provider put beside it, such as a signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawJson>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// A part and, perhaps, a mark up to which the provider keeps the request.
#[derive(Serialize)]
pub(super) struct MarkedPiece<'a> {
    #[serde(flatten)]
    piece: Piece<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: Cow<'a, str> },
    Thinking { thinking: [PlainText<'a>; 1] },
    ImageUrl { image_url: Image<'a> },
    File { file: Document<'a> },
}

#[derive(Serialize)]
struct PlainText<'a> {
    r#type: &'static str,
    text: Cow<'a, str>,
}

#[derive(Serialize)]
struct Image<'a> {
    url: DataUrl<'a>,
}

#[derive(Serialize)]
struct Document<'a> {
    /// Wanted, and shown to nobody.
    filename: &'static str,
    file_data: DataUrl<'a>,
}

/// The system prompt, with what else this request has to say, as one message; servers refuse a
/// second, or read only the first.
pub(super) fn system<'a>(
    history: &History<'a>,
    instruction: Option<&str>,
    flags: OpenAiChatFlags,
    marks: bool,
) -> Vec<Message<'a>> {
    let mut texts: Vec<Piece<'a>> = history.system().into_iter().map(text).collect();
    let stable = texts.len();
    texts.extend(instruction.map(|instruction| text(instruction.to_owned().into())));
    if texts.is_empty() {
        return Vec::new();
    }
    let mut content = body(texts, Form::of(marks));
    // Before the instruction: it comes and goes.
    if let (true, Body::Parts(parts), Some(last)) = (marks, &mut content, stable.checked_sub(1)) {
        parts[last].cache_control = Some(EPHEMERAL);
    }
    vec![match flags.developer_role {
        true => Message::Developer { content },
        false => Message::System { content },
    }]
}

/// The turns as messages.
pub(super) fn conversation<'a>(
    turns: &'a [Turn<'a>],
    flags: OpenAiChatFlags,
    marks: bool,
) -> Vec<Message<'a>> {
    let mut writer = Writer {
        flags,
        form: Form::of(marks),
        messages: Vec::new(),
        unsaid: Vec::new(),
        ends: Vec::new(),
    };
    for turn in turns {
        match turn.speaker {
            Speaker::User => writer.user(turn),
            Speaker::Assistant => writer.assistant(turn),
            Speaker::Tool => writer.results(turn),
        }
    }
    writer.flush();
    if marks {
        writer.mark();
    }
    writer.messages
}

/// Whether a single text may be sent as such.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Parts,
}

impl Form {
    /// Only parts can be marked.
    fn of(marks: bool) -> Self {
        match marks {
            true => Self::Parts,
            false => Self::Plain,
        }
    }
}

struct Writer<'a> {
    flags: OpenAiChatFlags,
    form: Form,
    messages: Vec<Message<'a>>,
    /// What the user says next: the files of results, and what follows.
    unsaid: Vec<Piece<'a>>,
    /// The last message of each turn that is not the model's.
    ends: Vec<usize>,
}

impl<'a> Writer<'a> {
    fn user(&mut self, turn: &'a Turn<'a>) {
        let pieces = turn.parts.iter().filter_map(|part| match part {
            Part::Text { text, .. } => Some(self::text(Cow::Borrowed(text))),
            Part::File(file) => Some(self::file(file)),
            _ => None,
        });
        self.unsaid.extend(pieces);
    }

    fn assistant(&mut self, turn: &'a Turn<'a>) {
        // One that only thought is not sent, and the user goes on as if it had not been.
        if let Some(answer) = answer(turn, self.flags) {
            self.flush();
            self.messages.push(Message::Assistant(answer));
        }
    }

    fn results(&mut self, turn: &'a Turn<'a>) {
        self.flush();
        for part in &turn.parts {
            if let Part::Result(result) = part {
                self.result(result);
            }
        }
        self.ends.push(self.messages.len().saturating_sub(1));
    }

    fn result(&mut self, result: &'a ResultPart<'a>) {
        let mut lines: Vec<&str> = Vec::new();
        if result.status == ToolStatus::Error {
            lines.push(FAILED);
        }
        for content in &result.content {
            match content {
                Content::Text(text) => lines.push(text),
                Content::File(file) => {
                    lines.push(FILE_FOLLOWS);
                    let label = format!("The attachment of the result of `{}`:", result.call);
                    self.unsaid.extend([text(label.into()), self::file(file)]);
                }
            }
        }
        let content = match lines[..] {
            [line] => Cow::Borrowed(line),
            _ => Cow::Owned(lines.join("\n")),
        };
        self.messages.push(Message::Tool {
            tool_call_id: result.call,
            content: body(vec![text(content)], self.form),
        });
    }

    /// Lets the user say what is unsaid.
    fn flush(&mut self) {
        if self.unsaid.is_empty() {
            return;
        }
        let after_results = matches!(self.messages.last(), Some(Message::Tool { .. }));
        if after_results && self.flags.answer_after_results {
            self.messages.push(Message::Assistant(Answer {
                content: Some(Body::Text(Cow::Borrowed(FILLER))),
                ..Answer::default()
            }));
        }
        let content = body(std::mem::take(&mut self.unsaid), self.form);
        self.messages.push(Message::User { content });
        self.ends.push(self.messages.len() - 1);
    }

    fn mark(&mut self) {
        for &at in self.ends.iter().rev().take(MARKED_TURNS) {
            if let Some(
                Message::User {
                    content: Body::Parts(parts),
                }
                | Message::Tool {
                    content: Body::Parts(parts),
                    ..
                },
            ) = self.messages.get_mut(at)
                && let Some(last) = parts.last_mut()
            {
                last.cache_control = Some(EPHEMERAL);
            }
        }
    }
}

/// What the model said; `None` if nothing of it may be sent.
fn answer<'a>(turn: &'a Turn<'a>, flags: OpenAiChatFlags) -> Option<Answer<'a>> {
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    let mut thoughts: Vec<Cow<'_, str>> = Vec::new();
    let mut details: Vec<&RawValue> = Vec::new();
    let mut tool_calls: Vec<ToolCall<'_>> = Vec::new();
    for part in &turn.parts {
        match part {
            Part::Text { text, .. } if harmless::is_blank(text) => {}
            Part::Text { text, .. } => texts.push(Cow::Borrowed(text)),
            Part::Thinking { text, raw, .. } => {
                if !harmless::is_blank(text) {
                    thoughts.push(harmless::text(text));
                }
                details.extend(raw.iter().flat_map(|raw| items(raw)));
            }
            Part::Opaque(raw) => details.extend(items(raw)),
            Part::Call(call) => tool_calls.push(self::call(call)),
            Part::Result(_) | Part::File(_) => {}
        }
    }
    if texts.is_empty() && tool_calls.is_empty() {
        return None;
    }
    let said = joined(texts);
    let thought = joined(thoughts);
    let mut answer = Answer {
        tool_calls,
        ..Answer::default()
    };
    match flags.thinking {
        ThinkingReplay::Dropped => {}
        ThinkingReplay::Content => {
            let missing = flags.thinking_required.then_some(Cow::Borrowed(""));
            answer.reasoning_content = thought.or(missing);
        }
        ThinkingReplay::Reasoning => answer.reasoning = thought,
        ThinkingReplay::Details if details.is_empty() => answer.reasoning = thought,
        ThinkingReplay::Details => answer.reasoning_details = details,
        ThinkingReplay::Parts => {
            if let Some(thought) = thought {
                let thinking = Piece::Thinking {
                    thinking: [PlainText {
                        r#type: "text",
                        text: thought,
                    }],
                };
                let pieces = [thinking].into_iter().chain(said.map(text)).collect();
                answer.content = Some(body(pieces, Form::Parts));
                return Some(answer);
            }
        }
    }
    answer.content = said.map(Body::Text);
    Some(answer)
}

fn call<'a>(call: &'a Call<'a>) -> ToolCall<'a> {
    ToolCall {
        id: call.id,
        r#type: "function",
        function: Function {
            name: &call.name,
            arguments: call.input.as_str(),
        },
        extra_content: call.raw,
    }
}

/// The items of a list of reasoning details.
fn items(raw: &RawJson) -> Vec<&RawValue> {
    serde_json::from_str(raw.as_str()).unwrap_or_default()
}

fn joined(mut texts: Vec<Cow<'_, str>>) -> Option<Cow<'_, str>> {
    match texts.len() {
        0 | 1 => texts.pop(),
        _ => Some(Cow::Owned(texts.join("\n\n"))),
    }
}

fn body<'a>(pieces: Vec<Piece<'a>>, form: Form) -> Body<'a> {
    let mut texts: Vec<Cow<'a, str>> = Vec::new();
    let mut parts: Vec<MarkedPiece<'a>> = Vec::new();
    for piece in pieces {
        match piece {
            // Until there is something else, texts may still be all.
            Piece::Text { text } if form == Form::Plain && parts.is_empty() => texts.push(text),
            piece => {
                parts.extend(texts.drain(..).map(text).map(unmarked));
                parts.push(unmarked(piece));
            }
        }
    }
    if !parts.is_empty() {
        return Body::Parts(parts);
    }
    match <[Cow<'a, str>; 1]>::try_from(texts) {
        Ok([text]) => Body::Text(text),
        Err(texts) => Body::Text(Cow::Owned(texts.join("\n\n"))),
    }
}

fn unmarked(piece: Piece<'_>) -> MarkedPiece<'_> {
    MarkedPiece {
        piece,
        cache_control: None,
    }
}

fn text(text: Cow<'_, str>) -> Piece<'_> {
    Piece::Text { text }
}

fn file(file: &File) -> Piece<'_> {
    let url = DataUrl(file);
    match file.is_image() {
        true => Piece::ImageUrl {
            image_url: Image { url },
        },
        false => Piece::File {
            file: Document {
                filename: "document.pdf",
                file_data: url,
            },
        },
    }
}
