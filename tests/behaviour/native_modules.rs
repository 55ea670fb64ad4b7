//! Modules in C: they load into the program, whose Lua they share.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::Machine;

const SOURCE: &str = r#"
#include "lua.h"
#include "lauxlib.h"

static int add(lua_State *L) {
  lua_pushinteger(L, luaL_checkinteger(L, 1) + luaL_checkinteger(L, 2));
  return 1;
}

static int resumed(lua_State *L, int status, lua_KContext context) {
  lua_pushfstring(L, "%d %d %s", status == LUA_YIELD, (int)context, luaL_checkstring(L, -1));
  return 1;
}

/* Yields what it was given, and goes on with what it is resumed with. */
static int wait_for(lua_State *L) {
  return lua_yieldk(L, lua_gettop(L), 42, resumed);
}

static int collected(lua_State *L) {
  lua_pushliteral(L, "collected");
  lua_setglobal(L, "fate");
  return 0;
}

static int object(lua_State *L) {
  lua_newuserdatauv(L, 16, 1);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, collected);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return 1;
}

static const luaL_Reg functions[] = {
  {"add", add}, {"wait_for", wait_for}, {"object", object}, {NULL, NULL}
};

int luaopen_native(lua_State *L) {
  luaL_newlib(L, functions);
  return 1;
}
"#;

/// Builds the module against the headers of the embedded Lua, as a rock is built.
fn build(folder: &Path) {
    for (name, text) in panto_runtime::LUA_HEADERS {
        fs::write(folder.join(name), text).unwrap();
    }
    fs::write(folder.join("native.c"), SOURCE).unwrap();
    let flags: &[&str] = if cfg!(target_os = "macos") {
        &["-bundle", "-undefined", "dynamic_lookup"]
    } else {
        &["-shared", "-fPIC"]
    };
    let built = Command::new("cc")
        .args(flags)
        .args(["-O1", "-I.", "-o", "native.so", "native.c"])
        .current_dir(folder)
        .output()
        .expect("a C compiler, as linking needs one too");
    assert!(built.status.success(), "{built:?}");
}

const CHUNK: &str = r#"
local native = require("native")
assert(native.add(2, 3) == 5)
assert(select(2, pcall(native.add, "x")):find("number expected, got string"))

-- Its yields are Lua's own, also below a protected call.
local co = coroutine.create(function() return select(2, pcall(native.wait_for, "asked")) end)
local _, asked = coroutine.resume(co)
assert(asked == "asked")
local _, answer = coroutine.resume(co, "answered")
assert(answer == "1 42 answered", answer)

-- And a callback of the loop may resume it.
local uv = require("luv")
local timer = uv.new_timer()
local said
co = coroutine.create(function() said = native.wait_for() end)
coroutine.resume(co)
timer:start(0, 0, function() timer:close() coroutine.resume(co, "from the loop") end)
uv.run()
assert(said == "1 42 from the loop", said)

native.object()
collectgarbage()
assert(fate == "collected")
print("loaded")
"#;

#[test]
fn a_module_in_c_loads_and_yields() {
    let machine = Machine::without_config();
    build(&machine.work());
    let path = format!("{}/?.so;;", machine.work().display());
    let ran = machine.run_with(&[("LUA_CPATH", &path)], &["lua", "-e", CHUNK]);
    assert_eq!(ran.answer(), "loaded\n");
    // The same by the path that Lua code sets.
    let chunk = format!("package.cpath = '{path}' {CHUNK}");
    assert_eq!(machine.run(&["lua", "-e", &chunk]).answer(), "loaded\n");
}

#[test]
fn the_headers_are_where_panto_says() {
    let machine = Machine::without_config();
    let said = machine.run(&["lua", "--headers"]).answer();
    let include = Path::new(said.trim_end_matches('\n'));
    assert!(include.starts_with(machine.root().join("home")), "{said}");
    for header in ["lua.h", "lauxlib.h", "luaconf.h"] {
        assert!(include.join(header).is_file(), "{header}");
    }
}
