//! `panto.ext.files` as Lua sees it, and `lua/files.lua`, which says what there is.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

use std::collections::BTreeSet;
use std::rc::Rc;

use mlua::{Lua, Table, Value};
use panto_lua::{Embedding, Enclosing, Surroundings};
use pantograph::{AgentId, Cancel};
use tokio::runtime::Runtime;

const STUB: &str = include_str!("../lua/files.lua");

struct Machine {
    lua: Lua,
    files: Table,
    _runtime: Runtime,
}

/// Code runs for a turn with this signal.
struct InTurn(Cancel);

impl Surroundings for InTurn {
    fn enclosing(&self, _: &Lua) -> Option<Enclosing> {
        Some(Enclosing {
            agent: AgentId::new(uuid::Uuid::nil()),
            label: None,
            cancel: self.0.clone(),
        })
    }
}

fn machine(cancel: &Cancel) -> Machine {
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let lua = Lua::new();
    let embedding = Embedding::new(runtime.handle().clone());
    let embedding = embedding.surroundings(Rc::new(InTurn(cancel.clone())));
    let module = panto_lua::open(&lua, embedding).unwrap();
    let files = panto_kit::files(&lua, &module, runtime.handle().clone()).unwrap();
    lua.globals().set("files", &files).unwrap();
    Machine {
        lua,
        files,
        _runtime: runtime,
    }
}

impl Machine {
    /// What a chunk gives, with `folder` as its argument.
    #[track_caller]
    fn eval(&self, folder: &std::path::Path, source: &str) -> String {
        let chunk = self.lua.load(source).set_name("=test");
        chunk.call(folder.to_str().unwrap()).unwrap()
    }
}

#[test]
fn the_stub_says_what_there_is() {
    let machine = machine(&Cancel::new());
    let declared: BTreeSet<&str> = STUB
        .lines()
        .filter_map(|line| line.strip_prefix("function files.")?.split('(').next())
        .collect();
    let functions = machine.files.pairs::<String, Value>();
    let there: BTreeSet<String> = functions.map(|pair| pair.unwrap().0).collect();
    assert_eq!(declared, there.iter().map(String::as_str).collect());
}

/// The fields of a class of the stub, with those of the class that it extends.
fn fields(class: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut inside = false;
    for line in STUB.lines() {
        if let Some(rest) = line.strip_prefix("---@class ") {
            let (name, parent) = rest.split_once(": ").unwrap_or((rest, ""));
            inside = name == class;
            if inside && !parent.is_empty() {
                found.extend(fields(parent));
            }
        } else if let Some(field) = line.strip_prefix("---@field ") {
            if inside {
                found.extend(field.split_whitespace().next().map(str::to_owned));
            }
        } else {
            inside = false;
        }
    }
    found
}

#[test]
fn misuse_raises_and_names_what_there_is() {
    let machine = machine(&Cancel::new());
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("LinesOptions", "files.lines('x', { wrong = 1 })"),
        ("ReplaceOptions", "files.replace('x', '', { wrong = 1 })"),
        ("DiffOptions", "files.diff('', '', { wrong = 1 })"),
        ("SearchOptions", "files.search { wrong = 1 }"),
        ("WalkOptions", "files.walk { wrong = 1 }"),
    ];
    for (class, call) in cases {
        let source = format!("return select(2, pcall(function() {call} end))");
        let message = machine.eval(folder.path(), &source);
        let (_, taken) = message.split_once("it takes ").expect(&message);
        let taken: BTreeSet<String> = taken
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        assert_eq!(fields(&format!("panto.ext.files.{class}")), taken);
    }
    let calls = [
        "files.read()",
        "files.read('')",
        "files.lines('x', { offset = 0 })",
        "files.encode('x', 'ebcdic')",
        "files.replace('x', 'y', { expect = true })",
        "files.replace('x', 'y', { mode = 65536 })",
        "files.walk { path = 'x', kind = 'pipe' }",
        "files.search { path = 'x', pattern = 'x', globs = 'y' }",
    ];
    let said: Vec<_> = calls
        .map(|call| {
            let source = format!("return select(2, pcall(function() {call} end))");
            machine.eval(folder.path(), &source)
        })
        .into();
    insta::assert_snapshot!(said.join("\n"), @"
    test:1: bad argument 'path' to 'read' (string expected, got nil)
    test:1: bad argument 'path' to 'read' (a path expected, got an empty string)
    test:1: bad argument 'offset' to 'lines' (positions are counted from 1)
    test:1: bad argument 'encoding' to 'encode' (one of utf-8, utf-8-bom, utf-16le, utf-16be, latin-1 expected)
    test:1: bad argument 'expect' to 'replace' (string expected, got boolean)
    test:1: bad argument 'mode' to 'replace' (a mode expected)
    test:1: bad argument 'kind' to 'walk' (`file`, `directory`, `link` or `other` expected)
    test:1: bad argument 'globs' to 'search' (table expected, got string)
    ");
}

