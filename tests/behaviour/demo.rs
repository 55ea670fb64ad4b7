//! `panto demo`: everything at work, without a key.

use crate::support::Machine;

#[test]
fn the_demo_needs_nothing_and_leaves_a_session() {
    let machine = Machine::without_config();
    let mut ran = machine.run(&["demo"]);
    ran.stderr = in_call_order(&ran.stderr);
    insta::assert_snapshot!(ran.shown());
    let id = machine.only_session();
    let shown = machine.run(&["session", "show", &id]).answer();
    assert!(shown.contains("12 * 7 / 20 = 4.2"), "{shown}");
}

#[test]
fn the_demo_speaks_json_too() {
    let machine = Machine::without_config();
    let ran = machine.run(&["demo", "--output", "stream-json"]);
    assert_eq!(ran.stderr, "");
    let result = ran.result();
    assert_eq!(result["status"], "completed");
    assert_eq!(result["usage"]["input"], 1661);
}

#[test]
fn the_demo_needs_not_even_a_home() {
    let machine = Machine::without_config();
    let mut command = machine.command(&["demo"]);
    let output = command.env_clear().output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(errors.contains("the conversation is not kept"), "{errors}");
    assert!(!errors.contains("--resume"), "{errors}");
}

#[test]
fn its_session_goes_on_with_another_model_and_without_its_tools() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"hello\" }]");
    machine.run(&["demo"]);
    let id = machine.only_session();
    let ran = machine.run(&["-p", "and now?", "--resume", &id]);
    assert_eq!(ran.answer(), "hello\n");
}

/// The calls of one answer run at the same time, and which is done first is left to chance: puts
/// the results that stand together in order.
fn in_call_order(notes: &str) -> String {
    let mut lines: Vec<&str> = notes.split_inclusive('\n').collect();
    for results in lines.chunk_by_mut(|a, b| a.contains(" ok: ") == b.contains(" ok: ")) {
        if results[0].contains(" ok: ") {
            results.sort_unstable();
        }
    }
    lines.concat()
}
