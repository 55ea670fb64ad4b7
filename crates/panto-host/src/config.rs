//! Configuration: `config.toml` in layers, checked, every value with the place it came from.
//!
//! Layers, low to high: what panto ships, the user's file, the project's, the project's local
//! one. Tables are merged key by key; any other value replaces the one below it.

use std::path::PathBuf;

use crate::dirs::Dirs;

mod check;
mod document;
mod error;
mod fit;
mod load;
mod provider;
mod read;
mod settings;
mod sourced;
mod tree;
mod typed;
mod values;

pub use error::{ConfigError, ConfigWarning, Problem};
pub(crate) use error::{key_path, listed, shown, some};
pub use provider::{Flags, Headers, ModelSettings, Provider};
pub use settings::{Kind, REASONING, Setting, settings};
pub use sourced::{Layer, Place, Source, Sourced};
pub use values::{CompactionSettings, Config, ExtensionSettings, ToolSettings};

/// What to load, and how far to trust it.
#[derive(Debug, Clone)]
pub struct LoadConfig<'a> {
    /// Where the user's layer lies. Without a home directory there is no user layer.
    pub dirs: &'a Dirs,
    /// Below which the project's and the local layer lie; see [`crate::dirs::project_root`].
    pub project_root: PathBuf,
    /// A file that stands in for the user's layer (`--config FILE`). It must exist; a relative
    /// path starts at the working directory.
    pub explicit: Option<PathBuf>,
    /// Whether the project's and the local layer may set more than `model` and `reasoning`.
    pub trusted: bool,
    /// A directory whose `config.toml`, if there is one, is the only layer (`--bundle DIR`).
    pub bundle: Option<PathBuf>,
}

/// What was loaded, and what the person should hear about it.
#[derive(Debug)]
pub struct Loaded {
    /// The merged configuration.
    pub config: Config,
    /// For standard error, in the order of the layers.
    pub warnings: Vec<ConfigWarning>,
}

impl Config {
    /// Reads, checks and merges the layers.
    ///
    /// A file that does not exist is an empty layer. What an untrusted project's files set
    /// beyond `model` and `reasoning` is left out with one warning a file, and so is such a file
    /// that cannot be understood.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for the first file that cannot be read or holds a value that does not fit.
    pub fn load(request: &LoadConfig<'_>) -> Result<Loaded, ConfigError> {
        load::load(request)
    }
}

#[cfg(test)]
mod tests;
