//! What people are told beside the answer: retries, tools, compactions.

use std::io::Write;
use std::time::Duration;

use pantograph::{Event, ProviderError, TurnError, UsageTotal, with_causes};

use super::{RunInfo, sanitize_line};
use crate::session::SessionEvent;

/// How long a line of notes may get, in characters.
const LINE: usize = 160;

/// How much people are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What they may want to act on, or wait for.
    Brief,
    /// Also tools, usage and what the run is made of.
    Verbose,
}

/// Writes lines for people, one a note, harmless for a terminal.
///
/// A writer that fails is written to no more: nobody reads it, and the answer matters more.
pub struct Notes<E> {
    writer: Option<E>,
    detail: Detail,
    /// What the session's own turns have used.
    own: UsageTotal,
}

impl<E: Write> Notes<E> {
    /// Writes to `writer`.
    pub fn new(writer: E, detail: Detail) -> Self {
        Self {
            writer: Some(writer),
            detail,
            own: UsageTotal::default(),
        }
    }

    pub(super) fn begin(&mut self, info: &RunInfo) {
        if self.detail == Detail::Brief {
            return;
        }
        let reasoning = info
            .reasoning
            .as_deref()
            .map(|label| format!(", reasoning {label}"))
            .unwrap_or_default();
        let kept = if info.saved { "" } else { " (not saved)" };
        self.say(&format!("session {}{kept}", info.session_id));
        self.say(&format!("model {}{reasoning}", info.model));
    }

    pub(super) fn event(&mut self, event: &SessionEvent) {
        self.count(event);
        if let Some(line) = self.line(event) {
            self.say(&line);
        }
    }

    /// Takes note of what a turn has used.
    pub(super) fn count(&mut self, event: &SessionEvent) {
        if let SessionEvent::Turn(Event::Settled(outcome)) = event {
            self.own.merge(&outcome.usage);
        }
    }

    /// Says what the run has used, if other agents than the session's have a part in it.
    pub(super) fn finish(&mut self, all: &UsageTotal) {
        if self.detail == Detail::Verbose && all.requests > self.own.requests {
            self.say(&format!("with all other agents: {}", usage(all)));
        }
    }

    pub(super) fn say(&mut self, line: &str) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        let line = sanitize_line(line, LINE);
        if writeln!(writer, "panto: {line}").is_err() {
            self.writer = None;
        }
    }

    /// What is to be said about `event`, if anything.
    pub(super) fn line(&self, event: &SessionEvent) -> Option<String> {
        let event = match event {
            SessionEvent::Turn(event) => event,
            SessionEvent::Custom { name, data } => return progress(name, data),
            _ => return None,
        };
        match event {
            Event::Retry {
                attempt,
                max_retries,
                delay,
                error,
            } => Some(format!(
                "retry {attempt} of {max_retries} in {}: {}",
                seconds(*delay),
                provider_error(error),
            )),
            Event::Paused { delay } => Some(format!(
                "waiting {}: the provider asked for fewer requests",
                seconds(*delay)
            )),
            Event::CompactionEnd {
                error: Some(error), ..
            } => Some(format!("could not compact: {}", with_causes(error))),
            _ if self.detail == Detail::Verbose => verbose_line(event),
            _ => None,
        }
    }
}

/// What a running tool wants people to know.
fn progress(name: &str, data: &serde_json::Value) -> Option<String> {
    let note = data.get("data")?.get("note")?.as_str()?;
    (name == "tool_progress" && !note.is_empty()).then(|| note.to_owned())
}

fn verbose_line(event: &Event) -> Option<String> {
    match event {
        Event::ToolCallComplete {
            tool_name, input, ..
        } => Some(format!("{tool_name} {input}")),
        Event::ToolResult {
            tool_name,
            output,
            status,
            ..
        } => Some(format!("{tool_name} {}: {output}", status.as_str())),
        Event::CompactionStart { tokens_before } => {
            Some(format!("compacting about {tokens_before} tokens"))
        }
        Event::CompactionEnd {
            tokens_before,
            tokens_after,
            cancelled: false,
            ..
        } => Some(format!(
            "compacted about {tokens_before} tokens to {tokens_after}"
        )),
        // Nothing was asked.
        Event::Settled(outcome) if matches!(outcome.error, Some(TurnError::NothingToContinue)) => {
            None
        }
        Event::Settled(outcome) => Some(format!("{}, {}", outcome.stop, usage(&outcome.usage))),
        _ => None,
    }
}

fn provider_error(error: &ProviderError) -> String {
    format!("{} ({})", error.message, error.class.as_str())
}

fn usage(total: &UsageTotal) -> String {
    let usage = &total.usage;
    if usage.is_unknown() {
        return "usage not reported".to_owned();
    }
    let count = |tokens: Option<u64>| tokens.map_or("?".to_owned(), |n| n.to_string());
    let mut text = format!("{} tokens in", count(usage.input));
    for (tokens, what) in [
        (usage.cache_read, "from the cache"),
        (usage.cache_write, "into the cache"),
    ] {
        if let Some(tokens) = tokens.filter(|tokens| *tokens > 0) {
            text.push_str(&format!(" + {tokens} {what}"));
        }
    }
    text.push_str(&format!(", {} out", count(usage.output)));
    if let Some(cost) = total.cost {
        let at_least = if total.unpriced > 0 { "at least " } else { "" };
        text.push_str(&format!(", {at_least}{}", dollars(cost)));
    }
    text
}

/// A sum that is read at a glance: two digits from a dollar on, four below.
fn dollars(cost: f64) -> String {
    if cost >= 1.0 {
        format!("${cost:.2}")
    } else if cost > 0.0 && cost < 0.0001 {
        "less than $0.0001".to_owned()
    } else {
        format!("${cost:.4}")
    }
}

fn seconds(delay: Duration) -> String {
    format!("{:.1} s", delay.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_said_as_far_as_it_is_known() {
        let mut total = UsageTotal::default();
        assert_eq!(usage(&total), "usage not reported");
        total.usage.input = Some(10);
        total.usage.cache_read = Some(900);
        total.usage.cache_write = Some(0);
        total.cost = Some(0.00001);
        assert_eq!(
            usage(&total),
            "10 tokens in + 900 from the cache, ? out, less than $0.0001"
        );
        assert_eq!(dollars(12.3456), "$12.35");
        assert_eq!(dollars(0.0123), "$0.0123");
        assert_eq!(dollars(0.0), "$0.0000");
    }
}
