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
