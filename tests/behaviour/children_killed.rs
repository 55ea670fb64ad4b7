//! `kill -9` while children work: the primary goes on, and so does every child that had answered.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::Machine;
use crate::support::children::{
    DONE, calls, files, gated, id_of, listed, machine, on, only_results, read_all, with_settings,
};

const CONTINUE: &str = "[[steps]]\nwhen = { last = \"on\", last_role = \"user\" }\nrepeat = true\nplay = [{ text = \"Going on.\" }]\n";

const TOOLS: &str = "local function tool(name, handler)\n\
      panto.ext.register_tool { name = name, description = 'd', schema = { type = 'object' }, handler = handler }\n\
    end\n\
    tool('quick', function() return 'done' end)\n\
    tool('hangs', function() coroutine.yield() end)";

/// What a machine lists of a child.
fn status(machine: &Machine, primary: &str, id: &str) -> Value {
    let list = listed(machine, primary);
    let child = list.iter().find(|child| child["id"] == id);
    child.map_or(Value::Null, |child| child["status"].clone())
}

fn texts(file: &Path) -> usize {
    std::fs::read_to_string(file)
        .unwrap()
        .matches("\"role\":\"assistant\"")
        .count()
}

/// E-42, S0-159: children that were parked wherever a child can be, and one
/// kill.
#[test]
fn what_a_kill_cut_off_is_healed_and_resumed() {
    let inputs = [
        gated("never"),
        gated("say:two never"),
        gated("say:look tool:hangs | say:end"),
        gated("say:look tool:quick | say:four never"),
        gated("say:five"),
        gated("say:six tool:quick | say:end never"),
        gated("say:queued"),
    ];
    let machine = with_settings(
        &format!("{}{DONE}{CONTINUE}", calls("go", &inputs)),
        "concurrency = 5",
        "",
    );
    machine.extension("tools", TOOLS);
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    let text = read_all(
        &mut running,
        &[
            ["call_1\"", "subagents.running"],
            ["call_2\"", "assistant_text_delta"],
            ["call_3\"", "tool_dispatch_start"],
            ["call_4\"", "\"delta\":\"four\""],
            ["call_5\"", "subagents.end"],
            // The sixth has the place of the fifth.
            ["call_6\"", "\"delta\":\"end\""],
            ["call_7\"", "subagents.start"],
        ],
    );
    let primary = machine.only_session();
    // Seen from outside, those that have a file are running.
    let seen: Vec<Value> = listed(&machine, &primary)
        .iter()
        .map(|it| it["status"].clone())
        .collect();
    assert_eq!(
        seen.iter().filter(|it| **it == "running").count(),
        3,
        "{seen:?}"
    );
    assert_eq!(seen.len(), 4);
    running.signal(Signal::KILL);
    running.finish();
    assert_eq!(
        machine.run(&["-p", "on", "--continue"]).answer(),
        "Going on.\n"
    );
    let ids = crate::support::children::lives(&text);
    let id = |call: &str| ids[call].starts[0]["id"].as_str().unwrap().to_owned();
    let results = only_results(&machine);
    assert_eq!(results.len(), 7);
    for settled in &results {
        assert_ne!(settled.status, "ok", "{settled:?}");
        let is_kept = ["call_3", "call_4", "call_5", "call_6"].contains(&settled.call.as_str());
        if is_kept {
            let result = settled.json();
            assert_eq!(result["id"], id(&settled.call).as_str());
            assert_eq!(result["agent"], "general");
            assert_eq!(result["resumable"], true);
        } else {
            // Nothing of these is on disk, so nothing could be resumed.
            assert!(!settled.text.contains("resumable"), "{settled:?}");
        }
        let listed = status(&machine, &primary, &id(&settled.call));
        let expected = match settled.call.as_str() {
            "call_5" => json!("completed"),
            _ if is_kept => json!("interrupted"),
            _ => Value::Null,
        };
        assert_eq!(listed, expected, "{settled:?}");
    }
    let again: Vec<Value> = (1..=7)
        .map(|call| on(&id(&format!("call_{call}")), "say:again"))
        .collect();
    machine.write_script(&format!("{}{DONE}", calls("more", &again)));
    assert_eq!(
        machine.run(&["-p", "more", "--continue"]).answer(),
        "Done.\n"
    );
    for (at, settled) in only_results(&machine)[7..].iter().enumerate() {
        if (2..6).contains(&at) {
            assert_eq!(settled.json()["output"], "again", "{settled:?}");
        } else {
            assert!(settled.text.contains("there is no child"), "{settled:?}");
        }
    }
    machine.run(&["session", "doctor", &primary]).answer();
    let kept = files(&machine, &primary);
    assert_eq!(kept.len(), 4);
    for file in kept {
        let text = std::fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{line}"));
        }
    }
}

