//! Where the prompt comes from. The model answers only to the prompt that is expected.

use crate::support::{Machine, Ran};

fn machine(expected: &str) -> Machine {
    // `last` is a part of the message; what else there is shows in the session.
    let expected = serde_json::to_string(expected).unwrap();
    Machine::with_script(&format!(
        "[[steps]]\nwhen = {{ last = {expected} }}\nplay = [{{ text = \"heard\" }}]"
    ))
}

#[track_caller]
fn assert_heard(machine: &Machine, ran: Ran, prompt: &str) {
    assert_eq!(ran.answer(), "heard\n");
    let session = machine.run(&["sessions", "--json"]).answer();
    let sessions: serde_json::Value = serde_json::from_str(&session).unwrap();
    assert_eq!(sessions[0]["last_user_message"], prompt);
}

#[test]
fn from_the_command_line() {
    let machine = machine("ask");
    assert_heard(&machine, machine.run(&["-p", "ask"]), "ask");
    let machine = self::machine("-x");
    assert_heard(&machine, machine.run(&["--print=-x"]), "-x");
}

#[test]
fn at_the_end_of_the_command_line() {
    let machine = machine("ask me");
    let ran = machine.run(&["-p", "--output", "text", "ask me"]);
    assert_heard(&machine, ran, "ask me");
}

#[test]
fn from_standard_input() {
    let machine = machine("piped");
    let ran = machine.run_with_input(&["-p", "--output", "text"], b"piped\n");
    assert_heard(&machine, ran, "piped\n");
}

#[test]
fn from_both() {
    let machine = machine("data");
    let ran = machine.run_with_input(&["-p", "look"], b"data\n");
    assert_heard(&machine, ran, "look\n\n<stdin>\ndata\n</stdin>");
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let machine = machine("a");
    let ran = machine.run_with_input(&["-p"], b"a\xffb");
    assert_eq!(
        ran.stderr,
        "panto: standard input is not UTF-8 at byte 2; what cannot be read is replaced by U+FFFD\n"
    );
    assert_heard(&machine, ran, "a\u{fffd}b");
}

#[test]
fn an_empty_one_is_refused() {
    let machine = machine("never");
    let ran = machine.run_with_input(&["-p"], b" \n");
    insta::assert_snapshot!(ran.shown(), @r#"
    exit 2
    -- stdout
    -- stderr
    error: the prompt is empty
      hint: write it behind -p, or pipe it: panto -p "…", or: panto -p < question.txt
    "#);
    assert_eq!(machine.session_files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn the_system_prompt_comes_from_a_file() {
    let machine = Machine::with_script(
        "[[steps]]\nwhen = { system = \"pirate\" }\nplay = [{ text = \"arr\" }]",
    );
    std::fs::write(machine.work().join("system.md"), "You are a pirate.").unwrap();
    let ran = machine.run(&["-p", "hello", "--system", "system.md"]);
    assert_eq!(ran.answer(), "arr\n");
    let ran = machine.run(&["-p", "hello", "--system", "gone.md"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit 2
    -- stdout
    -- stderr
    error: could not read the system prompt `gone.md`
      cause: No such file or directory (os error 2)
    ");
}

#[test]
fn a_project_cannot_take_it_away() {
    let machine = machine("piped");
    std::fs::create_dir(machine.work().join(".panto")).unwrap();
    let config = machine.work().join(".panto/config.toml");
    std::os::unix::fs::symlink("/dev/stdin", config).unwrap();
    let ran = machine.run_with_input(&["-p"], b"piped\n");
    insta::assert_snapshot!(ran.stderr, @"warning: ignored the configuration of this untrusted project: could not read the configuration file `ROOT/work/.panto/config.toml`: it is not a regular file");
    assert_heard(&machine, ran, "piped\n");
}

#[test]
fn a_prompt_may_begin_with_a_hyphen() {
    let machine = Machine::with_script(
        "[[steps]]\nrepeat = true\nwhen = { last = \"hello\" }\nplay = [{ text = \"hi\" }]",
    );
    for arguments in [
        &["-p", "-hello"][..],
        &["-p", "- hello"],
        &["-p", "--hello"],
        &["-p", "---\nhello"],
        &["-p", "-r hello there", "--no-session"],
        &["-vp", "-hello"],
        &["--model", "test:model", "--print", "-1 hello"],
    ] {
        let ran = machine.run(arguments);
        assert_eq!(ran.stdout, "hi\n", "{arguments:?}: {}", ran.shown());
    }
    // What is a flag stays one.
    assert!(machine.run(&["-p", "-h"]).stdout.contains("Usage"));
    let ran = machine.run(&["-p", "-ojson", "hello"]);
    assert_eq!(ran.result()["text"], "hi", "{}", ran.shown());
    assert_eq!(machine.run(&["-p", "hello", "--bogus"]).code, Some(2));
}
