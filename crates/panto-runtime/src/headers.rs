//! Which Lua this is, and its headers, against which C modules are built.

/// The version of the embedded Lua, such as `5.4.9`.
pub const LUA_RELEASE: &str = env!("LUA_RELEASE");

/// The headers of the embedded Lua: each file's name and text.
///
/// A C module that was compiled against them loads into a program with this crate, if the program
/// exports Lua's functions; panto's does.
pub const LUA_HEADERS: [(&str, &str); 5] = [
    (
        "lua.h",
        include_str!(concat!(env!("LUA_INCLUDE"), "/lua.h")),
    ),
    (
        "luaconf.h",
        include_str!(concat!(env!("LUA_INCLUDE"), "/luaconf.h")),
    ),
    (
        "lauxlib.h",
        include_str!(concat!(env!("LUA_INCLUDE"), "/lauxlib.h")),
    ),
    (
        "lualib.h",
        include_str!(concat!(env!("LUA_INCLUDE"), "/lualib.h")),
    ),
    ("lua.hpp", LUA_HPP),
];

/// For modules in C++: the headers are C's.
const LUA_HPP: &str = "\
extern \"C\" {
#include \"lua.h\"
#include \"lualib.h\"
#include \"lauxlib.h\"
}
";
