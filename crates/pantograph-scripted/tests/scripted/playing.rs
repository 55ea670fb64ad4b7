//! What steps play.

use std::time::Duration;

use pantograph::protocol::ProtocolEvent;
use pantograph::{RawJson, StopReason, Usage};
use pantograph_scripted::{Call, Item, Script, ScriptedProtocol, Step, Text, Thinking};
use serde_json::json;

use crate::support::{answer, ask, assistant, calls, next, open, play, request, results, user};

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

#[tokio::test]
async fn an_answer_has_every_kind_of_block() {
    let usage = Usage {
        input: Some(12),
        output: Some(3),
        ..Usage::default()
    };
    let step = Step::new()
        .then(Thinking::new("Hm. Yes.").chunks(2).signature("c2ln"))
        .then(Thinking::new("").signature("only"))
        .then(Text::new("Let me look.").raw(raw("{ \"type\": 1 }")))
        .then(Item::Opaque(raw("{\"type\":\"search\"}")))
        .then(Call::new("read", json!({ "path": "a", "at": 1 })).chunks(3))
        .then(usage)
        .then(Call::with_raw_input("list", "").id("mine").raw(raw("[]")));
    insta::assert_snapshot!(play(step).await, @r#"
    0 thinking "Hm. "
    0 thinking "Yes."
    0 signature c2ln
    0 end
    1 signature only
    1 end
    2 text "Let me look."
    2 raw { "type": 1 }
    2 end
    3 opaque {"type":"search"}
    4 call call_1 read
    4 input {"path
    4 input ":"a",
    4 input "at":1}
    4 end
    usage {"input":12,"output":3}
    5 call mine list
    5 raw []
    5 end
    done tool_calls
    (over)
    "#);
}

#[tokio::test]
async fn the_stop_follows_from_the_calls_unless_it_is_given() {
    let stops = [
        (Step::new(), "done end"),
        (Step::text("x"), "done end"),
        (Step::call("list", json!({})), "done tool_calls"),
        (Step::text("x").then(StopReason::Limit), "done limit"),
        (
            Step::call("list", json!({})).then(StopReason::End),
            "done end",
        ),
    ];
    for (step, expected) in stops {
        let played = play(step.clone()).await;
        assert!(played.contains(expected), "{step:?} played {played}");
    }
}

#[tokio::test]
async fn an_empty_text_is_still_a_block() {
    insta::assert_snapshot!(play("").await, @r#"
    0 text ""
    0 end
    done end
    (over)
    "#);
}

#[tokio::test]
async fn calls_get_ids_that_the_conversation_does_not_have() {
    let step = Step::call("list", json!({}))
        .then(Call::new("list", json!({})).id("call_3"))
        .then(Call::new("list", json!({})));
    let protocol = ScriptedProtocol::new(Script::new().step(step));
    let history = request([
        user("go"),
        calls([("call_1", "list", "{}"), ("other", "list", "{}")]),
        results(["call_1", "other"]),
    ]);
    let played = answer(&protocol, history).await;
    let starts: Vec<&str> = played
        .lines()
        .filter(|line| line.contains("call "))
        .collect();
    assert_eq!(
        starts,
        [
            "0 call call_2 list",
            "1 call call_3 list",
            "2 call call_4 list"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn delays_take_time_of_the_tokio_clock_only() {
    let start = tokio::time::Instant::now();
    let step = Step::new()
        .then(Duration::from_secs(3600))
        .then(Text::new("abc").chunks(3).pace(Duration::from_secs(10)))
        .then(
            Call::with_raw_input("list", "{}")
                .chunks(2)
                .pace(Duration::from_secs(1)),
        )
        .on_open(Duration::from_secs(60))
        .at_event(2, Duration::from_secs(5));
    play(step).await;
    assert_eq!(start.elapsed().as_secs(), 3600 + 20 + 1 + 60 + 5);
}

#[tokio::test]
async fn a_hundred_thousand_deltas_are_one_text() {
    let protocol = ScriptedProtocol::new(
        Script::new().step(Step::new().then(Text::new("ab").chunks(2).count(50_000))),
    );
    let mut stream = open(&protocol, ask("go")).await.unwrap();
    let (mut deltas, mut bytes) = (0, 0);
    while let Some(event) = next(&mut *stream).await {
        if let ProtocolEvent::TextDelta { text, .. } = event.unwrap() {
            deltas += 1;
            bytes += text.len();
        }
    }
    assert_eq!((deltas, bytes), (100_000, 100_000));
}

#[tokio::test]
async fn an_endless_text_lets_other_tasks_run() {
    let protocol =
        ScriptedProtocol::new(Script::new().step(Step::new().then(Text::new("x").endless())));
    let mut stream = open(&protocol, ask("go")).await.unwrap();
    let reader = tokio::spawn(async move { while next(&mut *stream).await.is_some() {} });
    // On one thread this is reached only if the reader gives way.
    tokio::task::yield_now().await;
    reader.abort();
    assert!(reader.await.unwrap_err().is_cancelled());
    assert_eq!(protocol.open_streams(), 0);
}

#[tokio::test]
async fn a_thousand_streams_are_open_at_once() {
    let script = Script::new().step(Step::from(Text::new("abc").chunks(3)).repeated());
    let protocol = ScriptedProtocol::new(script);
    let mut streams = Vec::new();
    for number in 0..1_000 {
        streams.push(open(&protocol, ask(&number.to_string())).await.unwrap());
    }
    assert_eq!(protocol.open_streams(), 1_000);
    for stream in &mut streams {
        while next(&mut **stream).await.is_some() {}
    }
    drop(streams);
    assert_eq!(
        (protocol.open_streams(), protocol.peak_open_streams()),
        (0, 1_000)
    );
}

#[tokio::test]
async fn a_conversation_is_played_to_its_end() {
    let script = Script::new()
        .step(Step::call("list", json!({})))
        .step("Two files.")
        .step("You are welcome.");
    let protocol = ScriptedProtocol::new(script);
    let mut history = vec![user("look")];
    answer(&protocol, request(history.clone())).await;
    history.extend([calls([("call_1", "list", "{}")]), results(["call_1"])]);
    answer(&protocol, request(history.clone())).await;
    history.extend([assistant("Two files."), user("thanks")]);
    answer(&protocol, request(history)).await;
    assert_eq!(protocol.unused_steps(), 0);
    let requests: Vec<String> = protocol
        .requests()
        .iter()
        .map(ToString::to_string)
        .collect();
    insta::assert_snapshot!(requests[2], @r#"
    turn test:model
    tools: read, list
    user: look
    assistant: (call call_1) list {}
    tool: (ok call_1) output of call_1
    assistant: Two files.
    user: thanks
    "#);
}