/// E-42: a kill in a later turn of a child names it too.
#[test]
fn a_kill_in_a_later_turn_names_the_child() {
    let machine = machine(&format!(
        "{}{DONE}{CONTINUE}",
        calls("go", &[gated("say:first")])
    ));
    machine.extension("tools", TOOLS);
    machine.run(&["-p", "go"]).answer();
    let id = only_results(&machine)[0].json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let primary = machine.only_session();
    for (prompt, seen) in [
        ("say:part never", "assistant_text_delta"),
        ("say:look tool:hangs | say:x", "tool_dispatch_start"),
        ("say:look tool:quick | say:part never", "\"delta\":\"part\""),
    ] {
        machine.write_script(&format!(
            "{}{DONE}{CONTINUE}",
            calls("more", &[on(&id, prompt)])
        ));
        let mut running = machine.start(&["-p", "more", "-o", "stream-json", "--continue"]);
        read_all(&mut running, &[["subagents.event", seen]]);
        running.signal(Signal::KILL);
        running.finish();
        assert_eq!(status(&machine, &primary, &id), "interrupted", "{prompt}");
        assert_eq!(
            machine.run(&["-p", "on", "--continue"]).answer(),
            "Going on.\n"
        );
        let results = only_results(&machine);
        let healed = results.last().unwrap().json();
        assert_eq!(
            (&healed["id"], &healed["resumable"]),
            (&json!(id), &json!(true))
        );
    }
    machine.write_script(&format!("{}{DONE}", calls("more", &[on(&id, "say:last")])));
    machine.run(&["-p", "more", "--continue"]).answer();
    assert_eq!(
        only_results(&machine).last().unwrap().json()["output"],
        "last"
    );
    machine.run(&["session", "doctor", &primary]).answer();
}

/// Whatever had been told of when the kill came, all goes on.
#[test]
fn a_kill_after_any_event_leaves_nothing_broken() {
    let child = "[[steps]]\nwhen = { system = \"You are a child agent\", last_role = \"user\" }\nrepeat = true\n\
         play = [{ text = \"Let me see.\", chunks = 2 }, { tool = \"ls\", input = {} }]\n\
         [[steps]]\nwhen = { system = \"You are a child agent\" }\nrepeat = true\nplay = [{ text = \"It is so.\", chunks = 2 }]\n";
    let input = json!({ "agent": "general", "prompt": "look" });
    let go = calls("go", &[input.clone(), input]).replace("play", "repeat = true\nplay");
    let machine = machine(&format!("{child}{go}{DONE}"));
    let whole = machine
        .run(&["-p", "go", "--no-session", "-o", "stream-json"])
        .answer();
    let events = whole.lines().count();
    assert!(events > 40, "{events}");
    for lines in (0..=events).step_by(3) {
        let begun = !machine.session_files().is_empty();
        let mut arguments = vec!["-p", "go", "-o", "stream-json"];
        arguments.extend(begun.then_some("--continue"));
        let mut running = machine.start(&arguments);
        running.read_lines(lines);
        running.signal(Signal::KILL);
        running.finish();
    }
    assert_eq!(machine.run(&["-p", "go", "--continue"]).answer(), "Done.\n");
    let primary = machine.only_session();
    machine.run(&["session", "doctor", &primary]).answer();
    let children = files(&machine, &primary);
    let listed = listed(&machine, &primary);
    assert_eq!(listed.len(), children.len());
    for child in &listed {
        let status = child["status"].as_str().unwrap();
        assert!(["completed", "interrupted"].contains(&status), "{child}");
    }
    // Every one that has a file had answered, and each goes on.
    assert!(children.iter().all(|file| texts(file) > 0));
    let again: Vec<Value> = children
        .iter()
        .map(|file| on(&id_of(file), "look again"))
        .collect();
    let before = only_results(&machine).len();
    machine.write_script(&format!("{child}{}{DONE}", calls("more", &again)));
    assert_eq!(
        machine.run(&["-p", "more", "--continue"]).answer(),
        "Done.\n"
    );
    for settled in &only_results(&machine)[before..] {
        assert_eq!(settled.json()["output"], "It is so.", "{settled:?}");
    }
}

/// Wherever the last write was cut off, a child that has an answer goes on.
#[test]
fn a_torn_file_goes_on_from_its_last_answer() {
    let machine = machine(&format!(
        "{}{DONE}",
        calls("go", &[gated("say:look tool:quick | say:end")])
    ));
    machine.extension("tools", TOOLS);
    machine.run(&["-p", "go"]).answer();
    let primary = machine.only_session();
    let file = files(&machine, &primary).swap_remove(0);
    let text = std::fs::read_to_string(&file).unwrap();
    let (mut ids, mut is_answered, mut length) = (Vec::new(), Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        for cut in [length + line.len() / 2, length + line.len()] {
            let id = format!("0198c0de-0000-7000-8000-{:012}", ids.len());
            std::fs::write(file.with_file_name(format!("{id}.jsonl")), &text[..cut]).unwrap();
            is_answered.push(text[..cut].lines().any(|line| {
                line.contains("\"role\":\"assistant\"")
                    && serde_json::from_str::<Value>(line).is_ok()
            }));
            ids.push(id);
        }
        length += line.len();
    }
    assert!(is_answered.iter().filter(|it| **it).count() > 3, "{text}");
    let list = listed(&machine, &primary);
    for (id, is_answered) in ids.iter().zip(&is_answered) {
        let child = list.iter().find(|child| child["id"] == id.as_str());
        if *is_answered {
            let status = child.unwrap()["status"].as_str().unwrap();
            assert!(["interrupted", "completed"].contains(&status), "{child:?}");
        }
        assert!(child.is_none_or(|child| child["status"] != "running"));
    }
    let inputs: Vec<Value> = ids.iter().map(|id| on(id, "say:on")).collect();
    machine.write_script(&format!("{}{DONE}", calls("more", &inputs)));
    machine.run(&["-p", "more", "--continue"]).answer();
    for ((id, is_answered), settled) in ids
        .iter()
        .zip(is_answered)
        .zip(&only_results(&machine)[1..])
    {
        if is_answered {
            assert_eq!(settled.json()["output"], "on", "{id} {settled:?}");
        } else {
            // It is refused, or it goes on; in any case it is said.
            assert!(
                settled.status == "error" || settled.json()["id"] == id.as_str(),
                "{settled:?}"
            );
        }
    }
}
