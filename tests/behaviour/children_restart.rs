//! Children after a restart: which go on, and which are refused, with nothing changed.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::Machine;
use crate::support::children::{
    DONE, Settled, calls, catalog, files, gated, id_of, listed, machine, on, read_all, results,
    streamed, tree,
};

/// Says `prompt` with a call for each input, and gives what came of these calls.
fn asked(machine: &Machine, inputs: &[Value], more: &[&str]) -> Vec<Settled> {
    machine.write_script(&format!("{}{DONE}", calls("ask", inputs)));
    let ran = streamed(machine, "ask", more);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let id = ran.result()["session_id"].as_str().unwrap().to_owned();
    let files = machine.session_files();
    let file = files.iter().find(|file| id_of(file) == id).unwrap();
    let mut all = results(file);
    all.split_off(all.len() - inputs.len())
}

fn id(settled: &Settled) -> String {
    settled.json()["id"].as_str().unwrap().to_owned()
}

/// S0-63, S0-158, S0-159: another process goes on with a child, which remembers, and it is asked
/// what it was asked with.
#[test]
fn a_child_goes_on_after_a_restart() {
    let machine = machine("");
    let first = asked(&machine, &[gated("say:first"), gated("say:other")], &[]);
    let child = id(&first[0]);
    let primary = machine.only_session();
    let file = catalog(&machine, &primary).join(format!("{child}.jsonl"));
    let before = fs::read_to_string(&file).unwrap();
    for round in 2..=3 {
        let settled = &asked(
            &machine,
            &[on(&child, &format!("say:round{round}"))],
            &["--continue"],
        )[0];
        let result = settled.json();
        assert_eq!(result["id"], child.as_str());
        assert_eq!(result["output"], format!("round{round}"));
        assert_eq!(
            (&result["agent"], &result["model"]),
            (&json!("general"), &json!("gated:m"))
        );
        assert_eq!(result["notices"], Value::Null);
    }
    // What was there is there, and the turns were appended.
    let after = fs::read_to_string(&file).unwrap();
    assert!(after.starts_with(&before));
    for said in ["say:first", "say:round2", "say:round3"] {
        assert_eq!(
            after.matches(&format!("\"text\":\"{said}\"")).count(),
            1,
            "{said}"
        );
    }
    assert_eq!(after.matches("\"owner\"").count(), 1);
    let list = listed(&machine, &primary);
    let turns: BTreeSet<(bool, u64)> = list
        .iter()
        .map(|it| (it["id"] == child.as_str(), it["turns"].as_u64().unwrap()))
        .collect();
    assert_eq!(turns, BTreeSet::from([(true, 3), (false, 1)]));
    assert!(list.iter().all(|child| child["status"] == "completed"));
}

