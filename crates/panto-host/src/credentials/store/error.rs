//! Why the credential file could not be read or written.

use std::io;
use std::path::{Path, PathBuf};

use crate::credentials::KeyProblem;

/// Why the credential file could not be read or written. It is then as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file system refused.
    #[error("could not {action} `{}`", .path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// The system's word for it.
        #[source]
        source: io::Error,
    },
    /// Something else lies in the file's place.
    #[error("the credential file `{}` is {what}, not a file", .path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The file is a link, and what it leads to is not there.
    #[error("the credential file `{}` is a link to `{}`, which does not exist", .path.display(), .target.display())]
    DanglingLink {
        /// The file.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// Larger than any credential file.
    #[error("the credential file `{}` is larger than {} KiB; something else is in it", .0.display(), super::file::MOST_BYTES >> 10)]
    TooLarge(PathBuf),
    /// The text is no JSON.
    #[error("the credential file is broken: {}:{line}:{column}: {problem}", .path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// What the reader of JSON expected.
        problem: String,
    },
    /// The JSON is not what a credential file holds.
    #[error("the credential file `{}` is broken: {what}", .path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// Which part is something else.
        what: String,
    },
    /// A later panto wrote the file.
    #[error("the credential file `{}` is of version {version}, which this panto does not know; use a newer one", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
    /// An entry has no usable key.
    #[error("the credential file `{}` has no usable key for `{provider}`: {problem}", .path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// The entry.
        provider: String,
        /// What is wrong with its key.
        problem: KeyProblem,
    },
    /// Another process writes the file and does not come to an end.
    #[error("another process holds `{}`, and has for {} s", .lock.display(), super::lock::PATIENCE.as_secs())]
    Busy {
        /// The file.
        path: PathBuf,
        /// What is held.
        lock: PathBuf,
    },
}

impl StoreError {
    /// The file that it is about.
    pub fn path(&self) -> &Path {
        match self {
            StoreError::TooLarge(path)
            | StoreError::Io { path, .. }
            | StoreError::NotAFile { path, .. }
            | StoreError::DanglingLink { path, .. }
            | StoreError::Syntax { path, .. }
            | StoreError::Shape { path, .. }
            | StoreError::Newer { path, .. }
            | StoreError::Entry { path, .. }
            | StoreError::Busy { path, .. } => path,
        }
    }

    /// What is wrong, for a sentence that has named the file.
    pub(in crate::credentials) fn problem(&self) -> String {
        match self {
            StoreError::Io { action, source, .. } => format!("could not {action} it: {source}"),
            StoreError::NotAFile { what, .. } => format!("it is {what}, not a file"),
            StoreError::DanglingLink { target, .. } => {
                format!(
                    "it is a link to `{}`, which does not exist",
                    target.display()
                )
            }
            StoreError::Syntax {
                line,
                column,
                problem,
                ..
            } => format!("line {line}, column {column}: {problem}"),
            StoreError::Shape { what, .. } => what.clone(),
            StoreError::Entry { problem, .. } => format!("in the provider's entry, {problem}"),
            StoreError::Newer { version, .. } => {
                format!(
                    "it is of version {version}, which this panto does not know; use a newer one"
                )
            }
            StoreError::Busy { .. } => "another process holds it".to_owned(),
            StoreError::TooLarge(_) => "something else is in it".to_owned(),
        }
    }
}
