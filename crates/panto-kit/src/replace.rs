//! Files that are replaced whole or not at all.

use std::fs::{Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::read::{Fingerprint, ReadError, read, regular};
use crate::stop::Stop;

/// How many links one path may go through.
const MAX_LINKS: usize = 40;

/// What a file must be for it to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Anything, there or not.
    Anything,
    /// Not there.
    Absent,
    /// There, with these bytes.
    Bytes(Fingerprint),
}

/// What is made on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parents {
    /// The directories above the file have to be there.
    Required,
    /// They are made.
    Created,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The file that has the bytes: what a link led to.
    pub target: PathBuf,
    /// What the file holds now.
    pub fingerprint: Fingerprint,
    /// Whether there was none before.
    pub is_new: bool,
}

/// Why a file was not replaced. It is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplaceError {
    /// It is not a regular file.
    #[error(transparent)]
    NotAFile(ReadError),
    /// It was to be absent.
    #[error("`{}` exists already", .0.display())]
    Exists(PathBuf),
    /// It does not hold what was expected.
    #[error("`{}` is no longer what it was", .0.display())]
    Changed(PathBuf),
    /// Nobody may write to it.
    #[error("`{}` is read-only (mode {:04o})", .path.display(), .mode & 0o7777)]
    ReadOnly {
        /// The path.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Links lead in a circle.
    #[error("`{}` leads through too many links", .0.display())]
    Links(PathBuf),
    /// The system refuses it.
    #[error("could not write `{}`", .0.display())]
    Io(PathBuf, #[source] io::Error),
}

impl ReplaceError {
    /// A name that tells it from the others.
    pub fn code(&self) -> &'static str {
        match self {
            ReplaceError::NotAFile(error) => error.code(),
            ReplaceError::Exists(_) => "exists",
            ReplaceError::Changed(_) => "changed",
            ReplaceError::ReadOnly { .. } => "read_only",
            ReplaceError::Links(_) => "links",
            ReplaceError::Io(..) => "io",
        }
    }
}

/// Puts `bytes` in the place of a file's, in one step: whoever reads it finds the old or the new.
///
/// A link stays, and what it leads to is replaced. What the process may not write to stays too. An
/// existing file keeps its mode, but for the bits that lend rights, and, as far as the system lets
/// us, its owner; a new one gets `mode`, or what the process's mask leaves of 0666.
/// Other hard links to the file keep the old bytes. What is new is on disk when this returns.
///
/// # Errors
///
/// [`ReplaceError`]; the file is as it was then, though directories may have been made.
pub fn replace(
    path: &Path,
    bytes: &[u8],
    expected: Expected,
    parents: Parents,
    mode: Option<u32>,
) -> Result<Replaced, ReplaceError> {
    let target = target_of(path)?;
    let failed = |error| ReplaceError::Io(target.clone(), error);
    let existing = match std::fs::metadata(&target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    if let Some(metadata) = &existing {
        writable(&target, metadata)?;
    }
    check(&target, existing.as_ref(), expected)?;
    let parent = match target.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    if parents == Parents::Created {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let file = beside(parent, bytes, existing.as_ref(), mode).map_err(failed)?;
    let persisted = match expected {
        Expected::Absent => file.persist_noclobber(&target),
        Expected::Anything | Expected::Bytes(_) => file.persist(&target),
    };
    persisted.map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => ReplaceError::Exists(target.clone()),
        _ => failed(error.error),
    })?;
    // The name is on disk once the directory is. Some file systems cannot do that.
    if let Ok(directory) = std::fs::File::open(parent) {
        let _ = directory.sync_all();
    }
    Ok(Replaced {
        fingerprint: Fingerprint::of(bytes),
        is_new: existing.is_none(),
        target,
    })
}

/// Where a path leads, also if there is nothing yet.
fn target_of(path: &Path) -> Result<PathBuf, ReplaceError> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        let is_link = std::fs::symlink_metadata(&target).is_ok_and(|found| found.is_symlink());
        if !is_link {
            return Ok(target);
        }
        let next = std::fs::read_link(&target);
        let next = next.map_err(|error| ReplaceError::Io(target.clone(), error))?;
        target = match target.parent() {
            Some(parent) => parent.join(next),
            None => next,
        };
    }
    Err(ReplaceError::Links(path.to_owned()))
}

/// Refuses what is no file, and what everybody is kept from writing to. A rename would not ask.
fn writable(target: &Path, metadata: &Metadata) -> Result<(), ReplaceError> {
    regular(target, metadata).map_err(ReplaceError::NotAFile)?;
    let mode = metadata.mode();
    if mode & 0o222 == 0 {
        return Err(ReplaceError::ReadOnly {
            path: target.to_owned(),
            mode,
        });
    }
    // What its mode allows to others only, or its file system to nobody.
    match std::fs::OpenOptions::new().write(true).open(target) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Err(ReplaceError::Io(target.to_owned(), error))
        }
        // A program that runs can be replaced, and not written to.
        _ => Ok(()),
    }
}

