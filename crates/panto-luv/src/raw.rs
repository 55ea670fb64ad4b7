//! The places where the compiler cannot see what holds. Lua names descriptors by number, as C does, so somewhere a number
//! must become a descriptor; that happens here, for the length of one system call. And tokio has whoever has it watch a
//! descriptor promise that it stays open, and std whoever acts between fork and exec.
#![expect(
    unsafe_code,
    reason = "descriptors by number, and what a child does before exec"
)]

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

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

/// Has a child begin with descriptors under the numbers given, and in a session of its own if it is to outlive us.
///
/// The descriptors must lie above all of those numbers.
pub(crate) fn prepare_child(
    command: &mut Command,
    descriptors: Vec<(OwnedFd, RawFd)>,
    new_session: bool,
) {
    if descriptors.is_empty() && !new_session {
        // Without anything to do there std need not fork.
        return;
    }
    let prepare = move || {
        if new_session {
            rustix::process::setsid()?;
        }
        for (fd, number) in &descriptors {
            // SAFETY: this is the child, between fork and exec, and single-threaded; whatever is open under the
            // number is closed on exec anyway, and nothing here uses it any more. The value is forgotten, so
            // that the copy stays open.
            let mut target = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(*number) });
            rustix::io::dup2(fd, &mut target)?;
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls only: it allocates nothing, takes no lock, and its error is a number.
    unsafe { command.pre_exec(prepare) };
}
