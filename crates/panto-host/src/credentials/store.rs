//! The credential file: `auth/credentials.json` in the data home, for its owner alone.
//!
//! ```json
//! { "version": 1, "providers": { "anthropic": { "key": "sk-example" } } }
//! ```
//!
//! JSON, since the file is the program's to write: whatever else stands in it, of a later version
//! or by hand, is kept with its order. It is replaced as a whole, under a lock, so that a reader
//! sees the old or the new one, and two writers lose nothing of each other.

use std::path::{Path, PathBuf};

use super::error::KeyWarning;
use super::key::KeyText;
use crate::dirs::{Dirs, NoHome};

mod document;
mod error;
mod file;
mod lock;

use document::Document;
pub use error::StoreError;

/// The credential file of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialStore {
    path: PathBuf,
}

/// What happened to an entry that was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// There was none before.
    Added,
    /// It replaced another key.
    Replaced,
    /// The same key was there.
    Unchanged,
}

/// What happened to an entry that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removed {
    /// It was there.
    Removed,
    /// There was none; the providers that have one, sorted.
    Absent(Vec<String>),
}

impl CredentialStore {
    /// The file in the data home. Nothing is created or looked at.
    ///
    /// # Errors
    ///
    /// [`NoHome`] if no variable says where data lies.
    pub fn new(dirs: &Dirs) -> Result<Self, NoHome> {
        let auth = dirs.data_home()?.join("auth");
        Ok(Self::at(auth.join("credentials.json")))
    }

    /// The file at `path`.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file; one that does not exist has no entries.
    ///
    /// # Errors
    ///
    /// It is no regular file, cannot be read, or does not hold what it should.
    pub fn read(&self) -> Result<Contents, StoreError> {
        let Some(read) = file::read(&self.path)? else {
            return Ok(Contents {
                path: self.path.clone(),
                document: Document::default(),
                mode: None,
            });
        };
        Ok(Contents {
            document: Document::parse(&read.bytes, &self.path)?,
            path: self.path.clone(),
            mode: Some(read.mode),
        })
    }

    /// Stores the key of `provider`. Blocks while another process writes, up to ten seconds.
    ///
    /// # Errors
    ///
    /// As [`CredentialStore::read`], or the file cannot be written. It is then as it was before.
    pub fn set(&self, provider: &str, key: &KeyText) -> Result<Stored, StoreError> {
        file::create_directory(&self.path)?;
        let _lock = lock::Lock::acquire(&self.path)?;
        let mut contents = self.read()?;
        let stored = contents.document.set(provider, key);
        // Written even if the key is the same: the mode may have to be put right.
        file::replace(&self.path, &contents.document.to_bytes())?;
        Ok(stored)
    }

    /// Removes the key of `provider`, and whatever else is kept for it. Blocks as
    /// [`CredentialStore::set`] does.
    ///
    /// # Errors
    ///
    /// As [`CredentialStore::set`].
    pub fn remove(&self, provider: &str) -> Result<Removed, StoreError> {
        // Nothing is created to find nothing in it.
        if self.read()?.document.has(provider) {
            let _lock = lock::Lock::acquire(&self.path)?;
            let mut contents = self.read()?;
            if contents.document.remove(provider) {
                file::replace(&self.path, &contents.document.to_bytes())?;
                return Ok(Removed::Removed);
            }
        }
        Ok(Removed::Absent(self.read()?.document.providers()))
    }
}

/// What the file held when it was read. `Debug` shows no key.
#[derive(Debug)]
pub struct Contents {
    path: PathBuf,
    document: Document,
    mode: Option<u32>,
}

impl Contents {
    /// Whether there is a file.
    pub fn exists(&self) -> bool {
        self.mode.is_some()
    }

    /// The providers with an entry, sorted.
    pub fn providers(&self) -> Vec<String> {
        self.document.providers()
    }

    /// The key of `provider`; `None` if there is no entry.
    ///
    /// # Errors
    ///
    /// The entry holds no usable key.
    pub fn key(&self, provider: &str) -> Result<Option<KeyText>, StoreError> {
        let key = self.document.key(provider);
        key.map_err(|problem| StoreError::Entry {
            path: self.path.clone(),
            provider: provider.to_owned(),
            problem,
        })
    }

    /// The warning that others than the owner may read the file, if they may.
    pub fn exposed(&self) -> Option<KeyWarning> {
        let mode = self.mode.filter(|mode| mode & 0o077 != 0)?;
        Some(KeyWarning::Exposed {
            path: self.path.clone(),
            mode,
        })
    }
}
