//! What goes wrong when a script wants it to.

use std::task::Poll;
use std::time::Duration;

use futures_util::future::{FutureExt, poll_immediate};
use pantograph::ErrorClass;
use pantograph_scripted::{Call, Fault, Gate, Script, ScriptedProtocol, Step, Text, failure};
use serde_json::json;

use crate::support::{answer, ask, next, open, play, rest};

const CLASSES: [ErrorClass; 9] = [
    ErrorClass::RateLimit,
    ErrorClass::Overloaded,
    ErrorClass::Authentication,
    ErrorClass::InvalidRequest,
    ErrorClass::ModelNotFound,
    ErrorClass::ContextOverflow,
    ErrorClass::Server,
    ErrorClass::Transport,
    ErrorClass::Terminal,
];

#[tokio::test]
async fn every_error_class_comes_before_the_stream_and_inside_it_then_success() {
    for class in CLASSES {
        let error = failure(class).with_retry_after(Duration::from_secs(2));
        let script = Script::new()
            .step(Step::error(error.clone()))
            .step(Step::text("so far").then(error))
            .step("at last");
        let protocol = ScriptedProtocol::new(script);
        let name = class.as_str();
        let said = format!("error {name}: scripted {name} error (retry after 2s)");
        assert_eq!(
            answer(&protocol, ask("go")).await,
            format!("not opened: {said}")
        );
        assert_eq!(
            answer(&protocol, ask("go")).await,
            format!("0 text \"so far\"\n0 end\n{said}\n")
        );
        assert_eq!(
            answer(&protocol, ask("go")).await,
            "0 text \"at last\"\n0 end\ndone end\n(over)"
        );
    }
}

#[tokio::test]
async fn a_disconnect_leaves_its_block_open_and_no_end_does_not() {
    let disconnect = Step::text("half").then(Fault::Disconnect).then("never");
    assert_eq!(play(disconnect).await, "0 text \"half\"\n(over)");
    let no_end = Step::text("whole").then(Fault::NoEnd).then("never");
    assert_eq!(play(no_end).await, "0 text \"whole\"\n0 end\n(over)");
}

#[tokio::test]
async fn a_disconnect_can_strike_at_every_event() {
    let step = || {
        Step::new()
            .then(Text::new("ab").chunks(2))
            .then(Call::new("list", json!({})))
    };
    let whole = play(step()).await;
    let events: Vec<&str> = whole.lines().collect();
    for cut in 0..events.len() - 1 {
        let played = play(step().at_event(cut as u64, Fault::Disconnect)).await;
        let mut expected = events[..cut].to_vec();
        expected.push("(over)");
        assert_eq!(played.lines().collect::<Vec<_>>(), expected);
    }
    let late = play(step().at_event(events.len() as u64 - 1, Fault::Disconnect)).await;
    assert_eq!(late, whole);
}

#[tokio::test]
async fn malformed_input_and_repeated_ids_come_as_they_are_written() {
    let step = Step::new()
        .then(Call::with_raw_input("read", "{\"path\": \"a").id("same"))
        .then(Call::new("read", json!({})).id("same"))
        .then(Call::new("read", json!({})).id(""));
    insta::assert_snapshot!(play(step).await, @r#"
    0 call same read
    0 input {"path": "a
    0 end
    1 call same read
    1 input {}
    1 end
    2 call  read
    2 input {}
    2 end
    done tool_calls
    (over)
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_stalled_stream_and_a_stalled_opening_never_go_on() {
    let script = Script::new()
        .step(Step::text("a").then(Fault::Stall).then("b"))
        .step(Step::text("never").on_open(Fault::Stall));
    let protocol = ScriptedProtocol::new(script);
    let hour = Duration::from_secs(3600);

    let mut stream = open(&protocol, ask("go")).await.unwrap();
    next(&mut *stream).await;
    next(&mut *stream).await;
    assert!(
        tokio::time::timeout(hour, next(&mut *stream))
            .await
            .is_err()
    );

    let opening = tokio::time::timeout(hour, open(&protocol, ask("go"))).await;
    assert!(opening.is_err());
    drop(stream);
    assert_eq!(protocol.open_streams(), 0);
    assert_eq!(protocol.unused_steps(), 0);
}

#[tokio::test]
async fn a_cancelled_stream_ends_unless_it_ignores_that() {
    let text = || Step::from(Text::new("x").count(3));
    let script = Script::new().step(text()).step(text().ignoring_cancel());
    let protocol = ScriptedProtocol::new(script);

    let mut stream = open(&protocol, ask("go")).await.unwrap();
    next(&mut *stream).await;
    stream.cancel_turn();
    stream.cancel_turn();
    assert_eq!(rest(&mut *stream).await, "(over)");

    let mut stubborn = open(&protocol, ask("go")).await.unwrap();
    for _ in 0..2 {
        stubborn.cancel_turn();
        assert!(next(&mut *stubborn).await.is_some());
    }
    insta::assert_snapshot!(rest(&mut *stubborn).await, @r#"
    0 text "x"
    0 end
    done end
    (over)
    "#);
    assert_eq!(protocol.cancelled_streams(), 2);
}

#[tokio::test]
async fn a_gate_holds_a_stream_until_it_is_opened() {
    let (gate, door) = (Gate::new(), Gate::new());
    let step = Step::text("before")
        .then(&gate)
        .then("after")
        .on_open(&door);
    let protocol = ScriptedProtocol::new(Script::new().step(step));
    let task = tokio::spawn({
        let protocol = protocol.clone();
        async move { answer(&protocol, ask("go")).await }
    });
    door.reached().await;
    assert_eq!(protocol.open_streams(), 0);
    door.open();
    gate.reached().await;
    assert_eq!(protocol.open_streams(), 1);
    assert!(!task.is_finished());
    gate.open();
    insta::assert_snapshot!(task.await.unwrap(), @r#"
    0 text "before"
    0 end
    1 text "after"
    1 end
    done end
    (over)
    "#);
    protocol.wait_for_open_streams(0).await;
}

#[tokio::test]
async fn a_gate_counts_who_comes() {
    let gate = Gate::new();
    let script = Script::new().step(Step::new().at_event(0, &gate).repeated());
    let protocol = ScriptedProtocol::new(script);
    let mut first = open(&protocol, ask("1")).await.unwrap();
    let mut second = open(&protocol, ask("2")).await.unwrap();
    assert!(gate.reached().now_or_never().is_none());
    assert!(poll_immediate(next(&mut *first)).await.is_none());
    assert!(poll_immediate(next(&mut *second)).await.is_none());
    gate.reached_times(2).await;
    gate.open();
    let both = futures_util::join!(rest(&mut *first), rest(&mut *second));
    assert_eq!(both.0, both.1);
    assert_eq!(gate.arrivals(), 2);
}

#[tokio::test]
async fn a_stream_that_is_over_stays_so() {
    let protocol = ScriptedProtocol::new(Script::new().step("x"));
    let mut stream = open(&protocol, ask("go")).await.unwrap();
    rest(&mut *stream).await;
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert_eq!(stream.poll_event(&mut context), Poll::Ready(None));
}
