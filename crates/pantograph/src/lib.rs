//! The agent core of panto: conversations, turns, tools, sessions, cancellation, compaction.
//!
//! For Rust programs that want an agent, and for the crates above it. It knows no Lua, no HTTP
//! and no terminal, reads no environment and prints nothing: protocols, tools and stores come
//! in as traits.
//!
//! ```
//! use std::sync::Arc;
//!
//! use pantograph::{Agent, Event, Model, ModelRef};
//! use pantograph_scripted::{Script, ScriptedProtocol};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let protocol = ScriptedProtocol::new(Script::new().step("Hello."));
//! let model = Model::new(ModelRef::parse("scripted:demo")?);
//! let agent = Agent::builder(Arc::new(protocol), model).ephemeral();
//! let mut turn = agent.run("Say hello.")?;
//! while let Some(event) = turn.next().await {
//!     if let Event::AssistantTextDelta { delta, .. } = event {
//!         print!("{delta}");
//!     }
//! }
//! assert_eq!(turn.outcome().await.text.as_deref(), Some("Hello."));
//! # Ok(())
//! # }
//! ```
//!
//! Start at [`Agent`]; [`TurnStream`] is what it does, [`Event`] what it says meanwhile.

mod agent;
mod attachment;
mod batch;
mod cancel;
mod cap;
mod clock;
mod compaction;
mod conversation;
mod error;
mod estimate;
mod event;
mod governor;
mod hooks;
mod ids;
mod message;
mod model;
pub mod protocol;
mod queue;
mod raw_json;
mod registry;
mod retry;
pub mod session;
pub mod surrogates;
mod tool;
pub mod tool_input;
mod transcript;
mod turn;
mod usage;
pub mod wire_name;

pub use async_trait::async_trait;

pub use agent::{Agent, AgentBuilder, AgentConfig, AgentOptions, Busy, EditError, Prompt};
pub use attachment::Attachment;
pub use batch::{
    NoTools, PendingCall, TOOL_DETAILS, ToolBatch, ToolOutput, ToolReply, ToolSource, invoke_tools,
};
pub use cancel::{Cancel, DEFAULT_GRACE};
pub use cap::{Capped, cap_content, cap_text};
pub use clock::{Clock, SystemClock};
pub use conversation::Conversation;
pub use error::{ErrorClass, ProviderError, TurnError, with_causes};
pub use estimate::{context_tokens, message_tokens, tools_tokens};
pub use event::{Event, Outcome};
pub use governor::{Governor, Permit};
pub use hooks::{CheckedInput, HookContext, HookedCall, HookedResult, NoHooks, TurnHooks};
pub use ids::{AgentId, BatchId, InvalidSessionId, MessageId, SessionId, TurnId};
pub use message::{
    Block, CallId, Message, Metadata, Origin, Role, StopReason, ToolCall, ToolContent, ToolResult,
    ToolStatus,
};
pub use model::{
    Attachments, ForcedTool, InvalidModelRef, Model, ModelRef, ReasoningControl, StreamLimits,
};
pub use protocol::Protocol;
pub use queue::{QueueId, Queued, Sender, Submission, Timing};
pub use raw_json::RawJson;
pub use registry::{ToolContext, ToolRegistry};
pub use retry::RetryPolicy;
pub use session::{FileSystemJsonlStore, SessionStore};
pub use tool::{InvalidDeclaration, InvalidToolName, ToolDeclaration, ToolName, ToolSet};
pub use transcript::{transcript, transcript_capped};
pub use turn::{TurnControl, TurnStream};
pub use usage::{Price, Usage, UsageTotal};

/// The page for embedders, so that its examples run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct Embedding;
