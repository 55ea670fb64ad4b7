//! Sessions: conversations that outlive their process, and where they live.

mod backlog;
mod chosen;
mod jsonl;
mod null;
mod record;
mod tree;

use std::path::PathBuf;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::cancel::Cancel;
use crate::ids::SessionId;
use crate::message::{Message, Metadata, Role};

pub use backlog::Backlog;
pub(crate) use jsonl::read_stored;
pub use jsonl::{FileSystemJsonlStore, InvalidJson, Survey, directory_name, doctor};
pub use null::NullStore;
pub use record::{Compaction, Header, Record};
pub use tree::SessionTree;
pub(crate) use tree::summary_message;

/// Keeps sessions. One value serves any number of agents.
///
/// Implementations need [`macro@crate::async_trait`], which makes the methods boxed futures. One
/// that writes into each session whose it is, and leaves the rest to another store:
///
/// ```
/// use pantograph::session::{
///     Header, LoadOptions, OpenSession, Session, SessionError, SessionInfo, SessionStore,
///     SessionTree,
/// };
/// use pantograph::{Message, SessionId, async_trait};
///
/// struct Marking<S> {
///     inner: S,
///     tenant: String,
/// }
///
/// #[async_trait]
/// impl<S: SessionStore> SessionStore for Marking<S> {
///     async fn create(&self, mut header: Header) -> Result<Box<dyn Session>, SessionError> {
///         header.metadata.insert("tenant".to_owned(), self.tenant.as_str().into());
///         self.inner.create(header).await
///     }
///
///     async fn open(&self, id: SessionId) -> Result<OpenSession, SessionError> {
///         self.inner.open(id).await
///     }
///     // The rest is passed on in the same way.
/// #   async fn load(&self, id: SessionId) -> Result<SessionTree, SessionError> {
/// #       self.inner.load(id).await
/// #   }
/// #   async fn load_messages(
/// #       &self,
/// #       id: SessionId,
/// #       options: &LoadOptions,
/// #   ) -> Result<Vec<Message>, SessionError> {
/// #       self.inner.load_messages(id, options).await
/// #   }
/// #   async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
/// #       self.inner.list().await
/// #   }
/// #   async fn list_bounded(&self, limit: usize) -> Result<Vec<SessionInfo>, SessionError> {
/// #       self.inner.list_bounded(limit).await
/// #   }
/// #   async fn resolve(&self, id_or_prefix: &str) -> Result<SessionId, SessionError> {
/// #       self.inner.resolve(id_or_prefix).await
/// #   }
/// #   async fn latest(&self) -> Result<Option<SessionId>, SessionError> {
/// #       self.inner.latest().await
/// #   }
/// }
/// ```
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Begins a session that has its id at once and nothing on disk before its first assistant
    /// message.
    ///
    /// # Errors
    ///
    /// The store cannot take the session.
    async fn create(&self, header: Header) -> Result<Box<dyn Session>, SessionError>;

    /// Locks a session for writing and reads it.
    ///
    /// # Errors
    ///
    /// [`SessionError::InUse`] while another agent, here or elsewhere, has it open;
    /// otherwise as [`SessionStore::load`].
    async fn open(&self, id: SessionId) -> Result<OpenSession, SessionError>;

    /// Reads a session without locking it.
    ///
    /// # Errors
    ///
    /// It is unknown, unreadable, corrupt, or written by a newer version.
    async fn load(&self, id: SessionId) -> Result<SessionTree, SessionError>;

    /// Reads some messages of a session's current branch, no more of the file than it must.
    ///
    /// Messages come oldest first. Compaction does not apply: what was summarised is still there.
    ///
    /// # Errors
    ///
    /// As [`SessionStore::load`].
    async fn load_messages(
        &self,
        id: SessionId,
        options: &LoadOptions,
    ) -> Result<Vec<Message>, SessionError>;

    /// Describes every session, last modified first.
    ///
    /// A session that cannot be read is left out and logged; the others are listed.
    ///
    /// # Errors
    ///
    /// The store itself cannot be read.
    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError>;

    /// Describes the `limit` sessions that were modified last.
    ///
    /// # Errors
    ///
    /// As [`SessionStore::list`].
    async fn list_bounded(&self, limit: usize) -> Result<Vec<SessionInfo>, SessionError>;

    /// Finds the session of a full id or of a prefix that only one id has.
    ///
    /// # Errors
    ///
    /// [`SessionError::NotFound`] or [`SessionError::Ambiguous`], both with candidates.
    async fn resolve(&self, id_or_prefix: &str) -> Result<SessionId, SessionError>;

    /// The session that was modified last, if there is any.
    ///
    /// # Errors
    ///
    /// As [`SessionStore::list`], and if that session cannot be read: an older one is not what
    /// was asked for.
    async fn latest(&self) -> Result<Option<SessionId>, SessionError>;

    /// Who has a session open for writing, if anybody has. It neither waits nor keeps anybody from
    /// opening the session.
    ///
    /// # Errors
    ///
    /// The session is unknown, or the store does not tell.
    async fn holder(&self, _id: SessionId) -> Result<Option<Holder>, SessionError> {
        let reason = "the store does not tell who has a session open".to_owned();
        Err(SessionError::Store(reason))
    }
}

