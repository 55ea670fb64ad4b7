//! Batches of tool calls, and the sources that run them.

use std::sync::Arc;

use crate::agent::Agent;
use crate::attachment::Attachment;
use crate::cancel::Cancel;
use crate::ids::{BatchId, SessionId, TurnId};
use crate::message::{CallId, Metadata, ToolContent, ToolStatus};
use crate::raw_json::RawJson;
use crate::tool::ToolDeclaration;

mod reply;

#[cfg(test)]
pub(crate) use reply::BatchReplies;
pub use reply::ToolReply;
pub(crate) use reply::{OutputHandle, ReplyUpdate, replies};

/// Runs tools by name; one source serves any number of agents.
pub trait ToolSource: Send + Sync {
    /// Every tool that the source can run.
    fn declarations(&self) -> Vec<ToolDeclaration>;

    /// Starts every call of a batch, concurrently, and returns without waiting.
    ///
    /// Each call answers through its [`ToolReply`], in any order; a reply that is dropped
    /// unanswered becomes an error result. Called on the task that drives the turn, inside a
    /// tokio runtime. A panic fails the calls that have not answered yet.
    fn invoke_batch(&self, batch: ToolBatch);
}

/// A source without tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTools;

impl ToolSource for NoTools {
    fn declarations(&self) -> Vec<ToolDeclaration> {
        Vec::new()
    }

    fn invoke_batch(&self, _batch: ToolBatch) {}
}

/// All runnable calls of one assistant message.
#[derive(Debug)]
pub struct ToolBatch {
    /// Names the batch.
    pub id: BatchId,
    /// The turn that raised it.
    pub turn: TurnId,
    /// The session of the agent that raised it.
    pub session: SessionId,
    /// The agent that raised it: the batch's lane.
    pub agent: Agent,
    /// Raised when the turn is to stop. After its grace period the turn settles the calls that
    /// have not answered as cancelled.
    pub cancel: Cancel,
    /// The calls, in the model's order.
    pub calls: Vec<PendingCall>,
}

/// Runs calls on a source without a turn, side by side, and gives what they answer, in order.
///
/// Output that they show meanwhile is dropped. There is no time limit: calls that ignore `cancel`
/// end when the future is dropped.
pub async fn invoke_tools(
    source: &dyn ToolSource,
    agent: &Agent,
    calls: Vec<(Arc<str>, RawJson)>,
    cancel: Cancel,
) -> Vec<ToolOutput> {
    let fresh_id = || agent.shared.clock.fresh_id();
    let (replies, updates) = replies(calls.len());
    let mut missing = calls.len();
    let mut outputs: Vec<_> = calls.iter().map(|_| None).collect();
    let pending = calls.into_iter().zip(replies);
    source.invoke_batch(ToolBatch {
        id: BatchId::new(fresh_id()),
        turn: TurnId::new(fresh_id()),
        session: agent.session_id(),
        agent: agent.clone(),
        cancel,
        calls: pending
            .enumerate()
            .map(|(position, ((tool_name, input), reply))| PendingCall {
                id: format!("call_{position}").into(),
                tool_name,
                input,
                reply,
            })
            .collect(),
    });
    while missing > 0 {
        let (index, output) = match updates.next().await {
            ReplyUpdate::Output { .. } => continue,
            ReplyUpdate::Answered { index, output } => (index, output),
            ReplyUpdate::Dropped { index } => (index, ToolOutput::error(NO_ANSWER)),
        };
        missing -= 1;
        outputs[index] = Some(output);
    }
    outputs.into_iter().flatten().collect()
}

/// What stands for the answer of a call that has none.
pub(crate) const NO_ANSWER: &str = "The tool ended without a result.";

/// One call that is to be run.
#[derive(Debug)]
pub struct PendingCall {
    /// Names the call.
    pub id: CallId,
    /// The canonical tool name; declared by the agent.
    pub tool_name: Arc<str>,
    /// A JSON object, after hooks.
    pub input: RawJson,
    /// Takes the answer.
    pub reply: ToolReply,
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// How the call ended.
    pub status: ToolStatus,
    /// Text and attachments, in order.
    pub content: Vec<ToolContent>,
    /// For the host and extensions, such as a diff to show; never shown to a model. With what
    /// [`Event::ToolResult`](crate::Event::ToolResult) says, and under [`TOOL_DETAILS`] in the
    /// metadata of the message of results; what is too large for a result is left out.
    pub details: Metadata,
}

/// The key of a tool message's metadata under which the details of its results are, by call.
pub const TOOL_DETAILS: &str = "details";

impl ToolOutput {
    /// A successful answer of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Ok,
            content: vec![ToolContent::Text(text.into())],
            details: Metadata::new(),
        }
    }

    /// A failure, with what happened.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Error,
            content: vec![ToolContent::Text(text.into())],
            details: Metadata::new(),
        }
    }

    /// A call that stopped because it was asked to.
    pub fn cancelled(text: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Cancelled,
            content: vec![ToolContent::Text(text.into())],
            details: Metadata::new(),
        }
    }

    /// The same with details.
    pub fn with_details(mut self, details: Metadata) -> Self {
        self.details = details;
        self
    }

    /// The same with an attachment behind it.
    pub fn with_attachment(mut self, attachment: Attachment) -> Self {
        self.content.push(ToolContent::Attachment(attachment));
        self
    }
}
