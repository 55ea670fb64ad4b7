//! Bad input: each is one named diagnostic, and the rest works.

use panto_host::host::ExtensionStatus;
use pantograph_scripted::{Script, Step};
use serde_json::json;

use crate::support::{Desk, ask};

/// A desk with one good extension beside what a test adds.
fn desk() -> Desk {
    Desk::new(Script::new().step(Step::call("good", json!({}))).step("Done.")).extension(
        "good",
        "panto.ext.register_tool { name = 'good', description = 'd', schema = { type = 'object' }, handler = function() return 'fine' end }",
    )
}

/// What is said, once the good extension has worked.
fn said(desk: &Desk) -> String {
    desk.run(async |_, mut live| {
        ask(&mut live, "go").await;
        let transcript = live.handle.agent().conversation().transcript();
        assert!(transcript.contains("fine"), "{transcript}");
        live.end().await;
    });
    desk.said().join("\n")
}

#[test]
fn sources_that_cannot_be_loaded() {
    let desk = desk()
        .file(
            "config/panto/extensions/a_syntax.lua",
            "local x =\nreturn {",
        )
        .file("config/panto/extensions/b_raises.lua", "\nerror('at load')")
        .file("config/panto/extensions/c_number.lua", "return 42")
        .file(
            "config/panto/extensions/d_shape.lua",
            "return { description = 'no name' }",
        )
        .file(
            "config/panto/extensions/e_neither.lua",
            "return { name = 'e' }",
        )
        .file("config/panto/extensions/f_binary.lua", b"\x1bLuaXYZ")
        .file("config/panto/extensions/g_nothing.lua", "")
        .file(
            "config/panto/extensions/h_requires.lua",
            "return require('not_there_at_all')",
        )
        .file("config/panto/extensions/i_waits.lua", "coroutine.yield()")
        .file(
            "config/panto/extensions/j_object.lua",
            "error(setmetatable({}, { __tostring = function() return 'an object' end }))",
        )
        .file(
            "config/panto/extensions/k_loop/init.lua",
            "return require('a')",
        )
        .file(
            "config/panto/extensions/k_loop/a.lua",
            "return require('b')",
        )
        .file(
            "config/panto/extensions/k_loop/b.lua",
            "return require('a')",
        );
    insta::assert_snapshot!(said(&desk));
}

#[test]
fn extensions_that_fail_to_activate_leave_nothing_behind() {
    let register = "panto.ext.register_command { name = 'left', description = 'd', handler = function() end }\n\
                    panto.ext.on('turn_start', function() error('left behind') end)\n\
                    panto.ext.section('left', 'behind')";
    let desk = desk()
        .extension("raises", &format!("{register}\nerror('no')"))
        .extension("nothing", "error(nil)")
        .extension("schema", "panto.ext.register_tool { name = 's', description = 'd', schema = 'no table', handler = print }")
        .extension("fields", "panto.ext.register_tool { name = 's', description = 'd', schema = {} }");
    let said = said(&desk);
    insta::assert_snapshot!(said);
}

/// Their names are free again, and what they closed on the way may register, too.
#[test]
fn extensions_that_fail_to_activate_leave_no_tool_and_no_protocol() {
    let register = "local tool = { name = 'twice', description = 'd', schema = { type = 'object' }, handler = print }\n\
                    panto.ext.register_tool(tool)\n\
                    panto.ext.register_protocol { name = 'spoken', open = print, close = function()\n\
                      panto.ext.register_command { name = 'closed', description = 'd', handler = print }\n\
                    end }";
    let desk = desk()
        .extension("a_raises", &format!("{register}\nerror('no')"))
        .extension(
            "b_loops",
            &format!("{register}\nwhile true do panto.ext.register_tool(tool) end"),
        )
        .extension("c_works", register);
    let tools = desk.run(async |_, mut live| {
        ask(&mut live, "go").await;
        let tools = live.handle.agent().tools();
        let extensions = live.host.extensions();
        let works = extensions.iter().find(|it| it.name == "c_works");
        let works = works.map(|it| it.status.clone());
        live.end().await;
        let names = tools.iter().map(|tool| tool.name.to_string());
        (names.collect::<Vec<_>>(), works)
    });
    let names = vec!["twice".to_owned(), "good".to_owned()];
    assert_eq!(tools, (names, Some(ExtensionStatus::Active)));
    insta::assert_snapshot!(desk.said().join("\n"));
}

