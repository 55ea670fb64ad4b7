//! Arguments that several of the functions take.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use mlua::{Lua, LuaString};
use panto_lua::{Arg, Fault, Options};

use crate::walk::Selection;

/// A path of any bytes.
pub(super) fn path(argument: &Arg) -> Result<PathBuf, Fault> {
    let bytes = argument.string()?.as_bytes().to_vec();
    match bytes.is_empty() {
        true => Err(argument.wrong("a path expected, got an empty string")),
        false => Ok(PathBuf::from(OsString::from_vec(bytes))),
    }
}

/// A path as Lua has it.
pub(super) fn shown(lua: &Lua, path: &Path) -> mlua::Result<LuaString> {
    lua.create_string(path.as_os_str().as_bytes())
}

/// A whole number of a table of options, or what it is without one.
pub(super) fn number(
    options: &Options,
    name: &'static str,
    default: usize,
) -> Result<usize, Fault> {
    let Some(argument) = options.given(name)? else {
        return Ok(default);
    };
    Ok(usize::try_from(argument.count()?).unwrap_or(usize::MAX))
}

/// A boolean that is false unless it is given.
pub(super) fn flag(options: &Options, name: &'static str) -> Result<bool, Fault> {
    options
        .given(name)?
        .map_or(Ok(false), |argument| argument.boolean())
}

/// A list of texts; none unless it is given.
pub(super) fn texts(options: &Options, name: &'static str) -> Result<Vec<String>, Fault> {
    match options.given(name)? {
        None => Ok(Vec::new()),
        Some(argument) => argument.list()?.iter().map(Arg::text).collect(),
    }
}

/// Which files are meant.
pub(super) fn selection(options: &Options) -> Result<Selection, Fault> {
    let depth = options.given("depth")?;
    Ok(Selection {
        globs: texts(options, "globs")?,
        depth: match depth {
            None => None,
            Some(depth) => Some(usize::try_from(depth.count()?).unwrap_or(usize::MAX)),
        },
        hidden: flag(options, "hidden")?,
        ignored: flag(options, "ignored")?,
    })
}
