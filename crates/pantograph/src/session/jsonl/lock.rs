//! One writer a session: an advisory lock on the session's own file.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use super::disk::{self, Access, io_error};
use crate::ids::SessionId;
use crate::session::{Holder, SessionError};

/// How often a lock is tried again that no writer is seen to have: somebody may just be asking
/// who has it, as [`holder_of`] does.
const TRIES: u32 = 20;

/// How long after.
const PAUSE: Duration = Duration::from_millis(5);

/// A file that this process alone may write; unlocked when dropped.
#[derive(Debug)]
pub(super) struct LockedFile(File);

impl LockedFile {
    /// Locks an open file.
    ///
    /// # Errors
    ///
    /// [`SessionError::InUse`] if it is locked, be it by this process.
    pub(super) fn new(file: File, path: &Path, id: SessionId) -> Result<Self, SessionError> {
        let mut tries = 1;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => return Err(io_error("lock", path, source)),
            }
            let holder = holder(&file);
            if holder.is_some() || tries == TRIES {
                return Err(SessionError::InUse { id, holder });
            }
            tries += 1;
            std::thread::sleep(PAUSE);
        }
    }

    /// Opens and locks the file that `path` names; `Ok(None)` if there is none.
    ///
    /// # Errors
    ///
    /// As [`LockedFile::new`], or it cannot be opened for writing.
    pub(super) fn open(path: &Path, id: SessionId) -> Result<Option<Self>, SessionError> {
        loop {
            let file = match disk::open_file(path, Access::Write) {
                Ok(file) => file,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(io_error("open", path, error)),
            };
            let locked = Self::new(file, path, id)?;
            // Between opening and locking another file may have taken the name.
            match disk::names(path, locked.file()) {
                Ok(true) => return Ok(Some(locked)),
                Ok(false) => {}
                Err(error) => return Err(io_error("open", path, error)),
            }
        }
    }

    /// The file.
    pub(super) fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // A child process that is just being started may hold a copy of the descriptor, and with
        // it the lock, until it has become another program. Unlocking works for all copies.
        let _ = self.0.unlock();
    }
}

/// Who holds the lock of a session, whose file is open for reading.
///
/// The list of locks is looked at first, which touches nothing. It does not have those of other
/// machines and of containers that share the directory, and not every system has one: then a
/// lock that many may share is taken and let go of at once. Who opens the session just then
/// tries again.
///
/// # Errors
///
/// The file cannot be locked.
pub(super) fn holder_of(file: &File, path: &Path) -> Result<Option<Holder>, SessionError> {
    if let Some(process) = holder(file) {
        return Ok(Some(Holder::Process(process)));
    }
    match file.try_lock_shared() {
        Ok(()) => {
            file.unlock()
                .map_err(|source| io_error("unlock", path, source))?;
            Ok(None)
        }
        // Somebody may have taken it since.
        Err(TryLockError::WouldBlock) => Ok(Some(match holder(file) {
            Some(process) => Holder::Process(process),
            None => Holder::Unknown,
        })),
        Err(TryLockError::Error(source)) => Err(io_error("lock", path, source)),
    }
}

/// The process that holds a lock on `file` for writing, where the system tells.
fn holder(file: &File) -> Option<u32> {
    let metadata = file.metadata().ok()?;
    let device = metadata.dev();
    let wanted = format!(
        "{:02x}:{:02x}:{}",
        rustix::fs::major(device),
        rustix::fs::minor(device),
        metadata.ino()
    );
    find_holder(&std::fs::read_to_string("/proc/locks").ok()?, &wanted)
}

/// Reads `NUMBER: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE START END`; a line with `->` after
/// the number is of somebody who waits. Source: proc_locks(5).
fn find_holder(locks: &str, wanted: &str) -> Option<u32> {
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields[..] {
            [_, "FLOCK", _, "WRITE", pid, file, ..] if file == wanted => {
                pid.parse().ok().filter(|&pid| pid != 0)
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_read_from_the_locks_of_the_system() {
        let locks = "\
1: POSIX  ADVISORY  WRITE 11 08:02:77 0 EOF
2: -> FLOCK  ADVISORY  WRITE 12 08:02:77 0 EOF
3: FLOCK  ADVISORY  WRITE 13 08:02:777 0 EOF
4: FLOCK  ADVISORY  WRITE 0 08:02:78 0 EOF
5: FLOCK  ADVISORY  READ 14 08:02:77 0 EOF
6: FLOCK  ADVISORY  WRITE 15 08:02:77 0 EOF
garbage";
        assert_eq!(find_holder(locks, "08:02:77"), Some(15));
        assert_eq!(find_holder(locks, "08:02:78"), None);
        assert_eq!(find_holder(locks, "08:02:79"), None);
    }
}
