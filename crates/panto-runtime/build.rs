//! Finds the headers of the embedded Lua, which `src/headers.rs` takes in.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Of the crate that builds Lua, to those that depend on it directly.
    let Ok(directory) = std::env::var("DEP_LUA_INCLUDE") else {
        println!("cargo::error=mlua-sys does not say where Lua's headers are");
        return;
    };
    println!("cargo::rustc-env=LUA_INCLUDE={directory}");
    let header = std::fs::read_to_string(Path::new(&directory).join("lua.h")).unwrap_or_default();
    let number = |name: &str| {
        let line = header.lines().find(|line| line.contains(name))?;
        line.split('"').nth(1)
    };
    let names = ["MAJOR", "MINOR", "RELEASE"];
    let numbers: Option<Vec<&str>> = names
        .iter()
        .map(|name| number(&format!("#define LUA_VERSION_{name}\t")))
        .collect();
    match numbers {
        Some(numbers) => println!("cargo::rustc-env=LUA_RELEASE={}", numbers.join(".")),
        None => println!("cargo::error={directory}/lua.h does not say Lua's version"),
    }
}
