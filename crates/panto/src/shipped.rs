//! What the binary carries of `rocks/`, and where it lies when it runs.

use std::path::PathBuf;

use panto_host::dirs::Dirs;
use panto_host::extensions::{ShippedFile, stage};

use crate::streams;

include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// How an agent is told to work.
pub(crate) const BASE_PROMPT: &str = include_str!("../../../rocks/agent/prompt.md");

/// What the demo plays.
pub(crate) const DEMO: &str = include_str!("../../../rocks/subagents/demo.toml");

/// The directory with what the binary carries, which is written if it is not there yet. `None`,
/// with a warning, if it cannot be.
pub(crate) fn staged(dirs: &Dirs) -> Option<PathBuf> {
    let data_home = match dirs.data_home() {
        Ok(data_home) => data_home,
        Err(error) => {
            streams::warn(format!("there are no standard tools: {error}"));
            return None;
        }
    };
    match stage(data_home, VERSION, FILES) {
        Ok(dir) => Some(dir),
        Err(error) => {
            let why = pantograph::with_causes(&error);
            streams::warn(format!("there are no standard tools: {why}"));
            None
        }
    }
}
