//! What a turn says while it runs.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{ProviderError, TurnError};
use crate::ids::{BatchId, MessageId, TurnId};
use crate::message::{CallId, Metadata, StopReason, ToolCall, ToolStatus};
use crate::queue::Queued;
use crate::usage::{Usage, UsageTotal};

/// One step of a turn, in order.
///
/// `index` counts the blocks of the answer that is being streamed, from 0. Deltas of one block
/// may arrive merged. A whole text is not repeated in its deltas: whoever wants it accumulates.
/// Strings are the model's or the tool's, unchecked: make them harmless before a terminal
/// sees them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// The turn has started; always the first event.
    TurnStart {
        /// Names the turn.
        turn_id: TurnId,
    },
    /// A user message was appended: the prompt, or steering that landed.
    UserMessage {
        /// Names the message.
        id: MessageId,
        /// Its text, as stored.
        text: String,
    },
    /// A thinking block begins.
    Thinking {
        /// The block.
        index: u32,
    },
    /// A thinking block grows.
    ThinkingDelta {
        /// The block.
        index: u32,
        /// What is new.
        delta: String,
    },
    /// A thinking block is complete.
    ThinkingComplete {
        /// The block.
        index: u32,
        /// All of it.
        text: Arc<str>,
    },
    /// A text block begins.
    AssistantText {
        /// The block.
        index: u32,
    },
    /// A text block grows.
    AssistantTextDelta {
        /// The block.
        index: u32,
        /// What is new.
        delta: String,
    },
    /// A text block is complete.
    AssistantTextComplete {
        /// The block.
        index: u32,
        /// All of it.
        text: Arc<str>,
    },
    /// A tool call begins.
    Tool {
        /// The block.
        index: u32,
    },
    /// A tool call has a name and an id.
    ToolDetails {
        /// The block.
        index: u32,
        /// Names the call.
        id: CallId,
        /// The canonical tool name.
        tool_name: Arc<str>,
    },
    /// A tool call's input grows.
    ToolDelta {
        /// The block.
        index: u32,
        /// Names the call.
        id: CallId,
        /// The canonical tool name.
        tool_name: Arc<str>,
        /// What is new: a piece of JSON text.
        delta: String,
    },
    /// A tool call is complete; it has not run yet.
    ToolCallComplete {
        /// The block.
        index: u32,
        /// Names the call.
        id: CallId,
        /// The canonical tool name.
        tool_name: Arc<str>,
        /// The input as the model wrote it.
        input: Arc<str>,
    },
    /// A tool call was handed to the tool source.
    ToolDispatchStart {
        /// Names the call.
        id: CallId,
        /// The canonical tool name.
        tool_name: Arc<str>,
        /// Names the batch.
        batch_id: BatchId,
    },
    /// A running tool has something to show; not part of its result.
    ToolOutputDelta {
        /// Names the call.
        id: CallId,
        /// The canonical tool name.
        tool_name: Arc<str>,
        /// What is new.
        delta: String,
    },
    /// A tool call has its result, as it will be stored.
    ToolResult {
        /// Names the call.
        id: CallId,
        /// The canonical tool name.
        tool_name: Arc<str>,
        /// The text of the result.
        output: Arc<str>,
        /// How the call ended.
        status: ToolStatus,
        /// What the tool tells the host and extensions, and no model.
        details: Arc<Metadata>,
    },
    /// An answer is complete and appended.
    Usage {
        /// The assistant message; `None` for an answer that was empty, or only for a summary.
        message_id: Option<MessageId>,
        /// What the provider reported; all unknown if nothing.
        usage: Usage,
        /// The cost in US dollars, if it is known.
        cost: Option<f64>,
    },
    /// The request waits: another agent of the provider was told to slow down.
    Paused {
        /// For at least so long.
        delay: Duration,
    },
    /// An attempt failed and is repeated after a delay.
    Retry {
        /// Which repetition comes next, from 1.
        attempt: u32,
        /// How many repetitions there may be.
        max_retries: u32,
        /// How long until then.
        delay: Duration,
        /// Why.
        error: ProviderError,
    },
    /// What the answer in progress has shown since its first block is void.
    AttemptDiscarded {
        /// Why.
        error: ProviderError,
    },
    /// A compaction begins.
    CompactionStart {
        /// The estimated size of the conversation.
        tokens_before: u64,
    },
    /// A compaction ended. If it was cancelled or failed, the conversation is as it was; but one
    /// that could only not be stored is in memory, and stored with the next append.
    CompactionEnd {
        /// The estimated size before.
        tokens_before: u64,
        /// The estimated size now.
        tokens_after: u64,
        /// Whether it was cancelled.
        cancelled: bool,
        /// Why it failed, if it did.
        error: Option<TurnError>,
    },
    /// The turn has ended; always the last event, exactly once.
    Settled(Arc<Outcome>),
}

impl Event {
    /// The one name of the event: in streams, jobs, stream-json and Lua.
    pub fn name(&self) -> &'static str {
        match self {
            Event::TurnStart { .. } => "turn_start",
            Event::UserMessage { .. } => "user_message",
            Event::Thinking { .. } => "thinking",
            Event::ThinkingDelta { .. } => "thinking_delta",
            Event::ThinkingComplete { .. } => "thinking_complete",
            Event::AssistantText { .. } => "assistant_text",
            Event::AssistantTextDelta { .. } => "assistant_text_delta",
            Event::AssistantTextComplete { .. } => "assistant_text_complete",
            Event::Tool { .. } => "tool",
            Event::ToolDetails { .. } => "tool_details",
            Event::ToolDelta { .. } => "tool_delta",
            Event::ToolCallComplete { .. } => "tool_call_complete",
            Event::ToolDispatchStart { .. } => "tool_dispatch_start",
            Event::ToolOutputDelta { .. } => "tool_output_delta",
            Event::ToolResult { .. } => "tool_result",
            Event::Usage { .. } => "usage",
            Event::Paused { .. } => "paused",
            Event::Retry { .. } => "retry",
            Event::AttemptDiscarded { .. } => "attempt_discarded",
            Event::CompactionStart { .. } => "compaction_start",
            Event::CompactionEnd { .. } => "compaction_end",
            Event::Settled(_) => "settled",
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Names the turn.
    pub turn_id: TurnId,
    /// Why it ended.
    pub stop: StopReason,
    /// What failed, if `stop` is [`StopReason::Failed`].
    pub error: Option<TurnError>,
    /// What the model said last. Of a turn that ended by itself: the text of its last answer, if
    /// that has some. Of a cancelled or failed one: the last text that is in the conversation,
    /// which a cancel may have cut.
    pub text: Option<String>,
    /// With dispatch off: the calls that the model wants, not run.
    pub tool_calls: Vec<ToolCall>,
    /// What the turn used.
    pub usage: UsageTotal,
    /// After an interrupt: what a person had queued, in order, no longer queued.
    pub returned: Vec<Queued>,
}
