//! Waking a foreign event loop: a byte into a pipe or a socket, which never blocks and never
//! raises SIGPIPE.
//!
//! The one module with unsafe code: a descriptor comes from Lua as a number, and no safe call
//! duplicates a number or masks a signal.
#![allow(
    unsafe_code,
    reason = "a descriptor's number from Lua, and the signal mask of a thread"
)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Weak};

use rustix::fs::{FileType, OFlags};
use rustix::net::SendFlags;

/// The wakes of one Lua state: jobs that wake the same reader share a descriptor, so that a
/// thousand jobs do not need a thousand.
#[derive(Default)]
pub(crate) struct Wakes {
    open: RefCell<HashMap<Target, Weak<Wake>>>,
}

/// Device and inode: what a byte goes to, for as long as a descriptor of it is open.
type Target = (u64, u64);

impl Wakes {
    /// Takes `fd` for wakes. Only the writing end of a pipe, or a socket, will do.
    pub(crate) fn open(&self, fd: RawFd) -> Result<Arc<Wake>, String> {
        let (target, wake) = Wake::new(fd)?;
        let mut open = self.open.borrow_mut();
        if let Some(shared) = open.get(&target).and_then(Weak::upgrade) {
            return Ok(shared);
        }
        open.retain(|_, wake| wake.strong_count() > 0);
        let wake = Arc::new(wake);
        open.insert(target, Arc::downgrade(&wake));
        Ok(wake)
    }
}

/// The writing end of a wake, as a duplicate: the caller may close its own.
pub(crate) struct Wake {
    fd: OwnedFd,
    is_socket: bool,
}

impl Wake {
    /// Duplicates `fd`, close-on-exec and non-blocking.
    fn new(fd: RawFd) -> Result<(Target, Self), String> {
        let fd = duplicate(fd).map_err(|error| format!("wake_fd {fd} cannot be used: {error}"))?;
        let stat = rustix::fs::fstat(&fd).map_err(|error| unusable(&error))?;
        let is_socket = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Fifo => false,
            FileType::Socket => true,
            _ => return Err("wake_fd must be a pipe or a socket".to_owned()),
        };
        let flags = rustix::fs::fcntl_getfl(&fd).map_err(|error| unusable(&error))?;
        if !is_socket && flags & OFlags::RWMODE == OFlags::RDONLY {
            return Err("wake_fd must be the writing end of its pipe".to_owned());
        }
        // Shared with the caller's descriptor, which is the end that only wakes are written to.
        if !flags.contains(OFlags::NONBLOCK) {
            rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK)
                .map_err(|error| unusable(&error))?;
        }
        // Both are unsigned on some systems and narrower on others.
        let target = (stat.st_dev as u64, stat.st_ino as u64);
        Ok((target, Self { fd, is_socket }))
    }

    /// Writes one byte. Gives whether anybody may still read it.
    ///
    /// A full pipe is fine: whoever reads it is woken already.
    pub(super) fn write(&self) -> bool {
        loop {
            let written = match self.is_socket {
                true => rustix::net::send(&self.fd, &[1], SendFlags::DONTWAIT | NO_SIGNAL),
                false => without_sigpipe(|| rustix::io::write(self.fd.as_fd(), &[1])),
            };
            match written {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return error == rustix::io::Errno::WOULDBLOCK,
                Ok(_) => return true,
            }
        }
    }
}

#[cfg(not(target_vendor = "apple"))]
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
const NO_SIGNAL: SendFlags = SendFlags::empty();

fn unusable(error: &rustix::io::Errno) -> String {
    format!("wake_fd cannot be used: {error}")
}

fn duplicate(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call takes any number, and fails for one that is no open descriptor.
    let fd = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was made just now, so nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Runs a write with SIGPIPE blocked in this thread, and takes the signal that it caused.
///
/// Rust programs ignore the signal, but one that embeds this may be none.
fn without_sigpipe<T>(
    write: impl FnOnce() -> Result<T, rustix::io::Errno>,
) -> Result<T, rustix::io::Errno> {
    let mut pipe = MaybeUninit::<libc::sigset_t>::uninit();
    let mut old = MaybeUninit::<libc::sigset_t>::uninit();
    let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: each set is initialised by the call that gets it first, and read only after that;
    // the signal number is valid, so none of the calls can fail.
    let was_pending = unsafe {
        libc::sigemptyset(pipe.as_mut_ptr());
        libc::sigaddset(pipe.as_mut_ptr(), libc::SIGPIPE);
        libc::sigemptyset(pending.as_mut_ptr());
        libc::sigpending(pending.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, pipe.as_ptr(), old.as_mut_ptr());
        libc::sigismember(pending.as_ptr(), libc::SIGPIPE) == 1
    };
    let written = write();
    // SAFETY: the sets were initialised above. The signal is waited for only if it is pending in
    // this thread, so the wait ends at once.
    unsafe {
        if matches!(&written, Err(rustix::io::Errno::PIPE)) && !was_pending {
            libc::sigpending(pending.as_mut_ptr());
            if libc::sigismember(pending.as_ptr(), libc::SIGPIPE) == 1 {
                let mut taken = 0;
                libc::sigwait(pipe.as_ptr(), &mut taken);
            }
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, old.as_ptr(), std::ptr::null_mut());
    }
    written
}
