//! Exports the C API of the embedded Lua, for modules in C that Lua loads; and makes a list of what lies in `rocks/`, for
//! the binary to carry.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    export_lua();
    carry_rocks()
}

fn export_lua() {
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if system == "macos" {
        println!("cargo::rustc-link-arg-bins=-Wl,-export_dynamic");
        return;
    }
    // Lua's alone: a library that a module brings along must not find another of ours in its place.
    for names in ["lua_*", "luaL_*", "luaopen_*"] {
        println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={names}");
    }
}

fn carry_rocks() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let rocks = here.join("../../rocks").canonicalize()?;
    println!("cargo::rerun-if-changed={}", rocks.display());
    let mut files = Vec::new();
    collect(&rocks, &mut files)?;
    files.sort();
    let mut hasher = DefaultHasher::new();
    let mut text = String::from("pub(crate) const FILES: &[ShippedFile] = &[\n");
    for file in &files {
        let path = file.strip_prefix(&rocks).unwrap_or(file);
        let path = path.to_string_lossy();
        (&path, fs::read(file)?).hash(&mut hasher);
        let _ = writeln!(
            text,
            "    ShippedFile {{ path: {path:?}, text: include_str!({file:?}) }},"
        );
    }
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let _ = writeln!(
        text,
        "];\npub(crate) const VERSION: &str = \"{version}-{:016x}\";",
        hasher.finish()
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("shipped.rs"), text)
}

/// Everything but specs, and what an editor leaves.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name == "spec" {
            continue;
        }
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, files)?;
        } else if name.ends_with(".lua") || name.ends_with(".md") {
            files.push(path);
        }
    }
    Ok(())
}
