//! `panto lua`: what it runs, and how it tells of errors.

use std::fs;

use crate::support::Machine;

fn machine() -> Machine {
    Machine::without_config()
}

#[test]
fn chunks_and_libraries_run_in_their_order_and_then_the_script() {
    let machine = machine();
    fs::write(
        machine.work().join("script.lua"),
        "#!/usr/bin/env panto\nprint('script', x, ...)\nfor i = -1, #arg do print(i, arg[i]) end\n",
    )
    .unwrap();
    let ran = machine.run(&[
        "lua",
        "-e",
        "x = 1",
        "-l",
        "s=string",
        "-e",
        "x = x + s.len('ab')",
        "script.lua",
        "-v",
        "b c",
    ]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit 0
    -- stdout
    script	3	-v	b c
    -1	x = x + s.len('ab')
    0	script.lua
    1	-v
    2	b c
    -- stderr
    ");
}

#[test]
fn without_a_script_arg_begins_with_the_command() {
    let ran = machine().run(&["lua", "-e", "print(arg[0], arg[1], #arg)"]);
    assert_eq!(ran.answer(), "lua\t-e\t2\n");
}

/// A program in Lua that reads its arguments from `arg` can be run from a chunk.
#[test]
fn arg_is_a_table_as_any() {
    let chunk = "arg[0] = 'rocks'; arg[1] = nil; print(arg[0], arg[1]); arg = nil";
    assert_eq!(
        machine().run(&["lua", "-e", chunk]).answer(),
        "rocks\tnil\n"
    );
}

#[test]
fn standard_input_is_a_script_too() {
    let machine = machine();
    let script = b"print('read', ..., arg[0])";
    let named = machine.run_with_input(&["lua", "-", "one"], script);
    assert_eq!(named.answer(), "read\tone\t-\n");
    assert_eq!(
        machine.run_with_input(&["lua"], script).answer(),
        "read\tnil\tlua\n"
    );
}

#[test]
fn errors_are_told_as_by_the_program_lua() {
    let machine = machine();
    fs::write(
        machine.work().join("fails.lua"),
        "local function inner() error('no luck') end\nlocal function outer() inner() end\nouter()\n",
    )
    .unwrap();
    insta::assert_snapshot!(machine.run(&["lua", "fails.lua"]).shown(), @"
    exit 1
    -- stdout
    -- stderr
    panto lua: fails.lua:1: no luck
    stack traceback:
    	[C]: in function 'error'
    	fails.lua:1: in upvalue 'inner'
    	fails.lua:2: in local 'outer'
    	fails.lua:3: in main chunk
    	[C]: in ?
    ");
    let told = |chunk: &str| {
        let ran = machine.run(&["lua", "-e", chunk]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
        ran.stderr.lines().next().unwrap().to_owned()
    };
    assert_eq!(
        told("x x"),
        "panto lua: (command line):1: syntax error near 'x'"
    );
    assert_eq!(
        told("error({})"),
        "panto lua: (error object is a table value)"
    );
    assert_eq!(told("error()"), "panto lua: (error object is a nil value)");
    assert_eq!(
        told("error(setmetatable({}, { __tostring = function() return 'of its own' end }))"),
        "panto lua: of its own"
    );
    assert_eq!(told("error('\\27[2Jred', 0)"), "panto lua: red");
    let missing = machine.run(&["lua", "missing.lua"]);
    assert_eq!(missing.code, Some(1));
    assert!(
        missing
            .stderr
            .starts_with("panto lua: cannot open missing.lua"),
        "{}",
        missing.stderr
    );
}

#[test]
fn the_variables_of_lua_are_heeded() {
    let machine = machine();
    fs::write(machine.work().join("found.lua"), "return 'found'").unwrap();
    let here = format!("{}/?.lua;;", machine.work().display());
    let chunk = "print(x, pcall(require, 'found'))";
    let run = |variables: &[(&str, &str)], flags: &[&str]| {
        let arguments = [&["lua"], flags, &["-e", chunk]].concat();
        let answer = machine.run_with(variables, &arguments).answer();
        answer
            .lines()
            .next()
            .unwrap()
            .split('\t')
            .take(3)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let path = ("LUA_PATH", here.as_str());
    assert_eq!(
        run(&[path, ("LUA_INIT", "x = 'init'")], &[]),
        "init true found"
    );
    // What is for this version counts more.
    let other = ("LUA_PATH_5_4", "/nowhere/?.lua");
    assert!(run(&[path, other], &[]).starts_with("nil false module 'found' not found"));
    assert!(run(&[path, ("LUA_INIT", "x = 1")], &["-E"]).starts_with("nil false "));
    fs::write(machine.work().join("init.lua"), "x = 'file'").unwrap();
    assert_eq!(
        run(
            &[path, ("LUA_INIT_5_4", "@init.lua"), ("LUA_INIT", "error()")],
            &[]
        ),
        "file true found"
    );
    let broken = machine.run_with(&[("LUA_INIT", "error('no')")], &["lua", "-e", "print(1)"]);
    assert_eq!((broken.code, broken.stdout.as_str()), (Some(1), ""));
    assert!(
        broken.stderr.starts_with("panto lua: LUA_INIT:1: no\n"),
        "{}",
        broken.stderr
    );
}

/// The working directory may be a stranger's.
#[test]
fn modules_are_not_looked_for_in_the_working_directory() {
    let machine = machine();
    fs::write(machine.work().join("found.lua"), "print('taken in')").unwrap();
    let chunk = "assert(not pcall(require, 'found'))
        assert(not (package.path .. package.cpath):find('%./'), package.path)";
    machine.run(&["lua", "-e", chunk]).answer();
}

#[test]
fn the_version_is_printed() {
    let answer = machine().run(&["lua", "-v"]).answer();
    let expected = format!(
        "Lua {}, in panto {}\n",
        panto_runtime::LUA_RELEASE,
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(answer, expected);
}

#[test]
fn another_directory_is_entered_and_the_script_is_found_from_here() {
    let machine = machine();
    let work = machine.work();
    fs::create_dir(work.join("below")).unwrap();
    fs::write(
        work.join("where.lua"),
        "print(require('luv').cwd(), arg[0])",
    )
    .unwrap();
    let answer = machine
        .run(&["lua", "--cwd", "below", "where.lua"])
        .answer();
    let work = work.display();
    assert_eq!(answer, format!("{work}/below\t{work}/where.lua\n"));
}

#[test]
fn nothing_to_run_at_a_terminal_is_a_usage_error() {
    let machine = machine();
    let terminal = std::fs::File::open("/dev/ptmx");
    // A system without pseudo-terminals shows nothing here.
    if let Ok(terminal) = terminal {
        let output = machine.command(&["lua"]).stdin(terminal).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}

// Elsewhere there is no device that is always full.
#[cfg(target_os = "linux")]
#[test]
fn output_that_could_not_be_written_is_an_error_however_it_was_written() {
    let machine = Machine::without_config();
    for chunk in ["print(1)", "io.write(1)", "print(1) io.stdout:flush()"] {
        let mut command = machine.command(&["lua", "-e", chunk]);
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        command.stdout(full.unwrap());
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{chunk}: {said}");
        assert!(said.contains("could not write the output"), "{said}");
    }
}
