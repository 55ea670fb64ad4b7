//! Where a host may rewrite what enters a conversation.

use std::sync::Arc;

use async_trait::async_trait;

use crate::event::Outcome;
use crate::ids::{AgentId, SessionId, TurnId};
use crate::message::ToolStatus;

/// Lets a host rewrite user text, tool input and tool results of every agent.
///
/// Hooks run on the task that drives the turn and are awaited within its cancellation: when
/// the turn is forced to stop, a hook's future is dropped and what it was given stays as it
/// is. The same holds for a hook that panics.
///
/// Implementations need [`macro@crate::async_trait`], which makes the methods boxed futures:
///
/// ```
/// use pantograph::{HookContext, HookedResult, TurnHooks, async_trait};
///
/// /// Takes passwords out of what tools say.
/// struct Redacting;
///
/// #[async_trait]
/// impl TurnHooks for Redacting {
///     async fn tool_result(
///         &self,
///         _: &HookContext,
///         result: HookedResult<'_>,
///     ) -> Option<String> {
///         let found = result.output.contains("hunter2");
///         found.then(|| result.output.replace("hunter2", "[removed]"))
///     }
/// }
/// ```
#[async_trait]
pub trait TurnHooks: Send + Sync {
    /// Before a user message is appended: the text to store, or `None` to leave it.
    async fn user_message(&self, context: &HookContext, text: &str) -> Option<String> {
        let _ = (context, text);
        None
    }

    /// Before a call is dispatched: what becomes of its input.
    ///
    /// The conversation keeps the model's own input.
    async fn tool_input(&self, context: &HookContext, call: HookedCall<'_>) -> CheckedInput {
        let _ = (context, call);
        CheckedInput::AsIs
    }

    /// Before a result is appended: its text, or `None` to leave it. Attachments stay.
    async fn tool_result(&self, context: &HookContext, result: HookedResult<'_>) -> Option<String> {
        let _ = (context, result);
        None
    }

    /// A turn has settled, of whichever agent; its reader hears of it next. Must not block.
    fn settled(&self, context: &HookContext, outcome: &Outcome) {
        let _ = (context, outcome);
    }
}

/// Whose turn a hook is called for.
#[derive(Debug, Clone)]
pub struct HookContext {
    /// The agent.
    pub agent: AgentId,
    /// Its label, if it has one.
    pub label: Option<Arc<str>>,
    /// Its session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
}

/// What [`TurnHooks::tool_input`] makes of a call's input.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum CheckedInput {
    /// The tool gets it as it is.
    AsIs,
    /// The tool gets this instead.
    Changed(serde_json::Map<String, serde_json::Value>),
    /// The call is not run. The model gets this text as an error result.
    Refused(String),
}

/// A tool call that is about to be dispatched.
#[derive(Debug, Clone, Copy)]
pub struct HookedCall<'a> {
    /// Names the call.
    pub id: &'a str,
    /// The canonical tool name.
    pub tool_name: &'a str,
    /// The input: the text of a JSON object.
    pub input: &'a str,
}

/// A tool result that is about to be appended.
#[derive(Debug, Clone, Copy)]
pub struct HookedResult<'a> {
    /// Names the call.
    pub id: &'a str,
    /// The canonical tool name.
    pub tool_name: &'a str,
    /// The text.
    pub output: &'a str,
    /// How the call ended.
    pub status: ToolStatus,
    /// Whether the result stands in for one that a crash or a turn without dispatch left out.
    pub interrupted: bool,
}

/// Hooks that change nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl TurnHooks for NoHooks {}
