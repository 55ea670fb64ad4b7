//! `panto.ext`: one table for everybody, and a view of it for each extension, whose functions
//! know who calls.

use std::rc::{Rc, Weak};
use std::sync::Arc;

use mlua::{Lua, Table, Value};
use panto_lua::{Args, Fault, Module, Reply, values};

use super::shared::{NOBODY, Owner, Shared};
use super::{ask, commands, emitting, models, modules, prompt, registering};
use crate::extensions::{Diagnostic, Level, Position};

/// A function of `panto.ext`.
pub(super) type Body = fn(&Rc<Shared>, &Owner, &Lua, Args) -> Reply;

/// Functions that know who calls.
const OWNED: &[(&str, Body)] = &[
    ("register_tool", registering::register_tool),
    ("register_command", commands::register),
    ("register_protocol", registering::register_protocol),
    ("unregister", registering::unregister),
    ("on", registering::on),
    ("section", prompt::section),
    ("diagnose", diagnose),
];

/// Functions that are the same for everybody.
const SHARED: &[(&str, Body)] = &[
    ("emit", emitting::emit),
    ("session_info", models::session_info),
    ("models", models::models),
    ("resolve_model", models::resolve_model),
    ("settings", settings),
    ("cwd", cwd),
    ("ask", ask::ask),
    ("commands", commands::list),
    ("run_foreground", run_foreground),
    ("shell_environment", shell_environment),
];

/// Puts `panto.ext` into the module.
pub(super) fn install(lua: &Lua, module: &Module, shared: &Rc<Shared>) -> mlua::Result<()> {
    let ext = lua.create_table()?;
    let nobody: Owner = Rc::from(NOBODY);
    for (name, body) in OWNED.iter().chain(SHARED) {
        ext.raw_set(*name, function(lua, shared, &nobody, name, *body)?)?;
    }
    let data = panto_kit::data(lua, module, Arc::clone(&shared.options.themes))?;
    for pair in data.pairs::<Value, Value>() {
        let (name, value) = pair?;
        ext.raw_set(name, value)?;
    }
    let files = panto_kit::files(lua, module, shared.options.agents.clone())?;
    ext.raw_set("files", files)?;
    ext.raw_set("json", shared.module.table().raw_get::<Table>("json")?)?;
    ext.raw_set("dirs", dirs(lua, shared)?)?;
    ext.raw_set("agent", shared.handle.current_agent()?)?;
    module.table().raw_set("ext", ext)?;
    modules::set_paths(
        lua,
        &shared.options.module_dirs,
        &shared.options.native_module_dirs,
    )?;
    hide_keys(lua, shared)?;
    lead_print_away(lua, shared)
}

/// The module as one extension has it.
pub(super) fn view(lua: &Lua, shared: &Rc<Shared>, owner: &Owner) -> mlua::Result<Table> {
    let package: Table = lua.globals().get("package")?;
    let loaded: Table = package.get("loaded")?;
    let module: Table = loaded.get("panto")?;
    let ext = lua.create_table_with_capacity(0, OWNED.len())?;
    for (name, body) in OWNED {
        ext.raw_set(*name, function(lua, shared, owner, name, *body)?)?;
    }
    over(lua, &ext, &module.raw_get::<Table>("ext")?)?;
    let view = lua.create_table_with_capacity(0, 1)?;
    view.raw_set("ext", ext)?;
    over(lua, &view, &module)?;
    Ok(view)
}

/// Lays a table over another one.
fn over(lua: &Lua, table: &Table, below: &Table) -> mlua::Result<()> {
    let metatable = lua.create_table_with_capacity(0, 1)?;
    metatable.raw_set("__index", below.clone())?;
    table.set_metatable(Some(metatable))
}

fn function(
    lua: &Lua,
    shared: &Rc<Shared>,
    owner: &Owner,
    name: &'static str,
    body: Body,
) -> mlua::Result<mlua::Function> {
    // Weakly: what is shared holds Lua values.
    let (weak, owner): (Weak<Shared>, Owner) = (Rc::downgrade(shared), Rc::clone(owner));
    shared.module.function(lua, name, move |lua, args| {
        let gone = || Fault::expected("the session is over");
        let shared = weak.upgrade().ok_or_else(gone)?;
        body(&shared, &owner, lua, args)
    })
}

/// `panto.ext.dirs`: plain data.
fn dirs(lua: &Lua, shared: &Rc<Shared>) -> mlua::Result<Table> {
    let options = &shared.options;
    let dirs = lua.create_table()?;
    let text = |path: &std::path::Path| lua.create_string(path.as_os_str().as_encoded_bytes());
    if let Some(home) = &options.home {
        dirs.raw_set("home", text(home)?)?;
    }
    dirs.raw_set("project_root", text(&options.project_root)?)?;
    dirs.raw_set("cwd", text(&options.cwd)?)?;
    if let Some(sessions) = &options.sessions {
        dirs.raw_set("sessions", text(sessions)?)?;
    }
    let layers = lua.create_table()?;
    for layer in &options.layers {
        let entry = lua.create_table()?;
        entry.raw_set("name", layer.name.as_str())?;
        entry.raw_set("dir", text(&layer.dir)?)?;
        layers.raw_push(entry)?;
    }
    dirs.raw_set("layers", layers)?;
    Ok(dirs)
}

