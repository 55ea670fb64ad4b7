//! Ctrl+C and requests to terminate.

use rustix::process::Signal;

use crate::support::Machine;

const STALLED: &str = "[[steps]]\nplay = [{ text = \"so far\" }, { fault = \"stall\" }]";

#[test]
fn the_first_ctrl_c_settles_the_turn_and_keeps_what_there_is() {
    let machine = Machine::with_script(STALLED);
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    running.read_until("assistant_text_delta");
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, Some(130), "{}", ran.shown());
    let result = ran.result();
    assert_eq!(result["status"], "cancelled");
    assert_eq!(result["text"], "so far");
    assert_eq!(result["exit_code"], 130);
    insta::assert_snapshot!(ran.stderr, @"panto: interrupted; `panto -p --resume ID` goes on from there");
    let shown = machine
        .run(&["session", "show", &machine.only_session()])
        .answer();
    assert!(shown.contains("so far"), "{shown}");
    machine.write_script("[[steps]]\nplay = [{ text = \"more\" }]");
    assert_eq!(machine.run(&["-p", "on", "--continue"]).answer(), "more\n");
}

#[test]
fn a_request_to_terminate_and_a_lost_terminal_do_the_same() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let machine = Machine::with_script(STALLED);
        let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
        running.read_until("assistant_text_delta");
        running.signal(signal);
        let ran = running.finish();
        assert_eq!(ran.code, Some(code), "{}", ran.shown());
        assert_eq!(ran.result()["status"], "cancelled");
    }
}

#[test]
fn two_signals_at_once_are_one() {
    let machine = Machine::with_script(STALLED);
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    running.read_until("assistant_text_delta");
    // As `timeout` does: to the process, then to its group.
    running.signal(Signal::TERM);
    running.signal(Signal::INT);
    let ran = running.finish();
    assert!(matches!(ran.code, Some(130 | 143)), "{}", ran.shown());
    assert_eq!(ran.result()["status"], "cancelled");
}

// Elsewhere nothing tells what the process was started to ignore.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_is_to_be_ignored_is() {
    let machine = Machine::with_script(STALLED);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]);
    let mut running = machine.start_by(&mut shell, &["-p", "go", "-o", "stream-json"]);
    running.read_until("assistant_text_delta");
    running.signal(Signal::HUP);
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, Some(130), "{}", ran.shown());
}

// Elsewhere nothing shows that the program listens already.
#[cfg(target_os = "linux")]
#[test]
fn signals_are_heeded_while_standard_input_is_read() {
    let machine = Machine::with_script(STALLED);
    let mut command = machine.command(&["-p", "go", "-o", "json"]);
    command.stdin(std::process::Stdio::piped());
    let running = machine.start_command(&mut command);
    // There is nothing to see yet: the signal may come before there is a listener.
    running.wait_for_thread("stdin");
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, Some(130), "{}", ran.shown());
    let result = ran.result();
    assert_eq!(result["status"], "cancelled");
    assert_eq!(result["session_id"], serde_json::Value::Null);
}

#[test]
fn a_signal_ends_a_result_that_nobody_reads() {
    let machine =
        Machine::with_script("[[steps]]\nplay = [{ text = \"0123456789\", count = 100000 }]");
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut running = machine.start(&["-p", "go", "-o", "json"]);
        // The result has begun; the rest of it does not fit into the pipe.
        running.read_some();
        running.signal(signal);
        assert_eq!(running.wait(), Some(code));
    }
}

#[test]
fn a_second_ctrl_c_exits_at_once() {
    // Nobody reads, so that the turn cannot settle before the second signal.
    let machine =
        Machine::with_script("[[steps]]\nplay = [{ text = \"0123456789\", count = 1000000 }]");
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    running.read_until("assistant_text_delta");
    assert_eq!(running.insist(Signal::INT), Some(130));
}

#[test]
fn one_signal_ends_a_stream_that_nobody_reads() {
    let machine =
        Machine::with_script("[[steps]]\nplay = [{ text = \"0123456789\", count = 1000000 }]");
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    running.read_until("assistant_text_delta");
    running.signal(Signal::TERM);
    assert_eq!(running.wait(), Some(143));
}

/// Lua holds the thread meanwhile, so nobody looks before all of it is loaded.
#[test]
fn a_signal_while_extensions_load_ends_the_run_before_the_model_is_asked() {
    let kill = "local uv = require('luv') uv.kill(uv.os_getpid(), 'sigterm') uv.sleep(300)";
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"asked\" }]");
    machine.file(
        "home/.config/panto/extensions/loads.lua",
        &format!("{kill} return {{}}"),
    );
    for arguments in [&["-p", "go", "-o", "json"][..], &["x", "whatever"], &["x"]] {
        let ran = machine.run(arguments);
        assert_eq!(ran.code, Some(143), "{}", ran.shown());
        assert!(!ran.stdout.contains("asked"), "{}", ran.shown());
    }
    machine.file("home/.config/panto/extensions/loads.lua", "return {}");
    machine.extension("activates", &kill.replace("sigterm", "sigint"));
    let ran = machine.run(&["-p", "go", "-o", "json"]);
    assert_eq!(ran.code, Some(130), "{}", ran.shown());
    assert_eq!(ran.result()["status"], "cancelled");
    assert_eq!(
        machine.session_files(),
        [""; 0].map(std::path::PathBuf::from)
    );
}
