//! Operations on what the system knows of a file: status, permissions, owners, times.

use mlua::Value;
use rustix::fs::{Access, AtFlags, CWD, Gid, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid};

use super::files::{descriptor, mode};
use super::stat::{Follow, Stat, StatFs};
use super::{Operation, Output, operation};
use crate::api::Api;
use crate::call::Call;
use crate::failure::Failure;

pub(super) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    for (name, follow) in [("fs_stat", Follow::Links), ("fs_lstat", Follow::Nothing)] {
        operation(api, name, move |call| {
            let path = call.path(1)?;
            let looked_at = path.clone();
            let look = move || Ok(Output::Stat(Box::new(Stat::of_path(&looked_at, follow)?)));
            Ok(Operation::new(2, look).about(&path))
        })?;
    }
    operation(api, "fs_fstat", |call| {
        let fd = descriptor(call, 1)?;
        Ok(Operation::new(2, move || {
            Ok(Output::Stat(Box::new(Stat::of_file(&*fd?)?)))
        }))
    })?;
    operation(api, "fs_statfs", |call| {
        let path = call.path(1)?;
        let looked_at = path.clone();
        let look = move || Ok(Output::StatFs(StatFs::of_path(&looked_at)?));
        Ok(Operation::new(2, look).about(&path))
    })?;
    operation(api, "fs_access", |call| {
        let path = call.path(1)?;
        let access = access(call, 2)?;
        // Whatever stands in the way, the answer is no.
        let may = move || Ok(Output::Answer(rustix::fs::access(&path, access).is_ok()));
        Ok(Operation::new(3, may))
    })?;
    operation(api, "fs_chmod", |call| {
        let path = call.path(1)?;
        let mode = mode(call, 2)?;
        let changed = path.clone();
        let change = move || Ok(rustix::fs::chmod(&changed, mode)?);
        Ok(Operation::done(3, change).about(&path))
    })?;
    operation(api, "fs_fchmod", |call| {
        let fd = descriptor(call, 1)?;
        let mode = mode(call, 2)?;
        Ok(Operation::done(3, move || {
            Ok(rustix::fs::fchmod(fd?, mode)?)
        }))
    })?;
    register_owners(api)?;
    register_times(api)
}

fn register_owners(api: &mut Api<'_>) -> mlua::Result<()> {
    for (name, flags) in [
        ("fs_chown", AtFlags::empty()),
        ("fs_lchown", AtFlags::SYMLINK_NOFOLLOW),
    ] {
        operation(api, name, move |call| {
            let path = call.path(1)?;
            let (user, group) = owners(call)?;
            let changed = path.clone();
            let change = move || Ok(rustix::fs::chownat(CWD, &changed, user, group, flags)?);
            Ok(Operation::done(4, change).about(&path))
        })?;
    }
    operation(api, "fs_fchown", |call| {
        let fd = descriptor(call, 1)?;
        let (user, group) = owners(call)?;
        Ok(Operation::done(4, move || {
            Ok(rustix::fs::fchown(fd?, user, group)?)
        }))
    })
}

/// New owners; -1 leaves one as it is.
fn owners(call: &Call<'_>) -> Result<(Option<Uid>, Option<Gid>), Failure> {
    let id = |position: usize| -> Result<Option<u32>, Failure> {
        if call.as_integer(position) == Some(-1) {
            return Ok(None);
        }
        call.narrow(position).map(Some)
    };
    Ok((id(2)?.map(Uid::from_raw), id(3)?.map(Gid::from_raw)))
}

fn register_times(api: &mut Api<'_>) -> mlua::Result<()> {
    for (name, flags) in [
        ("fs_utime", AtFlags::empty()),
        ("fs_lutime", AtFlags::SYMLINK_NOFOLLOW),
    ] {
        operation(api, name, move |call| {
            let path = call.path(1)?;
            let times = times(call)?;
            let changed = path.clone();
            let change = move || Ok(rustix::fs::utimensat(CWD, &changed, &times, flags)?);
            Ok(Operation::done(4, change).about(&path))
        })?;
    }
    operation(api, "fs_futime", |call| {
        let fd = descriptor(call, 1)?;
        let times = times(call)?;
        Ok(Operation::done(4, move || {
            Ok(rustix::fs::futimens(fd?, &times)?)
        }))
    })
}

fn times(call: &Call<'_>) -> Result<Timestamps, Failure> {
    Ok(Timestamps {
        last_access: time(call, 2)?,
        last_modification: time(call, 3)?,
    })
}

/// Seconds since the epoch, now, or nothing to change.
fn time(call: &Call<'_>, position: usize) -> Result<Timespec, Failure> {
    let special = |nanos| Timespec {
        tv_sec: 0,
        tv_nsec: nanos,
    };
    let seconds = match call.value(position) {
        Value::Nil => f64::NAN,
        Value::String(word) if word.as_bytes() == b"now" => f64::INFINITY,
        Value::String(word) if word.as_bytes() == b"omit" => f64::NAN,
        value => call
            .lua
            .coerce_number(value.clone())?
            .ok_or_else(|| call.bad(position, "number, 'now' or 'omit' expected"))?,
    };
    if seconds.is_nan() {
        return Ok(special(UTIME_OMIT));
    }
    if seconds.is_infinite() {
        return Ok(special(UTIME_NOW));
    }
    let whole = seconds.floor();
    // Microseconds, as finer ones would be made up: a float has no room for them.
    let micros = ((seconds - whole) * 1e6).floor();
    Ok(Timespec {
        tv_sec: whole as i64,
        tv_nsec: (micros as i64) * 1000,
    })
}

/// What is to be allowed: a number, or letters of `rwx` in either case.
fn access(call: &Call<'_>, position: usize) -> Result<Access, Failure> {
    if let Value::Integer(_) | Value::Number(_) = call.value(position) {
        let bits = call.narrow::<u32>(position)?;
        return Ok(Access::from_bits_truncate(bits as _));
    }
    let word = call.text(position)?;
    let mut access = Access::EXISTS;
    for letter in word.chars() {
        access |= match letter.to_ascii_lowercase() {
            'r' => Access::READ_OK,
            'w' => Access::WRITE_OK,
            'x' => Access::EXEC_OK,
            _ => return Err(call.bad(position, format_args!("unknown access mode '{word}'"))),
        };
    }
    Ok(access)
}
