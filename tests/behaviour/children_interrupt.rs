//! Ctrl+C while children work.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::children::{
    Chance, DONE, assert_whole, calls, customs, files, gated, listed, lives, machine, on,
    only_results, open_gate, own_agent, peak, read_all, streamed, with_settings, witnessed,
};

/// The text of a child's answer grows, as a stream tells it.
fn speaks(call: &'static str) -> [&'static str; 2] {
    [call, "assistant_text_delta"]
}

const CONTINUE: &str = "[[steps]]\nwhen = { last = \"on\", last_role = \"user\" }\nrepeat = true\nplay = [{ text = \"Going on.\" }]\n";

/// S0-74 to S0-77, S0-156: what has ended keeps its result, all else is
/// cancelled within the grace period, also what never answers and what does not heed the cancel.
#[test]
fn what_has_ended_stays_and_all_else_is_cancelled() {
    let inputs = [
        gated("say:one"),
        gated("say:two never"),
        json!({ "agent": "general", "prompt": "stubborn" }),
        gated("never"),
        gated("say:five never"),
        gated("say:six"),
        gated("say:seven"),
    ];
    let stubborn = "[[steps]]\nwhen = { system = \"You are a child agent\" }\nignore_cancel = true\n\
        play = [{ text = \"three\" }, { fault = \"stall\" }]\n";
    let machine = machine(&format!(
        "{stubborn}{}{DONE}{CONTINUE}",
        calls("go", &inputs)
    ));
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    let mut stdout = read_all(
        &mut running,
        &[
            ["call_1\"", "subagents.end"],
            speaks("call_2\""),
            speaks("call_3\""),
            ["call_4\"", "subagents.running"],
            speaks("call_5\""),
            ["call_6\"", "subagents.start"],
            ["call_7\"", "subagents.start"],
        ],
    );
    let begin = Instant::now();
    running.signal(Signal::INT);
    let ran = running.finish();
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(ran.code, Some(130), "{}", ran.shown());
    assert_eq!(ran.result()["status"], "cancelled");
    // Nothing that ends late begins another turn.
    assert_eq!(ran.result()["turns"], 1);
    assert!(
        !ran.stdout.contains("\"type\":\"turn_start\",\"turn_id\""),
        "{}",
        ran.stdout
    );
    stdout.push_str(&ran.stdout);
    let lives = lives(&stdout);
    assert_whole(&lives);
    assert_eq!(lives.len(), 7);
    let results = only_results(&machine);
    let found: Vec<(String, Value, Value, Value)> = results
        .iter()
        .map(|settled| {
            let mut result = settled.json();
            assert_eq!(result["id"], lives[&settled.call].ends[0]["id"]);
            let mut take = |key: &str| result[key].take();
            (
                settled.status.clone(),
                take("status"),
                take("output"),
                take("resumable"),
            )
        })
        .collect();
    let cancelled = |output: Value, resumable: bool| {
        (
            "cancelled".to_owned(),
            json!("cancelled"),
            output,
            json!(resumable),
        )
    };
    assert_eq!(
        found,
        [
            (
                "ok".to_owned(),
                json!("completed"),
                json!("one"),
                json!(true)
            ),
            cancelled(json!("two"), true),
            cancelled(json!("three"), true),
            cancelled(Value::Null, false),
            cancelled(json!("five"), true),
            cancelled(Value::Null, false),
            cancelled(Value::Null, false),
        ]
    );
    // Only what is resumable is there, and says the same.
    let primary = machine.only_session();
    let mut there: Vec<(Value, Value)> = listed(&machine, &primary)
        .iter()
        .map(|child| (child["id"].clone(), child["status"].clone()))
        .collect();
    there.sort_by_key(|(id, _)| id.to_string());
    let mut said: Vec<(Value, Value)> = results
        .iter()
        .map(crate::support::children::Settled::json)
        .filter(|result| result["resumable"] == true)
        .map(|result| (result["id"].clone(), result["status"].clone()))
        .collect();
    said.sort_by_key(|(id, _)| id.to_string());
    assert_eq!(there, said);
    // The primary goes on, and so do those that had said something; the others are unknown.
    assert_eq!(
        machine.run(&["-p", "on", "--continue"]).answer(),
        "Going on.\n"
    );
    let ids: Vec<String> = results
        .iter()
        .map(|it| it.json()["id"].as_str().unwrap().to_owned())
        .collect();
    let again: Vec<Value> = ids.iter().map(|id| on(id, "say:again")).collect();
    let child =
        "[[steps]]\nwhen = { system = \"You are a child agent\" }\nplay = [{ text = \"again\" }]\n";
    machine.write_script(&format!("{child}{}{DONE}", calls("more", &again)));
    assert_eq!(
        machine.run(&["-p", "more", "--continue"]).answer(),
        "Done.\n"
    );
    let resumed: Vec<(String, bool)> = only_results(&machine)[7..]
        .iter()
        .map(|settled| {
            (
                settled.status.clone(),
                settled.text.contains("\"output\":\"again\""),
            )
        })
        .collect();
    let expected: Vec<(String, bool)> = said_again(&found);
    assert_eq!(resumed, expected);
    machine.run(&["session", "doctor", &primary]).answer();
}

