//! What can be wrong with a request, in words.

use pantograph::protocol::Request;
use pantograph::{CallId, MessageId, Role};

use crate::render::{self, Extent};

/// A request that a provider would refuse, with the conversation around the problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid request: {problem}\n{shown}")]
pub struct InvalidRequest {
    problem: Problem,
    shown: String,
}

impl InvalidRequest {
    pub(super) fn new(problem: Problem, request: &Request) -> Self {
        let near = match &problem {
            Problem::EndsWithAssistant => request.conversation.len().checked_sub(1),
            problem => problem.position(),
        };
        Self {
            problem,
            shown: render::request(request, Extent::Compact { near }),
        }
    }

    /// What is wrong.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

/// What is wrong with a request; `at` counts the conversation's messages from zero.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "`at` and `call` mean the same everywhere")]
pub enum Problem {
    /// Nothing is there but system messages.
    #[error("there is no message to answer")]
    NothingToAnswer,
    /// A message has no content.
    #[error("message {at} is empty")]
    Empty { at: usize },
    /// A message is there twice.
    #[error("message {at} is there twice (`{id}`)")]
    RepeatedMessage { at: usize, id: MessageId },
    /// A block stands in a message of the wrong role.
    #[error("message {at} ({role}) has {kind}")]
    Misplaced {
        at: usize,
        role: Role,
        kind: &'static str,
    },
    /// The first message beside system messages is not a user message.
    #[error("message {at}: the conversation begins with {role}, not with user")]
    BeginsWith { at: usize, role: Role },
    /// An assistant message follows another.
    #[error("message {at}: an assistant message follows another")]
    AssistantAfterAssistant { at: usize },
    /// A tool message follows a user message.
    #[error("message {at}: a tool message follows a user message, not an assistant message")]
    ToolAfterUser { at: usize },
    /// Several tool messages answer one assistant message.
    #[error("message {at}: a second tool message for one assistant message")]
    SeveralToolMessages { at: usize },
    /// A conversation for a turn ends with an assistant message.
    #[error("the conversation ends with an assistant message, so there is nothing to answer")]
    EndsWithAssistant,
    /// Two calls have one id.
    #[error("message {at}: the id of the call `{call}` was used before")]
    RepeatedCall { at: usize, call: CallId },
    /// A call was never answered.
    #[error("message {at}: the call `{call}` has no result")]
    CallWithoutResult { at: usize, call: CallId },
    /// A call was answered, but something else came first.
    #[error("message {at}: the result of the call `{call}` is not right after its message")]
    ResultTooLate { at: usize, call: CallId },
    /// A result answers no call of the message before.
    #[error("message {at}: the result `{call}` answers no call of the message before")]
    ResultWithoutCall { at: usize, call: CallId },
    /// A call was answered twice.
    #[error("message {at}: the call `{call}` has two results")]
    RepeatedResult { at: usize, call: CallId },
    /// Results have another order than their calls.
    #[error("message {at}: the result of the call `{call}` is not at its call's place")]
    ResultOrder { at: usize, call: CallId },
    /// A call succeeded with an input with which no tool can have run.
    #[error("message {at}: the call `{call}` succeeded, but {reason}")]
    BadInput {
        at: usize,
        call: CallId,
        reason: String,
    },
    /// A call of a tool that is not declared succeeded.
    #[error("message {at}: the call `{call}` succeeded, but the tool `{tool}` is not declared")]
    UndeclaredTool {
        at: usize,
        call: CallId,
        tool: String,
    },
    /// Two tools have one name.
    #[error("the tool `{0}` is declared twice")]
    DuplicateTool(String),
    /// The choice names a tool that is not declared.
    #[error("the tool choice names `{0}`, which is not declared")]
    UndeclaredChoice(String),
    /// A call is required, but there is no tool.
    #[error("the tool choice requires a call, but no tool is declared")]
    NothingToChoose,
}

impl Problem {
    /// The message that it is about, if it is about one.
    pub fn position(&self) -> Option<usize> {
        match self {
            Problem::Empty { at }
            | Problem::RepeatedMessage { at, .. }
            | Problem::Misplaced { at, .. }
            | Problem::BeginsWith { at, .. }
            | Problem::AssistantAfterAssistant { at }
            | Problem::ToolAfterUser { at }
            | Problem::SeveralToolMessages { at }
            | Problem::RepeatedCall { at, .. }
            | Problem::CallWithoutResult { at, .. }
            | Problem::ResultTooLate { at, .. }
            | Problem::ResultWithoutCall { at, .. }
            | Problem::RepeatedResult { at, .. }
            | Problem::ResultOrder { at, .. }
            | Problem::BadInput { at, .. }
            | Problem::UndeclaredTool { at, .. } => Some(*at),
            Problem::NothingToAnswer
            | Problem::EndsWithAssistant
            | Problem::DuplicateTool(_)
            | Problem::UndeclaredChoice(_)
            | Problem::NothingToChoose => None,
        }
    }
}
