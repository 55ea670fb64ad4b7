//! `panto demo`: delegation at work, without a key.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Machine, Ran, Terminal, block};

/// A machine with something to review.
fn machine() -> Machine {
    let machine = Machine::without_config();
    machine.file("work/README.md", "# Garden\n\nA plan for two beds.\n");
    machine.file("work/src/beds.lua", "-- TODO: the second bed\nreturn 1\n");
    machine
}

/// Everything below a directory: what is in the files, and when they were written.
fn below(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let modified = path.metadata().unwrap().modified().unwrap();
        if path.is_dir() {
            found.extend(below(&path));
            found.insert(path, (Vec::new(), modified));
        } else {
            let text = fs::read(&path).unwrap();
            found.insert(path, (text, modified));
        }
    }
    found
}

/// The sessions of the children of the one session that there is, message by message.
fn children(machine: &Machine) -> Vec<Vec<Value>> {
    let file = machine.session_files().remove(0);
    let dir = file
        .with_file_name("subagents")
        .join(machine.only_session());
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    files.sort();
    let messages = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines
            .filter(|line: &Value| line["type"] == "message")
            .collect()
    };
    files.iter().map(messages).collect()
}

fn of_role<'a>(messages: &'a [Value], role: &str) -> Vec<&'a str> {
    let messages = messages.iter().filter(|message| message["role"] == role);
    messages
        .map(|message| message["blocks"][0]["text"].as_str().unwrap_or_default())
        .collect()
}

/// Children end in an order that is left to chance: puts the lines of those that have worked at
/// the same time in order.
fn in_order(mut ran: Ran) -> Ran {
    let mut lines: Vec<&str> = ran.stderr.split_inclusive('\n').collect();
    let is_end = |line: &str| line.ends_with(": completed\n") || line.contains(": failed: ");
    for ends in lines.chunk_by_mut(|a, b| is_end(a) == is_end(b)) {
        if is_end(ends[0]) {
            ends.sort_unstable();
        }
    }
    ran.stderr = lines.concat();
    ran
}

#[test]
fn it_tells_who_was_asked_what_came_of_it_and_where_it_lies() {
    let machine = machine();
    let before = below(&machine.work());
    let ran = machine.run(&["demo"]);
    insta::assert_snapshot!(in_order(ran).shown());
    assert_eq!(below(&machine.work()), before);
}

#[test]
fn what_it_says_next_works() {
    let machine = machine();
    machine.run(&["demo"]).answer();
    let id = machine.only_session();
    let shown = machine.run(&["session", "show", &id]).answer();
    assert!(shown.contains("Review this directory."), "{shown}");
    assert!(shown.contains("A plan for two beds."), "{shown}");
    let listed = machine.run(&["session", "children", &id]).answer();
    let mut listed: Vec<Vec<&str>> = listed
        .lines()
        // The task stands below.
        .filter(|line| !line.starts_with(' '))
        .map(|line| line.split_whitespace().skip(1).take(3).collect())
        .collect();
    listed.sort_unstable();
    assert_eq!(
        listed,
        [
            ["general", "completed", "2"],
            ["researcher", "completed", "1"],
            ["reviewer", "completed", "1"]
        ]
    );
}

#[test]
fn the_child_that_failed_goes_on_with_what_it_had_read() {
    let machine = machine();
    machine.run(&["demo"]).answer();
    let children = children(&machine);
    assert_eq!(children.len(), 3);
    let asked: Vec<_> = children
        .iter()
        .map(|child| of_role(child, "user"))
        .filter(|asked| asked.len() > 1)
        .collect();
    let [asked] = &asked[..] else {
        panic!("{asked:?}");
    };
    assert!(asked[0].contains("README.md"), "{asked:?}");
    assert!(asked[1].contains("Go on"), "{asked:?}");
    let resumed = children
        .iter()
        .find(|child| of_role(child, "user").len() > 1);
    let resumed = resumed.unwrap();
    // Nothing is read again: the one result of a tool is of before.
    assert_eq!(of_role(resumed, "tool").len(), 1);
    let said = *of_role(resumed, "assistant").last().unwrap();
    assert!(said.contains("A plan for two beds."), "{said}");
}