/// Who has a session open for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// The process of this number.
    Process(u32),
    /// Somebody; the system does not tell who.
    Unknown,
}

/// A session that is open for writing. Dropping it releases its lock.
#[async_trait]
pub trait Session: Send + Sync {
    /// Names the session.
    fn id(&self) -> SessionId;

    /// Adds records, in order; on return they are durable.
    ///
    /// Before the first assistant message nothing is written: records wait in memory.
    /// After an error the records wait too and go with the next append, so that nothing is
    /// lost and order holds; but not after [`SessionError::Refused`], which takes none of them.
    /// The future must be driven to its end.
    ///
    /// # Errors
    ///
    /// The records could not be made durable; the file holds no part of them.
    async fn append(&mut self, records: Vec<Record>) -> Result<(), SessionError>;

    /// The same for a turn that may be cancelled. A store that waits for others may give up some
    /// time after `cancel` is forced, with an error; the records wait as after any other.
    ///
    /// # Errors
    ///
    /// As [`Session::append`].
    async fn append_for_turn(
        &mut self,
        records: Vec<Record>,
        _cancel: &Cancel,
    ) -> Result<(), SessionError> {
        self.append(records).await
    }
}

/// A session that was opened for writing, and what it holds.
pub struct OpenSession {
    /// For appending.
    pub session: Box<dyn Session>,
    /// What was there.
    pub tree: SessionTree,
}

/// What a listing says of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionInfo {
    /// Names the session.
    pub id: SessionId,
    /// When it was begun.
    pub created: Timestamp,
    /// When its last record was added.
    pub modified: Timestamp,
    /// The metadata of its header, if it has any.
    pub metadata: Option<Metadata>,
    /// Messages on its current branch.
    pub message_count: u64,
    /// The text of the last user message on it.
    pub last_user_message: Option<String>,
    /// The protocol of the last assistant message.
    pub api_style: Option<String>,
    /// Where its provider was reached.
    pub base_url: Option<String>,
    /// Its model reference.
    pub model: Option<String>,
    /// Its reasoning label.
    pub reasoning: Option<String>,
}

/// Which messages [`SessionStore::load_messages`] reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// At most so many messages.
    pub limit: Option<usize>,
    /// At most so many bytes of stored messages; at least one message is given.
    pub max_bytes: Option<u64>,
    /// Count both from the end instead of from the beginning.
    pub from_end: bool,
    /// Only messages of this role.
    pub role: Option<Role>,
    /// Only messages whose metadata has this key.
    pub metadata_key: Option<String>,
}

/// Why a session could not be found, read or extended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// No session of the store has the id or prefix.
    #[error("no session `{wanted}`{}", candidates_hint("nearest", .nearest))]
    NotFound {
        /// What was looked for.
        wanted: String,
        /// The ids that come nearest, or the latest ones.
        nearest: Vec<SessionId>,
    },
    /// Several sessions have the prefix.
    #[error("`{wanted}` is the beginning of several ids{}", candidates_hint("candidates", .candidates))]
    Ambiguous {
        /// What was looked for.
        wanted: String,
        /// All ids that begin so.
        candidates: Vec<SessionId>,
    },
    /// Another agent has the session open. It lets go when the last handle to it, its live turn
    /// included, is dropped.
    #[error("session `{id}` is in use by {}", holder_text(*.holder))]
    InUse {
        /// The session.
        id: SessionId,
        /// The process that holds it, where the system tells.
        holder: Option<u32>,
    },
    /// A record in the middle of the file cannot be read; the file is untouched.
    #[error("`{}`, line {line}, column {column}: {message}", .path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// Counted from 1, in bytes.
        column: u64,
        /// What is wrong there.
        message: String,
    },
    /// The file was written by a newer version; it is untouched.
    #[error("`{}` has format version {found}, and only versions up to {supported} are known here; use the panto that wrote it, or a newer one", .path.display())]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The newest version that can be read.
        supported: u64,
    },
    /// The file system failed; nothing was written.
    #[error("could not {action} `{}`", .path.display())]
    Io {
        /// What was attempted, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The store will never take the record; it holds nothing of it.
    #[error("the session store refuses this: {reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// A store that is not a file system failed.
    #[error("the session store failed: {0}")]
    Store(String),
}

impl SessionError {
    /// One name for programs. A session that is in use is `in_use_here` if this process is known
    /// to have it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not_found",
            Self::Ambiguous { .. } => "ambiguous",
            Self::InUse { holder, .. } if *holder == Some(std::process::id()) => "in_use_here",
            Self::InUse { .. } => "in_use",
            Self::Corrupt { .. } => "corrupt",
            Self::NewerVersion { .. } => "newer_version",
            Self::Io { .. } => "io",
            Self::Refused { .. } => "refused",
            Self::Store(_) => "store",
        }
    }
}

fn candidates_hint(word: &str, ids: &[SessionId]) -> String {
    if ids.is_empty() {
        return String::new();
    }
    let ids: Vec<String> = ids.iter().map(SessionId::to_string).collect();
    format!(" ({word}: {})", ids.join(", "))
}

fn holder_text(holder: Option<u32>) -> String {
    match holder {
        Some(pid) if pid == std::process::id() => {
            "this process: an agent of it is still alive".to_owned()
        }
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}
