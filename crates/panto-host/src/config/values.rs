//! The merged configuration as typed values.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::provider::Provider;
use super::sourced::Sourced;

/// The merged configuration.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// `model`, as written; [`crate::Models`] reads it.
    pub model: Option<Sourced<String>>,
    /// `reasoning`: one of [`super::REASONING`], or a level of an extension's protocol.
    pub reasoning: Option<Sourced<String>>,
    /// `[providers.*]` by name.
    pub providers: BTreeMap<String, Provider>,
    /// `[tools]`.
    pub tools: ToolSettings,
    /// `[compaction]`.
    pub compaction: CompactionSettings,
    /// `[extensions]`.
    pub extensions: ExtensionSettings,
    /// The files that were read, in the order of the layers.
    pub files: Vec<PathBuf>,
    /// Where the user's layer is looked for; `None` without a home directory.
    pub user_file: Option<PathBuf>,
}

/// `[tools]`.
#[derive(Debug, Clone)]
pub struct ToolSettings {
    /// The tools that ask before each call.
    pub ask: Sourced<Vec<String>>,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            ask: Sourced::default_value(Vec::new()),
        }
    }
}

/// `[compaction]`.
#[derive(Debug, Clone)]
pub struct CompactionSettings {
    /// Whether a conversation near its context window is compacted without being asked.
    pub auto: Sourced<bool>,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            auto: Sourced::default_value(true),
        }
    }
}

/// `[extensions]`.
#[derive(Debug, Clone)]
pub struct ExtensionSettings {
    /// The only extensions that load, if set.
    pub allow: Sourced<Vec<String>>,
    /// Extensions that never load.
    pub deny: Sourced<Vec<String>>,
    /// More places to look for extensions; relative ones start at the project's root.
    pub paths: Sourced<Vec<PathBuf>>,
    /// More rocks to load.
    pub rocks: Sourced<Vec<String>>,
    /// The server that rocks come from, if not from those of `luarocks`.
    pub rocks_server: Option<Sourced<String>>,
    /// `[extensions.settings.*]`: what each extension is given, as it was written.
    pub settings: BTreeMap<String, Sourced<toml::Value>>,
}

impl Default for ExtensionSettings {
    fn default() -> Self {
        Self {
            allow: Sourced::default_value(Vec::new()),
            deny: Sourced::default_value(Vec::new()),
            paths: Sourced::default_value(Vec::new()),
            rocks: Sourced::default_value(Vec::new()),
            rocks_server: None,
            settings: BTreeMap::new(),
        }
    }
}