#[test]
fn files_are_read_changed_and_found() {
    let machine = machine(&Cancel::new());
    let folder = tempfile::tempdir().unwrap();
    let shown = machine.eval(
        folder.path(),
        r#"
        local folder = ...
        local path = folder .. "/a/f\255.txt"
        local out = {}
        local function say(...) out[#out + 1] = table.concat({ ... }, " ") end
        say(select(3, files.read(path)))
        say(select(3, files.replace(path, "x")))
        local made = assert(files.replace(path, "one\r\ntwo", { create_parents = true, expect = false }))
        say(tostring(made.is_new), tostring(made.path == path))
        say(select(3, files.replace(path, "x", { expect = false })))
        local bytes, fingerprint = files.read(path)
        say(bytes:gsub("\r\n", "|"), tostring(fingerprint == made.fingerprint))
        assert(files.replace(path, "needle", { expect = fingerprint }))
        say(select(3, files.replace(path, "x", { expect = fingerprint })))
        local lines = files.lines(path)
        say(lines.kind, lines.lines[1], lines.encoding, lines.newline, lines.total)
        local found = files.search { path = folder, pattern = "need" }
        say(found.matches, found.files[1].path == path and "there" or "elsewhere")
        local walked = files.walk { path = folder, kind = "directory" }
        say(walked.total, walked.entries[1].path == folder .. "/a" and "there" or "elsewhere")
        say(select(3, files.walk { path = folder .. "/no" }))
        local difference = files.diff("a\n", "b\n")
        say(difference.text, difference.added, difference.removed)
        say(select(3, files.decode("\0")), select(3, files.encode("€", "latin-1")))
        say(files.encode(files.decode("\xFF\xFEa\0").text, "utf-16le"):gsub("[\0\x80-\xFF]", "."))
        return table.concat(out, "\n")
        "#,
    );
    insta::assert_snapshot!(shown, @"
    not_found
    io
    true true
    exists
    one|two true
    changed
    text needle utf-8 none 1
    1 there
    1 there
    not_found
    @@ -1 +1 @@
    -a
    +b
     1 1
    binary unencodable
    ..a. 3
    ");
}

#[test]
fn work_for_a_turn_that_was_asked_to_stop_is_cancelled() {
    let cancel = Cancel::new();
    let machine = machine(&cancel);
    let folder = tempfile::tempdir().unwrap();
    cancel.ask_within(std::time::Duration::from_secs(1));
    let source = r#"return table.concat({ select(2, files.walk { path = ... }) }, " ")"#;
    let shown = machine.eval(folder.path(), source);
    assert_eq!(shown, "cancelled cancelled");
    // What has begun to write is done.
    let source = r#"return assert(files.replace(... .. "/f", "x")).fingerprint"#;
    assert!(!machine.eval(folder.path(), source).is_empty());
}
