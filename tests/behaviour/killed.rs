//! `kill -9` at any moment: the conversation goes on. The scripted model refuses every request that
//! a provider would refuse, such as one with a call that has no result.

use rustix::process::Signal;

use crate::support::Machine;

/// Answers a prompt with two calls, and their results with a text.
const SCRIPT: &str = r#"
[[steps]]
when = { last_role = "user" }
repeat = true
play = [
    { text = "Let me see.", chunks = 3 },
    { tool = "read", input = { path = "x" } },
    { tool = "read", input = { path = "y" } },
]

[[steps]]
when = { last_role = "tool" }
repeat = true
play = [{ text = "It is so.", chunks = 3 }]
"#;

#[test]
fn a_session_survives_a_kill_after_any_event() {
    let machine = Machine::with_script(SCRIPT);
    let whole = machine.run(&["-p", "whole", "--no-session", "-o", "stream-json"]);
    let events = whole.answer().lines().count();
    assert!(events > 20, "{events}");
    for lines in 0..=events {
        let begun = !machine.session_files().is_empty();
        let mut arguments = vec!["-p", "go", "-o", "stream-json"];
        arguments.extend(begun.then_some("--continue"));
        let mut running = machine.start(&arguments);
        running.read_lines(lines);
        running.signal(Signal::KILL);
        running.finish();
    }
    let last = machine.run(&["-p", "last", "--continue", "-o", "json"]);
    assert_eq!(last.result()["status"], "completed", "{}", last.shown());
    let id = machine.only_session();
    machine.run(&["session", "doctor", &id]).answer();
}

#[test]
fn a_run_that_waits_for_its_model_can_be_killed() {
    let machine = Machine::with_script(
        "[[steps]]\nplay = [{ tool = \"read\", input = {} }]\n\
         [[steps]]\nplay = [{ text = \"well\" }, { fault = \"stall\" }]",
    );
    let mut killed = machine.start(&["-p", "first", "-o", "stream-json"]);
    killed.read_until("assistant_text_delta");
    killed.signal(Signal::KILL);
    assert_eq!(killed.finish().code, None);
    machine.write_script(SCRIPT);
    let ran = machine.run(&["-p", "second", "--continue"]);
    assert_eq!(ran.answer(), "Let me see.\nIt is so.\n");
}