/// What resuming comes to, by what could be resumed.
fn said_again(found: &[(String, Value, Value, Value)]) -> Vec<(String, bool)> {
    found
        .iter()
        .map(|(_, _, _, resumable)| match resumable == true {
            true => ("ok".to_owned(), true),
            false => ("error".to_owned(), false),
        })
        .collect()
}

/// E-7: an interrupt stops the children of that batch alone, and no agent or job of others.
#[test]
fn only_the_batch_is_stopped() {
    let steps = format!(
        "[[steps]]\nwhen = {{ last = \"go\", last_role = \"user\" }}\nplay = [{{ tool = \"subagents.run\", input_raw = '{}' }}, {{ tool = \"meet\", input = {{}} }}]\n",
        gated("say:mine never"),
    );
    let machine = machine(&steps);
    machine.extension("own", &own_agent(3));
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    let mut stdout = read_all(
        &mut running,
        &[speaks("call_1\""), ["\"tool_result\"", "\"met\""]],
    );
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, Some(130), "{}", ran.shown());
    stdout.push_str(&ran.stdout);
    // When the turn had ended, the others had not.
    let told = customs(&stdout);
    let own: Vec<&Value> = told
        .iter()
        .filter(|(name, _)| name == "own")
        .map(|(_, data)| data)
        .collect();
    assert_eq!(
        own,
        [&json!({ "reason": "cancelled", "ended": 0, "is_live": true })]
    );
    let results = only_results(&machine);
    assert_eq!(results[0].json()["status"], "cancelled");
    assert_eq!(results[0].json()["output"], "mine");
    assert_eq!(results[1].status, "ok");
    // Theirs ended with the session: each of the three began once and ended once.
    let heard = witnessed(&machine);
    for (kind, status) in [("start", "-"), ("running", "-"), ("end", "cancelled")] {
        let of_kind = heard
            .iter()
            .filter(|(it, _, of)| it == kind && of == status);
        assert_eq!(of_kind.count(), 3, "{heard:?}");
    }
}

/// E-7: what waits in the queue is stopped there, though the places are held by children of others
/// that the interrupt does not touch.
#[test]
fn what_waits_behind_children_of_others_is_stopped_in_the_queue() {
    let steps = format!(
        "[[steps]]\nwhen = {{ last = \"go\", last_role = \"user\" }}\nplay = [{{ tool = \"meet\", input = {{}} }}]\n{}",
        calls("met", &[gated("say:mine")]).replace("\"user\"", "\"tool\""),
    );
    let machine = with_settings(&steps, "concurrency = 2", "");
    machine.extension("own", &own_agent(2));
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    let mut stdout = read_all(&mut running, &[["\"call_2\"", "subagents.start"]]);
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, Some(130), "{}", ran.shown());
    stdout.push_str(&ran.stdout);
    let own = customs(&stdout)
        .into_iter()
        .find(|(name, _)| name == "own")
        .unwrap()
        .1;
    assert_eq!(
        own,
        json!({ "reason": "cancelled", "ended": 0, "is_live": true })
    );
    let life = &lives(&stdout)["call_2"];
    assert_eq!(
        (life.starts.len(), life.running, life.ends.len()),
        (1, 0, 1)
    );
    let result = only_results(&machine)[1].json();
    assert_eq!(
        result["error"],
        "the child was cancelled before its turn began"
    );
    assert_eq!(
        (&result["status"], &result["resumable"]),
        (&json!("cancelled"), &json!(false))
    );
}

