//! `docs/luv.md` says what is there: its table is made from the module and from the list of what luv documents.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mlua::{Lua, Table, Value};
use panto_luv::Options;

/// A function that luv documents.
struct Documented {
    chapter: &'static str,
    name: &'static str,
    /// As `timer:start`; `timer` is what the method is tried on.
    method: Option<&'static str>,
    note: &'static str,
}

fn documented() -> Vec<Documented> {
    let mut chapter = "";
    let mut list = Vec::new();
    for line in include_str!("documented.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(heading) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            chapter = heading;
            continue;
        }
        let mut parts = line.splitn(3, " | ");
        let name = parts.next().unwrap();
        let method = parts.next().filter(|method| *method != "-");
        list.push(Documented {
            chapter,
            name,
            method,
            note: parts.next().unwrap_or_default(),
        });
    }
    list
}

/// The module, and a value of each kind by its name in the list.
fn module() -> (Lua, Table, Table) {
    let lua = Lua::new();
    panto_luv::install(&lua, Options::new()).unwrap();
    let module: Table = lua.load("return require('luv')").eval().unwrap();
    let values: Table = lua
        .load(
            r#"
            local uv = require("luv")
            return {
              req = uv.fs_stat("/", function() end),
              timer = uv.new_timer(), prepare = uv.new_prepare(), check = uv.new_check(), idle = uv.new_idle(),
              async = uv.new_async(print), poll = uv.new_poll(uv.pipe().read), signal = uv.new_signal(),
              process = uv.spawn("/bin/true", {}, print), tcp = uv.new_tcp(), pipe = uv.new_pipe(), udp = uv.new_udp(),
              tty = uv.new_tty(uv.pipe().read, true), fs_event = uv.new_fs_event(), fs_poll = uv.new_fs_poll(),
              dir = uv.fs_opendir("/"), work = uv.new_work(function() end, print), sem = uv.new_sem(),
              thread = uv.thread_self(),
            }
            "#,
        )
        .eval()
        .unwrap();
    (lua, module, values)
}

/// Whether a method, as the list writes it, is there.
fn has_method(lua: &Lua, values: &Table, method: &str) -> bool {
    let (kind, name) = method.split_once(':').unwrap();
    let value: Value = values.get(kind).unwrap();
    assert!(!value.is_nil(), "no value of kind {kind}");
    lua.load("local value, name = ... return value[name] ~= nil")
        .call((value, name))
        .unwrap()
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/luv.md")
}

fn table(module: &Table) -> String {
    let mut text = String::new();
    let mut chapter = "";
    for one in documented() {
        if one.chapter != chapter {
            chapter = one.chapter;
            text += &format!(
                "\n### {chapter}\n\n| function | method | here | note |\n|---|---|---|---|\n"
            );
        }
        let here = module.contains_key(one.name).unwrap();
        let method = one
            .method
            .map_or(String::new(), |method| format!("`{method}`"));
        let note = one.note.strip_prefix("absent: ").unwrap_or(one.note);
        let here = if here { "yes" } else { "**no**" };
        text += &format!("| `{}` | {method} | {here} | {note} |\n", one.name);
    }
    text
}

#[test]
fn every_documented_function_is_there_or_has_a_reason() {
    let (lua, module, values) = module();
    let mut wrong = Vec::new();
    for one in documented() {
        let here = module.contains_key(one.name).unwrap();
        if here == one.note.starts_with("absent: ") {
            wrong.push(format!(
                "{}: here is {here}, note is `{}`",
                one.name, one.note
            ));
        }
        if let Some(method) = one.method
            && has_method(&lua, &values, method) != here
        {
            wrong.push(format!("{method}: is not as its function"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn nothing_is_there_that_is_not_documented() {
    let (_lua, module, _) = module();
    let known: BTreeSet<String> = documented().iter().map(|one| one.name.to_owned()).collect();
    let extra: Vec<String> = module
        .pairs::<String, Value>()
        .map(|pair| pair.unwrap().0)
        .filter(|name| !known.contains(name) && name != "constants" && name != "errno")
        .collect();
    assert_eq!(extra, [""; 0]);
}

#[test]
fn the_page_has_the_table_of_the_code() {
    let (_lua, module, _) = module();
    let text = std::fs::read_to_string(page()).unwrap();
    let (before, rest) = text.split_once("<!-- functions: generated -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- functions: end -->").unwrap();
    let generated = table(&module);
    let here = generated.matches("| yes |").count();
    let all = documented().len();
    let expected = format!(
        "{before}<!-- functions: generated -->\n\n{here} of {all} functions are here.\n{generated}\n<!-- functions: end -->{after}"
    );
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(page(), expected).unwrap();
    } else {
        assert!(
            text == expected,
            "docs/luv.md is out of date: run UPDATE_DOCS=1 cargo test -p panto-luv --test page"
        );
    }
}

/// The Lua examples of the page run: each in a state of its own, to the end of its loop.
#[test]
fn the_examples_of_the_page_run() {
    let text = std::fs::read_to_string(page()).unwrap();
    let examples: Vec<&str> = text
        .split("```lua\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(!examples.is_empty());
    for example in examples {
        let lua = Lua::new();
        let variables = [("PATH".into(), "/bin:/usr/bin".into())];
        let failed = std::rc::Rc::new(std::cell::RefCell::new(None));
        let failure = std::rc::Rc::clone(&failed);
        let options = Options::new()
            .environment(variables)
            .on_error(move |error| *failure.borrow_mut() = Some(error.to_string()));
        let uv = panto_luv::install(&lua, options).unwrap();
        lua.load("function print() end").exec().unwrap();
        lua.load(example).exec().unwrap();
        uv.run(panto_luv::Mode::Default).unwrap();
        assert_eq!(*failed.borrow(), None, "{example}");
    }
}
