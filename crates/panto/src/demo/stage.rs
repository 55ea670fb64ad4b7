//! Where the demo plays: in the home, or, without one that can be written, in a temporary place.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use panto_host::dirs::{Dirs, Environment};
use panto_host::extensions::stage;
use tempfile::TempDir;

use crate::failure::{Exit, Failure};
use crate::place::Place;
use crate::{shipped, streams};

/// A place for sessions, and for what panto ships.
pub(super) struct Stage {
    pub(super) dirs: Dirs,
    /// What panto ships.
    pub(super) shipped: PathBuf,
    /// Goes with the demo.
    temporary: Option<TempDir>,
}

impl Stage {
    /// # Errors
    ///
    /// Nothing can be written anywhere.
    pub(super) fn set(place: &Place) -> Result<Self, Failure> {
        let why = match in_home(place) {
            Ok(stage) => return Ok(stage),
            Err(why) => why,
        };
        streams::warn(format!("the conversation is not kept: {why:#}"));
        // Children are gone on with by their files, so there must be some for a while.
        in_temporary(place.cwd())
            .context("could not make a temporary place for the demo")
            .map_err(|error| Failure::new(Exit::TurnFailed, "internal", error))
    }

    /// Whether anything is left of it when the demo is over.
    pub(super) fn is_kept(&self) -> bool {
        self.temporary.is_none()
    }
}

fn in_home(place: &Place) -> anyhow::Result<Stage> {
    let dirs = place.dirs.clone().without_config();
    let sessions = dirs.session_directory(dirs.cwd())?;
    let could_not = || format!("could not write to `{}`", sessions.display());
    fs::create_dir_all(&sessions).with_context(could_not)?;
    tempfile::tempfile_in(&sessions).with_context(could_not)?;
    let shipped = stage(dirs.data_home()?, shipped::VERSION, shipped::FILES)?;
    Ok(Stage {
        dirs,
        shipped,
        temporary: None,
    })
}

fn in_temporary(cwd: &Path) -> anyhow::Result<Stage> {
    let temporary = TempDir::with_prefix("panto-demo-")?;
    let root = temporary.path().canonicalize()?;
    let dirs = Dirs::new(&Environment {
        cwd: cwd.to_owned(),
        xdg_data_home: Some(root.into_os_string()),
        ..Environment::default()
    });
    Ok(Stage {
        shipped: stage(dirs.data_home()?, shipped::VERSION, shipped::FILES)?,
        dirs,
        temporary: Some(temporary),
    })
}
