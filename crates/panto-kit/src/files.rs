//! What Lua has of all this for files: `panto.ext.files` of a host. `lua/files.lua` has its types.
//!
//! Runs on the thread that owns the Lua state. Each function reads its arguments there, works on
//! the runtime's threads for what blocks, and makes Lua values of what came out.

mod arguments;
mod content;
mod tree;
mod work;

use mlua::{Lua, Table};
use panto_lua::Module;
use tokio::runtime::Handle;

use work::Work;

/// Makes the table of functions for files. What blocks runs on `runtime`, and the coroutine that
/// asked for it waits as the module's host decides; work is stopped when the turn that it is for is
/// asked to stop, and when nobody waits for it any more.
///
/// # Errors
///
/// Lua is out of memory.
pub fn files(lua: &Lua, module: &Module, runtime: Handle) -> mlua::Result<Table> {
    let work = Work::new(module, runtime);
    let table = lua.create_table()?;
    content::define(lua, module, &work, &table)?;
    tree::define(lua, module, &work, &table)?;
    Ok(table)
}
