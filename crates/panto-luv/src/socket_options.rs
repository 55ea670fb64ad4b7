//! The buffers of sockets, and the guess at what a descriptor is.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, sockopt};

use crate::api::Api;
use crate::call::Call;
use crate::failure::Failure;
use crate::raw;

type Get = fn(&OwnedFd) -> Result<usize, Errno>;
type Set = fn(&OwnedFd, usize) -> Result<(), Errno>;

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("send_buffer_size", |call| {
        buffer_size(
            call,
            |fd| sockopt::socket_send_buffer_size(fd),
            |fd, size| sockopt::set_socket_send_buffer_size(fd, size),
        )
    })?;
    api.function("recv_buffer_size", |call| {
        buffer_size(
            call,
            |fd| sockopt::socket_recv_buffer_size(fd),
            |fd, size| sockopt::set_socket_recv_buffer_size(fd, size),
        )
    })?;
    api.function("guess_handle", |call| {
        // What is not open is unknown, too.
        Ok(match raw::duplicate(call.narrow(1)?) {
            Ok(fd) => guess(&fd),
            Err(_) => "unknown",
        })
    })
}

/// Tells the size, or sets it if there is one that is not zero.
fn buffer_size(call: &Call<'_>, get: Get, set: Set) -> Result<usize, Failure> {
    let handle = call.any_handle(1)?;
    let number = handle.descriptor().ok_or_else(|| call.system("EBADF"))?;
    let fd = raw::duplicate(number)?;
    match call.optional_integer(2)? {
        None | Some(0) => Ok(get(&fd)?),
        Some(_) => {
            set(&fd, call.narrow(2)?)?;
            Ok(0)
        }
    }
}

/// What kind of handle fits a descriptor.
pub(crate) fn guess(fd: &impl AsFd) -> &'static str {
    if rustix::termios::isatty(fd) {
        return "tty";
    }
    let Ok(stat) = rustix::fs::fstat(fd) else {
        return "unknown";
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile | FileType::CharacterDevice => "file",
        FileType::Fifo => "pipe",
        FileType::Socket => guess_socket(fd),
        _ => "unknown",
    }
}

fn guess_socket(fd: &impl AsFd) -> &'static str {
    let Ok(address) = rustix::net::getsockname(fd) else {
        return "unknown";
    };
    let is_ip = matches!(
        address.address_family(),
        AddressFamily::INET | AddressFamily::INET6
    );
    match sockopt::socket_type(fd) {
        Ok(SocketType::STREAM) if is_ip => "tcp",
        Ok(SocketType::STREAM) if address.address_family() == AddressFamily::UNIX => "pipe",
        Ok(SocketType::DGRAM) if is_ip => "udp",
        _ => "unknown",
    }
}
