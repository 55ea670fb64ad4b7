//! What there is to say about keys, in words for people. Nothing here ever holds a key.

use std::fmt;
use std::path::PathBuf;

use pantograph_providers::CredentialsError;

use super::source::KeySource;
use super::store::StoreError;
use crate::config::Source;

/// Why no request can be made to a provider: its key is missing, or its source is broken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// No source has one.
    #[error(transparent)]
    Missing(#[from] MissingKey),
    /// The source that counts is there, but gives none.
    #[error(transparent)]
    Unusable(#[from] CredentialsError),
}

impl KeyError {
    /// What to do about it, if that can be told.
    pub fn hint(&self) -> Option<String> {
        match self {
            KeyError::Missing(missing) => Some(missing.hint()),
            KeyError::Unusable(_) => None,
        }
    }
}

/// A provider needs a key, and there is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no key for `{provider}`: {}", looked(.looked_at))]
pub struct MissingKey {
    /// The provider.
    pub provider: String,
    /// Where a key would have been found, in order.
    pub looked_at: Vec<LookedAt>,
    /// The variable that would be set.
    pub(super) variable: Option<String>,
    /// Whether a key can be stored.
    pub(super) can_store: bool,
    /// The configuration file that would name another source.
    pub(super) config_file: Option<PathBuf>,
}

impl MissingKey {
    /// How to set a key, each way.
    pub fn hint(&self) -> String {
        let provider = &self.provider;
        let export = self
            .variable
            .as_ref()
            .map(|name| format!("`export {name}=…`"));
        let login = self.can_store.then(|| format!("`panto login {provider}`"));
        let ways: Vec<String> = export.into_iter().chain(login).collect();
        let start = match ways.is_empty() {
            true => "name a source".to_owned(),
            false => format!("set one with {}, or name another source", ways.join(" or ")),
        };
        let file = match &self.config_file {
            Some(file) => format!("`{}`", file.display()),
            None => "the configuration".to_owned(),
        };
        format!(
            "{start} with `api_key_env` or `api_key_command` under `[providers.{provider}]` in {file}"
        )
    }
}

impl From<MissingKey> for CredentialsError {
    fn from(missing: MissingKey) -> Self {
        let from = match missing.looked_at.as_slice() {
            [] => "any source".to_owned(),
            looked_at => places(looked_at, |looked| looked.source.to_string()),
        };
        CredentialsError::new(from, "there is none")
    }
}

/// A source that was looked at, and what was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookedAt {
    /// The source.
    pub source: KeySource,
    /// What was there.
    pub outcome: Outcome,
}

/// What was found at a source that gives no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The variable is not set.
    NotSet,
    /// The variable is empty, or blank.
    Empty,
    /// The credential file has no entry for the provider.
    NoEntry,
    /// There is no credential file.
    NoFile,
}

impl fmt::Display for LookedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.outcome {
            Outcome::NotSet => "not set",
            Outcome::Empty => "empty",
            Outcome::NoEntry => "no entry",
            Outcome::NoFile => "does not exist",
        };
        write!(f, "{} ({outcome})", self.source)
    }
}

/// What a person should hear although a key was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyWarning {
    /// Others on the machine may read the credential file.
    #[error(
        "others can read the credential file `{0}` (mode {mode:04o}): chmod 600 {1}",
        .path.display(),
        shell_word(&.path.to_string_lossy())
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The variable that the configuration names gives no key; the stored one is used.
    #[error(
        "{variable}, which `api_key_env` names ({named_in}), {}; the stored key is used",
        match .outcome { Outcome::Empty => "is empty", _ => "is not set" }
    )]
    StoredInstead {
        /// The variable's name.
        variable: String,
        /// Where the configuration names it.
        named_in: Source,
        /// What is wrong with it.
        outcome: Outcome,
    },
}

impl From<StoreError> for CredentialsError {
    fn from(error: StoreError) -> Self {
        let from = format!("the credential file `{}`", error.path().display());
        CredentialsError::new(from, error.problem())
    }
}

fn looked(at: &[LookedAt]) -> String {
    match at {
        [] => "there is no place to look for one".to_owned(),
        at => format!("looked at {}", places(at, LookedAt::to_string)),
    }
}

fn places(at: &[LookedAt], name: impl Fn(&LookedAt) -> String) -> String {
    at.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// A path as a shell reads it back.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
