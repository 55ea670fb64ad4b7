//! `uv.constants`, `uv.errno`, and the version that the API follows.

use nix::libc;

use crate::api::Api;
use crate::errno::{self, UvError};
use crate::signals;

/// The libuv whose behaviour this follows.
const VERSION: (u32, u32, u32) = (1, 48, 0);

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    let (major, minor, patch) = VERSION;
    api.function("version", move |_| Ok(major << 16 | minor << 8 | patch))?;
    api.function("version_string", move |_| {
        Ok(format!("{major}.{minor}.{patch}"))
    })?;
    api.function("translate_sys_error", |call| {
        let number = call.narrow::<i32>(1)?;
        let error = UvError::from_raw(number.saturating_abs());
        Ok((error.message(), error.name()))
    })?;
    let table = api.lua.create_table()?;
    for (name, value) in CONSTANTS {
        table.raw_set(*name, *value)?;
    }
    table.raw_set("FS_UTIME_NOW", FS_UTIME_NOW)?;
    table.raw_set("FS_UTIME_OMIT", FS_UTIME_OMIT)?;
    for (name, number) in signals::all() {
        table.raw_set(name.to_uppercase(), number)?;
    }
    api.value("constants", table)?;
    let errors = api.lua.create_table()?;
    for row in errno::rows() {
        errors.raw_set(row.name, row.code)?;
    }
    api.value("errno", errors)
}

/// Families of addresses by the names that Lua knows.
pub(crate) const FAMILIES: &[(&str, i32)] = &[
    ("unix", libc::AF_UNIX),
    ("inet", libc::AF_INET),
    ("inet6", libc::AF_INET6),
];

/// Types of sockets by the names that Lua knows.
pub(crate) const SOCKET_TYPES: &[(&str, i32)] = &[
    ("stream", libc::SOCK_STREAM),
    ("dgram", libc::SOCK_DGRAM),
    ("seqpacket", libc::SOCK_SEQPACKET),
    ("raw", libc::SOCK_RAW),
    ("rdm", libc::SOCK_RDM),
];

/// No time is infinite, so this can stand for the present one.
const FS_UTIME_NOW: f64 = f64::INFINITY;
const FS_UTIME_OMIT: f64 = f64::NAN;
pub(crate) const COPYFILE_EXCL: i32 = 1;
pub(crate) const COPYFILE_FICLONE: i32 = 2;
pub(crate) const COPYFILE_FICLONE_FORCE: i32 = 4;
pub(crate) const PIPE_NO_TRUNCATE: i32 = 1;
pub(crate) const UDP_IPV6ONLY: i32 = 1;
pub(crate) const UDP_REUSEADDR: i32 = 4;

const CONSTANTS: &[(&str, i32)] = &[
    ("O_RDONLY", libc::O_RDONLY),
    ("O_WRONLY", libc::O_WRONLY),
    ("O_RDWR", libc::O_RDWR),
    ("O_APPEND", libc::O_APPEND),
    ("O_CREAT", libc::O_CREAT),
    ("O_DSYNC", libc::O_DSYNC),
    ("O_EXCL", libc::O_EXCL),
    ("O_NOCTTY", libc::O_NOCTTY),
    ("O_NONBLOCK", libc::O_NONBLOCK),
    ("O_SYNC", libc::O_SYNC),
    ("O_TRUNC", libc::O_TRUNC),
    ("O_DIRECTORY", libc::O_DIRECTORY),
    ("O_NOFOLLOW", libc::O_NOFOLLOW),
    ("O_CLOEXEC", libc::O_CLOEXEC),
    ("SOCK_STREAM", libc::SOCK_STREAM),
    ("SOCK_DGRAM", libc::SOCK_DGRAM),
    ("SOCK_SEQPACKET", libc::SOCK_SEQPACKET),
    ("SOCK_RAW", libc::SOCK_RAW),
    ("SOCK_RDM", libc::SOCK_RDM),
    ("AF_UNIX", libc::AF_UNIX),
    ("AF_INET", libc::AF_INET),
    ("AF_INET6", libc::AF_INET6),
    ("AF_UNSPEC", libc::AF_UNSPEC),
    ("AI_ADDRCONFIG", libc::AI_ADDRCONFIG),
    ("AI_V4MAPPED", libc::AI_V4MAPPED),
    ("AI_ALL", libc::AI_ALL),
    ("AI_NUMERICHOST", libc::AI_NUMERICHOST),
    ("AI_PASSIVE", libc::AI_PASSIVE),
    ("AI_NUMERICSERV", libc::AI_NUMERICSERV),
    ("FS_COPYFILE_EXCL", COPYFILE_EXCL),
    ("FS_COPYFILE_FICLONE", COPYFILE_FICLONE),
    ("FS_COPYFILE_FICLONE_FORCE", COPYFILE_FICLONE_FORCE),
    ("TTY_MODE_NORMAL", 0),
    ("TTY_MODE_RAW", 1),
    ("TTY_MODE_IO", 2),
    ("TTY_MODE_RAW_VT", 3),
    ("PIPE_NO_TRUNCATE", PIPE_NO_TRUNCATE),
    ("UDP_IPV6ONLY", UDP_IPV6ONLY),
    ("UDP_REUSEADDR", UDP_REUSEADDR),
];