/// S0-13, S0-64, E-21: what is no child of this primary is refused, each in its own
/// words, and nothing of it is touched.
#[test]
fn whatever_is_no_child_of_the_session_is_refused() {
    let machine = machine("");
    let theirs = id(&asked(&machine, &[gated("say:theirs")], &[])[0]);
    let them = machine.only_session();
    let mine = id(&asked(&machine, &[gated("say:mine")], &[])[0]);
    let all = machine.session_files();
    let me = all
        .iter()
        .map(|file| id_of(file))
        .find(|id| *id != them)
        .unwrap();
    let (their_catalog, catalog) = (catalog(&machine, &them), catalog(&machine, &me));

    let plain = "0198c0de-0000-7000-8000-000000000001";
    fs::copy(
        machine.session_files()[0].clone(),
        catalog.join(format!("{plain}.jsonl")),
    )
    .unwrap();
    let copied = "0198c0de-0000-7000-8000-000000000002";
    let their_file = their_catalog.join(format!("{theirs}.jsonl"));
    fs::copy(&their_file, catalog.join(format!("{copied}.jsonl"))).unwrap();
    let newer = "0198c0de-0000-7000-8000-000000000003";
    let my_text = fs::read_to_string(catalog.join(format!("{mine}.jsonl"))).unwrap();
    assert!(my_text.contains("\"v\":1"));
    fs::write(
        catalog.join(format!("{newer}.jsonl")),
        my_text.replace("\"v\":1", "\"v\":99"),
    )
    .unwrap();
    let broken = "0198c0de-0000-7000-8000-000000000004";
    fs::write(
        catalog.join(format!("{broken}.jsonl")),
        "this is no session\n{}\n",
    )
    .unwrap();
    let empty = "0198c0de-0000-7000-8000-000000000005";
    fs::write(catalog.join(format!("{empty}.jsonl")), "").unwrap();
    let directory = "0198c0de-0000-7000-8000-000000000006";
    fs::create_dir(catalog.join(format!("{directory}.jsonl"))).unwrap();

    let no_id = "`id` must be the id in a result";
    let unknown = "there is no child";
    let upper = mine.to_uppercase();
    let above = format!("../{them}/{theirs}");
    let cut = &mine[..8];
    let spaced = format!(" {mine}");
    let cases = [
        ("nope", no_id),
        ("../x", no_id),
        (above.as_str(), no_id),
        ("..", no_id),
        (upper.as_str(), no_id),
        (cut, no_id),
        (spaced.as_str(), no_id),
        (theirs.as_str(), unknown),
        (me.as_str(), unknown),
        ("0198c0de-0000-7000-8000-00000000abcd", unknown),
        (directory, unknown),
        (plain, "is not a child of this session"),
        (copied, "belongs to another session"),
        (newer, "newer version"),
        (broken, "cannot be read"),
        (empty, "cannot be read"),
    ];
    let inputs: Vec<Value> = cases.iter().map(|(id, _)| on(id, "say:x")).collect();
    let sessions = machine.sessions();
    let mut before = tree(&sessions);
    let settled = asked(&machine, &inputs, &["--resume", &me]);
    for ((id, expected), settled) in cases.iter().zip(&settled) {
        assert_eq!(settled.status, "error", "{id}");
        assert!(settled.text.contains(expected), "{id}: {}", settled.text);
    }
    let mut after = tree(&sessions);
    let own = all.iter().find(|file| id_of(file) == me).unwrap();
    assert!(before.remove(own).is_some() && after.remove(own).is_some());
    let changed: Vec<_> = after
        .iter()
        .filter(|(path, bytes)| before.get(*path) != Some(bytes))
        .map(|(path, _)| path)
        .chain(before.keys().filter(|path| !after.contains_key(*path)))
        .collect();
    assert!(changed.is_empty(), "{changed:?}");
    // A listing shows what is odd, and does not fail.
    let list = listed(&machine, &me);
    let of = |id: &str| {
        list.iter()
            .find(|it| it["id"] == id)
            .map(|it| it["status"].clone())
    };
    assert_eq!(of(&mine), Some(json!("completed")));
    assert_eq!(of(plain), Some(json!("unreadable")));
    assert_eq!(of(newer), Some(json!("unreadable")));
    // Its own child goes on.
    assert_eq!(
        asked(&machine, &[on(&mine, "say:on")], &["--resume", &me])[0].json()["output"],
        "on"
    );
}

/// Failures 43: a child that cannot be read any more is a failure, not an old answer.
#[test]
fn an_unreadable_child_is_a_failure_of_its_own() {
    let machine = machine("");
    let child = id(&asked(&machine, &[gated("say:old")], &[])[0]);
    let file = files(&machine, &machine.only_session()).swap_remove(0);
    let whole = fs::read(&file).unwrap();
    fs::write(&file, b"\x00\x01 no session").unwrap();
    let settled = &asked(
        &machine,
        &[on(&child, "say:new"), gated("say:sibling")],
        &["--continue"],
    );
    assert_eq!(settled[0].status, "error");
    assert!(
        settled[0]
            .text
            .contains(&format!("the child `{child}` cannot be read")),
        "{settled:?}"
    );
    assert!(!settled[0].text.contains("old"));
    assert_eq!(settled[1].json()["output"], "sibling");
    fs::write(&file, whole).unwrap();
    assert_eq!(
        asked(&machine, &[on(&child, "say:new")], &["--continue"])[0].json()["output"],
        "new"
    );
}

/// S0-14: one id twice in a batch: one runs, the other is refused.
#[test]
fn a_child_has_one_turn_at_a_time() {
    let machine = machine("");
    let child = id(&asked(&machine, &[gated("say:first")], &[])[0]);
    let twice = [
        on(&child, "say:a"),
        on(&child, "say:b"),
        on(&child, "say:c"),
    ];
    let settled = asked(&machine, &twice, &["--continue"]);
    assert_eq!(settled[0].json()["output"], "a");
    for refused in &settled[1..] {
        assert_eq!(refused.status, "error");
        assert!(refused.text.contains("already active"), "{refused:?}");
    }
    assert_eq!(listed(&machine, &machine.only_session())[0]["turns"], 2);
    assert_eq!(
        asked(&machine, &[on(&child, "say:d")], &["--continue"])[0].json()["output"],
        "d"
    );
}

