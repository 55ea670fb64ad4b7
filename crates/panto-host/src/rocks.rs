//! Rocks: Lua packages, in one tree of the data home, put there by the program `luarocks`.

mod edit;
mod luarocks;
mod name;
mod prefix;
mod sources;
mod tree;

pub use edit::{EditError, add_to_list, remove_from_list};
pub use luarocks::{LuaRocks, LuaRocksError, LuaRocksOptions};
pub use name::{BadRockName, RockName};
pub use prefix::{PrefixError, stage_headers, stage_prefix};
pub use sources::{RocksRequest, with_rocks};
pub use tree::{InstalledRock, RocksTree};
