//! `search`, `walk` and `nearest`.

use mlua::{Lua, Table};
use panto_lua::{Args, Module, Reply, values};

use super::arguments::{flag, number, path, selection, shown, texts};
use super::work::{Work, failed};
use crate::search::{Found, Query, search};
use crate::walk::{Bounds, EntryKind, Unreadable, Walked, nearest, walk};

/// How many entries a walk gives unless it is told.
const ENTRIES: usize = 10_000;
/// How many names that are alike are given unless it is told.
const NAMES: usize = 3;
const KINDS: &[EntryKind] = &[
    EntryKind::File,
    EntryKind::Directory,
    EntryKind::Link,
    EntryKind::Other,
];

pub(super) fn define(lua: &Lua, module: &Module, work: &Work, table: &Table) -> mlua::Result<()> {
    let with = work.clone();
    let function = move |lua: &Lua, args: Args| search_files(lua, &with, args);
    table.raw_set("search", module.function(lua, "search", function)?)?;
    let with = work.clone();
    let function = move |lua: &Lua, args: Args| walk_tree(lua, &with, args);
    table.raw_set("walk", module.function(lua, "walk", function)?)?;
    let with = work.clone();
    let function = move |lua: &Lua, args: Args| nearest_names(lua, &with, args);
    table.raw_set("nearest", module.function(lua, "nearest", function)?)
}

fn search_files(lua: &Lua, work: &Work, mut args: Args) -> Reply {
    let options = args.options(&[
        "pattern",
        "path",
        "literal",
        "ignore_case",
        "globs",
        "types",
        "hidden",
        "ignored",
        "depth",
        "before",
        "after",
        "limit",
        "max_bytes",
        "max_line_bytes",
    ])?;
    let root = path(&options.get("path")?)?;
    let query = Query::new(options.get("pattern")?.text()?);
    let query = Query {
        literal: flag(&options, "literal")?,
        ignore_case: flag(&options, "ignore_case")?,
        selection: selection(&options)?,
        types: texts(&options, "types")?,
        before: number(&options, "before", query.before)?,
        after: number(&options, "after", query.after)?,
        max_matches: number(&options, "limit", query.max_matches)?,
        max_bytes: number(&options, "max_bytes", query.max_bytes)?,
        max_line_bytes: number(&options, "max_line_bytes", query.max_line_bytes)?,
        pattern: query.pattern,
    };
    work.run(
        lua,
        move |stop| search(&root, &query, stop),
        |lua, found| match found {
            Ok(found) => values(lua, found_table(lua, &found)?),
            Err(error) => failed(lua, &error, error.code()),
        },
    )
}

fn found_table(lua: &Lua, found: &Found) -> mlua::Result<Table> {
    let files = lua.create_table_with_capacity(found.files.len(), 0)?;
    for file in &found.files {
        let lines = lua.create_table_with_capacity(file.lines.len(), 0)?;
        for line in &file.lines {
            let entry = lua.create_table_with_capacity(0, 4)?;
            entry.raw_set("line", line.number)?;
            entry.raw_set("text", line.text.as_str())?;
            entry.raw_set("is_context", line.is_context)?;
            entry.raw_set("is_cut", line.is_cut)?;
            lines.raw_push(entry)?;
        }
        let entry = lua.create_table_with_capacity(0, 2)?;
        entry.raw_set("path", shown(lua, &file.path)?)?;
        entry.raw_set("lines", lines)?;
        files.raw_push(entry)?;
    }
    let table = lua.create_table()?;
    table.raw_set("files", files)?;
    table.raw_set("matches", found.matches)?;
    table.raw_set("is_cut", found.is_cut)?;
    table.raw_set("binary", found.binary)?;
    unreadable(&table, &found.unreadable)?;
    Ok(table)
}

fn walk_tree(lua: &Lua, work: &Work, mut args: Args) -> Reply {
    let options = args.options(&[
        "path",
        "globs",
        "hidden",
        "ignored",
        "depth",
        "limit",
        "max_visited",
        "kind",
    ])?;
    let root = path(&options.get("path")?)?;
    let selection = selection(&options)?;
    let bounds = Bounds {
        limit: number(&options, "limit", ENTRIES)?,
        max_visited: number(&options, "max_visited", usize::MAX)?,
    };
    let kind = match options.given("kind")? {
        None => None,
        Some(argument) => {
            let name = argument.text()?;
            let kind = KINDS.iter().find(|kind| kind.as_str() == name);
            let wrong = || argument.wrong("`file`, `directory`, `link` or `other` expected");
            Some(*kind.ok_or_else(wrong)?)
        }
    };
    work.run(
        lua,
        move |stop| walk(&root, &selection, kind, bounds, stop),
        |lua, walked| match walked {
            Ok(walked) => values(lua, walked_table(lua, &walked)?),
            Err(error) => failed(lua, &error, error.code()),
        },
    )
}

fn walked_table(lua: &Lua, walked: &Walked) -> mlua::Result<Table> {
    let entries = lua.create_table_with_capacity(walked.entries.len(), 0)?;
    for entry in &walked.entries {
        let table = lua.create_table_with_capacity(0, 2)?;
        table.raw_set("path", shown(lua, &entry.path)?)?;
        table.raw_set("kind", entry.kind.as_str())?;
        entries.raw_push(table)?;
    }
    let table = lua.create_table()?;
    table.raw_set("entries", entries)?;
    table.raw_set("total", walked.total)?;
    unreadable(&table, &walked.unreadable)?;
    Ok(table)
}

fn unreadable(table: &Table, unreadable: &Unreadable) -> mlua::Result<()> {
    table.raw_set("unreadable", unreadable.count)?;
    table.raw_set("unreadable_example", unreadable.first.as_deref())
}

fn nearest_names(lua: &Lua, work: &Work, mut args: Args) -> Reply {
    let path = path(&args.next("path"))?;
    let limit = match args.next("limit").given() {
        Some(limit) => usize::try_from(limit.count()?).unwrap_or(usize::MAX),
        None => NAMES,
    };
    work.run(
        lua,
        move |_| nearest(&path, limit),
        |lua, paths| {
            let table = lua.create_table()?;
            for path in &paths {
                table.raw_push(shown(lua, path)?)?;
            }
            values(lua, table)
        },
    )
}
