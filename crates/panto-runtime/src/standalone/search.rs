//! Where `require` looks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use mlua::{Lua, LuaString, StdLib, Table};

use super::raw;

/// Adds the `package` library, which reads no environment; `path` and `cpath` stand for what it would have read, and
/// `first` are the directories, of modules in Lua and in C, with which the default begins.
///
/// Unlike the reference's, the search never begins in the working directory: what lies there may be a stranger's.
pub(super) fn open(
    lua: &Lua,
    path: Option<&OsStr>,
    cpath: Option<&OsStr>,
    first: Option<&(PathBuf, PathBuf)>,
) -> mlua::Result<()> {
    lua.set_named_registry_value("LUA_NOENV", true)?;
    raw::add_libraries(lua, StdLib::PACKAGE)?;
    let package: Table = lua.globals().raw_get("package")?;
    let (modules, native) = first
        .map(|(modules, native)| (&**modules, &**native))
        .unzip();
    let fields = [
        ("path", path, modules, &["/?.lua", "/?/init.lua"][..]),
        ("cpath", cpath, native, &["/?.so"]),
    ];
    for (field, given, first, ends) in fields {
        let default: LuaString = package.raw_get(field)?;
        let mut templates = first.map_or_else(Vec::new, |dir| templates(dir, ends));
        templates.push(without_cwd(&default.as_bytes()));
        let default = templates.join(&b';');
        let value = match given {
            Some(given) => with_default(given.as_bytes(), &default),
            None => default,
        };
        package.raw_set(field, lua.create_string(value)?)?;
    }
    Ok(())
}

/// The templates of a directory; none if it cannot stand in one.
fn templates(dir: &Path, ends: &[&str]) -> Vec<Vec<u8>> {
    let dir = dir.as_os_str().as_bytes();
    if !dir.starts_with(b"/") || dir.contains(&b';') || dir.contains(&b'?') {
        return Vec::new();
    }
    let template = |end: &&str| [dir, end.as_bytes()].concat();
    ends.iter().map(template).collect()
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
    fn a_directory_has_templates_unless_it_would_break_them() {
        let of = |dir: &str| templates(Path::new(dir), &["/?.lua", "/?/init.lua"]);
        assert_eq!(of("/d"), [b"/d/?.lua".to_vec(), b"/d/?/init.lua".to_vec()]);
        assert_eq!(of("/d;e"), Vec::<Vec<u8>>::new());
        assert_eq!(of("d"), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn the_default_has_no_relative_template() {
        let without = without_cwd(b"/usr/share/?.lua;./?.lua;./?/init.lua;/usr/lib/?.lua");
        assert_eq!(without, b"/usr/share/?.lua;/usr/lib/?.lua");
    }
}
