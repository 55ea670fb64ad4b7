//! What text output makes of events, as one text: stdout as it is, notes in brackets.

use std::sync::Arc;
use std::time::Duration;

use pantograph::session::SessionError;
use pantograph::{
    ErrorClass, Event, MessageId, Outcome, ProviderError, StopReason, ToolStatus, TurnError,
    TurnId, Usage, UsageTotal,
};
use parking_lot::Mutex;
use uuid::Uuid;

use super::super::{Detail, Notes, Output};
use super::{TextFlow, TextOutput};
use crate::session::SessionEvent;

/// Writes to a shared text; notes go into brackets.
struct Screen(Arc<Mutex<String>>, bool);

impl std::io::Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = std::str::from_utf8(bytes).unwrap();
        let mut screen = self.0.lock();
        for piece in text.split_inclusive('\n') {
            match (self.1, piece) {
                (true, "\n") => {}
                (true, note) => screen.push_str(&format!("[{}]\n", note.trim_end())),
                (false, text) => screen.push_str(text),
            }
        }
        Ok(bytes.len())
    }
    fn write_fmt(&mut self, arguments: std::fmt::Arguments<'_>) -> std::io::Result<()> {
        self.write_all(arguments.to_string().as_bytes())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn show(flow: TextFlow, detail: Detail, events: Vec<Event>) -> String {
    let screen = Arc::new(Mutex::new(String::new()));
    let notes = Notes::new(Screen(Arc::clone(&screen), true), detail);
    let mut output = TextOutput::new(Screen(Arc::clone(&screen), false), notes, flow);
    for event in events {
        output.event(&SessionEvent::Turn(event)).unwrap();
    }
    screen.lock().clone()
}

fn both(events: &[Event]) -> String {
    format!(
        "streaming:\n{}whole:\n{}",
        show(TextFlow::Streaming, Detail::Brief, events.to_vec()),
        show(TextFlow::Whole, Detail::Brief, events.to_vec())
    )
}

fn text(deltas: &[&str]) -> Vec<Event> {
    let mut events = broken_text(deltas);
    events.push(Event::AssistantTextComplete {
        index: 0,
        text: deltas.concat().into(),
    });
    events
}

fn broken_text(deltas: &[&str]) -> Vec<Event> {
    let mut events = vec![Event::AssistantText { index: 0 }];
    events.extend(deltas.iter().map(|delta| Event::AssistantTextDelta {
        index: 0,
        delta: (*delta).to_owned(),
    }));
    events
}

fn answered() -> Event {
    Event::Usage {
        message_id: Some(MessageId::new("m")),
        usage: Usage::default(),
        cost: None,
    }
}

fn settled(stop: StopReason, error: Option<TurnError>) -> Event {
    Event::Settled(Arc::new(Outcome {
        turn_id: TurnId::new(Uuid::nil()),
        stop,
        error,
        text: None,
        tool_calls: Vec::new(),
        usage: UsageTotal::default(),
        returned: Vec::new(),
    }))
}

fn overloaded() -> ProviderError {
    ProviderError::new(ErrorClass::Overloaded, "busy\u{1b}[2J now")
}

#[test]
fn a_retried_attempt_leaves_a_pipe_only_once() {
    let mut events = broken_text(&["Hel"]);
    events.push(Event::AttemptDiscarded {
        error: overloaded(),
    });
    events.push(Event::Retry {
        attempt: 1,
        max_retries: 5,
        delay: Duration::from_millis(1500),
        error: overloaded(),
    });
    events.extend(text(&["Hel", "lo"]));
    events.push(answered());
    events.push(settled(StopReason::End, None));
    insta::assert_snapshot!(both(&events), @r"
    streaming:
    Hel
    [panto: the answer broke off; what it has shown is void]
    [panto: retry 1 of 5 in 1.5 s: busy now (overloaded)]
    Hello
    whole:
    [panto: retry 1 of 5 in 1.5 s: busy now (overloaded)]
    Hello
    ");
}

#[test]
fn a_terminal_gets_harmless_text_and_a_pipe_the_raw_one() {
    let mut events = text(&["a\u{1b}", "[31mb\u{7}\r", "\nc"]);
    events.push(answered());
    assert_eq!(
        show(TextFlow::Streaming, Detail::Brief, events.clone()),
        "ab␇\nc\n"
    );
    assert_eq!(
        show(TextFlow::Whole, Detail::Brief, events),
        "a\u{1b}[31mb\u{7}\r\nc\n"
    );
}

#[test]
fn partial_text_counts_when_cancelled_or_not_stored_but_not_when_failed() {
    let ends = [
        settled(StopReason::Cancelled, None),
        settled(
            StopReason::Failed,
            Some(SessionError::Store("full".to_owned()).into()),
        ),
        settled(StopReason::Failed, Some(TurnError::Provider(overloaded()))),
    ];
    let shown: Vec<String> = ends
        .into_iter()
        .map(|end| {
            let mut events = broken_text(&["par", "tial"]);
            events.push(end);
            show(TextFlow::Whole, Detail::Brief, events)
        })
        .collect();
    assert_eq!(shown, ["partial\n", "partial\n", ""]);
}

#[test]
fn verbose_shows_tools_and_usage_beside_the_answer() {
    let mut events = text(&["Let me look.\n"]);
    events.push(Event::ToolCallComplete {
        index: 1,
        id: "c1".into(),
        tool_name: "read".into(),
        input: "{\"path\":\n \"x\"}".into(),
    });
    events.push(answered());
    events.push(Event::ToolResult {
        id: "c1".into(),
        tool_name: "read".into(),
        output: "line 1\nline 2".into(),
        status: ToolStatus::Ok,
        details: Arc::default(),
    });
    events.extend(text(&["Done."]));
    events.push(answered());
    events.push(settled(StopReason::End, None));
    insta::assert_snapshot!(show(TextFlow::Streaming, Detail::Verbose, events), @r#"
    Let me look.
    [panto: read {"path": "x"}]
    [panto: read ok: line 1 line 2]
    Done.
    [panto: end, usage not reported]
    "#);
}

/// Keeps what each write was given.
#[derive(Default)]
struct Writes(Vec<String>);

impl std::io::Write for &mut Writes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.push(String::from_utf8(bytes.to_vec()).unwrap());
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_message_and_its_newline_are_one_write() {
    let mut writes = Writes::default();
    let notes = Notes::new(std::io::sink(), Detail::Brief);
    let mut output = TextOutput::new(&mut writes, notes, TextFlow::Whole);
    for event in text(&["a\n", "b"]).into_iter().chain([answered()]) {
        output.event(&SessionEvent::Turn(event)).unwrap();
    }
    drop(output);
    assert_eq!(writes.0, ["a\nb\n"]);
}

#[test]
fn in_a_pipe_a_tool_call_is_noted_behind_the_text_that_announced_it() {
    let mut events = text(&["Let me look."]);
    events.push(Event::ToolCallComplete {
        index: 1,
        id: "c".into(),
        tool_name: "read".into(),
        input: "{}".into(),
    });
    events.push(answered());
    let shown = show(TextFlow::Whole, Detail::Verbose, events);
    assert_eq!(shown, "Let me look.\n[panto: read {}]\n");
}
