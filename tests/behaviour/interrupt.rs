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
    let shown = machine
        .run(&["session", "show", &machine.only_session()])
        .answer();
    assert!(shown.contains("so far"), "{shown}");
    machine.write_script("[[steps]]\nplay = [{ text = \"more\" }]");
    assert_eq!(machine.run(&["-p", "on", "--continue"]).answer(), "more\n");
}

#[test]
fn a_request_to_terminate_does_the_same() {
    let machine = Machine::with_script(STALLED);
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    running.read_until("assistant_text_delta");
    running.signal(Signal::TERM);
    let ran = running.finish();
    assert_eq!(ran.code, Some(143), "{}", ran.shown());
    assert_eq!(ran.result()["status"], "cancelled");
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
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    let code = running.wait();
    // Which of two signals comes first when both are pending is the system's choice.
    assert!(matches!(code, Some(130 | 143)), "{code:?}");
}
