//! Where the parts of a session lie.

use std::path::{Path, PathBuf};

use crate::ids::SessionId;

/// Where the parts of one session lie.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// The session.
    pub(super) id: SessionId,
    /// Where all sessions of the store lie.
    pub(super) directory: PathBuf,
    /// Its file.
    pub(super) path: PathBuf,
    /// The directory of its large attachments.
    pub(super) files: PathBuf,
}

impl Places {
    /// The places of a session in `directory`.
    pub(super) fn new(directory: &Path, id: SessionId) -> Self {
        Self {
            id,
            directory: directory.to_owned(),
            path: directory.join(format!("{id}.jsonl")),
            files: directory.join(format!("{id}.files")),
        }
    }
}

/// The session whose file has this name.
pub(super) fn session_of(file_name: &std::ffi::OsStr) -> Option<SessionId> {
    let stem = file_name.to_str()?.strip_suffix(".jsonl")?;
    SessionId::parse(stem).ok()
}
