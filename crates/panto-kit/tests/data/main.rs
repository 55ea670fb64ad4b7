//! What Lua gets of the readers, as Lua programs.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod page;
mod stub;

use std::sync::Arc;

use mlua::{FromLuaMulti, Lua, Table};
use panto_kit::themes::Themes;
use panto_lua::Embedding;

/// A Lua state with the module as `panto` and its data functions as `ext`.
struct Machine {
    lua: Lua,
    ext: Table,
    // Agents would run here; the module wants one.
    _runtime: tokio::runtime::Runtime,
}

fn machine(themes: &Arc<Themes>) -> Machine {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let lua = Lua::new();
    let module = panto_lua::open(&lua, Embedding::new(runtime.handle().clone())).unwrap();
    let ext = panto_kit::data(&lua, &module, Arc::clone(themes)).unwrap();
    lua.globals().set("panto", module.table().clone()).unwrap();
    lua.globals().set("ext", ext.clone()).unwrap();
    lua.load("function raised(f, ...) return select(2, pcall(f, ...)) end")
        .exec()
        .unwrap();
    Machine {
        lua,
        ext,
        _runtime: runtime,
    }
}

#[track_caller]
fn eval<R: FromLuaMulti>(source: &str) -> R {
    let machine = machine(&Arc::default());
    let chunk = machine.lua.load(source).set_name("=test");
    chunk.eval().unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn exec(source: &str) {
    eval::<()>(source);
}

#[track_caller]
fn text(source: &str) -> String {
    eval(source)
}

#[test]
fn frontmatter_gives_data_body_and_diagnostics() {
    exec(
        r#"
        local data, body, diagnostics = ext.frontmatter(
          "---\nname: x\ntools: [a, b]\nnone: []\nn: 7\nv: 007\non: true\nat: { k: v }\nd: a: b\n---\nBody")
        assert(data.name == "x" and data.tools[2] == "b" and data.at.k == "v")
        assert(data.n == 7 and data.v == "007" and data.on == true and data.d == "a: b")
        assert(panto.json.encode(data.none) == "[]")
        assert(body == "Body")
        for i, code in ipairs({ "type", "not_yaml" }) do
          assert(diagnostics[i].code == code)
        end
        assert(diagnostics[1].level == "info" and diagnostics[1].line == 6 and diagnostics[1].column == 4)

        local data, body, diagnostics = ext.frontmatter("just text")
        assert(data == nil and body == "just text" and #diagnostics == 0)
        local data, body, diagnostics = ext.frontmatter("---\nname: \xff\n---\n")
        assert(data == nil and body == nil and diagnostics[1].level == "error")
        "#,
    );
}

#[test]
fn toml_gives_tables_or_where_it_is_wrong() {
    exec(
        r#"
        local document = assert(ext.toml('a = 1\nf = 1.5\nd = 2026-01-01\nlist = []\n[[t]]\nx = "y"\n[[t]]\n'))
        assert(document.a == 1 and document.f == 1.5 and document.d == "2026-01-01")
        assert(document.t[1].x == "y" and #document.t == 2)
        assert(panto.json.encode(document.list) == "[]")
        local none, message = ext.toml("a = 1\nb = ")
        assert(none == nil and message:find("line 2, column 5", 1, true), message)
        "#,
    );
}

#[test]
fn validate_gives_true_or_each_problem_with_its_place() {
    exec(
        r#"
        local schema = {
          type = "object",
          required = { "name" },
          properties = { name = { type = "string" }, tags = { type = "array", items = { type = "string" } } },
        }
        assert(ext.validate(schema, { name = "x", tags = panto.json.array {} }) == true)
        local valid, message, problems = ext.validate(schema, { tags = { "a", 1 } })
        assert(valid == nil and #problems == 2)
        table.sort(problems, function(a, b) return a.pointer < b.pointer end)
        assert(problems[1].pointer == "" and problems[1].keyword == "required")
        assert(problems[2].pointer == "/tags/1" and problems[2].keyword == "type")
        assert(message:find("/tags/1: ", 1, true))
        assert(ext.validate(true, panto.json.null) == true)
        -- A schema that changes is another one.
        schema.required = { "other" }
        assert(not ext.validate(schema, { name = "x" }))
        local valid, message, problems = ext.validate({ type = "text" }, 1)
        assert(valid == nil and problems == nil and message:find("not a JSON Schema: /type", 1, true), message)
        local valid, message = ext.validate({ description = ("x"):rep(2 ^ 20) }, 1)
        assert(valid == nil and message:find("bytes", 1, true))
        "#,
    );
}

#[test]
fn highlight_colours_what_it_knows() {
    exec(
        r#"
        assert(ext.highlight("return 1", "lua"):find("\27[", 1, true))
        assert(ext.highlight("return 1") == "return 1")
        assert(ext.highlight("a\27[2J\xff", "no-such") == "a[2J\u{fffd}")
        "#,
    );
}

#[test]
fn styles_are_listed_read_and_set() {
    exec(
        r##"
        assert(ext.style().error.fg == "red")
        local none, message = ext.style("mine")
        assert(none == nil and message == 'no style is named "mine"')
        local mine = assert(ext.style("mine", { fg = "#010203", bg = 17, bold = true, dim = false }))
        assert(mine.fg == "#010203" and mine.bg == "17" and mine.bold and mine.dim == nil)
        assert(mine.open == "\27[1;38;2;1;2;3;48;5;17m" and mine.close == "\27[22;39;49m")
        -- What was given can be given back.
        assert(ext.style("other", mine).open == mine.open)
        local none, message = ext.style("no name", {})
        assert(none == nil and message)
        "##,
    );
}

#[test]
fn a_style_outlives_the_state_that_set_it() {
    let themes = Arc::<Themes>::default();
    let first = machine(&themes);
    first
        .lua
        .load("ext.style('mine', { underline = true })")
        .exec()
        .unwrap();
    drop(first);
    let second = machine(&themes);
    let kept: bool = second
        .lua
        .load("return ext.style('mine').underline")
        .eval()
        .unwrap();
    assert!(kept);
}

#[test]
fn misuse_raises_with_the_name_of_the_argument() {
    insta::assert_snapshot!(text("return raised(ext.frontmatter)"), @"bad argument 'text' to 'frontmatter' (string expected, got nil)");
    insta::assert_snapshot!(text("return raised(ext.toml, 1)"), @"bad argument 'text' to 'toml' (string expected, got number)");
    insta::assert_snapshot!(text("return raised(ext.validate, 'x', 1)"), @"bad argument 'schema' to 'validate' (table expected, got string)");
    insta::assert_snapshot!(text("return raised(ext.validate, {})"), @"bad argument 'value' to 'validate' (value expected, got nil; null is `json.null`)");
    insta::assert_snapshot!(text("return raised(ext.validate, {}, { print })"), @"bad argument 'value' to 'validate' ([1] is a function, which JSON cannot say)");
    insta::assert_snapshot!(text("return raised(ext.highlight, {})"), @"bad argument 'body' to 'highlight' (string expected, got table)");
    insta::assert_snapshot!(text("return raised(ext.highlight, '', 1)"), @"bad argument 'slug' to 'highlight' (string expected, got number)");
    insta::assert_snapshot!(text("return raised(ext.style, 1)"), @"bad argument 'name' to 'style' (string expected, got number)");
    insta::assert_snapshot!(text("return raised(ext.style, nil, {})"), @"bad argument 'name' to 'style' (string expected, got nil)");
    insta::assert_snapshot!(text("return raised(ext.style, 'x', { colour = 'red' })"), @"bad argument 'values' to 'style' (unknown field `colour`; it takes `fg`, `bg`, `bold`, `dim`, `italic`, `underline`, `reverse`, `strikethrough`, `open`, `close`)");
    insta::assert_snapshot!(text("return raised(ext.style, 'x', { fg = 'reddish' })"), @"bad argument 'fg' to 'style' (a colour is `#rrggbb`, a number up to 255, or a name such as `red` or `bright_red`)");
}
