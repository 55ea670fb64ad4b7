//! The file itself: read without waiting, replaced as a whole, for its owner alone.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::error::StoreError;

/// No credential file is larger.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// What the file is called while it is written, beside the one that it replaces.
const UNFINISHED: &str = ".credentials.json.new";

/// What was read.
pub(super) struct Bytes {
    pub(super) bytes: Vec<u8>,
    /// The permissions, nothing else.
    pub(super) mode: u32,
}

/// Reads the file; `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<Bytes>, StoreError> {
    // A pipe in its place must not be waited for.
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return absent(path),
        Err(source) => {
            return Err(match Errno::from_io_error(&source) {
                // A socket, or a pipe that nobody reads.
                Some(Errno::NXIO) => not_a_file(path, "a socket or a pipe"),
                _ => io_error("read", path, source),
            });
        }
    };
    let read_error = |source| io_error("read", path, source);
    let metadata = file.metadata().map_err(read_error)?;
    if !metadata.is_file() {
        return Err(not_a_file(path, kind(metadata.file_type())));
    }
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(read_error)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(StoreError::TooLarge(path.to_owned()));
    }
    Ok(Some(Bytes {
        bytes,
        mode: metadata.permissions().mode() & 0o7777,
    }))
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

/// Makes the directory that the file lies in.
pub(super) fn create_directory(path: &Path) -> Result<(), StoreError> {
    let directory = directory_of(path);
    if !directory.is_dir() {
        return DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|source| io_error("create the directory", directory, source));
    }
    let metadata = std::fs::symlink_metadata(directory);
    let is_open = |mode: u32| mode & 0o077 != 0;
    if metadata.is_ok_and(|data| data.is_dir() && is_open(data.permissions().mode())) {
        // The directory of somebody else stays as it is: the file's own mode protects the keys.
        let _ = std::fs::set_permissions(directory, Permissions::from_mode(0o700));
    }
    Ok(())
}

/// Replaces the file as a whole. If it is a link, what it leads to is replaced.
///
/// The caller holds the lock.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let target = target(path)?;
    let directory = directory_of(&target);
    let unfinished = directory.join(UNFINISHED);
    let written = write(&unfinished, bytes).and_then(|()| std::fs::rename(&unfinished, &target));
    if let Err(source) = written {
        let _ = std::fs::remove_file(&unfinished);
        return Err(io_error("write", path, source));
    }
    // The new name may be lost with the power, but the file is whole either way: no error.
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
    Ok(())
}

/// Writes a file that was not there, for its owner alone.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A process that was killed while it wrote has left one, with keys in it.
    match std::fs::remove_file(path) {
        Err(error) if !is_absent(&error) => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    // Whatever mask the process has.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// What the path names behind all links; the path itself if there is nothing yet.
fn target(path: &Path) -> Result<PathBuf, StoreError> {
    match path.canonicalize() {
        Ok(target) => Ok(target),
        Err(error) if is_absent(&error) => absent(path).map(|_| path.to_owned()),
        Err(source) => Err(io_error("find", path, source)),
    }
}

/// Nothing was found at `path`: fine, unless a link is there.
fn absent(path: &Path) -> Result<Option<Bytes>, StoreError> {
    match std::fs::read_link(path) {
        Ok(target) => Err(StoreError::DanglingLink {
            path: path.to_owned(),
            target,
        }),
        Err(_) => Ok(None),
    }
}

fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn kind(kind: std::fs::FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

fn not_a_file(path: &Path, what: &'static str) -> StoreError {
    StoreError::NotAFile {
        path: path.to_owned(),
        what,
    }
}

pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

pub(super) fn io_error(action: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}
