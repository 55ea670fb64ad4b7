//! Sockets and pipes that children do not inherit. Where the system can say so as it makes one, nothing can come between; elsewhere
//! it is said right after.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, Protocol, SendFlags, SocketType};

/// A socket that does not wait.
pub(crate) fn socket(
    family: AddressFamily,
    kind: SocketType,
    protocol: Option<Protocol>,
) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    return {
        use rustix::net::SocketFlags;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        rustix::net::socket_with(family, kind, flags, protocol)
    };
    #[cfg(not(target_os = "linux"))]
    own(rustix::net::socket(family, kind, protocol)?)
}

/// The next peer of a server, as a socket that does not wait.
pub(crate) fn accept(server: impl AsFd) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    return {
        use rustix::net::SocketFlags;
        rustix::net::accept_with(server, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
    };
    #[cfg(not(target_os = "linux"))]
    own(rustix::net::accept(server)?)
}

/// Two local sockets that are connected, and wait.
pub(crate) fn pair(
    kind: SocketType,
    protocol: Option<Protocol>,
) -> Result<(OwnedFd, OwnedFd), Errno> {
    use rustix::net::SocketFlags;
    #[cfg(target_os = "linux")]
    let flags = SocketFlags::CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = SocketFlags::empty();
    let pair = rustix::net::socketpair(AddressFamily::UNIX, kind, flags, protocol)?;
    #[cfg(not(target_os = "linux"))]
    close_both_on_exec(&pair)?;
    Ok(pair)
}

/// The ends of a pipe, for reading and for writing, which wait.
pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    #[cfg(target_os = "linux")]
    return rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    #[cfg(not(target_os = "linux"))]
    {
        let ends = rustix::pipe::pipe()?;
        close_both_on_exec(&ends)?;
        Ok(ends)
    }
}

/// How to send so that a peer that is gone is an error, and no signal to the process. Where this cannot be said, Rust's
/// programs ignore the signal anyway.
pub(crate) fn without_signal() -> SendFlags {
    #[cfg(target_os = "linux")]
    return SendFlags::NOSIGNAL;
    #[cfg(not(target_os = "linux"))]
    SendFlags::empty()
}

#[cfg(not(target_os = "linux"))]
fn own(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&fd, true)?;
    Ok(fd)
}

#[cfg(not(target_os = "linux"))]
fn close_both_on_exec((one, other): &(OwnedFd, OwnedFd)) -> Result<(), Errno> {
    rustix::io::fcntl_setfd(one, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::fcntl_setfd(other, rustix::io::FdFlags::CLOEXEC)
}
