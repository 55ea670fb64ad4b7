//! How providers fail, and how turns fail.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::session::SessionError;

/// What kind of failure a provider reported; decides whether an attempt is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorClass {
    /// Too many requests or tokens in a time; repeated after `retry_after`.
    RateLimit,
    /// The provider has no capacity now; repeated.
    Overloaded,
    /// The credentials were refused or lack a right; never repeated.
    Authentication,
    /// The provider refuses this request as it is; never repeated.
    InvalidRequest,
    /// The provider does not have the model; never repeated.
    ModelNotFound,
    /// The request does not fit the model's context; compacted once, then never repeated.
    ContextOverflow,
    /// The provider failed inside; repeated.
    Server,
    /// The connection failed, stalled, or ended before the answer did; repeated.
    Transport,
    /// Anything else that repeating will not change.
    Terminal,
}

impl ErrorClass {
    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimit | Self::Overloaded | Self::Server | Self::Transport
        )
    }

    /// The name as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Authentication => "authentication",
            Self::InvalidRequest => "invalid_request",
            Self::ModelNotFound => "model_not_found",
            Self::ContextOverflow => "context_overflow",
            Self::Server => "server",
            Self::Transport => "transport",
            Self::Terminal => "terminal",
        }
    }
}

/// A failed attempt to get an answer from a provider.
///
/// Never holds a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What kind of failure it is.
    pub class: ErrorClass,
    /// What happened, in the provider's words where it has some.
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// The provider's own code for the failure.
    pub code: Option<String>,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// The provider's id of the request, for its support.
    pub request_id: Option<String>,
}

impl ProviderError {
    /// An error of a class, with what happened.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            retry_after: None,
            code: None,
            status: None,
            request_id: None,
        }
    }

    /// A [`ErrorClass::Transport`] error.
    pub fn transport(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Transport, message)
    }

    /// The same error with the time that the provider asks to wait.
    pub fn with_retry_after(mut self, retry_after: Duration) -> Self {
        self.retry_after = Some(retry_after);
        self
    }
}

/// Why a turn failed. What was said and stored before stays.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The provider failed, and repeating was not possible or did not help.
    #[error("the provider failed")]
    Provider(#[source] ProviderError),
    /// The conversation does not fit the model's context, even after compaction.
    #[error("the conversation does not fit the model's context")]
    ContextFull(#[source] ProviderError),
    /// What was said could not be stored. Unless the store refused it for good
    /// ([`SessionError::Refused`]), it is in memory, and stored with the next append.
    #[error("could not store the conversation")]
    Session(#[source] Arc<SessionError>),
    /// There is nothing to go on from: the conversation is empty, its last answer is complete, or
    /// what was queued is gone.
    #[error("there is nothing to go on from")]
    NothingToContinue,
    /// There is nothing to compact: no turn lies before the last one.
    #[error("there is nothing to compact yet")]
    NothingToCompact,
    /// The turn's own code panicked; a bug.
    #[error("internal error: {0}")]
    Internal(String),
}

impl From<SessionError> for TurnError {
    fn from(error: SessionError) -> Self {
        TurnError::Session(Arc::new(error))
    }
}

impl TurnError {
    /// The provider's failure, if that is what it was.
    pub fn provider(&self) -> Option<&ProviderError> {
        match self {
            TurnError::Provider(error) | TurnError::ContextFull(error) => Some(error),
            _ => None,
        }
    }

    /// One name for programs: the provider's error class, or the kind of turn error.
    pub fn kind(&self) -> &'static str {
        match self {
            TurnError::Provider(error) => error.class.as_str(),
            TurnError::ContextFull(_) => ErrorClass::ContextOverflow.as_str(),
            TurnError::Session(_) => "session",
            TurnError::NothingToContinue => "nothing_to_continue",
            TurnError::NothingToCompact => "nothing_to_compact",
            TurnError::Internal(_) => "internal",
        }
    }
}

/// An error and its causes in one line, each said once: `a: b: c`.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let message = cause.to_string();
        if !text.ends_with(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        source = cause.source();
    }
    text
}
