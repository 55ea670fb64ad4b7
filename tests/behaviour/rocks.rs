//! Rocks: how they load, and how `panto extension` installs them.

mod server;
mod zip;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::{Machine, Ran};
use server::RockServer;

/// An extension that says hello by a command, and how often its file was run.
const NOTES: &str = r#"
runs = (runs or 0) + 1
local panto = require("panto")
local M = { name = "notes", greeting = require("notes.words").greeting }
function M.activate()
  panto.ext.register_command {
    name = "notes",
    description = "Says hello",
    handler = function() return M.greeting .. " " .. runs end,
  }
end
return M
"#;

const WORDS: &str = r#"return { greeting = "hello from a rock" }"#;

fn data(machine: &Machine) -> PathBuf {
    machine.root().join("home/.local/share/panto")
}

fn tree(machine: &Machine) -> PathBuf {
    data(machine).join("rocks/lua-5.4")
}

/// Puts modules where `luarocks` would.
fn put(machine: &Machine, files: &[(&str, &str)]) {
    for (name, text) in files {
        let file = tree(machine).join("share/lua/5.4").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

/// Puts an extension of the user's.
fn extend(machine: &Machine, name: &str, text: &str) {
    let dir = machine.config_dir().join("extensions");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join(name), text).unwrap();
}

fn list(machine: &Machine) -> Value {
    let ran = machine.run(&["extension", "list", "--json"]);
    serde_json::from_str(&ran.answer()).unwrap()
}

/// The status of an extension.
fn status(machine: &Machine, name: &str) -> Value {
    let list = list(machine);
    let extensions = list["extensions"].as_array().unwrap();
    let found = extensions.iter().find(|entry| entry["name"] == name);
    found.map_or(Value::Null, |entry| entry["status"].clone())
}

#[test]
fn a_rock_is_an_extension_and_a_module_of_one_instance() {
    let machine = Machine::without_config();
    put(
        &machine,
        &[("notes/init.lua", NOTES), ("notes/words.lua", WORDS)],
    );
    machine.write_config("[extensions]\nrocks = [\"notes\"]\n");
    // One that is evaluated after it, and requires it and its module too.
    extend(
        &machine,
        "author.lua",
        r#"
        local notes = require("notes")
        assert(require("notes.words").greeting == notes.greeting)
        notes.greeting = "changed by an author"
        return { name = "author", activate = function() end }
        "#,
    );
    let ran = machine.run(&["x", "notes"]);
    assert_eq!(ran.answer(), "changed by an author 1\n");
}

#[test]
fn a_rock_of_a_higher_layer_has_one_instance_too() {
    let machine = Machine::without_config();
    put(
        &machine,
        &[("notes/init.lua", NOTES), ("notes/words.lua", WORDS)],
    );
    // Evaluated before the rock, which only the project names.
    extend(
        &machine,
        "author.lua",
        r#"
        require("notes").greeting = "changed before"
        return { name = "author", activate = function() end }
        "#,
    );
    let project = machine.work().join(".panto");
    fs::create_dir_all(&project).unwrap();
    fs::write(
        project.join("config.toml"),
        "extensions.rocks = [\"notes\"]\n",
    )
    .unwrap();
    let ran = machine.run(&["x", "--trust", "notes"]);
    assert_eq!(ran.answer(), "changed before 1\n");
}

#[test]
fn what_is_shipped_beside_the_base_layer_is_a_rock_of_it() {
    let machine = Machine::without_config();
    list(&machine);
    let staged = fs::read_dir(data(&machine).join("base")).unwrap();
    let staged: Vec<_> = staged.map(|entry| entry.unwrap().path()).collect();
    let rock = staged[0].join("notes");
    fs::create_dir_all(&rock).unwrap();
    fs::write(rock.join("init.lua"), NOTES).unwrap();
    fs::write(rock.join("words.lua"), WORDS).unwrap();
    fs::create_dir_all(staged[0].join("none")).unwrap();
    let found = list(&machine);
    let found = found["extensions"].as_array().unwrap().iter();
    let notes = found.filter(|entry| entry["name"] == "notes" || entry["name"] == "none");
    let notes: Vec<_> = notes
        .map(|entry| (&entry["layer"], &entry["status"]))
        .collect();
    assert_eq!(notes, [(&Value::from("base"), &Value::from("active"))]);
    extend(
        &machine,
        "author.lua",
        r#"
        require("notes").greeting = require("notes.words").greeting .. " of an author"
        return { name = "author", activate = function() end }
        "#,
    );
    let ran = machine.run(&["x", "notes"]);
    assert_eq!(ran.answer(), "hello from a rock of an author 1\n");
}

#[test]
fn a_rock_that_cannot_load_is_named_and_the_rest_works() {
    let machine = Machine::without_config();
    put(
        &machine,
        &[
            ("broken.lua", "return {"),
            ("library.lua", "return { version = 1 }"),
            (
                "notes.lua",
                &NOTES.replace("require(\"notes.words\").greeting", "'hi'"),
            ),
        ],
    );
    machine.write_config(
        "extensions.rocks = [\"gone\", \"broken\", \"library\", \"--tree\", \"notes\"]\n",
    );
    let ran = machine.run(&["x", "notes"]);
    insta::assert_snapshot!(ran.shown(), @"
    exit 0
    -- stdout
    hi 1
    -- stderr
    warning: extension `--tree`: `extensions.rocks`: `--tree` names no rock: letters, digits, `_`, `-` and `.` make a name, and it begins with a letter or a digit
    warning: ROOT/home/.local/share/panto/rocks/lua-5.4/share/lua/5.4/gone.lua: extension `gone`: it is not installed; `panto extension update` installs what is missing, and newer versions
    warning: ROOT/home/.local/share/panto/rocks/lua-5.4/share/lua/5.4/broken.lua: extension `broken`: ...local/share/panto/rocks/lua-5.4/share/lua/5.4/broken.lua:1: unexpected symbol near <eof>; `panto extension update` installs what is missing, and newer versions
    warning: ROOT/home/.local/share/panto/rocks/lua-5.4/share/lua/5.4/library.lua: extension `library`: it returned a table without `name`; expected `{ name, activate }`, `{ name, description, schema, handler }`, or a list of these; `panto extension update` installs what is missing, and newer versions
    ");
    assert_eq!(status(&machine, "gone"), "failed");
    assert_eq!(status(&machine, "notes"), "active");
}

#[test]
fn other_extensions_beat_rocks_of_their_layer() {
    let machine = Machine::without_config();
    put(
        &machine,
        &[("notes.lua", "return { name = 'notes', activate = error }")],
    );
    machine.write_config("extensions.rocks = [\"notes\"]\n");
    extend(
        &machine,
        "mine.lua",
        "return { name = 'notes', activate = function() end }",
    );
    let list = list(&machine);
    let entries = list["extensions"].as_array().unwrap().iter();
    let of_notes: Vec<_> = entries
        .filter(|entry| entry["name"] == "notes")
        .map(|entry| entry["status"].as_str().unwrap())
        .collect();
    assert_eq!(of_notes, ["shadowed", "active"]);
}

#[test]
fn panto_lua_finds_rocks_by_default() {
    let machine = Machine::without_config();
    put(&machine, &[("words.lua", WORDS)]);
    let chunk = "print(require('words').greeting)";
    let ran = machine.run(&["lua", "-e", chunk]);
    assert_eq!(ran.answer(), "hello from a rock\n");
    // `LUA_PATH` replaces the default unless it has it.
    let path = |path| machine.run_with(&[("LUA_PATH", path)], &["lua", "-e", chunk]);
    assert_eq!(path("/nowhere/?.lua;;").code, Some(0));
    assert_eq!(path("/nowhere/?.lua").code, Some(1));
    // Nothing is looked for in the working directory.
    let paths = machine.run(&["lua", "-e", "io.write(package.path, ';', package.cpath)"]);
    let paths = paths.answer();
    assert!(paths.split(';').all(|it| it.starts_with('/')), "{paths}");
    let first = format!("{}/share/lua/5.4/?.lua;", tree(&machine).display());
    assert!(paths.starts_with(&first), "{paths}");
}

#[test]
fn a_bundle_has_no_installed_rocks() {
    let machine = Machine::without_config();
    put(&machine, &[("notes.lua", NOTES)]);
    let bundle = machine.work().join("bundle");
    fs::create_dir_all(&bundle).unwrap();
    fs::write(
        bundle.join("config.toml"),
        "extensions.rocks = [\"notes\"]\n",
    )
    .unwrap();
    let ran = machine.run(&["extension", "list", "--bundle", "bundle"]);
    insta::assert_snapshot!(ran.shown(), @"
    exit 0
    -- stdout
    extensions:
      none
    rocks:
      notes: not installed; `panto extension update` installs it
    -- stderr
    warning: extension `notes`: `extensions.rocks`: a bundle has no rocks that were installed
    ");
}

/// A `luarocks` that notes how it is called, and says what `luarocks` would.
const FAKE: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo "/usr/bin/luarocks ${FAKE_VERSION:-3.8.0}"; exit; fi
{ pwd; env | grep -E '^(ANTHROPIC|LUA|PANTO|TEST)' | sort; for word; do echo "[$word]"; done; echo; } >>"$FAKE_LOG"
case "$*" in *install*fails*) echo "Error: no such rock" >&2; exit 1;; esac
case "$*" in *--outdated*) printf 'old\t1.0-1\t1.1-1\thttp://x\n';; esac
"#;

struct Fake {
    machine: Machine,
    bin: PathBuf,
}

impl Fake {
    fn new() -> Self {
        let machine = Machine::without_config();
        let bin = machine.root().join("bin");
        fs::create_dir_all(&bin).unwrap();
        let program = bin.join("luarocks");
        fs::write(&program, FAKE).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { machine, bin }
    }

    fn run(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
        let path = format!("{}:/usr/bin:/bin", self.bin.display());
        let log = self.log_file();
        let mut all = vec![("PATH", path.as_str()), ("FAKE_LOG", log.to_str().unwrap())];
        all.extend_from_slice(variables);
        self.machine.run_with(&all, arguments)
    }

    fn log_file(&self) -> PathBuf {
        self.machine.root().join("log")
    }

    /// How it was called since the last time.
    fn log(&self) -> String {
        let log = fs::read_to_string(self.log_file()).unwrap_or_default();
        let _ = fs::remove_file(self.log_file());
        let release = panto_runtime::LUA_RELEASE;
        self.machine.readable(&log).replace(release, "RELEASE")
    }

    fn config(&self) -> String {
        fs::read_to_string(self.machine.config_dir().join("config.toml")).unwrap()
    }
}

#[test]
fn luarocks_is_told_about_our_tree_and_our_lua_alone() {
    let fake = Fake::new();
    fake.machine
        .write_config("[extensions]\nrocks_server = \"http://127.0.0.1:9/a=b\" # mine\n");
    let variables = [
        ("LUAROCKS_CONFIG", "/etc/surprise.lua"),
        ("LUA_INIT", "error('surprise')"),
        ("ANTHROPIC_API_KEY", "secret"),
        ("TEST_PASSED_ON", "1"),
    ];
    let ran = fake.run(&variables, &["extension", "add", "notes@1.0-1"]);
    insta::assert_snapshot!(ran.shown(), @"
    exit 0
    -- stdout
    -- stderr
    panto: installing notes
    panto: notes is installed, and in `ROOT/home/.config/panto/config.toml`
    ");
    insta::assert_snapshot!(fake.log(), @"
    ROOT/home/.local/share/panto/rocks
    LUAROCKS_CONFIG_5_4=ROOT/home/.local/share/panto/rocks/luarocks.lua
    PANTO_SESSION_DIR=ROOT/sessions
    TEST_PASSED_ON=1
    [--lua-version=5.4]
    [--lua-dir=ROOT/home/.local/share/panto/lua/RELEASE]
    [--tree=ROOT/home/.local/share/panto/rocks/lua-5.4]
    [--only-server=http://127.0.0.1:9/a=b]
    [install]
    [notes]
    [1.0-1]
    ");
    insta::assert_snapshot!(fake.config(), @r#"
    [extensions]
    rocks_server = "http://127.0.0.1:9/a=b" # mine
    rocks = ["notes"]
    "#);
    let prefix = data(&fake.machine)
        .join("lua")
        .join(panto_runtime::LUA_RELEASE);
    assert!(prefix.join("include/lua.h").is_file());
    let asked = Command::new(prefix.join("bin/lua"))
        .args(["-e", "io.stdout:write(_VERSION)"])
        .output()
        .unwrap();
    assert_eq!(asked.stdout, b"Lua 5.4");
}

/// A list without the extensions that panto ships.
fn own(listed: &str) -> String {
    let lines = listed.split_inclusive('\n');
    lines.filter(|line| !line.contains(" (base): ")).collect()
}

#[test]
fn update_installs_what_is_missing_and_what_is_newer() {
    let fake = Fake::new();
    fake.machine
        .write_config("extensions.rocks = [\"new\", \"old\", \"fails\", \"same\"]\n");
    for rock in ["old", "same"] {
        let installed = tree(&fake.machine).join("lib/luarocks/rocks-5.4");
        fs::create_dir_all(installed.join(rock).join("1.0-1")).unwrap();
    }
    let ran = fake.run(&[], &["extension", "update"]);
    insta::assert_snapshot!(ran.shown(), @"
    exit 1
    -- stdout
    -- stderr
    panto: same is up to date
    panto: installing new
    panto: installing fails
    panto: installing old
    error: `luarocks install fails` failed:
        Error: no such rock
    ");
    let log = fake.log();
    let installed: Vec<_> = log
        .split("[install]\n")
        .skip(1)
        .map(|call| call.lines().next().unwrap())
        .collect();
    assert_eq!(installed, ["[new]", "[fails]", "[old]"]);
    let listed = fake.machine.run(&["extension", "list"]).stdout;
    insta::assert_snapshot!(fake.machine.readable(&own(&listed)), @"
    extensions:
      new (user): failed; ROOT/home/.local/share/panto/rocks/lua-5.4/share/lua/5.4/new.lua
      old (user): failed; ROOT/home/.local/share/panto/rocks/lua-5.4/share/lua/5.4/old.lua
      fails (user): failed; ROOT/home/.local/share/panto/rocks/lua-5.4/share/lua/5.4/fails.lua
      same (user): failed; ROOT/home/.local/share/panto/rocks/lua-5.4/share/lua/5.4/same.lua
    rocks:
      old 1.0-1: in `extensions.rocks`
      same 1.0-1: in `extensions.rocks`
      new: not installed; `panto extension update` installs it
      fails: not installed; `panto extension update` installs it
    ");
}

#[test]
fn remove_takes_the_rock_from_the_list_and_from_the_tree() {
    let fake = Fake::new();
    let list = "[extensions]\nrocks = [\n  \"other\", # stays\n  \"notes\",\n]\n";
    fake.machine.write_config(list);
    let installed = tree(&fake.machine).join("lib/luarocks/rocks-5.4/notes/1.0-1");
    fs::create_dir_all(installed).unwrap();
    let ran = fake.run(&[], &["extension", "remove", "notes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    assert!(fake.log().ends_with("[remove]\n[notes]\n\n"));
    assert_eq!(
        fake.config(),
        "[extensions]\nrocks = [\n  \"other\", # stays\n]\n"
    );
    // What is only named needs no program.
    let ran = fake.machine.run(&["extension", "remove", "other"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let ran = fake.machine.run(&["extension", "remove", "other"]);
    insta::assert_snapshot!(ran.shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: there is no rock `other`
      hint: `panto extension list` lists those that are installed
    ");
}

#[test]
fn without_luarocks_it_says_how_to_get_it() {
    let fake = Fake::new();
    let nothing = fake.machine.root().join("empty");
    let path = [("PATH", nothing.to_str().unwrap())];
    let ran = fake.run(&path, &["extension", "add", "notes"]);
    insta::assert_snapshot!(ran.shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: rocks are installed by `luarocks`, which is not there
      hint: install LuaRocks 3.8 or newer: `apt install luarocks` on Debian and Ubuntu, `dnf install luarocks` on Fedora, `brew install luarocks` on macOS
    ");
    let ran = fake.run(&[("FAKE_VERSION", "3.7.0")], &["extension", "add", "notes"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("too old"), "{}", ran.stderr);
    assert!(!fake.machine.config_dir().join("config.toml").exists());
}

#[test]
fn what_is_no_name_never_reaches_luarocks() {
    let fake = Fake::new();
    for name in [
        "--tree=/",
        "http://x/y.rockspec",
        "../x",
        "CC=evil",
        "a b",
        "x@--force",
    ] {
        let ran = fake.run(&[], &["extension", "add", "--", name]);
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.shown());
    }
    assert_eq!(fake.log(), "");
}

#[test]
fn an_untrusted_project_cannot_have_rocks_installed() {
    let fake = Fake::new();
    let project = fake.machine.work().join(".panto");
    fs::create_dir_all(&project).unwrap();
    let hostile = "[extensions]\nrocks = [\"evil\"]\nrocks_server = \"http://127.0.0.1:9\"\n";
    fs::write(project.join("config.toml"), hostile).unwrap();
    let ran = fake.run(&[], &["extension", "update"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let warning = "config.toml: ignored `extensions.rocks`, `extensions.rocks_server`";
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    assert_eq!(fake.log(), "");
    let ran = fake.run(&[], &["extension", "add", "notes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let log = fake.log();
    assert!(!log.contains("evil") && !log.contains("127.0.0.1"), "{log}");
    // A run that trusts it does what it says.
    let ran = fake.run(&[], &["extension", "update", "--trust"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(fake.log().contains("[evil]"));
}

/// Whether the real program is there. Where it must be, as in `.ci/run`, its absence is a failure.
#[expect(clippy::print_stderr, reason = "a test that is not run says so")]
fn has_luarocks() -> bool {
    let must = std::env::var_os("PANTO_TEST_LUAROCKS").is_some();
    let asked = Command::new("luarocks").arg("--version").output();
    let is_there = asked.is_ok_and(|output| output.status.success());
    assert!(
        is_there || !must,
        "`PANTO_TEST_LUAROCKS` is set, and there is no `luarocks`"
    );
    if !is_there {
        eprintln!("not tested: there is no `luarocks` on this machine");
    }
    is_there
}

const NATIVE: &str = r#"
#include "lua.h"
#include "lauxlib.h"

static int twice(lua_State *L) {
  lua_pushinteger(L, 2 * luaL_checkinteger(L, 1));
  return 1;
}

int luaopen_twice(lua_State *L) {
  lua_newtable(L);
  lua_pushcfunction(L, twice);
  lua_setfield(L, -2, "twice");
  return 1;
}
"#;

fn greeter(greeting: &str) -> String {
    format!(
        r#"
local panto, twice = require("panto"), require("twice")
return {{
  name = "greeter",
  activate = function()
    panto.ext.register_command {{
      name = "greet",
      description = "Greets",
      handler = function() return "{greeting} " .. twice.twice(21) end,
    }}
  end,
}}
"#
    )
}

#[test]
fn rocks_in_lua_and_in_c_come_from_a_server_and_load() {
    if !has_luarocks() {
        return;
    }
    let server = RockServer::start();
    server.publish_archive("twice", "1.0-1", "twice.c", NATIVE);
    server.publish(
        "greeter",
        "1.0-1",
        "greeter.lua",
        &greeter("hello"),
        &["twice"],
    );
    let machine = Machine::without_config();
    machine.write_config(&format!(
        "# Mine.\nextensions.rocks_server = \"{}\"\n",
        server.url()
    ));
    let path = std::env::var("PATH").unwrap();
    let run = |arguments: &[&str]| machine.run_with(&[("PATH", &path)], arguments);

    let ran = run(&["extension", "add", "greeter"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert_eq!(run(&["x", "greet"]).answer(), "hello 42\n");
    let ran = run(&["lua", "-e", "print(require('twice').twice(4))"]);
    assert_eq!(ran.answer(), "8\n");
    let config = fs::read_to_string(machine.config_dir().join("config.toml")).unwrap();
    assert!(config.starts_with("# Mine.\n"), "{config}");
    let listed = run(&["extension", "list"]).answer();
    insta::assert_snapshot!(machine.readable(&own(&listed)), @"
    extensions:
      greeter (user): active; ROOT/home/.local/share/panto/rocks/lua-5.4/share/lua/5.4/greeter.lua
    rocks:
      greeter 1.0-1: in `extensions.rocks`
      twice 1.0-1
    ");

    // A newer one; the headers are staged again if they are gone.
    server.publish(
        "greeter",
        "1.1-1",
        "greeter.lua",
        &greeter("good day"),
        &["twice"],
    );
    fs::remove_dir_all(data(&machine).join("lua")).unwrap();
    let ran = run(&["extension", "update"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert_eq!(run(&["x", "greet"]).answer(), "good day 42\n");
    let ran = run(&["extension", "update"]);
    assert_eq!(ran.stderr, "panto: greeter is up to date\n");

    // What another rock needs is not removed.
    let ran = run(&["extension", "remove", "twice"]);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    let ran = run(&["extension", "remove", "greeter"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert_eq!(run(&["x", "greet"]).code, Some(2));
    // Nothing is anywhere but in the data home.
    let home = fs::read_dir(machine.root().join("home")).unwrap();
    let mut names: Vec<_> = home.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".config", ".local"]);
}

#[test]
fn a_rock_that_does_not_build_changes_nothing() {
    if !has_luarocks() {
        return;
    }
    let server = RockServer::start();
    server.publish("twice", "1.0-1", "twice.c", "this is no C", &[]);
    let machine = Machine::without_config();
    let config = format!("extensions.rocks_server = \"{}\"\n", server.url());
    machine.write_config(&config);
    let path = std::env::var("PATH").unwrap();
    for rock in ["twice", "gone"] {
        let ran = machine.run_with(&[("PATH", &path)], &["extension", "add", rock]);
        assert_eq!(ran.code, Some(1), "{}", ran.shown());
        let what = format!("error: `luarocks install {rock}` failed:");
        assert!(ran.stderr.contains(&what), "{}", ran.stderr);
    }
    let after = fs::read_to_string(machine.config_dir().join("config.toml")).unwrap();
    assert_eq!(after, config);
}

const DELEGATION: &str = include_str!("../../rocks/subagents/panto-subagents-0.1.0-1.rockspec");

/// The modules of the rock that panto ships for delegation.
fn modules_of_delegation() -> Vec<(String, String)> {
    let dir = crate::repository::root().join("rocks/subagents");
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "lua"))
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// S0-1: its rockspec has every module.
#[test]
fn the_rock_of_delegation_has_all_its_modules() {
    let named: Vec<_> = DELEGATION
        .lines()
        .filter_map(|line| line.trim().strip_prefix("[\"")?.split("\"] = \"").nth(1))
        .map(|file| file.trim_end_matches("\",").to_owned())
        .collect();
    let mut there: Vec<_> = modules_of_delegation()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let mut named = named;
    named.sort();
    there.sort();
    assert_eq!(named, there);
}

/// S0-1, E-45: installed, it takes the place of the one that is shipped, with all its modules.
#[test]
fn delegation_can_be_installed_as_a_rock() {
    if !has_luarocks() {
        return;
    }
    let server = RockServer::start();
    server.publish_packed(
        "panto-subagents",
        "0.1.0-1",
        DELEGATION,
        &modules_of_delegation(),
    );
    let machine = Machine::with_script(
        "[[steps]]\nwhen = { last = \"go\" }\nplay = [{ tool = \"subagents.run\", input = { agent = \"general\", prompt = \"Task.\" } }]\n\
         [[steps]]\nwhen = { system = \"You are a child agent\" }\nplay = [{ text = \"Fine.\" }]\n\
         [[steps]]\nplay = [{ text = \"Done.\" }]\n",
    );
    let config = fs::read_to_string(machine.config_dir().join("config.toml")).unwrap();
    machine.write_config(&format!(
        "extensions.rocks_server = \"{}\"\n{config}",
        server.url()
    ));
    let path = std::env::var("PATH").unwrap();
    let run = |arguments: &[&str]| machine.run_with(&[("PATH", &path)], arguments);
    let ran = run(&["extension", "add", "panto-subagents"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let listed = run(&["extension", "list"]).answer();
    let installed = listed
        .lines()
        .find(|line| line.contains("subagents (user)"));
    assert!(
        installed.is_some_and(|line| line.contains("active") && line.contains("/rocks/")),
        "{listed}"
    );
    let ran = run(&["-p", "go", "-o", "stream-json"]);
    assert_eq!(ran.result()["text"], "Done.", "{}", ran.shown());
    assert!(ran.stdout.contains("Fine."), "{}", ran.stdout);
}
