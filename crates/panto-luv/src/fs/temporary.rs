//! Folders and files with names that nobody else has.

use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::paths::bytes_of;
use super::{Operation, Output, operation};
use crate::api::Api;
use crate::errno::UvError;
use crate::random;

pub(super) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    operation(api, "fs_mkdtemp", |call| {
        let template = call.path(1)?;
        let named = template.clone();
        let make = move || {
            let ((), path) = first_free(named, |path| rustix::fs::mkdir(path, Mode::RWXU))?;
            Ok(Output::Bytes(bytes_of(path)))
        };
        Ok(Operation::new(2, make).about(&template))
    })?;
    operation(api, "fs_mkstemp", |call| {
        let template = call.path(1)?;
        let named = template.clone();
        let make = move || {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mode = Mode::RUSR | Mode::WUSR;
            let (fd, path) = first_free(named, |path| rustix::fs::open(path, flags, mode))?;
            Ok(Output::File(fd, Some(bytes_of(path))))
        };
        Ok(Operation::new(2, make).about(&template))
    })
}

const PLACEHOLDER: &[u8] = b"XXXXXX";
const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
/// Of 62⁶ names; who loses this often is being raced on purpose.
const ATTEMPTS: usize = 100;

/// Fills the end of a template in with letters, anew as long as what comes out exists already.
fn first_free<T>(
    template: PathBuf,
    make: impl Fn(&PathBuf) -> Result<T, Errno>,
) -> Result<(T, PathBuf), UvError> {
    let template = bytes_of(template);
    let Some(stem) = template.strip_suffix(PLACEHOLDER) else {
        return Err(UvError::named("EINVAL"));
    };
    for _ in 0..ATTEMPTS {
        let seed = random::bytes(PLACEHOLDER.len())?;
        let mut name = stem.to_vec();
        name.extend(
            seed.iter()
                .map(|byte| LETTERS[usize::from(*byte) % LETTERS.len()]),
        );
        let path =
            PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(name));
        match make(&path) {
            Ok(made) => return Ok((made, path)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(UvError::named("EEXIST"))
}
