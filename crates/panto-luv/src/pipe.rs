//! Pipes: local sockets by path, and descriptors of any kind that can be read or written.

use std::cell::RefCell;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::rc::Rc;

use mlua::{LuaString, Table, Value};
use rustix::fs::Mode;
use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrUnix, SocketType};

use crate::api::Api;
use crate::call::Call;
use crate::constants::PIPE_NO_TRUNCATE;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Base, Handle, Kind};
use crate::request::{Request, RequestKind};
use crate::sockets;
use crate::stream::{self, Stream};

/// A pipe.
pub(crate) struct Pipe {
    stream: Rc<Stream>,
    /// Where it is bound, to be removed as it is closed.
    bound: RefCell<Option<PathBuf>>,
}

impl Handle for Pipe {
    fn base(&self) -> &Base {
        &self.stream.base
    }

    fn shut(&self, uv: &Uv) {
        self.stream.shut(uv);
        if let Some(path) = self.bound.take() {
            // Somebody may have removed it before.
            let _ = std::fs::remove_file(path);
        }
    }

    fn settle(&self, uv: &Uv) {
        self.stream.settle(uv);
    }

    fn stream(&self) -> Option<Rc<Stream>> {
        Some(Rc::clone(&self.stream))
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.stream.descriptor()
    }
}

const WHAT: &str = "uv_pipe";

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_pipe", |call| {
        // Whether it is for passing handles: such a pipe carries bytes like any other, and no handles.
        if !call.is_nil(1) {
            call.boolean(1)?;
        }
        call.adopt(Pipe {
            stream: Stream::new(Kind::Pipe),
            bound: RefCell::new(None),
        })
    })?;
    api.function("pipe_open", |call| {
        let pipe = call.open_handle::<Pipe>(1, WHAT)?;
        let fd = call.uv.descriptors().give_away(call.narrow(2)?)?;
        pipe.stream.open(call.uv, fd)?;
        Ok(0)
    })?;
    for name in ["pipe_bind", "pipe_bind2"] {
        api.function(name, bind)?;
    }
    api.function("pipe_connect", |call| connect(call, 3))?;
    api.function("pipe_connect2", |call| {
        check_flags(call, 3)?;
        connect(call, 4)
    })?;
    api.function("pipe_getsockname", |call| {
        let fd = call.open_handle::<Pipe>(1, WHAT)?.stream.fd()?;
        name(call, rustix::net::getsockname(fd.as_ref())?)
    })?;
    api.function("pipe_getpeername", |call| {
        let fd = call.open_handle::<Pipe>(1, WHAT)?.stream.fd()?;
        let peer = rustix::net::getpeername(fd.as_ref())?;
        name(call, peer.ok_or_else(|| call.system("ENOTCONN"))?)
    })?;
    api.function("pipe_chmod", chmod)?;
    api.function("pipe_pending_instances", |call| {
        // A setting of Windows.
        call.handle::<Pipe>(1, WHAT)?;
        call.integer(2)?;
        Ok(())
    })?;
    api.function("pipe_pending_count", |call| {
        // None ever waits: handles are not passed.
        call.handle::<Pipe>(1, WHAT)?;
        Ok(0)
    })?;
    api.function("pipe", |call| {
        let (read, write) = sockets::pipe()?;
        let read = lend(call, read, nonblocking(call, 1)?)?;
        let write = lend(call, write, nonblocking(call, 2)?)?;
        let table = call.lua.create_table()?;
        table.raw_set("read", read)?;
        table.raw_set("write", write)?;
        Ok(table)
    })?;
    let own = [
        ("open", "pipe_open"),
        ("bind", "pipe_bind"),
        ("bind2", "pipe_bind2"),
        ("connect", "pipe_connect"),
        ("connect2", "pipe_connect2"),
        ("getsockname", "pipe_getsockname"),
        ("getpeername", "pipe_getpeername"),
        ("chmod", "pipe_chmod"),
        ("pending_instances", "pipe_pending_instances"),
        ("pending_count", "pipe_pending_count"),
    ];
    api.handle::<Pipe>("uv_pipe_t", &[stream::METHODS, &own].concat())
}

/// Whether a table of flags asks for a descriptor that does not wait.
pub(crate) fn nonblocking(call: &Call<'_>, position: usize) -> Result<bool, Failure> {
    Ok(match call.optional_table(position)? {
        None => false,
        Some(flags) => flags.get("nonblock")?,
    })
}

