//! Looking at what was said.

use serde_json::Value;

use crate::support::Machine;

const SCRIPT: &str = r#"
[[steps]]
play = [{ text = "Calling." }, { tool = "gone", input = { a = "```" } }]
[[steps]]
play = [{ text = "Done\u001b[2J." }]
[[steps]]
play = [{ text = "Again." }]
"#;

fn machine() -> Machine {
    let machine = Machine::with_script(SCRIPT);
    machine.run(&["-p", "first\nprompt"]).answer();
    machine
}

#[test]
fn sessions_are_listed_latest_first() {
    let machine = machine();
    machine.write_script("[[steps]]\nplay = [{ text = \"2\" }]");
    machine.run(&["-p", "second"]).answer();
    let listed = machine.run(&["sessions"]).answer();
    let lines: Vec<Vec<&str>> = listed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[0],
        ["ID", "MODIFIED", "(UTC)", "MESSAGES", "LAST", "PROMPT"]
    );
    assert_eq!(lines[1][3..], ["2", "second"]);
    assert_eq!(lines[2][3..], ["4", "first", "prompt"]);
    let one = machine
        .run(&["sessions", "--json", "--limit", "1"])
        .answer();
    let one: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(one.as_array().unwrap().len(), 1);
    assert_eq!(one[0]["last_user_message"], "second");
    assert_eq!(one[0]["model"], "test:model");
}

#[test]
fn sessions_belong_to_a_directory() {
    let machine = machine();
    let elsewhere = machine.work().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    insta::assert_snapshot!(machine.readable(&machine.run(&["sessions", "--cwd", "elsewhere"]).answer()), @"no sessions of ROOT/work/elsewhere yet");
}

#[test]
fn a_session_is_exported_as_markdown_json_and_jsonl() {
    let machine = machine();
    let id = machine.only_session();
    let markdown = machine.run(&["session", "export", &id]).answer();
    insta::assert_snapshot!(machine.readable(&markdown));
    let json = machine
        .run(&["session", "export", &id, "--format", "json"])
        .answer();
    let json: Value = serde_json::from_str(&json).unwrap();
    let roles: Vec<&str> = json["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    let copy = machine
        .run(&["session", "export", &id, "--format", "jsonl"])
        .answer();
    let file = machine.session_files().remove(0);
    assert_eq!(copy, std::fs::read_to_string(file).unwrap());
}

#[test]
fn the_doctor_finds_nothing_in_a_sound_session() {
    let machine = machine();
    let answer = machine
        .run(&["session", "doctor", &machine.only_session()])
        .answer();
    assert!(
        answer.ends_with("4 records can be read\nnothing is wrong\n"),
        "{answer}"
    );
}
