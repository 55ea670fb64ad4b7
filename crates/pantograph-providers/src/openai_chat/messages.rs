//! The messages of a request.

use std::borrow::Cow;

use pantograph::{RawJson, ToolStatus};
use serde_json::value::RawValue;

use super::flags::{OpenAiChatFlags, ThinkingReplay};
use super::message::{Answer, Body, Form, Message, Piece, ToolCall};
use crate::harmless;
use crate::history::{Content, History, Part, ResultPart, Speaker, Turn};

/// How many of the last turns that are not the model's are marked: the last for the next
/// request, the one before it to find what this one's predecessor wrote.
const MARKED_TURNS: usize = 2;

/// What the model is said to have said where it must have said something.
const FILLER: &str = "(I have the results.)";

/// What stands in a result for each of its files, which only a user can send.
const FILE_FOLLOWS: &str = "[an attachment, in the user message that follows the results]";

/// What a failed call's result begins with; the protocol has no other place to say so.
const FAILED: &str = "[the call failed]";

/// The system prompt, with what else this request has to say, as one message; servers refuse a
/// second, or read only the first.
pub(super) fn system<'a>(
    history: &History<'a>,
    instruction: Option<&str>,
    flags: OpenAiChatFlags,
    marks: bool,
) -> Vec<Message<'a>> {
    let mut texts: Vec<Piece<'a>> = history.system().into_iter().map(Piece::text).collect();
    let stable = texts.len();
    texts.extend(instruction.map(|instruction| Piece::text(instruction.to_owned())));
    if texts.is_empty() {
        return Vec::new();
    }
    let mut content = Body::of(texts, Form::of(marks));
    // Before the instruction: it comes and goes.
    if let (true, Body::Parts(parts), Some(last)) = (marks, &mut content, stable.checked_sub(1)) {
        parts[last].mark();
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
            Part::Text { text, .. } => Some(Piece::text(&**text)),
            Part::File(file) => Some(Piece::file(file)),
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
                    self.unsaid.extend([Piece::text(label), Piece::file(file)]);
                }
            }
        }
        let content = match lines[..] {
            [line] => Cow::Borrowed(line),
            _ => Cow::Owned(lines.join("\n")),
        };
        self.messages.push(Message::Tool {
            tool_call_id: result.call,
            content: Body::of(vec![Piece::text(content)], self.form),
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
        let content = Body::of(std::mem::take(&mut self.unsaid), self.form);
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
                last.mark();
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
            Part::Call(call) => tool_calls.push(call.into()),
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
                let said = said.map(Piece::text);
                let pieces = [Piece::thinking(thought)].into_iter().chain(said).collect();
                answer.content = Some(Body::of(pieces, Form::Parts));
                return Some(answer);
            }
        }
    }
    answer.content = said.map(Body::Text);
    Some(answer)
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
