//! Conversations that outlive their process.

use std::fs::{self, OpenOptions};
use std::io::Write;

use rustix::process::Signal;

use crate::support::Machine;

/// Tells how often it was asked, from the conversation alone.
const COUNTING: &str = r#"
[[steps]]
when = { last = "third" }
play = [{ text = "3" }]
[[steps]]
when = { last = "second" }
play = [{ text = "2" }]
[[steps]]
repeat = true
play = [{ text = "1" }]
"#;

#[test]
fn a_session_goes_on_as_the_latest_or_by_its_id() {
    let machine = Machine::with_script(COUNTING);
    assert_eq!(machine.run(&["-p", "first"]).answer(), "1\n");
    assert_eq!(machine.run(&["-p", "second", "--continue"]).answer(), "2\n");
    let id = machine.only_session();
    let prefix = &id[..20];
    assert_eq!(
        machine.run(&["-p", "third", "--resume", prefix]).answer(),
        "3\n"
    );
    let shown = machine.run(&["session", "show", &id]).answer();
    insta::assert_snapshot!(machine.readable(&shown).split_once("UTC").unwrap().1, @"");
}

#[test]
fn without_a_session_nothing_is_written() {
    let machine = Machine::with_script(COUNTING);
    assert_eq!(
        machine.run(&["-p", "first", "--no-session"]).answer(),
        "1\n"
    );
    assert_eq!(machine.session_files().len(), 0);
    insta::assert_snapshot!(machine.run(&["-p", "more", "--continue"]).shown(), @"");
}

#[test]
fn ids_that_name_no_session_or_several() {
    let machine = Machine::with_script(COUNTING);
    machine.run(&["-p", "first"]).answer();
    machine.run(&["-p", "first"]).answer();
    insta::assert_snapshot!(machine.run(&["-p", "x", "--resume", "01"]).shown(), @"");
    insta::assert_snapshot!(machine.run(&["-p", "x", "--resume", "../../etc"]).shown(), @"");
}

#[test]
fn a_corrupt_session_is_named_and_repaired_by_the_doctor() {
    let machine = Machine::with_script(COUNTING);
    machine.run(&["-p", "first"]).answer();
    machine.run(&["-p", "second", "--continue"]).answer();
    let id = machine.only_session();
    let file = machine.session_files().remove(0);
    let text = fs::read_to_string(&file).unwrap();
    let broken = text.replacen("\"type\":\"message\"", "\"type\":mess", 1);
    fs::write(&file, &broken).unwrap();

    insta::assert_snapshot!(machine.run(&["-p", "third", "--resume", &id]).shown(), @"");
    assert_eq!(fs::read_to_string(&file).unwrap(), broken);
    insta::assert_snapshot!(machine.run(&["session", "doctor", &id]).shown(), @"");
    let repaired = machine.run(&["session", "doctor", &id, "--repair"]);
    assert_eq!(repaired.code, Some(0), "{}", repaired.shown());
    assert_eq!(
        machine.run(&["-p", "third", "--resume", &id]).answer(),
        "3\n"
    );
}

#[test]
fn a_line_that_a_crash_tore_does_no_harm() {
    let machine = Machine::with_script(COUNTING);
    machine.run(&["-p", "first"]).answer();
    let file = machine.session_files().remove(0);
    let mut file = OpenOptions::new().append(true).open(file).unwrap();
    file.write_all(b"{\"type\":\"mess").unwrap();
    assert_eq!(machine.run(&["-p", "second", "--continue"]).answer(), "2\n");
    assert_eq!(machine.run(&["-p", "third", "--continue"]).answer(), "3\n");
}

#[test]
fn a_session_in_use_says_by_whom() {
    let machine = Machine::with_script(COUNTING);
    machine.run(&["-p", "first"]).answer();
    machine.write_script("[[steps]]\nplay = [{ text = \"well\" }, { fault = \"stall\" }]");
    let mut holder = machine.start(&["-p", "go", "--continue", "-o", "stream-json"]);
    holder.read_until("assistant_text_delta");
    let ran = machine.run(&["-p", "me too", "--continue"]);
    let shown = ran.shown().replace(&holder.pid().to_string(), "PID");
    insta::assert_snapshot!(shown, @"");
    // Reading does not need the lock.
    machine
        .run(&["session", "show", &machine.only_session()])
        .answer();
}

#[test]
fn a_killed_run_is_gone_on_with() {
    let machine = Machine::with_script(
        r#"
        [[steps]]
        play = [{ tool = "read", input = { path = "x" } }]
        [[steps]]
        play = [{ text = "well" }, { fault = "stall" }]
        "#,
    );
    let mut killed = machine.start(&["-p", "first", "-o", "stream-json"]);
    killed.read_until("assistant_text_delta");
    killed.signal(Signal::KILL);
    assert_eq!(killed.finish().code, None);
    machine.write_script(COUNTING);
    assert_eq!(machine.run(&["-p", "second", "--continue"]).answer(), "2\n");
}
