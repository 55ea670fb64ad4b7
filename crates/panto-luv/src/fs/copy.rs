//! Copying a file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use mlua::Value;

use super::{Operation, callback_after_optional, operation};
use crate::api::Api;
use crate::call::Call;
use crate::constants::{COPYFILE_EXCL, COPYFILE_FICLONE, COPYFILE_FICLONE_FORCE};
use crate::failure::Failure;

/// How to copy.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    /// Fail if the target exists.
    exclusive: bool,
    /// Share the data, if the file system can.
    clone: bool,
    /// Fail if it cannot.
    clone_or_fail: bool,
}

pub(super) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    operation(api, "fs_copyfile", |call| {
        let (from, to) = (call.path(1)?, call.path(2)?);
        let callback = callback_after_optional(call, 3);
        let flags = if callback == 4 {
            flags(call, 3)?
        } else {
            Flags::default()
        };
        let (source, target) = (from.clone(), to.clone());
        let copy = move || Ok(copy(&source, &target, flags)?);
        Ok(Operation::done(callback, copy).about_both(&from, &to))
    })
}

fn flags(call: &Call<'_>, position: usize) -> Result<Flags, Failure> {
    if let Value::Integer(_) | Value::Number(_) = call.value(position) {
        let bits = call.narrow::<i32>(position)?;
        return Ok(Flags {
            exclusive: bits & COPYFILE_EXCL != 0,
            clone: bits & COPYFILE_FICLONE != 0,
            clone_or_fail: bits & COPYFILE_FICLONE_FORCE != 0,
        });
    }
    let Some(table) = call.optional_table(position)? else {
        return Ok(Flags::default());
    };
    Ok(Flags {
        exclusive: table.get("excl")?,
        clone: table.get("ficlone")?,
        clone_or_fail: table.get("ficlone_force")?,
    })
}

fn copy(from: &Path, to: &Path, flags: Flags) -> io::Result<()> {
    let mut source = File::open(from)?;
    let about = source.metadata()?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(about.mode());
    if flags.exclusive {
        options.create_new(true);
    }
    let mut target = options.open(to)?;
    let existing = target.metadata()?;
    // Truncating would destroy what is to be copied.
    if (existing.dev(), existing.ino()) == (about.dev(), about.ino()) {
        return Ok(());
    }
    let copied = fill(&mut source, &mut target, flags)
        .and_then(|()| target.set_permissions(PermissionsExt::from_mode(about.mode())));
    if copied.is_err() {
        // Half a copy is worse than none; that it may not go away is not the error to report.
        let _ = std::fs::remove_file(to);
    }
    copied
}

fn fill(source: &mut File, target: &mut File, flags: Flags) -> io::Result<()> {
    target.set_len(0)?;
    if flags.clone || flags.clone_or_fail {
        match clone(source, target) {
            Ok(()) => return Ok(()),
            Err(error) if flags.clone_or_fail => return Err(error),
            Err(_) => {}
        }
    }
    io::copy(source, target).map(drop)
}

#[cfg(target_os = "linux")]
fn clone(source: &File, target: &File) -> io::Result<()> {
    Ok(rustix::fs::ioctl_ficlone(target, source)?)
}

#[cfg(not(target_os = "linux"))]
fn clone(_: &File, _: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
