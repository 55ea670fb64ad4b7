//! How `panto lua` ends: by itself, interrupted, and when nobody reads any more.

use std::fs;

use rustix::process::Signal;

use crate::support::Machine;

fn machine() -> Machine {
    Machine::without_config()
}

#[test]
fn the_state_is_closed_at_the_end_and_output_is_written() {
    let machine = machine();
    let chunk = "local x <close> = setmetatable({}, { __close = function() print('closed') end })
        y = setmetatable({}, { __gc = function() print('collected') end })
        io.write('\\0\\255'); io.write('written, ')";
    let output = machine.command(&["lua", "-e", chunk]).output().unwrap();
    assert_eq!(output.stdout, b"\0\xffwritten, closed\ncollected\n");
    let exits = [
        ("io.write('a') os.exit(7)", 7, "a"),
        ("io.write('b') os.exit(true, true)", 0, "b"),
        (
            "setmetatable({}, { __gc = function() io.write('c') end }) os.exit(false, true)",
            1,
            "c",
        ),
        (
            "local uv = require('luv') require('panto')
             local timer = uv.new_timer()
             timer:start(1, 0, function() io.write('d') os.exit(3, true) end)
             uv.run()",
            3,
            "d",
        ),
    ];
    for (chunk, code, stdout) in exits {
        let ran = machine.run(&["lua", "-e", chunk]);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(code), stdout, "")
        );
    }
}

// Only Linux has a device that is always full.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_at_the_end_is_an_error() {
    let machine = machine();
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = machine
        .command(&["lua", "-e", "io.write(1)"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        stderr,
        "panto lua: could not write the output: No space left on device\n"
    );
}

#[test]
fn ctrl_c_interrupts_a_chunk() {
    let machine = machine();
    let mut running = machine.start(&[
        "lua",
        "-e",
        "print('on') io.stdout:flush() while true do end",
    ]);
    running.read_until("on");
    running.signal(Signal::INT);
    insta::assert_snapshot!(running.finish().shown(), @"
    exit 130
    -- stdout
    -- stderr
    panto lua: interrupted!
    stack traceback:
    	(command line):1: in main chunk
    	[C]: in ?
    ");
}

#[test]
fn ctrl_c_interrupts_whichever_coroutine_runs() {
    let machine = machine();
    for spin in [
        "coroutine.wrap(spin)()",
        "assert(coroutine.resume(coroutine.create(spin)))",
        "coroutine.wrap(function() coroutine.wrap(spin)() end)()",
        // It spends its time in going from one to the other.
        "spin_on = coroutine.wrap(function() while true do coroutine.yield() end end) print('on') io.stdout:flush() while true do spin_on() end",
        "local uv = require('luv') uv.new_timer():start(0, 0, coroutine.wrap(spin)) uv.run()",
        "local co = coroutine.create(function() local x <close> = setmetatable({}, { __close = spin }) coroutine.yield() end)
         coroutine.resume(co) assert(coroutine.close(co))",
    ] {
        let chunk =
            format!("function spin() print('on') io.stdout:flush() while true do end end {spin}");
        let mut running = machine.start(&["lua", "-e", &chunk]);
        running.read_until("on");
        running.signal(Signal::INT);
        let ran = running.finish();
        assert_eq!(ran.code, Some(130), "{spin}: {}", ran.shown());
        assert!(ran.stderr.contains("interrupted!"), "{}", ran.shown());
    }
}

#[test]
fn ctrl_c_interrupts_a_loop_that_waits_and_one_that_works() {
    let machine = machine();
    for body in ["", "while true do end"] {
        let chunk = format!(
            "local uv = require('luv')
             local timer = uv.new_timer()
             timer:start(0, 100000, function() print('on') io.stdout:flush() {body} end)
             x = setmetatable({{}}, {{ __gc = function() print('closed') end }})
             uv.run()"
        );
        let mut running = machine.start(&["lua", "-e", &chunk]);
        running.read_until("on");
        running.signal(Signal::INT);
        let ran = running.finish();
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(130), "closed\n"),
            "{}",
            ran.shown()
        );
        assert!(ran.stderr.starts_with("panto lua: "), "{}", ran.shown());
        assert!(
            ran.stderr.contains("interrupted!\nstack traceback:\n"),
            "{}",
            ran.shown()
        );
    }
}

#[test]
fn a_chunk_may_survive_the_first_ctrl_c_but_not_the_second() {
    let machine = machine();
    let chunk = "print(pcall(function() print('on') io.stdout:flush() while true do end end))
        io.stdout:flush() while true do end";
    let mut running = machine.start(&["lua", "-e", chunk]);
    running.read_until("on");
    running.signal(Signal::INT);
    running.read_until("false\tinterrupted!");
    running.signal(Signal::INT);
    // Ended by the signal itself.
    assert_eq!(running.wait(), None);
}

#[test]
fn a_chunk_that_watches_for_ctrl_c_is_not_interrupted() {
    let machine = machine();
    let chunk = "local uv = require('luv')
        local signal = uv.new_signal()
        signal:start('sigint', function() print('heard') signal:close() end)
        print('on') io.stdout:flush() uv.run()";
    let mut running = machine.start(&["lua", "-e", chunk]);
    running.read_until("on");
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "heard\n", "")
    );
}

#[test]
fn output_that_nobody_reads_ends_the_program() {
    let machine = machine();
    for chunk in ["", "require('luv') require('panto')"] {
        let chunk = format!("{chunk} while true do print('on') end");
        let mut running = machine.start(&["lua", "-e", &chunk]);
        running.read_until("on");
        let ran = running.stop_reading();
        // Ended by SIGPIPE, as the program `lua` is.
        assert_eq!((ran.code, ran.stderr.as_str()), (None, ""));
    }
}
