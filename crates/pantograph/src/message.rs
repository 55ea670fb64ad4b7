//! Messages and their blocks: what a conversation is made of.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attachment::Attachment;
use crate::ids::MessageId;
use crate::raw_json::RawJson;
use crate::usage::Usage;

/// A JSON object on a message: always on disk, never shown to a model.
pub type Metadata = serde_json::Map<String, serde_json::Value>;

/// Names a tool call; unique within its conversation.
pub type CallId = Arc<str>;

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Names the message within its session.
    pub id: MessageId,
    /// The message that this one follows; `None` for the first.
    pub parent: Option<MessageId>,
    /// When it was added.
    pub at: Timestamp,
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub blocks: Vec<Block>,
    /// For the host and extensions; never shown to a model.
    pub metadata: Metadata,
    /// For assistant messages: what produced it.
    pub origin: Option<Arc<Origin>>,
    /// For assistant messages: what the provider reported.
    pub usage: Option<Usage>,
    /// For assistant messages: why it ended.
    pub stop: Option<StopReason>,
}

impl Message {
    /// The text blocks, joined by newlines; thinking, calls and attachments are left out.
    pub fn text(&self) -> String {
        text_of(&self.blocks)
    }

    /// Whether the message stands for a compaction.
    pub fn is_summary(&self) -> bool {
        matches!(self.blocks.first(), Some(Block::Summary { .. }))
    }

    /// The tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The tool results, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => None,
        })
    }
}

/// The text blocks, joined by newlines; empty ones are left out.
pub(crate) fn text_of(blocks: &[Block]) -> String {
    join(blocks.iter().filter_map(|block| match block {
        Block::Text { text, .. } | Block::Summary { text } => Some(text.as_str()),
        _ => None,
    }))
}

/// Joins texts by newlines; empty ones are left out.
fn join<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut joined = String::new();
    for text in texts.filter(|text| !text.is_empty()) {
        if !joined.is_empty() {
            joined.push('\n');
        }
        joined.push_str(text);
    }
    joined
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions that a conversation keeps for as long as it lives.
    System,
    /// The person or program that prompts; also a compaction summary.
    User,
    /// The model.
    Assistant,
    /// The results of one batch of tool calls.
    Tool,
}

impl Role {
    /// The name as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A typed part of a message.
///
/// `raw` is the provider's own item, byte for byte; it is replayed only to the provider and
/// model that produced it.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Plain text.
    Text {
        /// The text.
        text: String,
        /// The provider's item.
        raw: Option<RawJson>,
    },
    /// A model's reasoning.
    Thinking {
        /// The readable part; may be empty where the provider shows none.
        text: String,
        /// The provider's opaque signature, byte for byte.
        signature: Option<String>,
        /// The provider's item.
        raw: Option<RawJson>,
    },
    /// A model's request to run a tool.
    ToolCall(ToolCall),
    /// The answer to a tool call.
    ToolResult(ToolResult),
    /// Bytes with a media type, such as an image.
    Attachment(Attachment),
    /// An item that only its provider understands.
    Opaque {
        /// The provider's item.
        raw: RawJson,
    },
    /// What a compaction kept of the messages before it.
    Summary {
        /// The summary.
        text: String,
    },
}

impl Block {
    /// A text block without a provider's item.
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text {
            text: text.into(),
            raw: None,
        }
    }
}

/// A model's request to run a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Unique within the conversation; the result names it.
    pub id: CallId,
    /// The canonical tool name, decoded from the wire.
    pub name: Arc<str>,
    /// The input exactly as the model wrote it: JSON text if the model kept to the rules.
    /// [`crate::tool_input::parse`] says whether it did.
    pub input: String,
    /// The provider's item.
    pub raw: Option<RawJson>,
}

/// The answer to a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The [`ToolCall::id`] that it answers.
    pub call: CallId,
    /// How the call ended.
    pub status: ToolStatus,
    /// Text and attachments, in order.
    pub content: Vec<ToolContent>,
}

impl ToolResult {
    /// A result of one text.
    pub fn text(call: CallId, status: ToolStatus, text: impl Into<String>) -> Self {
        Self {
            call,
            status,
            content: vec![ToolContent::Text(text.into())],
        }
    }

    /// The text parts, joined by newlines.
    pub fn output(&self) -> String {
        join_text(&self.content)
    }
}

/// Joins the text parts of a tool's content by newlines.
pub(crate) fn join_text(content: &[ToolContent]) -> String {
    join(content.iter().filter_map(|part| match part {
        ToolContent::Text(text) => Some(text.as_str()),
        ToolContent::Attachment(_) => None,
    }))
}

/// A part of what a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolContent {
    /// Plain text.
    Text(String),
    /// Bytes with a media type.
    Attachment(Attachment),
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The tool answered.
    Ok,
    /// The tool, or the way to it, failed; the text says how.
    Error,
    /// The call was cancelled before the tool answered.
    Cancelled,
}

impl ToolStatus {
    /// The name as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolStatus::Ok => "ok",
            ToolStatus::Error => "error",
            ToolStatus::Cancelled => "cancelled",
        }
    }
}

/// What produced an assistant message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The protocol, such as `anthropic-messages`.
    pub style: String,
    /// Where requests went, if the protocol has a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The model's name on the wire.
    pub model: String,
    /// The model reference, `provider:alias`.
    pub reference: String,
    /// The reasoning label in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

/// Why an answer, or a whole turn, ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model had no more to say.
    End,
    /// The answer asks for tools; of a turn: and dispatch was off.
    ToolCalls,
    /// An output or round limit cut it.
    Limit,
    /// It was cancelled.
    Cancelled,
    /// It failed; only turns end so.
    Failed,
}

impl StopReason {
    /// The name as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            StopReason::End => "end",
            StopReason::ToolCalls => "tool_calls",
            StopReason::Limit => "limit",
            StopReason::Cancelled => "cancelled",
            StopReason::Failed => "failed",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