/// A child that another process has open is in use, and is running.
#[test]
fn a_child_can_be_in_use_by_another_process() {
    let machine = machine("");
    let child = id(&asked(&machine, &[gated("say:first")], &[])[0]);
    let primary = machine.only_session();
    let dir = catalog(&machine, &primary);
    machine.extension(
        "holder",
        &format!(
            "panto.ext.register_tool {{ name = 'hold', description = 'd', schema = {{ type = 'object' }}, handler = function()\n\
               local config = assert(panto.ext.resolve_model {{ model = 'gated:m' }})\n\
               local store = panto.file_system_jsonl_store {{ dir = {dir:?} }}\n\
               local agent = assert(panto.agent {{ config = config, store = store, session_id = '{child}' }})\n\
               panto.ext.emit('held', {{}})\n\
               coroutine.yield()\n\
               agent:close()\n\
             end }}"
        ),
    );
    machine.write_script("[[steps]]\nplay = [{ tool = \"hold\", input = {} }]\n");
    let mut holder = machine.start(&["-p", "hold it", "-o", "stream-json", "--no-session"]);
    read_all(&mut holder, &[["custom", "\"held\""]]);
    assert_eq!(listed(&machine, &primary)[0]["status"], "running");
    let before = tree(&dir);
    let settled = &asked(&machine, &[on(&child, "say:x")], &["--continue"])[0];
    assert_eq!(settled.status, "error");
    assert!(
        settled.text.contains("in use by another process"),
        "{settled:?}"
    );
    assert_eq!(tree(&dir), before);
    // One that died has nothing in use.
    holder.signal(Signal::KILL);
    holder.finish();
    assert_eq!(listed(&machine, &primary)[0]["status"], "completed");
    assert_eq!(
        asked(&machine, &[on(&child, "say:x")], &["--continue"])[0].json()["output"],
        "x"
    );
}

/// S0-62, failures 51: children are in no list of sessions, and no id of one is a session's.
#[test]
fn children_are_no_sessions() {
    let machine = machine("");
    let batch: Vec<Value> = (0..20).map(|at| gated(&format!("say:{at}"))).collect();
    let first = asked(&machine, &batch, &[]);
    asked(&machine, &batch, &[]);
    assert_eq!(machine.session_files().len(), 2);
    let sessions = machine.run(&["sessions", "--json"]).answer();
    let sessions: Vec<Value> = serde_json::from_str::<Value>(&sessions)
        .unwrap()
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    let child = id(&first[0]);
    for arguments in [["session", "show", &child], ["session", "doctor", &child]] {
        let ran = machine.run(&arguments);
        assert_eq!(ran.code, Some(2), "{}", ran.shown());
    }
    let ran = machine.run(&["-p", "x", "--resume", &child]);
    assert_eq!(ran.code, Some(2), "{}", ran.shown());
    for file in machine.session_files() {
        assert_eq!(files(&machine, &id_of(&file)).len(), 20);
    }
}

/// The children of a session that is not kept are not either.
#[test]
fn without_a_session_nothing_is_kept() {
    let machine = machine(&format!(
        "{}{DONE}",
        calls(
            "go",
            &[
                gated("say:gone"),
                on("0198c0de-0000-7000-8000-000000000001", "say:x")
            ]
        )
    ));
    let ran = streamed(&machine, "go", &["--no-session"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let results: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|object: &Value| object["type"] == "tool_result")
        .collect();
    let by = |id: &str| {
        results.iter().find(|it| it["id"] == id).unwrap()["output"]
            .as_str()
            .unwrap()
    };
    let result: Value = serde_json::from_str(by("call_1")).unwrap();
    assert_eq!(
        (&result["output"], &result["resumable"]),
        (&json!("gone"), &json!(false))
    );
    assert!(
        by("call_2").contains("this session is not kept"),
        "{}",
        by("call_2")
    );
    assert!(tree(&machine.sessions()).is_empty());
}
