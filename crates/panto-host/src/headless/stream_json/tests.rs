//! The schema as a whole, and that its page knows all of it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use pantograph::session::SessionError;
use pantograph::{
    BatchId, ErrorClass, MessageId, SessionId, StopReason, TurnId, Usage, UsageTotal,
};
use uuid::Uuid;

use super::super::{RunError, RunStatus};
use super::*;

fn outcome(stop: StopReason) -> Arc<Outcome> {
    let usage = Usage {
        input: Some(10),
        output: Some(2),
        ..Usage::default()
    };
    let mut total = UsageTotal::default();
    total.record(Some(&usage), None);
    Arc::new(Outcome {
        turn_id: TurnId::new(Uuid::nil()),
        stop,
        error: None,
        text: Some("Hi \u{2028} there".to_owned()),
        tool_calls: Vec::new(),
        usage: total,
        returned: Vec::new(),
    })
}

/// One event of every kind, in no sensible order.
fn every_event() -> Vec<Event> {
    let id = || "c1".into();
    let tool_name = || "files.read".into();
    let error = ProviderError::new(ErrorClass::RateLimit, "slow down")
        .with_retry_after(Duration::from_secs(2));
    vec![
        Event::TurnStart {
            turn_id: TurnId::new(Uuid::nil()),
        },
        Event::UserMessage {
            id: MessageId::new("m1"),
            text: "go".to_owned(),
        },
        Event::Thinking { index: 0 },
        Event::ThinkingDelta {
            index: 0,
            delta: "hm".to_owned(),
        },
        Event::ThinkingComplete {
            index: 0,
            text: "hm".into(),
        },
        Event::AssistantText { index: 1 },
        Event::AssistantTextDelta {
            index: 1,
            delta: "a\u{2028}\u{1b}\n".to_owned(),
        },
        Event::AssistantTextComplete {
            index: 1,
            text: "a\u{2028}\u{1b}\n".into(),
        },
        Event::Tool { index: 2 },
        Event::ToolDetails {
            index: 2,
            id: id(),
            tool_name: tool_name(),
        },
        Event::ToolDelta {
            index: 2,
            id: id(),
            tool_name: tool_name(),
            delta: "{\"pa".to_owned(),
        },
        Event::ToolCallComplete {
            index: 2,
            id: id(),
            tool_name: tool_name(),
            input: "{\"path\":\"x\"}".into(),
        },
        Event::ToolDispatchStart {
            id: id(),
            tool_name: tool_name(),
            batch_id: BatchId::new(Uuid::nil()),
        },
        Event::ToolOutputDelta {
            id: id(),
            tool_name: tool_name(),
            delta: "1%".to_owned(),
        },
        Event::ToolResult {
            id: id(),
            tool_name: tool_name(),
            output: "text".into(),
            status: ToolStatus::Ok,
            details: Arc::default(),
        },
        Event::Usage {
            message_id: Some(MessageId::new("m2")),
            usage: outcome(StopReason::End).usage.usage,
            cost: Some(0.25),
        },
        Event::Paused {
            delay: Duration::from_secs(1),
        },
        Event::Retry {
            attempt: 1,
            max_retries: 5,
            delay: Duration::from_secs(2),
            error: error.clone(),
        },
        Event::AttemptDiscarded { error },
        Event::CompactionStart { tokens_before: 900 },
        Event::CompactionEnd {
            tokens_before: 900,
            tokens_after: 900,
            cancelled: false,
            error: Some(SessionError::Store("full".to_owned()).into()),
        },
        Event::Settled(outcome(StopReason::End)),
    ]
}

fn play(events: impl IntoIterator<Item = SessionEvent>) -> String {
    let mut written = Vec::new();
    let mut output = StreamJsonOutput::new(&mut written);
    let session_id = SessionId::new(Uuid::nil());
    let info = RunInfo {
        session_id,
        saved: true,
        model: "test:model".to_owned(),
        reasoning: None,
        cwd: PathBuf::from("/work"),
        tools: vec!["files.read".to_owned()],
    };
    output.begin(&info).unwrap();
    for event in events {
        output.event(&event).unwrap();
    }
    let outcome = outcome(StopReason::End);
    let result = RunResult {
        status: RunStatus::Failed,
        stop: Some(StopReason::Failed),
        text: outcome.text.clone().unwrap(),
        error: Some(RunError {
            kind: "rate_limit".to_owned(),
            message: "slow down".to_owned(),
            ..RunError::default()
        }),
        session_id: Some(session_id),
        saved: true,
        model: Some("test:model".to_owned()),
        usage: outcome.usage,
        turns: 1,
        duration: Duration::from_millis(1234),
        exit_code: 1,
    };
    output.finish(&result).unwrap();
    String::from_utf8(written).unwrap()
}

#[test]
fn every_event_is_one_line_with_its_name_and_fields() {
    let mut events: Vec<SessionEvent> = every_event().into_iter().map(SessionEvent::Turn).collect();
    events.push(SessionEvent::Custom {
        name: "progress".into(),
        data: json!({ "done": 3 }),
    });
    events.push(SessionEvent::Idle);
    insta::assert_snapshot!(play(events));
}

fn types(lines: &str) -> Vec<String> {
    lines
        .lines()
        .map(|line| {
            let object: Value = serde_json::from_str(line).unwrap();
            object["type"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn a_turn_that_another_follows_has_a_line_of_its_own() {
    let turn = |stop| {
        [
            SessionEvent::Turn(Event::TurnStart {
                turn_id: TurnId::new(Uuid::nil()),
            }),
            SessionEvent::Turn(Event::Settled(outcome(stop))),
        ]
    };
    let lines = play(
        turn(StopReason::Limit)
            .into_iter()
            .chain(turn(StopReason::End)),
    );
    assert_eq!(
        types(&lines),
        ["init", "turn_start", "settled", "turn_start", "result"]
    );
}

#[test]
fn what_comes_after_a_turn_does_not_overtake_its_end() {
    let lines = play([
        SessionEvent::Turn(Event::Settled(outcome(StopReason::End))),
        SessionEvent::Custom {
            name: "progress".into(),
            data: json!(1),
        },
        SessionEvent::Idle,
    ]);
    assert_eq!(types(&lines), ["init", "settled", "custom", "result"]);
}

#[test]
fn the_page_names_every_event_and_every_field() {
    let page = include_str!("../../../../../docs/stream-json.md");
    let events = every_event();
    let mut missing = BTreeSet::new();
    let mut need = |word: &str| {
        if !page.contains(&format!("`{word}`")) {
            missing.insert(word.to_owned());
        }
    };
    for line in play(events.into_iter().map(SessionEvent::Turn)).lines() {
        let Value::Object(object) = serde_json::from_str(line).unwrap() else {
            panic!("not an object: {line}");
        };
        need(object["type"].as_str().unwrap());
        object.keys().for_each(|key| need(key));
    }
    for event in every_event() {
        need(event.name());
    }
    assert_eq!(missing, BTreeSet::new());
}

/// The events above are all that there are: the core's own list has no other name.
#[test]
fn no_event_is_missing_here() {
    let source = include_str!("../../../../pantograph/src/event.rs");
    let known: BTreeSet<&str> = every_event().iter().map(Event::name).collect();
    let declared: BTreeSet<&str> = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Event::"))
        .filter_map(|arm| arm.split_once("=> \"")?.1.split_once('"'))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(known, declared);
}