fn check(
    target: &Path,
    existing: Option<&Metadata>,
    expected: Expected,
) -> Result<(), ReplaceError> {
    match (expected, existing) {
        (Expected::Anything, _) | (Expected::Absent, None) => Ok(()),
        (Expected::Absent, Some(_)) => Err(ReplaceError::Exists(target.to_owned())),
        (Expected::Bytes(_), None) => Err(ReplaceError::Changed(target.to_owned())),
        (Expected::Bytes(fingerprint), Some(_)) => {
            let found = match read(target, u64::MAX - 1, &Stop::default()) {
                Ok(bytes) => Fingerprint::of(&bytes),
                Err(ReadError::Io(path, error)) => return Err(ReplaceError::Io(path, error)),
                Err(_) => return Err(ReplaceError::Changed(target.to_owned())),
            };
            match found == fingerprint {
                true => Ok(()),
                false => Err(ReplaceError::Changed(target.to_owned())),
            }
        }
    }
}

/// A file with the bytes, on disk, that is not yet known by its name.
fn beside(
    parent: &Path,
    bytes: &[u8],
    existing: Option<&Metadata>,
    mode: Option<u32>,
) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".tmp");
    if existing.is_none() {
        builder.permissions(Permissions::from_mode(mode.unwrap_or(0o666)));
    }
    let mut file = builder.tempfile_in(parent)?;
    file.write_all(bytes)?;
    if let Some(metadata) = existing {
        let own = file.as_file().metadata()?;
        if (own.uid(), own.gid()) != (metadata.uid(), metadata.gid()) {
            // Who may not give files away keeps it.
            let (user, group) = (Some(metadata.uid()), Some(metadata.gid()));
            let _ = std::os::unix::fs::fchown(file.as_file(), user, group);
        }
        // Behind the owner, whose change takes away bits.
        let mode = match mode {
            Some(mode) => mode & 0o7777,
            // As after any write: other bytes run with nobody else's rights.
            None => metadata.mode() & 0o1777,
        };
        let permissions = Permissions::from_mode(mode);
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn put(path: &Path, bytes: &[u8]) -> Result<Replaced, ReplaceError> {
        replace(path, bytes, Expected::Anything, Parents::Required, None)
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn mode_and_links_stay_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("run.sh"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o750)).unwrap();
        symlink("run.sh", &link).unwrap();
        let replaced = put(&link, b"new").unwrap();
        assert!(!replaced.is_new);
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert_eq!(mode(&file), 0o750);
        std::fs::set_permissions(&file, Permissions::from_mode(0o6755)).unwrap();
        put(&file, b"new").unwrap();
        assert_eq!(mode(&file), 0o755);
        assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("run.sh"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_link_to_nothing_leads_to_the_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("new", &link).unwrap();
        assert!(put(&link, b"x").unwrap().is_new);
        assert_eq!(std::fs::read(folder.path().join("new")).unwrap(), b"x");
        symlink("circle", folder.path().join("circle")).unwrap();
        let error = put(&folder.path().join("circle"), b"x").unwrap_err();
        assert_eq!(error.code(), "links");
    }

    #[test]
    fn a_file_that_is_not_what_was_expected_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let code = |expected, parents| {
            replace(&path, b"new", expected, parents, None).map_or_else(
                |error| error.code(),
                |replaced| if replaced.is_new { "new" } else { "replaced" },
            )
        };
        let old = Expected::Bytes(Fingerprint::of(b"old"));
        assert_eq!(code(old, Parents::Required), "changed");
        assert_eq!(code(Expected::Absent, Parents::Required), "new");
        assert_eq!(code(Expected::Absent, Parents::Required), "exists");
        assert_eq!(code(old, Parents::Required), "changed");
        std::fs::write(&path, "old").unwrap();
        assert_eq!(code(old, Parents::Required), "replaced");
    }

    #[test]
    fn directories_are_made_only_if_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c");
        assert_eq!(put(&path, b"x").unwrap_err().code(), "io");
        let parents = Parents::Created;
        replace(&path, b"x", Expected::Absent, parents, Some(0o600)).unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    // Elsewhere no thread can be another user for itself.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_another_s_stays_also_where_a_rename_would_do() {
        // Nobody else can make a file that is another's.
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let as_nobody = || {
            let nobody = rustix::thread::Uid::from_raw(65534);
            rustix::thread::set_thread_uid(nobody).unwrap();
            put(&path, b"new").unwrap_err().code()
        };
        let code = std::thread::scope(|scope| scope.spawn(as_nobody).join().unwrap());
        assert_eq!(code, "io");
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn what_is_no_file_and_what_is_read_only_stays() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(put(folder.path(), b"").unwrap_err().code(), "is_directory");
        let null = put(Path::new("/dev/null"), b"").unwrap_err();
        assert_eq!(null.code(), "not_a_file");
        let path = folder.path().join("f");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        assert_eq!(put(&path, b"new").unwrap_err().code(), "read_only");
    }
}
