//! Explains what is wrong with a session's file, and repairs it.
//!
//! For files that [`crate::session::SessionStore::load`] refuses, too. Both functions block on the
//! file system.

mod attached;
mod edit;
mod known;
mod plan;
mod salvage;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use self::plan::Plan;
use super::disk::{self, Access, io_error};
use super::lock::LockedFile;
use super::places::{Places, session_of};
use super::{lookup, read};
use crate::ids::SessionId;
use crate::session::SessionError;

/// What is added to the name of a file that a repair keeps; a number follows.
const KEPT: &str = ".broken-";

/// What is wrong with a session's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The file.
    pub path: PathBuf,
    /// How many of its records can be read, the header not counted.
    pub records: u64,
    /// What is wrong, in the order of the file. Empty: nothing is.
    pub problems: Vec<Problem>,
    /// Whether a repair changes anything: some problems cannot be repaired, and stay.
    pub repairable: bool,
    /// Where a repair put the file as it was; `None` if nothing was changed.
    pub kept: Option<PathBuf>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Counted from 1.
    pub line: u64,
    /// Counted from 1, in bytes.
    pub column: u64,
    /// What is wrong there.
    pub what: String,
    /// What a repair does about it; or why it leaves it, and what that means.
    pub repair: String,
}

/// Reads a session's file and says what is wrong with it. Changes nothing and locks nothing.
///
/// # Errors
///
/// The file cannot be read at all, or a newer version wrote it.
pub fn examine(path: &Path) -> Result<Report, SessionError> {
    let id = path.file_name().and_then(|name| {
        let kept = name.to_str().and_then(|name| name.split_once(KEPT));
        kept.map_or(session_of(name), |(name, _)| session_of(name.as_ref()))
    });
    // The id is for what belongs to the file; a file of any other name can be looked at, too.
    let places = places(path, id.unwrap_or(SessionId::new(Uuid::nil())));
    let file =
        disk::open_file(path, Access::Read).map_err(|source| io_error("open", path, source))?;
    let bytes = read::bytes(&file, path)?;
    Ok(Plan::new(&bytes, &places)?.report(path))
}

/// Puts a repaired file in the place of one that has problems, and keeps the old one beside it as
/// `<id>.jsonl.broken-<n>`.
///
/// Lines that can be read stay as they are, byte for byte. A message of which id, parent and role
/// can still be read is replaced by one that says that it is damaged; other lines are left out. A
/// message whose parent is lost follows the nearest ancestor that is left, or else the message
/// before it. A file without problems, or with such only that cannot be repaired, is not touched.
///
/// # Errors
///
/// Somebody has the session open; a newer version wrote it; the file's name is not that of a
/// session; the file system failed. The file is then as it was.
pub fn repair(path: &Path) -> Result<Report, SessionError> {
    let Some(id) = path.file_name().and_then(session_of) else {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "expected a file `<id>.jsonl`");
        return Err(io_error("repair", path, source));
    };
    let places = places(path, id);
    let file = LockedFile::open(path, id)?
        .ok_or_else(|| lookup::not_found(&places.directory, &id.to_string()))?;
    let bytes = read::bytes(file.file(), path)?;
    let plan = Plan::new(&bytes, &places)?;
    let mut report = plan.report(path);
    if !report.repairable {
        return Ok(report);
    }
    let repaired = plan.repaired()?;
    // What cannot be read afterwards must not replace anything.
    read::session(repaired.as_slice(), &places)?;
    report.kept = Some(replace(&places, &repaired)?);
    Ok(report)
}

fn places(path: &Path, id: SessionId) -> Places {
    let mut places = Places::new(path.parent().unwrap_or(Path::new("")), id);
    places.path = path.to_owned();
    places
}

/// Puts new contents in the file's place; gives where the old file is now.
fn replace(places: &Places, contents: &[u8]) -> Result<PathBuf, SessionError> {
    let failed = |source| io_error("repair", &places.path, source);
    let temporary = places
        .directory
        .join(format!(".{}.{}.repair", places.id, std::process::id()));
    let written = disk::create_file(&temporary).and_then(|mut file| {
        file.write_all(contents)?;
        file.sync_all()
    });
    let kept = written
        .map_err(failed)
        .and_then(|()| swap(places, &temporary));
    if kept.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    kept
}

/// Keeps the file under another name and gives its name to `repaired`; if that fails, puts
/// everything back.
fn swap(places: &Places, repaired: &Path) -> Result<PathBuf, SessionError> {
    let failed = |source| io_error("repair", &places.path, source);
    let kept = keep(&places.path).map_err(failed)?;
    let swapped = std::fs::rename(repaired, &places.path)
        .map_err(failed)
        .and_then(|()| disk::sync_directory(&places.directory));
    match swapped {
        Ok(()) => Ok(kept),
        Err(error) => {
            // Between two names of one file renaming does nothing; then one name is too many.
            if std::fs::rename(&kept, &places.path).is_ok() {
                let _ = std::fs::remove_file(&kept);
            }
            Err(error)
        }
    }
}

/// Gives a file a second name, which nothing has yet; or another, where it can have only one.
fn keep(path: &Path) -> io::Result<PathBuf> {
    for n in 1_u32.. {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("{KEPT}{n}"));
        let kept = PathBuf::from(name);
        match std::fs::hard_link(path, &kept) {
            Ok(()) => return Ok(kept),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // A file system without links: for a moment the session has no file.
            Err(_) => match disk::rename_new(path, &kept) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => return result.map(|()| kept),
            },
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repair_that_fails_at_the_end_leaves_no_trace() {
        let directory = tempfile::tempdir().unwrap();
        let places = Places::new(directory.path(), SessionId::new(Uuid::nil()));
        std::fs::write(&places.path, "broken").unwrap();
        // There is nothing to give the name to.
        let nothing = directory.path().join("nothing");
        swap(&places, &nothing).unwrap_err();
        let names: Vec<_> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(names, std::slice::from_ref(&places.path));
        assert_eq!(std::fs::read_to_string(&places.path).unwrap(), "broken");
    }
}
