//! Why no model could be chosen, in words for people.

use std::path::PathBuf;

/// Why no model could be chosen; nothing was opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// Neither the command line nor any layer names a model.
    #[error("no model is set")]
    NoModel {
        /// The configuration files that were read.
        files: Vec<PathBuf>,
    },
}

/// What the person should hear about a choice that was taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceWarning {
    /// The provider is known, but does not list the model.
    #[error("unlisted")]
    Unlisted,
}