#[test]
fn an_activation_that_loops_or_never_returns_is_stopped() {
    let desk = desk()
        .extension("loops", "while true do end")
        .extension("parks", "require('luv').new_timer() coroutine.yield()");
    let began = std::time::Instant::now();
    insta::assert_snapshot!(said(&desk));
    assert!(began.elapsed() < std::time::Duration::from_secs(30));
}

#[test]
fn handlers_that_raise_yield_or_loop_do_not_hold_the_turn() {
    let desk = desk()
        .extension(
            "raises",
            "panto.ext.on('turn_start', function() error({}) end)",
        )
        .extension(
            "yields",
            "panto.ext.on('tool_result', function() coroutine.yield() end)",
        )
        .extension(
            "loops",
            "panto.ext.on('assistant_text_complete', function() while true do end end)",
        );
    insta::assert_snapshot!(said(&desk));
}

#[test]
fn files_of_every_odd_kind() {
    let desk = desk().file("config/panto/extensions/a\nb.lua", "error('odd name')");
    let extensions = desk.path("config/panto/extensions");
    std::os::unix::fs::symlink("loop", extensions.join("loop")).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", extensions.join("dangling.lua")).unwrap();
    std::fs::create_dir_all(extensions.join("init_is_a_directory/init.lua")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(extensions.join("fifo.lua"))
        .status();
    assert!(made.unwrap().success());
    insta::assert_snapshot!(said(&desk));
}

#[test]
fn a_panto_that_is_a_file_is_said_and_nothing_else() {
    let desk = desk().file("project/.panto", "not a directory");
    insta::assert_snapshot!(said(&desk), @"warning: ROOT/project/.panto: this is no directory, so the project has no extensions, skills or configuration");
}

#[test]
fn a_large_schema_is_taken() {
    let desk = desk().extension(
        "large",
        "local properties = {}\nfor i = 1, 20000 do properties['property_number_' .. i] = { type = 'string', description = 'x' } end\n\
         panto.ext.register_tool { name = 'large', description = 'd', schema = { type = 'object', properties = properties }, handler = print }",
    );
    assert_eq!(said(&desk), "");
}

#[test]
fn what_is_panto_s_own_is_not_taken_and_bytecode_is_not_loaded() {
    let desk = desk()
        .extension(
            "a_protocol",
            "panto.ext.register_protocol { name = 'scripted', open = print }",
        )
        .extension(
            "b_bytecode",
            "local bytes = string.dump(function() return 1 end)\n\
             for _, mode in ipairs { 'b', 'bt', 't' } do\n\
               local chunk, message = load(bytes, 'x', mode)\n\
               assert(chunk == nil and type(message) == 'string', mode)\n\
             end\n\
             assert(not load(bytes))\n\
             local env = {}\n\
             load('x = 1', 'x', 't', env)()\n\
             assert(env.x == 1 and load('return ...')(2) == 2)\n\
             local file = io.open('bytecode.luac', 'wb') file:write(bytes) file:close()\n\
             local loaded, ran = loadfile('bytecode.luac'), pcall(dofile, 'bytecode.luac')\n\
             os.remove('bytecode.luac')\n\
             assert(not loaded and not ran)",
        );
    insta::assert_snapshot!(said(&desk), @"error: ROOT/config/panto/extensions/a_protocol.lua:3: extension `a_protocol`: bad argument 'protocol' to 'register_protocol' (the protocol `scripted` is panto's own)");
}

#[test]
fn a_long_error_is_cut() {
    let desk = desk().extension("long", "error(('x'):rep(5e6))");
    let said = said(&desk);
    assert!(said.len() < 3000, "{}", said.len());
    assert!(said.contains("extension `long`: xxx"), "{said}");
}

#[test]
fn an_empty_message_is_refused_where_it_is_made() {
    let desk = desk().extension(
        "empties",
        "panto.ext.on('user_message', function(event) event.text = ' ' end)\n\
         panto.ext.on('turn_end', function() panto.ext.agent:submit('') end)",
    );
    insta::assert_snapshot!(said(&desk));
}

#[test]
fn lists_are_arrays_in_json_when_they_are_empty() {
    let desk = desk().extension(
        "lists",
        "local list = panto.ext.models { query = 'no such model at all' }\n\
         assert(panto.json.encode(list) == '[]')\n\
         assert(panto.json.encode(panto.conversation():messages()) == '[]')",
    );
    assert_eq!(said(&desk), "");
}
