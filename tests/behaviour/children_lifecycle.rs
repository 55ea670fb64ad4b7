//! Children from their beginning to their end: each is told of once, and each call settles.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::children::{
    Chance, DONE, assert_whole, calls, customs, files, gated, listed, lives, machine, only_results,
    own_agent, peak, streamed, with_settings, witnessed,
};

const RAISES: &str = "panto.ext.register_tool { name = 'raises', description = 'd', \
    schema = { type = 'object' }, handler = function() error('it broke') end }";

/// S0-15, S0-16, S0-18: exactly one start and one end, with one id, however a turn ends.
#[test]
fn every_path_has_one_beginning_and_one_end() {
    let inputs = [
        gated("say:well"),
        gated("say:half fail"),
        gated("fail"),
        gated(""),
        gated("end"),
        gated("tool:raises | say:anyway"),
        json!({ "agent": "general", "prompt": "scripted" }),
        json!({ "agent": "general", "prompt": "broken" }),
    ];
    let steps = "[[steps]]\nwhen = { system = \"You are a child agent\", last = \"scripted\" }\nplay = [{ text = \"played\" }]\n\
         [[steps]]\nwhen = { system = \"You are a child agent\", last = \"broken\" }\nplay = [{ text = \"pla\" }, { error = \"terminal\" }]\n";
    let machine = machine(&format!("{steps}{}{DONE}", calls("go", &inputs)));
    machine.extension("raises", RAISES);
    let ran = streamed(&machine, "go", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let lives = lives(&ran.stdout);
    assert_whole(&lives);
    let found: Vec<(String, String, String)> = lives
        .values()
        .map(|life| {
            let end = &life.ends[0];
            let text = |key: &str| end[key].as_str().unwrap().to_owned();
            (text("tool_call_id"), text("status"), text("stop"))
        })
        .collect();
    let expected = [
        ("call_1", "completed", "end"),
        ("call_2", "failed", "provider_error"),
        ("call_3", "failed", "provider_error"),
        // The fourth has no prompt, so nothing was begun.
        ("call_5", "failed", "empty"),
        ("call_6", "completed", "end"),
        ("call_7", "completed", "end"),
        ("call_8", "failed", "provider_error"),
    ];
    let expected = expected.map(|(call, status, stop)| (call.into(), status.into(), stop.into()));
    assert_eq!(found, expected);
    // What a child does on its way is told of, and is no part of the primary's conversation (S0-72).
    assert!(ran.stdout.contains("it broke"));
    let file = std::fs::read_to_string(&machine.session_files()[0]).unwrap();
    assert!(!file.contains("it broke"));
    // The results say the same, and one that failed takes no sibling with it (S0-156).
    for settled in only_results(&machine) {
        match lives.get(&settled.call) {
            Some(life) => {
                let result = settled.json();
                for key in ["id", "agent", "status", "stop", "resumable", "model"] {
                    assert_eq!(result[key], life.ends[0][key], "{key} of {settled:?}");
                }
            }
            None => assert_eq!(
                (settled.call.as_str(), settled.status.as_str()),
                ("call_4", "error")
            ),
        }
    }
}

/// S0-22, S0-152, S0-154, S0-156: 64 calls under a bound settle in any order; no more
/// than the bound run or have a stream open at once.
#[test]
fn any_mix_settles_under_the_bound() {
    for seed in 1..=4 {
        let bound = if seed == 4 { 7 } else { 4 };
        let mut chance = Chance(seed);
        let mut expected = Vec::new();
        let inputs: Vec<Value> = (0..64)
            .map(|call| {
                // The first ones wait for one another, so that the bound is met.
                let kind = if call < bound { 0 } else { chance.below(8) };
                let (status, input) = match kind {
                    0..=2 => ("ok", gated("shuffle say:well")),
                    3 => ("error", gated("shuffle say:half fail")),
                    4 => ("ok", gated("shuffle tool:raises | shuffle say:anyway")),
                    5 => ("error", gated("shuffle")),
                    6 => ("ok", json!({ "agent": "general", "prompt": "scripted" })),
                    _ => ("refused", json!({ "agent": "nobody", "prompt": "x" })),
                };
                expected.push(status);
                input
            })
            .collect();
        let steps = "[[steps]]\nwhen = { system = \"You are a child agent\" }\nrepeat = true\nplay = [{ text = \"played\" }]\n";
        let machine = with_settings(
            &format!("{steps}{}{DONE}", calls("go", &inputs)),
            &if bound == 4 {
                String::new()
            } else {
                format!("concurrency = {bound}")
            },
            &format!("seed = {seed}\ncrowd = {bound}"),
        );
        machine.extension("raises", RAISES);
        let ran = streamed(&machine, "go", &[]);
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
        let lives = lives(&ran.stdout);
        assert_whole(&lives);
        assert_eq!(peak(&ran.stdout), bound);
        let streams = customs(&ran.stdout)
            .iter()
            .filter(|(name, _)| name == "gated")
            .map(|(_, data)| data["open"].as_u64().unwrap())
            .max();
        assert_eq!(streams, Some(bound as u64), "seed {seed}");
        let settled = only_results(&machine);
        let found: Vec<&str> = settled
            .iter()
            .map(|settled| match lives.get(&settled.call) {
                Some(life) => {
                    assert_eq!(life.running, 1);
                    assert_eq!(settled.json()["id"], life.ends[0]["id"]);
                    settled.status.as_str()
                }
                None => "refused",
            })
            .collect();
        assert_eq!(found, expected, "seed {seed}");
        let ids: BTreeSet<String> = lives
            .values()
            .map(|life| life.starts[0]["id"].to_string())
            .collect();
        assert_eq!(ids.len(), lives.len());
        // They did not just end in the order in which they began.
        let ends: Vec<String> = customs(&ran.stdout)
            .into_iter()
            .filter(|(name, _)| name == "subagents.end")
            .map(|(_, data)| data["tool_call_id"].to_string())
            .collect();
        let begun: Vec<String> = customs(&ran.stdout)
            .into_iter()
            .filter(|(name, _)| name == "subagents.running")
            .map(|(_, data)| data["tool_call_id"].to_string())
            .collect();
        assert_ne!(ends, begun);
        assert_eq!(begun.len(), lives.len());
    }
}

/// S0-22: the queue is first come, first served, and a bound of one makes a row.
#[test]
fn a_bound_of_one_runs_one_after_the_other() {
    let inputs: Vec<Value> = (0..6).map(|_| gated("shuffle say:x")).collect();
    let machine = with_settings(
        &format!("{}{DONE}", calls("go", &inputs)),
        "concurrency = 1",
        "",
    );
    let ran = streamed(&machine, "go", &[]);
    let order: Vec<String> = customs(&ran.stdout)
        .into_iter()
        .filter(|(name, _)| name == "subagents.running" || name == "subagents.end")
        .map(|(name, data)| format!("{name} {}", data["tool_call_id"].as_str().unwrap()))
        .collect();
    let expected: Vec<String> = (1..=6)
        .flat_map(|call| ["running", "end"].map(|kind| format!("subagents.{kind} call_{call}")))
        .collect();
    assert_eq!(order, expected);
}

/// S0-10 to S0-12, S0-19: what is refused before a child has an id is told of by the result alone.
#[test]
fn what_is_refused_leaves_no_trace() {
    let inputs = [
        json!({ "prompt": "x" }),
        json!({ "agent": "general" }),
        json!({ "agent": "general", "prompt": "  " }),
        json!({ "agent": "general", "id": "0198c0de-0000-7000-8000-000000000001", "prompt": "x" }),
        json!({ "agent": "general", "prompt": "x", "extra": 1 }),
        json!({ "agent": "general", "prompt": 7 }),
        json!({ "agent": "nobody", "prompt": "x" }),
        json!({ "agent": "general", "model": "test:none", "prompt": "x" }),
        json!({ "agent": "general", "model": "model", "prompt": "x" }),
    ];
    let machine = machine(&format!("{}{DONE}", calls("go", &inputs)));
    let ran = streamed(&machine, "go", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(lives(&ran.stdout).is_empty());
    assert_eq!(witnessed(&machine), []);
    let settled = only_results(&machine);
    let texts: BTreeSet<&str> = settled
        .iter()
        .map(|settled| settled.text.as_str())
        .collect();
    assert_eq!(texts.len(), inputs.len() - 1, "{texts:#?}");
    assert!(settled.iter().all(|settled| settled.status == "error"));
    let primary = machine.only_session();
    assert_eq!(files(&machine, &primary), Vec::<std::path::PathBuf>::new());
}

/// What listens to children and breaks keeps none from its end.
#[test]
fn a_listener_that_raises_harms_no_child() {
    let machine = machine(&format!(
        "{}{DONE}",
        calls("go", &[gated("say:a"), gated("fail")])
    ));
    machine.extension(
        "listener",
        "for _, kind in ipairs({ 'start', 'running', 'event', 'end' }) do\n\
           panto.ext.on('subagents.' .. kind, function() error('not today') end)\n\
         end",
    );
    let ran = streamed(&machine, "go", &[]);
    let lives = lives(&ran.stdout);
    assert_whole(&lives);
    assert_eq!(lives.len(), 2);
    let settled = only_results(&machine);
    assert_eq!(settled[0].json()["output"], "a");
    assert_eq!(settled[1].json()["status"], "failed");
}

/// S0-99: the end of the session ends what still runs or waits, and its end is
/// told. The children are those of an agent that another extension has, so no turn has to wait.
#[test]
fn the_end_of_the_session_is_the_end_of_its_children() {
    let machine = with_settings(
        "[[steps]]\nplay = [{ tool = \"meet\", input = {} }]\n[[steps]]\nplay = [{ text = \"Done.\" }]",
        "concurrency = 1",
        "",
    );
    machine.extension("own", &own_agent(2));
    let ran = streamed(&machine, "go", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    // They were alive when the last turn had ended.
    let told = customs(&ran.stdout);
    let own: Vec<&Value> = told
        .iter()
        .filter(|(name, _)| name == "own")
        .map(|(_, data)| data)
        .collect();
    assert_eq!(
        own,
        [&json!({ "reason": "completed", "ended": 0, "is_live": true })]
    );
    let heard = witnessed(&machine);
    let kinds: Vec<(&str, &str)> = heard
        .iter()
        .map(|(kind, _, status)| (kind.as_str(), status.as_str()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("start", "-"),
            ("running", "-"),
            ("start", "-"),
            ("end", "cancelled"),
            ("end", "cancelled")
        ]
    );
    let ended: BTreeSet<&String> = heard[3..].iter().map(|(_, id, _)| id).collect();
    assert_eq!(ended, BTreeSet::from([&heard[0].1, &heard[2].1]));
}

/// An agent of another extension that is cancelled while its children work, and
/// one of them heeds nothing. Their places are free for the next ones.
#[test]
fn a_caller_that_is_cancelled_leaves_its_places() {
    let stubborn = "[[steps]]\nwhen = { system = \"You are a child agent\" }\nignore_cancel = true\n\
        play = [{ text = \"stubborn\" }, { fault = \"stall\" }]\n";
    let own = json!({ "agent": "general", "prompt": "x" });
    let own_step = calls(
        "cancel me",
        &[own, gated("say:two never"), gated("say:queued")],
    );
    let machine = with_settings(
        &format!(
            "{stubborn}{own_step}[[steps]]\nwhen = {{ last = \"go\" }}\nplay = [{{ tool = \"drive\", input = {{}} }}]\n{}{DONE}",
            calls("driven", &[gated("say:a"), gated("say:b"), gated("say:c")])
                .replace("\"user\"", "\"tool\"")
        ),
        "concurrency = 2",
        "",
    );
    machine.extension(
        "drive",
        "local uv = require('luv')
         local spoken, job, co = 0, nil, nil
         panto.ext.on('subagents.event', function(event)
           if event.data.event.type == 'assistant_text_delta' then
             spoken = spoken + 1
             if spoken == 2 then job:request_cancel({ grace_ms = 200 }) end
           end
         end)
         panto.ext.register_tool { name = 'drive', description = 'd', schema = { type = 'object' }, handler = function()
           local agent = assert(panto.agent { config = assert(panto.ext.resolve_model {}), store = panto.null_store() })
           assert(agent:set_tools(assert(panto.ext.agent:tools())))
           job = assert(agent:run_async { prompt = 'cancel me' })
           co = coroutine.running()
           local timer = uv.new_timer()
           timer:start(1, 1, function()
             if job:result() then timer:close() coroutine.resume(co) end
           end)
           coroutine.yield()
           return 'driven ' .. job:result().status
         end }",
    );
    let ran = streamed(&machine, "go", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let settled = only_results(&machine);
    assert_eq!(settled[0].text, "driven cancelled");
    let outputs: Vec<Value> = settled[1..]
        .iter()
        .map(|settled| settled.json()["output"].clone())
        .collect();
    assert_eq!(outputs, ["a", "b", "c"]);
    let heard = witnessed(&machine);
    let ids: BTreeSet<&String> = heard.iter().map(|(_, id, _)| id).collect();
    assert_eq!(ids.len(), 6);
    for id in ids {
        let of = |kind: &str| {
            heard
                .iter()
                .filter(|(it, of, _)| it == kind && of == id)
                .count()
        };
        assert_eq!((of("start"), of("end")), (1, 1), "{heard:?}");
    }
    let ends = |status: &str| {
        heard
            .iter()
            .filter(|(kind, _, it)| kind == "end" && it == status)
            .count()
    };
    assert_eq!((ends("cancelled"), ends("completed")), (3, 3));
}

/// E-42: a listing tells how a turn ended that nothing else in its file tells
/// from a crash.
#[test]
fn a_listing_knows_how_a_turn_ended() {
    let inputs = [
        gated("say:look tool:raises | fail"),
        gated("say:look tool:raises | say:half fail"),
        gated("say:look tool:raises | end"),
        gated("say:look tool:raises | say:end"),
    ];
    let machine = machine(&format!("{}{DONE}", calls("go", &inputs)));
    machine.extension("raises", RAISES);
    machine.run(&["-p", "go"]).answer();
    let list = listed(&machine, &machine.only_session());
    let settled = only_results(&machine);
    let statuses: Vec<Value> = settled
        .iter()
        .map(|it| it.json()["status"].clone())
        .collect();
    assert_eq!(statuses, ["failed", "failed", "failed", "completed"]);
    for settled in settled {
        let result = settled.json();
        assert_eq!(result["resumable"], true);
        let child = list
            .iter()
            .find(|child| child["id"] == result["id"])
            .unwrap();
        assert_eq!(
            (&child["status"], &child["error"]),
            (&result["status"], &result["error"])
        );
    }
}
