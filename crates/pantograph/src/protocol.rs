//! The seam to providers: a request out, events in.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures_util::Stream;

use crate::conversation::Conversation;
use crate::error::ProviderError;
use crate::message::StopReason;
use crate::model::Model;
use crate::raw_json::RawJson;
use crate::tool::ToolSet;
use crate::usage::Usage;

/// Speaks one wire format; one value serves any number of concurrent streams.
///
/// Implementations need [`macro@crate::async_trait`], which makes the methods boxed futures. A
/// protocol that says back what it was told:
///
/// ```
/// use pantograph::protocol::{ProtocolEvent, ProtocolStream, Request, from_stream};
/// use pantograph::{Protocol, ProviderError, StopReason, async_trait};
///
/// struct Echo;
///
/// #[async_trait]
/// impl Protocol for Echo {
///     fn name(&self) -> &str {
///         "echo"
///     }
///
///     async fn open(&self, request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
///         let heard = request.conversation.last();
///         let text = heard.map(|message| message.text()).unwrap_or_default();
///         Ok(from_stream(futures_util::stream::iter([
///             Ok(ProtocolEvent::TextDelta { index: 0, text }),
///             Ok(ProtocolEvent::Done { stop: StopReason::End }),
///         ])))
///     }
/// }
/// ```
#[async_trait]
pub trait Protocol: Send + Sync {
    /// The name as configuration and [`crate::message::Origin::style`] have it.
    fn name(&self) -> &str;

    /// Starts one answer.
    ///
    /// Returns as soon as there is a connection; waiting for the answer is the stream's part.
    /// The agent bounds this call by [`crate::model::StreamLimits::connect`]. Dropping the
    /// future abandons the attempt and must leave nothing behind.
    ///
    /// # Errors
    ///
    /// A classified failure. The agent decides whether to repeat.
    async fn open(&self, request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError>;

    /// The conversation of an agent was compacted: what is kept upstream for `context` is void.
    fn reset_context(&self, context: &str) {
        let _ = context;
    }

    /// The agent that used `context` is gone.
    fn release_context(&self, context: &str) {
        let _ = context;
    }
}

/// One answer as it arrives.
///
/// Dropping it closes the connection at once and never blocks.
pub trait ProtocolStream: Send {
    /// The next event; `None` after the last.
    ///
    /// A stream that ends without [`ProtocolEvent::Done`] is a transport error. After an error
    /// nothing more is polled.
    fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<ProtocolEvent, ProviderError>>>;

    /// Whether what is missing is not the provider's but something in this process that the stream
    /// waits for, such as a busy thread. That time does not count as the provider's silence.
    fn is_held_up(&self) -> bool {
        false
    }

    /// The stream is given up before its end: the turn was cancelled, or a limit struck. Called
    /// at most once, just before the stream is dropped; must not block.
    fn cancel_turn(&mut self) {}
}

/// A protocol's stream from any stream of events, which is dropped when it is cancelled.
pub fn from_stream(
    events: impl Stream<Item = Result<ProtocolEvent, ProviderError>> + Send + 'static,
) -> Box<dyn ProtocolStream> {
    Box::new(FromStream(Box::pin(events)))
}

struct FromStream<S>(Pin<Box<S>>);

impl<S> ProtocolStream for FromStream<S>
where
    S: Stream<Item = Result<ProtocolEvent, ProviderError>> + Send,
{
    fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<ProtocolEvent, ProviderError>>> {
        self.0.as_mut().poll_next(cx)
    }
}

/// Everything that a protocol needs for one answer; cheap to clone.
#[derive(Debug, Clone)]
pub struct Request {
    /// The model, its limits and its reasoning label.
    pub model: Arc<Model>,
    /// What the answer is for.
    pub purpose: Purpose,
    /// A name of the conversation that stays the same over its turns.
    pub context: Arc<str>,
    /// The agent's label, for logs and scripts; never sent.
    pub label: Option<Arc<str>>,
    /// The system prompt; system messages of the conversation follow it.
    pub system_prompt: Option<Arc<str>>,
    /// What the model is shown. Valid: every call has exactly one result right after its message.
    pub conversation: Conversation,
    /// The tools that the model may call.
    pub tools: ToolSet,
    /// Whether it must call one.
    pub tool_choice: ToolChoice,
}

/// What an answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// An agent's turn.
    Turn,
    /// The summary of a compaction.
    Compaction,
}

impl Purpose {
    /// The name as Lua protocols and scripts see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Purpose::Turn => "turn",
            Purpose::Compaction => "compaction",
        }
    }
}

/// Whether and how the model must call tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As the model sees fit.
    #[default]
    Auto,
    /// No tool.
    None,
    /// At least one tool.
    Required,
    /// The tool of this canonical name.
    Named(String),
}

/// One step of an answer.
///
/// `index` names a block of the answer; a block begins with its first event, and blocks keep
/// the order in which they began.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ProtocolEvent {
    /// Text.
    TextDelta {
        /// The block.
        index: u32,
        /// What is new.
        text: String,
    },
    /// Reasoning.
    ThinkingDelta {
        /// The block.
        index: u32,
        /// What is new.
        text: String,
    },
    /// The provider's signature of a thinking block, whole.
    ThinkingSignature {
        /// The block.
        index: u32,
        /// Kept byte for byte.
        signature: String,
    },
    /// A tool call begins.
    ToolCallStart {
        /// The block.
        index: u32,
        /// The provider's id; an empty or repeated one is replaced.
        id: String,
        /// The canonical name, decoded from the wire.
        name: String,
    },
    /// A piece of a tool call's input.
    ToolCallDelta {
        /// The block.
        index: u32,
        /// JSON text, byte for byte.
        json: String,
    },
    /// The provider's own item for a block, kept verbatim and replayed only to it.
    Raw {
        /// The block.
        index: u32,
        /// The item.
        raw: RawJson,
    },
    /// A whole block that only the provider understands.
    Opaque {
        /// The block.
        index: u32,
        /// The item.
        raw: RawJson,
    },
    /// A block is complete.
    ///
    /// It may be left out: [`ProtocolEvent::Done`] ends every block that is still open. Only a
    /// tool call that is open when the answer ends with [`StopReason::Limit`] counts as cut, and
    /// is not run. Readers see a block as complete with this event.
    BlockEnd {
        /// The block.
        index: u32,
    },
    /// Counts so far; later ones win.
    Usage(Usage),
    /// The answer is complete.
    Done {
        /// [`StopReason::End`], [`StopReason::ToolCalls`] or [`StopReason::Limit`].
        stop: StopReason,
    },
}