/// `settings(name)`: what the configuration gives the extension of that name.
fn settings(shared: &Rc<Shared>, _: &Owner, lua: &Lua, mut args: Args) -> Reply {
    let name = args.next("name").text()?;
    let value = match shared.options.settings.get(&name) {
        Some(value) => shared.module.json().value_to_lua(lua, value)?,
        None => Value::Table(lua.create_table()?),
    };
    values(lua, value)
}

/// `cwd()`: the directory that the session works in.
fn cwd(shared: &Rc<Shared>, _: &Owner, lua: &Lua, _: Args) -> Reply {
    let cwd = shared.options.cwd.as_os_str().as_encoded_bytes();
    values(lua, lua.create_string(cwd)?)
}

/// `diagnose(level, message, position?)`: what a person should see once.
fn diagnose(shared: &Rc<Shared>, owner: &Owner, lua: &Lua, mut args: Args) -> Reply {
    let argument = args.next("level");
    let level = Level::parse(&argument.text()?)
        .ok_or_else(|| argument.wrong("`info`, `warning` or `error` expected"))?;
    let message = args.next("message").text()?;
    let position = match args.next("position").given() {
        Some(position) => {
            let position = position.options(&["file", "line", "column"])?;
            let number = |name| -> Result<Option<u64>, Fault> {
                position
                    .given(name)?
                    .map(|number| number.count())
                    .transpose()
            };
            Some(Position {
                file: position.get("file")?.text()?.into(),
                line: number("line")?,
                column: number("column")?,
            })
        }
        None => None,
    };
    shared.say(Diagnostic {
        level,
        extension: (&**owner != NOBODY).then(|| owner.to_string()),
        message,
        position,
    });
    values(lua, ())
}

/// `run_foreground{ argv }`: only a terminal can give itself away.
fn run_foreground(_: &Rc<Shared>, _: &Owner, _: &Lua, _: Args) -> Reply {
    Err(Fault::misuse(
        "run_foreground works only inside a slash command of the terminal",
    ))
}

/// `shell_environment()`: what children get, as a list of `NAME=VALUE`.
fn shell_environment(shared: &Rc<Shared>, _: &Owner, lua: &Lua, _: Args) -> Reply {
    let list = lua.create_table()?;
    for (name, value) in &shared.options.environment {
        let mut entry = name.as_encoded_bytes().to_vec();
        entry.push(b'=');
        entry.extend_from_slice(value.as_encoded_bytes());
        list.raw_push(lua.create_string(entry)?)?;
    }
    values(lua, list)
}

/// Lets `os.getenv`, and programs that Lua starts, see what Lua's environment has, in which no key
/// is.
fn hide_keys(lua: &Lua, shared: &Rc<Shared>) -> mlua::Result<()> {
    let os: Table = lua.globals().get("os")?;
    let weak = Rc::downgrade(shared);
    let getenv = shared
        .module
        .function(lua, "getenv", move |lua, mut args| {
            let name = args.next("varname");
            let name = name.string()?;
            let shared = weak.upgrade();
            let environment = shared.as_ref().map(|shared| &shared.options.environment);
            let found = environment
                .into_iter()
                .flatten()
                .find(|(key, _)| key.as_encoded_bytes() == &*name.as_bytes());
            match found {
                Some((_, value)) => values(lua, lua.create_string(value.as_encoded_bytes())?),
                None => values(lua, Value::Nil),
            }
        })?;
    os.raw_set("getenv", getenv)?;
    let entries = lua.create_table()?;
    for (name, value) in &shared.options.environment {
        let mut entry = name.as_encoded_bytes().to_vec();
        entry.push(b'=');
        entry.extend_from_slice(value.as_encoded_bytes());
        entries.raw_push(lua.create_string(entry)?)?;
    }
    lua.load(include_str!("programs.lua"))
        .set_name("=[panto]")
        .call(entries)
}

/// Has `print` leave standard output to the answer, which programs read.
fn lead_print_away(lua: &Lua, shared: &Rc<Shared>) -> mlua::Result<()> {
    let weak = Rc::downgrade(shared);
    let to_text: mlua::Function = lua.globals().get("tostring")?;
    let print = lua.create_function(move |_, values: mlua::MultiValue| {
        let mut text = String::new();
        for (position, value) in values.into_iter().enumerate() {
            if position > 0 {
                text.push('\t');
            }
            let value: mlua::LuaString = to_text.call(value)?;
            text.push_str(&value.to_string_lossy());
        }
        if let Some(shared) = weak.upgrade() {
            (shared.options.print)(&text);
        }
        Ok(())
    })?;
    lua.globals().raw_set("print", print)
}
