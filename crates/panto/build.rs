//! Exports the C API of the embedded Lua, for modules in C that Lua loads.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if system == "macos" {
        println!("cargo::rustc-link-arg-bins=-Wl,-export_dynamic");
        return;
    }
    // Lua's alone: a library that a module brings along must not find another of ours in its place.
    for names in ["lua_*", "luaL_*", "luaopen_*"] {
        println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={names}");
    }
}
