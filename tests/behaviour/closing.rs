//! The end of the process: what extensions leave behind does not keep it.

use std::time::{Duration, Instant};

use crate::support::{Machine, Ran};

/// Answers one prompt with an extension whose `activate` is `body`.
fn answered(body: &str) -> Ran {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"hello\" }]");
    machine.extension("stays", body);
    let began = Instant::now();
    let ran = machine.run(&["-p", "hi"]);
    // Much longer than any limit, and much shorter than what the extension wants.
    assert!(began.elapsed() < Duration::from_secs(40), "{}", ran.shown());
    ran
}

#[test]
fn finalizers_that_loop_are_stopped() {
    for body in [
        "_G.kept = setmetatable({}, { __gc = function() while true do end end })",
        "debug.setmetatable(require('luv').new_timer(), { __gc = function() while true do end end })",
        "for i = 1, 20 do _G[i] = setmetatable({}, { __gc = function() while true do end end }) end",
        "_G.kept = setmetatable({}, { __gc = function() while true do pcall(function() while true do end end) end end })",
    ] {
        let ran = answered(body);
        assert_eq!(ran.answer(), "hello\n");
    }
}

#[test]
fn a_finalizer_in_c_that_does_not_come_back_is_left() {
    let ran = answered(
        "_G.kept = setmetatable({}, { __gc = function() (('a'):rep(40)):find(('a?'):rep(40) .. ('a'):rep(40)) end })",
    );
    insta::assert_snapshot!(ran.shown(), @"
    exit 0
    -- stdout
    hello
    -- stderr
    warning: Lua did not end: a finalizer (`__gc`) does not come back
    ");
}

#[test]
fn finalizers_run_when_the_state_is_closed() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"hello\" }]");
    machine.extension(
        "says",
        "_G.kept = setmetatable({}, { __gc = function() io.stderr:write('finalized\\n') end })",
    );
    let ran = machine.run(&["-p", "hi"]);
    assert_eq!(ran.stderr, "finalized\n", "{}", ran.shown());
}

/// Each is called once: what took too long is not called again.
#[test]
fn callbacks_that_loop_again_and_again_are_stopped() {
    for handle in [
        "local timer = uv.new_timer() timer:start(0, 1, loop)",
        "local idle = uv.new_idle() idle:start(loop)",
    ] {
        let ran = answered(&format!(
            "local uv = require('luv') local function loop() while true do end end {handle}"
        ));
        let told = ran.stderr.matches("ran too long without a pause").count();
        assert_eq!((told, &*ran.stdout), (1, "hello\n"), "{}", ran.shown());
    }
}

/// Whether the process of this file's number is there, and no zombie.
fn is_running(file: &std::path::Path) -> bool {
    let pid = std::fs::read_to_string(file).unwrap();
    let status = std::process::Command::new("ps")
        .args(["-o", "stat=", "-p", pid.trim()])
        .output()
        .unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    !matches!(status.trim().chars().next(), None | Some('Z'))
}

/// Until it does not run any more.
fn wait_for_end(file: &std::path::Path) {
    let began = Instant::now();
    while is_running(file) {
        assert!(began.elapsed() < Duration::from_secs(20), "{file:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn programs_that_an_extension_started_end_with_the_session() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"hello\" }]");
    machine.extension(
        "starts",
        "local uv = require('luv')\n\
         local function start(name, command, options)\n\
           options.args = { '-c', 'echo $$ > ' .. name .. '.new; mv ' .. name .. '.new ' .. name .. '; ' .. command }\n\
           local handle = assert(uv.spawn('/bin/sh', options))\n\
           if options.detached then uv.unref(handle) end\n\
           while not uv.fs_stat(name) do uv.sleep(5) end\n\
         end\n\
         start('plain', 'exec sleep 600', {})\n\
         start('stubborn', 'trap \"\" TERM; while true; do sleep 600; done', {})\n\
         start('daemon', 'exec sleep 600', { detached = true })",
    );
    assert_eq!(machine.run(&["-p", "hi"]).answer(), "hello\n");
    wait_for_end(&machine.work().join("plain"));
    wait_for_end(&machine.work().join("stubborn"));
    let daemon = machine.work().join("daemon");
    assert!(is_running(&daemon));
    let pid = std::fs::read_to_string(daemon).unwrap();
    let pid = pid.trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn the_second_ctrl_c_kills_what_a_tool_has_started() {
    let command = "trap '' TERM INT; echo $$ > new; mv new pid; while true; do sleep 600; done";
    let machine = Machine::with_script(&format!(
        "[[steps]]\nplay = [{{ tool = \"shell\", input = {{ command = \"{command}\" }} }}]"
    ));
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    running.read_until("tool_dispatch_start");
    let file = machine.work().join("pid");
    while !file.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(is_running(&file));
    assert_eq!(running.insist(rustix::process::Signal::INT), Some(130));
    wait_for_end(&file);
}
