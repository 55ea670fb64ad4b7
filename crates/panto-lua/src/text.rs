//! `panto.text`: how many columns text has, and how it is cut and wrapped to them.
//!
//! The measure itself is [`panto_text`], which the terminal engine uses too.

use std::rc::Rc;

use mlua::{Lua, Table};

use crate::fault::values;
use crate::module::State;

/// The table `panto.text`.
pub(crate) fn module(lua: &Lua, state: &Rc<State>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let width = state.shim.function(lua, "width", |lua, mut args| {
        let text = args.next("text").string()?.to_string_lossy();
        values(lua, panto_text::width(&text))
    })?;
    let truncate = state.shim.function(lua, "truncate", |lua, mut args| {
        let text = args.next("text").string()?.to_string_lossy();
        let columns = columns(args.next("width").count()?);
        values(lua, panto_text::truncate(&text, columns))
    })?;
    let wrap = state.shim.function(lua, "wrap", |lua, mut args| {
        let text = args.next("text").string()?.to_string_lossy();
        let columns = columns(args.next("width").count()?);
        values(lua, panto_text::wrap(&text, columns))
    })?;
    table.raw_set("width", width)?;
    table.raw_set("truncate", truncate)?;
    table.raw_set("wrap", wrap)?;
    Ok(table)
}

fn columns(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
