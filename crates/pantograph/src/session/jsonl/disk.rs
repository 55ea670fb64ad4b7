//! What the store asks of the file system: private files, durable names, identity.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::session::SessionError;

/// Shapes an error of the file system.
pub(super) fn io_error(action: &'static str, path: &Path, source: io::Error) -> SessionError {
    SessionError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}

/// Makes a directory, and those above it, for the user alone, and its name durable. Says whether
/// it had to make it.
pub(super) fn create_directory(path: &Path) -> Result<bool, SessionError> {
    if path.is_dir() {
        // A process that was killed may have made it and not come to syncing its name.
        if let Some(parent) = path.parent() {
            sync_above(parent)?;
        }
        return Ok(false);
    }
    let existing = path.ancestors().find(|ancestor| ancestor.is_dir());
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|source| io_error("create the directory", path, source))?;
    for above in path.ancestors().skip(1) {
        sync_directory(above)?;
        if Some(above) == existing {
            break;
        }
    }
    Ok(true)
}

/// Makes a file that was not there, for the user alone. A leftover of that name is replaced.
pub(super) fn create_file(path: &Path) -> io::Result<File> {
    let create = || {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    };
    match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(path)?;
            create()
        }
        result => result,
    }
}

/// Opens a regular file: no link is followed, no pipe is waited for.
pub(super) fn open_file(path: &Path, access: Access) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .write(access == Access::Write)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(|error| {
            // A link or a directory in a session's place is none of ours: as if nothing were there.
            match Errno::from_io_error(&error) {
                Some(Errno::LOOP | Errno::ISDIR) => io::ErrorKind::NotFound.into(),
                _ => error,
            }
        })?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Opens a regular file to read it, where the directory that it lies in is no link either.
pub(super) fn open_beside(path: &Path) -> io::Result<File> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(CWD, directory, flags | OFlags::DIRECTORY, Mode::empty());
    let file = directory
        .and_then(|open| rustix::fs::openat(open, name, flags | OFlags::NONBLOCK, Mode::empty()))
        .map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => io::Error::other("a link stands in its place"),
            other => other.into(),
        })?;
    let file = File::from(file);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is no regular file"))
    }
}

/// What a file is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Reading alone.
    Read,
    /// Reading and writing.
    Write,
}

/// Gives a file its name unless the name is taken.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot; a link is refused too if the name is taken.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            std::fs::hard_link(from, to)?;
            std::fs::remove_file(from)
        }
        result => result.map_err(Into::into),
    }
}

/// Makes the names in a directory durable.
pub(super) fn sync_directory(path: &Path) -> Result<(), SessionError> {
    // The parent of a relative name is the empty path, which cannot be opened.
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    match File::open(path).and_then(|directory| directory.sync_all()) {
        // Some file systems sync no directories; nothing more can be done there.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        Err(error) => Err(io_error("sync the directory", path, error)),
        Ok(()) => Ok(()),
    }
}

/// As [`sync_directory`], for one that may be somebody else's: what this user may not read, no
/// process of this user made names in.
fn sync_above(path: &Path) -> Result<(), SessionError> {
    match sync_directory(path) {
        Err(SessionError::Io { source, .. })
            if source.kind() == io::ErrorKind::PermissionDenied =>
        {
            Ok(())
        }
        result => result,
    }
}

/// Whether `path` names the very file that is open.
pub(super) fn names(path: &Path, file: &File) -> io::Result<bool> {
    let open = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
