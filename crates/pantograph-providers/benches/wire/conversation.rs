//! A conversation as a long session leaves one.

use std::sync::Arc;

use jiff::Timestamp;
use pantograph::protocol::{Purpose, Request, ToolChoice};
use pantograph::{
    Block, Conversation, Message, MessageId, Metadata, Model, ModelRef, Role, ToolCall,
    ToolDeclaration, ToolResult, ToolSet, ToolStatus,
};
use serde_json::json;

/// A request of `count` messages of about `size` bytes as JSON: a prompt, a call, its result, an
/// answer, and again.
pub(crate) fn of(count: usize, size: usize) -> Request {
    let line = "    let value = \"as code is\"; // with quotes and lines\n";
    let text = line.repeat(size.div_ceil(line.len()));
    let mut conversation = Conversation::new();
    for n in 0..count {
        let (role, block) = match n % 4 {
            0 => (Role::User, Block::text(text.as_str())),
            1 => {
                let call = ToolCall {
                    id: format!("call_{n}").into(),
                    name: "read".into(),
                    input: json!({ "path": text }).to_string(),
                    raw: None,
                };
                (Role::Assistant, Block::ToolCall(call))
            }
            2 => {
                let call = format!("call_{}", n - 1).into();
                let result = ToolResult::text(call, ToolStatus::Ok, text.as_str());
                (Role::Tool, Block::ToolResult(result))
            }
            _ => (Role::Assistant, Block::text(text.as_str())),
        };
        let parent = conversation.head().cloned();
        conversation.push(Arc::new(message(n, parent, role, block)));
    }
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let read = ToolDeclaration::new("read", "Reads a file.", schema).unwrap();
    Request {
        model: Arc::new(Model::new(ModelRef::parse("bench:model").unwrap())),
        purpose: Purpose::Turn,
        context: "bench".into(),
        label: None,
        system_prompt: Some("You help.".into()),
        conversation,
        tools: ToolSet::new(vec![read]).unwrap(),
        tool_choice: ToolChoice::Auto,
    }
}

fn message(number: usize, parent: Option<MessageId>, role: Role, block: Block) -> Message {
    Message {
        id: MessageId::new(format!("m{number}")),
        parent,
        at: Timestamp::UNIX_EPOCH,
        role,
        blocks: vec![block],
        metadata: Metadata::new(),
        origin: None,
        usage: None,
        stop: None,
    }
}