/// S0-74, failures 49: a later turn is as another one, and can be stopped as the one before.
#[test]
fn each_turn_is_stopped_by_itself() {
    let machine = machine(&format!(
        "{}{DONE}",
        calls("go", &[gated("say:first never")])
    ));
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    read_all(&mut running, &[speaks("call_1\"")]);
    running.signal(Signal::INT);
    assert_eq!(running.finish().code, Some(130));
    let id = only_results(&machine)[0].json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    for round in 2..=3 {
        machine.write_script(&format!(
            "{}{DONE}",
            calls("more", &[on(&id, "say:next never"), gated("say:other")])
        ));
        let mut running = machine.start(&["-p", "more", "-o", "stream-json", "--continue"]);
        let text = read_all(
            &mut running,
            &[
                ["say:next", "user_message"],
                ["assistant_text_delta", "next"],
                ["subagents.end", "general"],
            ],
        );
        assert_eq!(text.matches("\"type\":\"init\"").count(), 1);
        running.signal(Signal::INT);
        let ran = running.finish();
        assert_eq!(ran.code, Some(130), "{}", ran.shown());
        let results = only_results(&machine);
        let [.., resumed, other] = results.as_slice() else {
            panic!("{results:?}");
        };
        assert_eq!(resumed.json()["id"], id.as_str(), "{round}");
        assert_eq!(
            (&resumed.json()["status"], &resumed.json()["output"]),
            (&json!("cancelled"), &json!("next"))
        );
        assert_eq!(other.json()["status"], "completed");
    }
    machine.write_script(&format!("{}{DONE}", calls("more", &[on(&id, "say:last")])));
    let ran = streamed(&machine, "more", &["--continue"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let results = only_results(&machine);
    assert_eq!(results.last().unwrap().json()["output"], "last");
    let primary = machine.only_session();
    let child = listed(&machine, &primary)
        .into_iter()
        .find(|child| child["id"] == id.as_str())
        .unwrap();
    assert_eq!(
        (&child["status"], &child["turns"]),
        (&json!("completed"), &json!(4))
    );
}

/// A second Ctrl+C does not wait; what is on disk is as after a crash.
#[test]
fn the_second_ctrl_c_leaves_nothing_broken() {
    let stubborn = "[[steps]]\nwhen = { system = \"You are a child agent\" }\nignore_cancel = true\n\
        play = [{ text = \"three\" }, { fault = \"stall\" }]\n";
    let inputs = [
        json!({ "agent": "general", "prompt": "stubborn" }),
        gated("say:two never"),
    ];
    let machine = machine(&format!(
        "{stubborn}{}{DONE}{CONTINUE}",
        calls("go", &inputs)
    ));
    let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
    read_all(&mut running, &[speaks("call_1\""), speaks("call_2\"")]);
    assert_eq!(running.insist(Signal::INT), Some(130));
    assert_eq!(
        machine.run(&["-p", "on", "--continue"]).answer(),
        "Going on.\n"
    );
    assert_eq!(only_results(&machine).len(), 2);
    let primary = machine.only_session();
    machine.run(&["session", "doctor", &primary]).answer();
    let listed = listed(&machine, &primary);
    assert_eq!(listed.len(), files(&machine, &primary).len());
    assert!(
        listed.iter().all(|child| child["status"] != "running"),
        "{listed:?}"
    );
}

/// S0-77: an interrupt at any moment of any mix. Each call has one result, in
/// order, and each child that was told of has one end.
#[test]
fn an_interrupt_settles_any_mix() {
    for seed in 1..=6 {
        let mut chance = Chance(seed);
        let inputs: Vec<Value> = (0..64)
            .map(|call| match if call < 4 { 0 } else { chance.below(6) } {
                0..=1 => gated("shuffle say:well"),
                2 => gated("shuffle say:half fail"),
                3 => gated("shuffle say:part shuffle say:more"),
                // Four of these, and nothing goes on by itself.
                4 => gated("say:part never"),
                _ => json!({ "agent": "nobody", "prompt": "x" }),
            })
            .collect();
        let machine = with_settings(
            &format!("{}{DONE}{CONTINUE}", calls("go", &inputs)),
            "",
            &format!("seed = {seed}\ncrowd = 4"),
        );
        let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
        let mut stdout = String::new();
        let moment = chance.below(8);
        for _ in 0..=moment {
            stdout.push_str(&running.read_until("\"subagents.running\""));
        }
        running.signal(Signal::INT);
        let ran = running.finish();
        assert_eq!(ran.code, Some(130), "seed {seed}: {}", ran.shown());
        stdout.push_str(&ran.stdout);
        let lives = lives(&stdout);
        assert_whole(&lives);
        assert!(peak(&stdout) <= 4);
        let results = only_results(&machine);
        assert_eq!(results.len(), 64);
        for settled in &results {
            let expected = match lives.get(&settled.call) {
                Some(life) => {
                    assert_eq!(settled.json()["id"], life.ends[0]["id"]);
                    assert_eq!(settled.json()["status"], life.ends[0]["status"]);
                    continue;
                }
                None => ["error", "cancelled"],
            };
            assert!(expected.contains(&settled.status.as_str()), "{settled:?}");
        }
        assert!(results.iter().any(|settled| settled.status == "cancelled"));
        assert_eq!(
            machine.run(&["-p", "on", "--continue"]).answer(),
            "Going on.\n"
        );
        for child in listed(&machine, &machine.only_session()) {
            let life = lives
                .values()
                .find(|life| life.starts[0]["id"] == child["id"])
                .unwrap();
            assert_eq!(child["status"], life.ends[0]["status"], "{child}");
            assert_eq!(life.ends[0]["resumable"], true);
        }
    }
}

/// A request to terminate, a lost terminal and a reader that goes away end
/// children as Ctrl+C does.
#[test]
fn other_ends_of_a_run_end_its_children() {
    for signal in [Some(Signal::TERM), Some(Signal::HUP), None] {
        let inputs = [
            gated("say:one"),
            gated("say:two wait:noise say:noise never"),
            gated("never"),
            gated("say:x"),
        ];
        let machine = with_settings(
            &format!("{}{DONE}{CONTINUE}", calls("go", &inputs)),
            "concurrency = 2",
            "",
        );
        let mut running = machine.start(&["-p", "go", "-o", "stream-json"]);
        read_all(
            &mut running,
            &[
                ["call_1\"", "subagents.end"],
                speaks("call_2\""),
                ["call_3\"", "subagents.running"],
            ],
        );
        match signal {
            Some(signal) => {
                running.signal(signal);
                let code = running.finish().code;
                assert!(matches!(code, Some(129 | 143)), "{code:?}");
            }
            None => {
                running.close_output();
                // Something must be written for it to be noticed.
                open_gate(&machine, "noise");
                running.finish();
            }
        }
        let heard = witnessed(&machine);
        let ends = |status: &str| {
            heard
                .iter()
                .filter(|(kind, _, it)| kind == "end" && it == status)
                .count()
        };
        assert_eq!(
            (ends("completed"), ends("cancelled"), ends("failed")),
            (1, 3, 0),
            "{signal:?} {heard:?}"
        );
        assert_eq!(
            heard.iter().filter(|(kind, _, _)| kind == "start").count(),
            4
        );
        let statuses: Vec<String> = only_results(&machine)
            .iter()
            .map(|settled| settled.status.clone())
            .collect();
        assert_eq!(statuses, ["ok", "cancelled", "cancelled", "cancelled"]);
        assert_eq!(
            machine.run(&["-p", "on", "--continue"]).answer(),
            "Going on.\n"
        );
    }
}
