//! The files that panto ships: staged in the data home, so that people and Lua can read them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file that panto ships.
#[derive(Debug, Clone, Copy)]
pub struct ShippedFile {
    /// Where it lies below the staged directory, with `/`.
    pub path: &'static str,
    /// What is in it.
    pub text: &'static str,
}

/// What panto ships could not be written.
#[derive(Debug, thiserror::Error)]
#[error("could not write what panto ships to `{dir}`")]
pub struct StageError {
    /// Where.
    pub dir: PathBuf,
    #[source]
    error: io::Error,
}

/// Writes `files` below `data_home`, unless they are there, and gives their directory.
///
/// Each `version` has a directory of its own, which appears whole: another process, or one that is
/// killed, leaves no half of it.
///
/// # Errors
///
/// [`StageError`].
pub fn stage(
    data_home: &Path,
    version: &str,
    files: &[ShippedFile],
) -> Result<PathBuf, StageError> {
    let dir = data_home.join("base").join(version);
    stage_at(&dir, files)?;
    Ok(dir)
}

/// Writes `files` to `dir`, unless it is there. It appears whole.
pub(crate) fn stage_at(dir: &Path, files: &[ShippedFile]) -> Result<(), StageError> {
    if dir.is_dir() {
        return Ok(());
    }
    match write(dir, files) {
        // Another process was quicker.
        Err(error) if !dir.is_dir() => Err(StageError {
            dir: dir.to_owned(),
            error,
        }),
        _ => Ok(()),
    }
}

fn write(dir: &Path, files: &[ShippedFile]) -> io::Result<()> {
    let base = dir.parent().unwrap_or(dir);
    fs::create_dir_all(base)?;
    let staging = tempfile::Builder::new()
        .prefix(".staging")
        .tempdir_in(base)?;
    for file in files {
        let path = staging.path().join(file.path);
        fs::create_dir_all(path.parent().unwrap_or(staging.path()))?;
        fs::write(path, file.text)?;
    }
    // Unlike other temporary directories it is for everybody to read.
    fs::set_permissions(
        staging.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )?;
    fs::rename(staging.path(), dir)?;
    // It is not there any more.
    let _ = staging.keep();
    Ok(())
}
