//! Where `require` looks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use mlua::{Lua, LuaString, StdLib, Table};

use super::raw;

/// Adds the `package` library, which reads no environment; `path` and `cpath` stand for what it would have read.
///
/// Unlike the reference's, the search never begins in the working directory: what lies there may be a stranger's.
pub(super) fn open(lua: &Lua, path: Option<&OsStr>, cpath: Option<&OsStr>) -> mlua::Result<()> {
    lua.set_named_registry_value("LUA_NOENV", true)?;
    raw::add_libraries(lua, StdLib::PACKAGE)?;
    let package: Table = lua.globals().raw_get("package")?;
    for (field, given) in [("path", path), ("cpath", cpath)] {
        let default: LuaString = package.raw_get(field)?;
        let default = without_cwd(&default.as_bytes());
        let value = match given {
            Some(given) => with_default(given.as_bytes(), &default),
            None => default,
        };
        package.raw_set(field, lua.create_string(value)?)?;
    }
    Ok(())
}

/// Leaves out the templates that are relative.
fn without_cwd(path: &[u8]) -> Vec<u8> {
    let templates = path.split(|byte| *byte == b';');
    let absolute: Vec<&[u8]> = templates
        .filter(|template| template.starts_with(b"/"))
        .collect();
    absolute.join(&b';')
}

/// Puts the default in the place of an empty template, the first one.
fn with_default(given: &[u8], default: &[u8]) -> Vec<u8> {
    let Some(at) = given.windows(2).position(|two| two == b";;") else {
        return given.to_vec();
    };
    let (before, behind) = (&given[..at], &given[at + 2..]);
    let parts = [before, default, behind];
    let parts: Vec<&[u8]> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(&b';')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_template_stands_for_the_default() {
        let with =
            |given: &str| String::from_utf8(with_default(given.as_bytes(), b"/d/?.lua")).unwrap();
        assert_eq!(with("/a/?.lua"), "/a/?.lua");
        assert_eq!(with(";;"), "/d/?.lua");
        assert_eq!(with("/a/?.lua;;"), "/a/?.lua;/d/?.lua");
        assert_eq!(with(";;/b/?.lua"), "/d/?.lua;/b/?.lua");
        assert_eq!(with("/a/?.lua;;/b/?.lua"), "/a/?.lua;/d/?.lua;/b/?.lua");
    }

    #[test]
    fn the_default_has_no_relative_template() {
        let without = without_cwd(b"/usr/share/?.lua;./?.lua;./?/init.lua;/usr/lib/?.lua");
        assert_eq!(without, b"/usr/share/?.lua;/usr/lib/?.lua");
    }
}
