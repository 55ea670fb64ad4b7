//! Operations on what a path leads to.

use std::path::PathBuf;

use super::files::mode;
use super::{Operation, Output, callback_after_optional, operation};
use crate::api::Api;
use crate::call::Call;
use crate::errno::UvError;
use crate::failure::Failure;

pub(super) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    on_path(api, "fs_unlink", |path| Ok(rustix::fs::unlink(path)?))?;
    on_path(api, "fs_rmdir", |path| Ok(rustix::fs::rmdir(path)?))?;
    operation(api, "fs_mkdir", |call| {
        let path = call.path(1)?;
        let mode = mode(call, 2)?;
        let made = path.clone();
        let make = move || Ok(rustix::fs::mkdir(&made, mode)?);
        Ok(Operation::done(3, make).about(&path))
    })?;
    on_paths(api, "fs_rename", |from, to| {
        Ok(rustix::fs::rename(from, to)?)
    })?;
    on_paths(api, "fs_link", |from, to| Ok(rustix::fs::link(from, to)?))?;
    operation(api, "fs_symlink", |call| {
        let (target, path) = (call.path(1)?, call.path(2)?);
        // The flags are for systems that tell links to folders apart.
        let callback = callback_after_optional(call, 3);
        let (to, at) = (target.clone(), path.clone());
        let link = move || Ok(rustix::fs::symlink(&to, &at)?);
        Ok(Operation::done(callback, link).about_both(&target, &path))
    })?;
    operation(api, "fs_readlink", |call| {
        let path = call.path(1)?;
        let read = path.clone();
        let read = move || {
            let target = rustix::fs::readlink(&read, Vec::new())?;
            Ok(Output::Bytes(target.into_bytes()))
        };
        Ok(Operation::new(2, read).about(&path))
    })?;
    operation(api, "fs_realpath", |call| {
        let path = call.path(1)?;
        let resolved = path.clone();
        let resolve = move || {
            let real = std::fs::canonicalize(&resolved)?;
            Ok(Output::Bytes(bytes_of(real)))
        };
        Ok(Operation::new(2, resolve).about(&path))
    })
}

pub(super) fn bytes_of(path: PathBuf) -> Vec<u8> {
    std::os::unix::ffi::OsStringExt::into_vec(path.into_os_string())
}

fn on_path(
    api: &mut Api<'_>,
    name: &'static str,
    act: fn(PathBuf) -> Result<(), UvError>,
) -> mlua::Result<()> {
    operation(api, name, move |call: &Call<'_>| -> Result<_, Failure> {
        let path = call.path(1)?;
        let taken = path.clone();
        Ok(Operation::done(2, move || act(taken)).about(&path))
    })
}

fn on_paths(
    api: &mut Api<'_>,
    name: &'static str,
    act: fn(PathBuf, PathBuf) -> Result<(), UvError>,
) -> mlua::Result<()> {
    operation(api, name, move |call: &Call<'_>| -> Result<_, Failure> {
        let (from, to) = (call.path(1)?, call.path(2)?);
        let (old, new) = (from.clone(), to.clone());
        Ok(Operation::done(3, move || act(old, new)).about_both(&from, &to))
    })
}