/// Gives Lua a new descriptor by number.
pub(crate) fn lend(call: &Call<'_>, fd: OwnedFd, nonblocking: bool) -> Result<RawFd, Failure> {
    rustix::io::ioctl_fionbio(&fd, nonblocking)?;
    Ok(call.uv.descriptors().lend(fd))
}

/// Makes the socket of a pipe that has none yet.
fn socket(call: &Call<'_>, pipe: &Pipe) -> Result<(), Failure> {
    if pipe.stream.has_fd() {
        return Ok(());
    }
    let fd = sockets::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    pipe.stream.attach(call.uv, fd)
}

fn bind(call: &Call<'_>) -> Result<i64, Failure> {
    let pipe = call.open_handle::<Pipe>(1, WHAT)?;
    let name = call.bytes(2)?;
    check_flags(call, 3)?;
    if pipe.bound.borrow().is_some() {
        return Err(call.system("EINVAL"));
    }
    let address = address(&name)?;
    socket(call, &pipe)?;
    rustix::net::bind(pipe.stream.fd()?.as_ref(), &address)?;
    if !name.starts_with(b"\0") {
        let path = PathBuf::from(std::ffi::OsString::from_vec(name));
        pipe.bound.replace(Some(path));
    }
    Ok(0)
}

fn connect(call: &Call<'_>, callback: usize) -> Result<mlua::AnyUserData, Failure> {
    let pipe = call.open_handle::<Pipe>(1, WHAT)?;
    let address = address(&call.bytes(2)?)?;
    let callback = call.optional_callback(callback)?;
    socket(call, &pipe)?;
    pipe.stream.connect(call.uv, &address, callback)?;
    Request::new(RequestKind::Connect).into_userdata(call.lua)
}

/// A path, or a name without one that begins with a zero byte. One that is too long is refused, not cut off as libuv
/// does: a path that was cut off is another path.
fn address(name: &[u8]) -> Result<SocketAddrUnix, Failure> {
    #[cfg(target_os = "linux")]
    if let Some(name) = name.strip_prefix(b"\0") {
        return Ok(SocketAddrUnix::new_abstract_name(name)?);
    }
    Ok(SocketAddrUnix::new(name)?)
}

fn check_flags(call: &Call<'_>, position: usize) -> Result<(), Failure> {
    let known = match call.value(position) {
        Value::Nil | Value::Table(_) => true,
        _ => {
            let flags = call.narrow::<i32>(position)?;
            flags == 0 || flags == PIPE_NO_TRUNCATE
        }
    };
    if known {
        Ok(())
    } else {
        Err(call.system("EINVAL"))
    }
}

fn name(call: &Call<'_>, address: SocketAddrAny) -> Result<LuaString, Failure> {
    let address = SocketAddrUnix::try_from(address)?;
    #[cfg(target_os = "linux")]
    if let Some(name) = address.abstract_name() {
        let name = [b"\0", name].concat();
        return Ok(call.lua.create_string(name)?);
    }
    let path = address.path_bytes().unwrap_or_default();
    Ok(call.lua.create_string(path)?)
}

/// Lets everybody read or write a bound pipe.
fn chmod(call: &Call<'_>) -> Result<i64, Failure> {
    let pipe = call.open_handle::<Pipe>(1, WHAT)?;
    let more = match call.text(2)?.as_str() {
        "r" => Mode::RUSR | Mode::RGRP | Mode::ROTH,
        "w" => Mode::WUSR | Mode::WGRP | Mode::WOTH,
        "rw" | "wr" => Mode::RUSR | Mode::RGRP | Mode::ROTH | Mode::WUSR | Mode::WGRP | Mode::WOTH,
        other => return Err(call.bad(2, format_args!("invalid option '{other}'"))),
    };
    let path = pipe.bound.borrow().clone();
    let path = path.ok_or_else(|| call.system("EBADF"))?;
    let mode = Mode::from_raw_mode(rustix::fs::stat(&path)?.st_mode);
    rustix::fs::chmod(&path, mode | more)?;
    Ok(0)
}

/// A pair of numbers, as `socketpair` gives it.
pub(crate) fn pair(call: &Call<'_>, numbers: [RawFd; 2]) -> Result<Table, Failure> {
    Ok(call.lua.create_sequence_from(numbers)?)
}
