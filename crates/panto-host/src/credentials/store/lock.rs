//! One writer at a time: an advisory lock on a file beside the credential file.
//!
//! Not on the credential file itself: each write gives that name to another file.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::error::StoreError;
use super::file::{directory_of, io_error};

/// How long another writer is waited for. It holds the lock for some milliseconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Between two tries: a lock cannot be waited for with a bound.
const PAUSE: Duration = Duration::from_millis(5);

/// Held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Lock {
    /// Waits for the lock of the credential file at `path`, whose directory must exist.
    pub(super) fn acquire(path: &Path) -> Result<Self, StoreError> {
        let lock = directory_of(path).join(".lock");
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(flags.bits().cast_signed())
            .open(&lock)
            .map_err(|source| io_error("lock", &lock, source))?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Busy {
                        path: path.to_owned(),
                        lock,
                    });
                }
                Err(TryLockError::Error(source)) => return Err(io_error("lock", &lock, source)),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A child that is just being started may hold a copy of the descriptor: unlocking works
        // for all copies.
        let _ = self.0.unlock();
    }
}
