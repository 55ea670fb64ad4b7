//! The records that a session is made of. Their JSON form is described in `docs/sessions.md`.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::ids::{MessageId, SessionId};
use crate::message::{Message, Metadata, Role};

/// What a session begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Names the session.
    pub id: SessionId,
    /// When it was begun.
    pub created: Timestamp,
    /// The directory that it works in.
    pub cwd: PathBuf,
    /// For the host and extensions.
    pub metadata: Metadata,
}

/// What is appended to a session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Record {
    /// A message; the conversation goes on from it.
    Message(Message),
    /// A message's metadata from now on, whole.
    Metadata {
        /// The message.
        target: MessageId,
        /// Replaces what it had.
        metadata: Metadata,
        /// When.
        at: Timestamp,
    },
    /// A compaction; the conversation goes on from it.
    Compaction(Compaction),
    /// The conversation goes on from `target`.
    Head {
        /// A message or compaction; `None` for before the first.
        target: Option<MessageId>,
        /// When.
        at: Timestamp,
    },
}

impl Record {
    /// Whether it is an assistant message: with the first one a session begins to be kept.
    pub fn is_answer(&self) -> bool {
        matches!(self, Record::Message(message) if message.role == Role::Assistant)
    }
}

/// A summary that stands in for the messages before `first_kept`.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// Names the compaction, as if it were a message.
    pub id: MessageId,
    /// The message that it follows.
    pub parent: Option<MessageId>,
    /// When.
    pub at: Timestamp,
    /// What is kept of the messages that it replaces.
    pub summary: String,
    /// The first message before it that is still shown. If it comes after the compaction, or is
    /// not on its branch, none is: what follows the compaction begins anew.
    pub first_kept: MessageId,
    /// The estimated size of the conversation before.
    pub tokens_before: u64,
}
