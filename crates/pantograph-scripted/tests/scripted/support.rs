//! Requests to make and answers to read.

use std::fmt::Write;
use std::future::poll_fn;
use std::sync::Arc;

use pantograph::protocol::{Protocol, ProtocolEvent, ProtocolStream, Purpose, Request, ToolChoice};
use pantograph::{
    Block, CallId, Conversation, Message, MessageId, Metadata, Model, ModelRef, ProviderError,
    Role, ToolCall, ToolDeclaration, ToolResult, ToolSet, ToolStatus,
};
use pantograph_scripted::{Script, ScriptedProtocol, Step};
use serde_json::json;

/// A request for a turn, with the tools `read` (needs `path`) and `list` (needs nothing).
pub(crate) fn request(messages: impl IntoIterator<Item = (Role, Vec<Block>)>) -> Request {
    let mut conversation = Conversation::new();
    for (number, (role, blocks)) in messages.into_iter().enumerate() {
        conversation.push(Arc::new(message(number, role, blocks)));
    }
    let read = json!({
        "type": "object",
        "properties": { "path": { "type": "string" } },
        "required": ["path"],
    });
    let list = json!({ "type": "object" });
    let tools = vec![
        ToolDeclaration::new("read", "Reads a file.", read).unwrap(),
        ToolDeclaration::new("list", "Lists files.", list).unwrap(),
    ];
    Request {
        model: Arc::new(Model::new(ModelRef::parse("test:model").unwrap())),
        purpose: Purpose::Turn,
        context: "context".into(),
        label: None,
        system_prompt: None,
        conversation,
        tools: ToolSet::new(tools).unwrap(),
        tool_choice: ToolChoice::Auto,
    }
}

pub(crate) fn message(number: usize, role: Role, blocks: Vec<Block>) -> Message {
    Message {
        id: MessageId::new(format!("m{number}")),
        parent: None,
        at: "2026-01-01T00:00:00Z".parse().unwrap(),
        role,
        blocks,
        metadata: Metadata::new(),
        origin: None,
        usage: None,
        stop: None,
    }
}

/// A request that asks `text`.
pub(crate) fn ask(text: &str) -> Request {
    request([user(text)])
}

pub(crate) fn system(text: &str) -> (Role, Vec<Block>) {
    (Role::System, vec![Block::text(text)])
}

pub(crate) fn user(text: &str) -> (Role, Vec<Block>) {
    (Role::User, vec![Block::text(text)])
}

pub(crate) fn assistant(text: &str) -> (Role, Vec<Block>) {
    (Role::Assistant, vec![Block::text(text)])
}

/// An assistant message of calls: id, tool, input.
pub(crate) fn calls<const N: usize>(calls: [(&str, &str, &str); N]) -> (Role, Vec<Block>) {
    let block = |(id, name, input): (&str, &str, &str)| {
        Block::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            input: input.to_owned(),
            raw: None,
        })
    };
    (Role::Assistant, calls.into_iter().map(block).collect())
}

/// A tool message of results that are fine.
pub(crate) fn results<const N: usize>(ids: [&str; N]) -> (Role, Vec<Block>) {
    let block = |id: &str| result(id, ToolStatus::Ok, &format!("output of {id}"));
    (Role::Tool, ids.into_iter().map(block).collect())
}

pub(crate) fn result(id: &str, status: ToolStatus, text: &str) -> Block {
    Block::ToolResult(ToolResult::text(CallId::from(id), status, text))
}

pub(crate) type Event = Option<Result<ProtocolEvent, ProviderError>>;

pub(crate) async fn next(stream: &mut dyn ProtocolStream) -> Event {
    poll_fn(|cx| stream.poll_event(cx)).await
}

/// Everything that a stream still gives, a line an event.
pub(crate) async fn rest(stream: &mut dyn ProtocolStream) -> String {
    let mut text = String::new();
    while let Some(event) = next(stream).await {
        let failed = event.is_err();
        writeln!(text, "{}", line(&event)).unwrap();
        if failed {
            return text;
        }
    }
    text.push_str("(over)");
    text
}

fn line(event: &Result<ProtocolEvent, ProviderError>) -> String {
    match event {
        Ok(ProtocolEvent::TextDelta { index, text }) => format!("{index} text {text:?}"),
        Ok(ProtocolEvent::ThinkingDelta { index, text }) => format!("{index} thinking {text:?}"),
        Ok(ProtocolEvent::ThinkingSignature { index, signature }) => {
            format!("{index} signature {signature}")
        }
        Ok(ProtocolEvent::ToolCallStart { index, id, name }) => format!("{index} call {id} {name}"),
        Ok(ProtocolEvent::ToolCallDelta { index, json }) => format!("{index} input {json}"),
        Ok(ProtocolEvent::Raw { index, raw }) => format!("{index} raw {raw:?}"),
        Ok(ProtocolEvent::Opaque { index, raw }) => format!("{index} opaque {raw:?}"),
        Ok(ProtocolEvent::BlockEnd { index }) => format!("{index} end"),
        Ok(ProtocolEvent::Usage(usage)) => {
            format!("usage {}", serde_json::to_string(usage).unwrap())
        }
        Ok(ProtocolEvent::Done { stop }) => format!("done {stop}"),
        Ok(other) => format!("{other:?}"),
        Err(error) => error_line(error),
    }
}

fn error_line(error: &ProviderError) -> String {
    let mut line = format!("error {}: {}", error.class.as_str(), error.message);
    if let Some(after) = error.retry_after {
        write!(line, " (retry after {after:?})").unwrap();
    }
    if let Some(status) = error.status {
        write!(line, " (status {status})").unwrap();
    }
    if let Some(code) = &error.code {
        write!(line, " (code {code})").unwrap();
    }
    line
}

pub(crate) async fn open(
    protocol: &ScriptedProtocol,
    request: Request,
) -> Result<Box<dyn ProtocolStream>, ProviderError> {
    protocol.open(request).await
}

/// What a protocol answers, a line an event.
pub(crate) async fn answer(protocol: &ScriptedProtocol, request: Request) -> String {
    match open(protocol, request).await {
        Ok(mut stream) => rest(&mut *stream).await,
        Err(error) => format!("not opened: {}", error_line(&error)),
    }
}

/// What a single step answers.
pub(crate) async fn play(step: impl Into<Step>) -> String {
    let protocol = ScriptedProtocol::new(Script::new().step(step));
    answer(&protocol, ask("go")).await
}
