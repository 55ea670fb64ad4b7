//! Tells a person what happens around an answer: which calls begin, what tools note while they
//! work, and what came of each.

use std::io::{self, Write};

use panto_host::headless::{Output, RunInfo, RunResult, sanitize, sanitize_line};
use panto_host::host::CommandOutput;
use panto_host::session::SessionEvent;
use pantograph::{CallId, Event, ToolStatus};
use serde_json::{Map, Value};

/// How wide a line of a result, and one of a tool's notes, may get, in characters.
const LINE: usize = 110;
const NOTE: usize = 160;
/// So many lines of a result are shown.
const LINES: usize = 14;

/// Passes everything on, and tells of calls on standard error.
pub(super) struct Narrator {
    inner: Box<dyn Output>,
    /// The calls of the answer in progress, in its order.
    calls: Vec<Call>,
    /// Those that run, and how many ran at once at most.
    running: usize,
    peak: usize,
}

struct Call {
    id: CallId,
    input: String,
    result: Option<(String, ToolStatus)>,
}

impl Narrator {
    pub(super) fn new(inner: Box<dyn Output>) -> Self {
        Self {
            inner,
            calls: Vec::new(),
            running: 0,
            peak: 0,
        }
    }

    fn tell(&mut self, event: &Event) {
        match event {
            Event::ToolCallComplete { id, input, .. } => self.calls.push(Call {
                id: id.clone(),
                input: input.to_string(),
                result: None,
            }),
            Event::AttemptDiscarded { .. } => self.calls.clear(),
            Event::ToolDispatchStart { id, .. } => {
                self.running += 1;
                self.peak = self.peak.max(self.running);
                if let Some(call) = self.calls.iter().find(|call| call.id == *id) {
                    say(&format!("  -> {}", asked(&call.input)));
                }
            }
            Event::ToolResult {
                id, output, status, ..
            } => {
                self.running = self.running.saturating_sub(1);
                if let Some(call) = self.calls.iter_mut().find(|call| call.id == *id) {
                    call.result = Some((output.to_string(), *status));
                }
                if self.calls.iter().all(|call| call.result.is_some()) {
                    self.tell_results();
                }
            }
            _ => {}
        }
    }

    /// What came of the calls of one answer, in its order: all are there by now.
    fn tell_results(&mut self) {
        if self.peak > 1 {
            say(&format!("\n  {} worked at the same time:", self.peak));
        } else {
            say("");
        }
        for (output, status) in self.calls.drain(..).filter_map(|call| call.result) {
            let (headline, text) = came_of(&output, status);
            say(&format!("  <- {headline}"));
            for line in shortened(&text) {
                say(&format!("       {line}"));
            }
        }
        say("");
        self.peak = 0;
    }
}

/// What a call asks for, from its input.
fn asked(input: &str) -> String {
    let Ok(mut input) = serde_json::from_str::<Map<String, Value>>(input) else {
        return input.to_owned();
    };
    let prompt = input.remove("prompt");
    let others = input.iter().map(|(name, value)| match value {
        Value::String(value) => format!("{name} {value}"),
        value => format!("{name} {value}"),
    });
    let others = others.collect::<Vec<_>>().join(", ");
    match prompt {
        Some(Value::String(prompt)) => format!("{others}: {prompt}"),
        _ => others,
    }
}

/// Whose a result is and how it ended, and what it says.
fn came_of(output: &str, status: ToolStatus) -> (String, String) {
    let Ok(fields) = serde_json::from_str::<Map<String, Value>>(output) else {
        return (status.as_str().to_owned(), output.to_owned());
    };
    let text = |name| fields.get(name).and_then(Value::as_str);
    let agent = text("agent").unwrap_or_default();
    let ended = text("status").unwrap_or(status.as_str());
    match text("error") {
        Some(error) => {
            let can_go_on = match fields.get("resumable") {
                Some(Value::Bool(true)) => "It can be gone on with.",
                _ => "",
            };
            (format!("{agent}, {ended}: {error}"), can_go_on.to_owned())
        }
        None => (
            format!("{agent}, {ended}:"),
            text("output").unwrap_or_default().to_owned(),
        ),
    }
}

/// The first lines of a text, and how many more there are.
fn shortened(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown: Vec<String> = lines
        .iter()
        .take(LINES)
        .map(|line| sanitize_line(line, LINE))
        .collect();
    if lines.len() > LINES {
        shown.push(format!("… {} lines more", lines.len() - LINES));
    }
    shown
}

/// Writes a line; nobody is left to be told if that fails.
fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", sanitize(line.trim_end()));
}

impl Output for Narrator {
    fn begin(&mut self, info: &RunInfo) -> io::Result<()> {
        self.inner.begin(info)
    }

    fn event(&mut self, event: &SessionEvent) -> io::Result<()> {
        match event {
            // What a tool notes is part of the story here.
            SessionEvent::Custom { name, data } if &**name == "tool_progress" => {
                let note = data.get("data").and_then(|data| data.get("note"));
                if let Some(note) = note.and_then(Value::as_str) {
                    say(&format!("     {}", sanitize_line(note, NOTE)));
                }
                Ok(())
            }
            event => {
                self.inner.event(event)?;
                if let SessionEvent::Turn(event) = event {
                    self.tell(event);
                }
                Ok(())
            }
        }
    }

    fn command(&mut self, output: &CommandOutput) -> io::Result<()> {
        self.inner.command(output)
    }

    fn finish(&mut self, result: &RunResult) -> io::Result<()> {
        self.inner.finish(result)
    }
}
