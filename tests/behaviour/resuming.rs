//! Conversations that outlive their process.

use std::fs::{self, OpenOptions};
use std::io::Write;

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
    insta::assert_snapshot!(machine.readable(&shown).split_once("UTC").unwrap().1, @r"


    [user]
      first

    [assistant]
      1

    [user]
      second

    [assistant]
      2

    [user]
      third

    [assistant]
      3
    ");
}

#[test]
fn without_a_session_nothing_is_written() {
    let machine = Machine::with_script(COUNTING);
    assert_eq!(
        machine.run(&["-p", "first", "--no-session"]).answer(),
        "1\n"
    );
    assert_eq!(machine.session_files().len(), 0);
    insta::assert_snapshot!(machine.run(&["-p", "more", "--continue"]).shown(), @r"
    exit 2
    -- stdout
    -- stderr
    error: there is no session of `ROOT/work` to go on with
      hint: leave --continue out to begin one, or name the directory with --cwd
    ");
}

#[test]
fn ids_that_name_no_session_or_several() {
    let machine = Machine::with_script(COUNTING);
    machine.run(&["-p", "first"]).answer();
    machine.run(&["-p", "first"]).answer();
    insta::assert_snapshot!(machine.run(&["-p", "x", "--resume", "01"]).shown(), @r"
    exit 2
    -- stdout
    -- stderr
    error: `01` is the beginning of several ids (candidates: ID, ID)
      hint: give more of the id
    ");
    insta::assert_snapshot!(machine.run(&["-p", "x", "--resume", "../../etc"]).shown(), @r"
    exit 2
    -- stdout
    -- stderr
    error: no session `../../etc` (nearest: ID, ID)
      hint: `panto sessions` lists those of this directory; --cwd DIR names another one
    ");
}

#[test]
fn a_session_of_another_directory_is_found_by_its_id() {
    let machine = Machine::with_script(COUNTING);
    machine.run(&["-p", "first"]).answer();
    let id = machine.only_session();
    std::fs::create_dir(machine.work().join("below")).unwrap();
    let ran = machine.run(&["-p", "x", "--cwd", "below", "--resume", &id]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit 2
    -- stdout
    -- stderr
    error: no session `ID`
      hint: it belongs to another directory: add --cwd ROOT/work
    ");
}

#[test]
fn a_corrupt_session_is_named_and_repaired_by_the_doctor() {
    let machine = Machine::with_script(COUNTING);
    machine.run(&["-p", "first"]).answer();
    machine.run(&["-p", "second", "--continue"]).answer();
    let id = machine.only_session();
    let file = machine.session_files().remove(0);
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let broken = text.replace(lines[2], &lines[2].replacen("\"message\"", "mess", 1));
    fs::write(&file, &broken).unwrap();

    insta::assert_snapshot!(machine.run(&["-p", "third", "--resume", &id]).shown(), @r"
    exit 2
    -- stdout
    -- stderr
    error: `ROOT/sessions/+ROOT+work/ID.jsonl`, line 3, column 9: expected value
      hint: `panto session doctor ID` says what can be saved; the file was not touched
    ");
    assert_eq!(fs::read_to_string(&file).unwrap(), broken);
    let examined = machine.run(&["session", "doctor", &id]);
    insta::assert_snapshot!(machine.readable(&examined.shown()), @r"
    exit 2
    -- stdout
    ROOT/sessions/+ROOT+work/ID.jsonl
    3 records can be read
    line 3, column 9: expected value
      repair: the line is left out
    line 4, column 63: its parent `ID` is not there
      repair: it names `ID` instead
    -- stderr
    error: session `ID` has 2 problems
      hint: `panto session doctor ID --repair` repairs the file and keeps the old one beside it
    ");
    let repaired = machine.run(&["session", "doctor", &id, "--repair"]);
    assert_eq!(repaired.code, Some(0), "{}", repaired.shown());
    assert_eq!(
        machine.run(&["-p", "third", "--resume", &id]).answer(),
        "3\n"
    );
}

#[test]
fn a_corrupt_session_is_listed_as_such_and_never_passed_over() {
    let machine = Machine::with_script(COUNTING);
    machine.run(&["-p", "first"]).answer();
    let older = machine.only_session();
    machine.run(&["-p", "second"]).answer();
    let newer = machine.session_files().remove(1);
    assert!(!newer.to_str().unwrap().contains(&older));
    let text = fs::read_to_string(&newer).unwrap();
    fs::write(&newer, text.replacen("\"message\"", "mess", 1)).unwrap();

    insta::assert_snapshot!(machine.run(&["-p", "third", "--continue"]).shown(), @r"
    exit 2
    -- stdout
    -- stderr
    error: `ROOT/sessions/+ROOT+work/ID.jsonl`, line 2, column 9: expected value
      hint: `panto session doctor ID` says what can be saved; the file was not touched
    ");
    let listed = machine.run(&["sessions"]);
    insta::assert_snapshot!(listed.stderr, @"warning: `ROOT/sessions/+ROOT+work/ID.jsonl`, line 2, column 9: expected value; `panto session doctor ID` says what can be saved; the file was not touched");
    assert!(listed.stdout.contains(&older), "{}", listed.stdout);
    assert_eq!(listed.answer().lines().count(), 2);
    let json = machine.run(&["sessions", "--json"]).answer();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 1);
}

#[test]
fn a_line_that_a_crash_tore_does_no_harm() {
    let machine = Machine::with_script(COUNTING);
    machine.run(&["-p", "first"]).answer();
    let file = machine.session_files().remove(0);
    let mut file = OpenOptions::new().append(true).open(file).unwrap();
    file.write_all(b"{\"type\":\"mess").unwrap();
    let warning = "warning: the last record of session `ID` was cut off, probably by a crash; its 13 bytes are left out\n";
    let shown = machine.run(&["session", "show", &machine.only_session()]);
    assert_eq!(shown.stderr, warning);
    let second = machine.run(&["-p", "second", "--continue"]);
    assert_eq!(second.stderr, warning);
    assert_eq!(second.answer(), "2\n");
    let third = machine.run(&["-p", "third", "--continue"]);
    assert_eq!(third.stderr, "");
    assert_eq!(third.answer(), "3\n");
}

// Elsewhere the system does not say which process it is.
#[cfg(target_os = "linux")]
#[test]
fn a_session_in_use_says_by_whom() {
    let machine = Machine::with_script(COUNTING);
    machine.run(&["-p", "first"]).answer();
    machine.write_script("[[steps]]\nplay = [{ text = \"well\" }, { fault = \"stall\" }]");
    let mut holder = machine.start(&["-p", "go", "--continue", "-o", "stream-json"]);
    holder.read_until("assistant_text_delta");
    let ran = machine.run(&["-p", "me too", "--continue"]);
    let shown = ran.shown().replace(&holder.pid().to_string(), "PID");
    insta::assert_snapshot!(shown, @r"
    exit 2
    -- stdout
    -- stderr
    error: session `ID` is in use by process PID
      hint: wait until process PID is done with it, or end that process; without --continue or --resume a new session is begun
    ");
    // Reading does not need the lock.
    machine
        .run(&["session", "show", &machine.only_session()])
        .answer();
}

/// A model that is not there for now, and is asked only once.
fn machine_without_retries(script: &str) -> Machine {
    let machine = Machine::with_script(script);
    machine.write_config(
        r#"model = "test:model"
[providers.test]
protocol = "scripted"
script = "script.toml"
max_retries = 0
[providers.test.models.model]
"#,
    );
    machine
}

#[test]
fn a_failed_first_turn_is_not_saved_and_says_so() {
    let machine =
        machine_without_retries("[[steps]]\nrepeat = true\nopen = [{ error = \"overloaded\" }]");
    insta::assert_snapshot!(machine.run(&["-p", "first"]).shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: `test:model` gave no answer
      cause: scripted overloaded error
      hint: this may pass; nothing is saved yet: run the same command again
    ");
    let result = machine.run(&["-p", "first", "-o", "json"]).result();
    assert_eq!(result["saved"], false);
    let hint = result["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("run the same command again"), "{hint}");
    assert_eq!(machine.session_files().len(), 0);
}

#[test]
fn a_turn_that_failed_goes_on_without_the_prompt_said_twice() {
    let machine = machine_without_retries(COUNTING);
    let result = machine.run(&["-p", "first", "-o", "json"]).result();
    assert_eq!(result["saved"], true);
    machine.write_script("[[steps]]\nopen = [{ error = \"overloaded\" }]");
    insta::assert_snapshot!(machine.run(&["-p", "second", "--continue"]).shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: `test:model` gave no answer
      cause: scripted overloaded error
      hint: this may pass; `panto -p --resume ID` asks again, without a new prompt
    ");
    machine.write_script(COUNTING);
    let id = machine.only_session();
    assert_eq!(machine.run(&["-p", "--resume", &id]).answer(), "2\n");
    let shown = machine.run(&["session", "show", &id]).answer();
    assert_eq!(shown.matches("second").count(), 1, "{shown}");
}

#[test]
fn a_session_with_nothing_left_to_do_needs_a_prompt() {
    let machine = Machine::with_script(COUNTING);
    machine.run(&["-p", "first"]).answer();
    insta::assert_snapshot!(machine.run(&["-p", "--continue"]).shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: there is nothing to go on from
      hint: the session's last answer is complete; write a prompt behind -p, or pipe one
    ");
}

#[test]
fn nothing_to_go_on_with_is_said_once() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"done\" }]");
    machine.run(&["-p", "go"]).answer();
    let ran = machine.run(&["-p", "--continue", "-v"]);
    assert_eq!(ran.code, Some(2));
    assert!(!ran.stderr.contains("failed"), "{}", ran.shown());
}
