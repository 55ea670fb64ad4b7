//! Operations on open files.

use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;

use mlua::Value;
use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags};

use super::{Operation, Output, callback_after_optional, operation};
use crate::api::Api;
use crate::call::Call;
use crate::errno::UvError;
use crate::failure::Failure;

pub(super) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    operation(api, "fs_open", |call| {
        let path = call.path(1)?;
        let flags = open_flags(call, 2)?;
        let mode = mode(call, 3)?;
        let opened = path.clone();
        let open = move || Ok(Output::File(rustix::fs::open(&opened, flags, mode)?, None));
        Ok(Operation::new(4, open).about(&path))
    })?;
    operation(api, "fs_close", |call| {
        // The number means nothing from now on, also while an operation still uses the file.
        let fd = call.uv.descriptors().take_back(call.narrow(1)?);
        Ok(Operation::done(2, move || fd.map(drop)))
    })?;
    operation(api, "fs_read", read)?;
    operation(api, "fs_write", write)?;
    operation(api, "fs_fsync", |call| {
        let fd = descriptor(call, 1)?;
        Ok(Operation::done(2, move || Ok(rustix::fs::fsync(fd?)?)))
    })?;
    operation(api, "fs_fdatasync", |call| {
        let fd = descriptor(call, 1)?;
        Ok(Operation::done(2, move || sync_data(&*fd?)))
    })?;
    operation(api, "fs_ftruncate", |call| {
        let fd = descriptor(call, 1)?;
        let length = call.narrow::<u64>(2)?;
        Ok(Operation::done(3, move || {
            Ok(rustix::fs::ftruncate(fd?, length)?)
        }))
    })?;
    operation(api, "fs_sendfile", |call| {
        let (to, from) = (descriptor(call, 1)?, descriptor(call, 2)?);
        let offset = call.narrow::<u64>(3)?;
        let size = call.narrow::<usize>(4)?;
        Ok(Operation::new(5, move || {
            send(&*to?, &*from?, offset, size)
        }))
    })
}

/// A file to work on. That there is none is the operation's failure, which a callback is to hear.
pub(super) type Opened = Result<Arc<OwnedFd>, UvError>;

pub(super) fn descriptor(call: &Call<'_>, position: usize) -> Result<Opened, Failure> {
    let number = call.narrow::<RawFd>(position)?;
    Ok(call.uv.descriptors().get(number))
}

pub(super) fn mode(call: &Call<'_>, position: usize) -> Result<Mode, Failure> {
    let mode = call.narrow::<u32>(position)?;
    Ok(Mode::from_raw_mode(mode as rustix::fs::RawMode))
}

/// An offset, or `None` for the file's own.
fn offset(call: &Call<'_>, position: usize) -> Result<Option<u64>, Failure> {
    Ok(call
        .optional_integer(position)?
        .and_then(|offset| u64::try_from(offset).ok()))
}

fn read(call: &Call<'_>) -> Result<Operation, Failure> {
    let fd = descriptor(call, 1)?;
    let size = call.narrow::<usize>(2)?;
    let callback = callback_after_optional(call, 3);
    let offset = if callback == 4 {
        offset(call, 3)?
    } else {
        None
    };
    Ok(Operation::new(callback, move || {
        let fd = fd?;
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(size)
            .map_err(|_| UvError::named("ENOMEM"))?;
        // A size of nothing is answered with nothing, which for the system would be an error of the buffer's.
        if size > 0 {
            rustix::io::retry_on_intr(|| match offset {
                Some(offset) => rustix::io::pread(&fd, spare_capacity(&mut bytes), offset),
                None => rustix::io::read(&fd, spare_capacity(&mut bytes)),
            })?;
        }
        // There may be more room than was asked for.
        bytes.truncate(size);
        Ok(Output::Bytes(bytes))
    }))
}

fn write(call: &Call<'_>) -> Result<Operation, Failure> {
    let fd = descriptor(call, 1)?;
    let data = call.buffer(2)?;
    let callback = callback_after_optional(call, 3);
    let offset = if callback == 4 {
        offset(call, 3)?
    } else {
        None
    };
    Ok(Operation::new(callback, move || {
        let fd = fd?;
        let written = rustix::io::retry_on_intr(|| match offset {
            Some(offset) => rustix::io::pwrite(&fd, &data, offset),
            None => rustix::io::write(&fd, &data),
        })?;
        Ok(Output::Integer(i64::try_from(written).unwrap_or(i64::MAX)))
    }))
}

#[cfg(target_os = "linux")]
fn sync_data(fd: &OwnedFd) -> Result<(), UvError> {
    Ok(rustix::fs::fdatasync(fd)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_data(fd: &OwnedFd) -> Result<(), UvError> {
    Ok(rustix::fs::fsync(fd)?)
}

#[cfg(target_os = "linux")]
fn send(to: &OwnedFd, from: &OwnedFd, offset: u64, size: usize) -> Result<Output, UvError> {
    let mut offset = offset;
    let sent = rustix::fs::sendfile(to, from, Some(&mut offset), size)?;
    Ok(Output::Integer(i64::try_from(sent).unwrap_or(i64::MAX)))
}

#[cfg(not(target_os = "linux"))]
fn send(_: &OwnedFd, _: &OwnedFd, _: u64, _: usize) -> Result<Output, UvError> {
    Err(UvError::named("ENOSYS"))
}

/// How to open a file: by number, or in one of luv's words. Never inherited by children.
fn open_flags(call: &Call<'_>, position: usize) -> Result<OFlags, Failure> {
    if let Value::Integer(_) | Value::Number(_) = call.value(position) {
        let bits = call.narrow::<u32>(position)?;
        return Ok(OFlags::from_bits_retain(bits as _) | OFlags::CLOEXEC);
    }
    let word = call.text(position)?;
    let new = OFlags::CREATE;
    let flags = match word.as_str() {
        "r" => OFlags::RDONLY,
        "rs" | "sr" => OFlags::RDONLY | OFlags::SYNC,
        "r+" => OFlags::RDWR,
        "rs+" | "sr+" => OFlags::RDWR | OFlags::SYNC,
        "w" => new | OFlags::WRONLY | OFlags::TRUNC,
        "wx" | "xw" => new | OFlags::WRONLY | OFlags::TRUNC | OFlags::EXCL,
        "w+" => new | OFlags::RDWR | OFlags::TRUNC,
        "wx+" | "xw+" => new | OFlags::RDWR | OFlags::TRUNC | OFlags::EXCL,
        "a" => new | OFlags::WRONLY | OFlags::APPEND,
        "ax" | "xa" => new | OFlags::WRONLY | OFlags::APPEND | OFlags::EXCL,
        "a+" => new | OFlags::RDWR | OFlags::APPEND,
        "ax+" | "xa+" => new | OFlags::RDWR | OFlags::APPEND | OFlags::EXCL,
        _ => return Err(call.bad(position, format_args!("unknown file open flag '{word}'"))),
    };
    Ok(flags | OFlags::CLOEXEC)
}
