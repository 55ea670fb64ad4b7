//! The places where the compiler cannot see what holds. Lua names descriptors by number, as C does, so somewhere a number
//! must become a descriptor; that happens here, for the length of one system call. And tokio has whoever has it watch a
//! descriptor promise that it stays open.
#![expect(
    unsafe_code,
    reason = "descriptors that Lua names by number, or that tokio watches"
)]

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Has the runtime whose context this is watch a descriptor.
pub(crate) fn watch(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` names the same open descriptor for as long as it lives, and it lives in the `AsyncFd`.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest)? })
}

/// A descriptor of our own for what `fd` is open on, closed on exec.
///
/// # Errors
///
/// `EBADF` if no descriptor of the process has this number.
pub(crate) fn duplicate(fd: RawFd) -> Result<OwnedFd, Errno> {
    if fd < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: the borrow ends with this call. The kernel checks the number: if nothing is open under it, the
    // call fails; if something is, sharing it is all that happens, and its owner is left as it was.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    rustix::io::fcntl_dupfd_cloexec(borrowed, FIRST_OF_OURS)
}

/// Never takes the number of a standard stream that happens to be closed.
const FIRST_OF_OURS: RawFd = 3;
