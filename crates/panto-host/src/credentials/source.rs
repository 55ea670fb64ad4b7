//! A place that a key comes from.

use std::fmt;
use std::path::PathBuf;

use crate::config::Source;

/// A place that a key comes from, as people name it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// An environment variable.
    Variable {
        /// Its name.
        name: String,
        /// Where the configuration names it; `None` if it is well known.
        named_in: Option<Source>,
    },
    /// The provider's `api_key_command`.
    Command {
        /// Where the configuration has it.
        named_in: Source,
    },
    /// The credential file.
    File(PathBuf),
}

impl KeySource {
    pub(super) fn well_known(name: &str) -> Self {
        KeySource::Variable {
            name: name.to_owned(),
            named_in: None,
        }
    }

    pub(super) fn variable(&self) -> Option<&str> {
        match self {
            KeySource::Variable { name, .. } => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeySource::Variable {
                name,
                named_in: None,
            } => write!(f, "the environment variable {name}"),
            KeySource::Variable {
                name,
                named_in: Some(place),
            } => write!(
                f,
                "the environment variable {name} of `api_key_env` in {place}"
            ),
            KeySource::Command { named_in } => {
                write!(f, "the command of `api_key_command` in {named_in}")
            }
            KeySource::File(path) => write!(f, "the credential file `{}`", path.display()),
        }
    }
}