#[test]
fn its_children_work_at_the_same_time() {
    let machine = machine();
    let ran = machine.run(&["demo", "--output", "stream-json"]);
    assert_eq!(ran.stderr, "");
    let result = ran.result();
    assert_eq!(result["status"], "completed");
    assert_eq!(result["saved"], true);
    let events: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let steps: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "custom")
        .filter_map(|event| match event["name"].as_str().unwrap() {
            "subagents.running" => Some("begins"),
            "subagents.end" => event["data"]["status"].as_str(),
            _ => None,
        })
        .collect();
    assert_eq!(steps[..3], ["begins"; 3], "{steps:?}");
    let mut ended = steps[3..6].to_vec();
    ended.sort_unstable();
    assert_eq!(ended, ["completed", "completed", "failed"]);
    assert_eq!(steps[6..], ["begins", "completed"]);
    let ids: Vec<&Value> = events
        .iter()
        .filter(|event| event["name"] == "subagents.end")
        .map(|event| &event["data"]["id"])
        .collect();
    assert!(ids[..3].contains(&ids[3]), "{ids:?}");
}

#[test]
fn as_json_it_is_one_object() {
    let machine = machine();
    let ran = machine.run(&["demo", "-o", "json"]);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    let result = ran.result();
    assert_eq!(result["status"], "completed");
    assert!(result["text"].as_str().unwrap().starts_with("Done."));
    // Answers that came: the broken one is none.
    assert_eq!(result["requests"], 9);
}

#[test]
fn on_a_terminal_it_is_told_as_it_happens() {
    let machine = machine();
    let mut terminal = Terminal::start(&machine, &["demo"]);
    terminal.read_until("started with demo:script");
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("3 worked at the same time:"), "{shown}");
    assert!(shown.contains("panto session children "), "{shown}");
}

#[test]
fn it_needs_not_even_a_home_nor_a_file() {
    let machine = Machine::without_config();
    machine.file("temporary/keep", "");
    let temporary = machine.root().join("temporary");
    let mut command = machine.command(&["demo"]);
    command.env_clear().env("TMPDIR", &temporary);
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(errors.contains("the conversation is not kept"), "{errors}");
    assert!(errors.contains("The directory is empty."), "{errors}");
    assert!(errors.contains(": goes on with demo:script"), "{errors}");
    assert!(errors.contains("I need not read it again."), "{errors}");
    assert!(!errors.contains("--resume"), "{errors}");
    assert_eq!(below(&machine.work()), BTreeMap::new());
    let left: Vec<PathBuf> = below(&temporary).into_keys().collect();
    assert_eq!(left, [temporary.join("keep")]);
}

#[test]
fn a_home_that_cannot_be_written_to_is_none() {
    let machine = machine();
    block(&machine.sessions());
    let ran = machine.run(&["demo"]);
    assert!(
        ran.stderr.contains("the conversation is not kept"),
        "{}",
        ran.stderr
    );
    assert!(ran.answer().contains("Done."));
}

#[test]
fn it_works_in_a_directory_that_cannot_be_written_to() {
    let machine = machine();
    let work = machine.work();
    let before = below(&work);
    fs::set_permissions(&work, fs::Permissions::from_mode(0o555)).unwrap();
    let ran = machine.run(&["demo"]);
    fs::set_permissions(&work, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    assert!(ran.answer().contains("Done."));
    assert_eq!(below(&work), before);
}

#[test]
fn nothing_of_the_person_can_break_it() {
    let machine = machine();
    let plain = in_order(machine.run(&["demo"]));
    machine.write_config("this is no [[ configuration");
    machine.extension("broken", "error('broken')");
    machine.extension(
        "meddling",
        "panto.ext.on('tool_call', function() return { block = true, reason = 'no' } end)",
    );
    machine.file("work/.panto/config.toml", "neither is ] this");
    machine.file("work/.panto/extensions/also.lua", "error('broken')");
    let other = in_order(machine.run(&["demo"]));
    // The project's directory is listed as any other.
    let without = |ran: &Ran| ran.stderr.replace("       .panto/\n", "");
    assert_eq!(without(&other), without(&plain));
}

#[test]
fn its_session_goes_on_with_another_model() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"hello\" }]");
    machine.run(&["demo"]).answer();
    let id = machine.only_session();
    let ran = machine.run(&["-p", "and now?", "--resume", &id]);
    assert_eq!(ran.answer(), "hello\n");
}
