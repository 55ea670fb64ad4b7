//! `--output stream-json`: one JSON object a line, as `docs/stream-json.md` describes.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use pantograph::{Event, Outcome, ProviderError, ToolStatus, TurnError, with_causes};
use serde_json::{Map, Value, json};

use super::{Output, RunInfo, RunResult, json_line, result};
use crate::host::CommandOutput;
use crate::session::SessionEvent;

/// The version of the schema. Added types and fields do not change it.
pub const STREAM_JSON_VERSION: u32 = 1;

/// Writes every event as one JSON object a line; the last is the run's result.
pub struct StreamJsonOutput<O> {
    stdout: O,
    /// The last settled turn: a line of its own if something follows, else the result.
    settled: Option<Arc<Outcome>>,
}

impl<O: Write> StreamJsonOutput<O> {
    /// Writes to `stdout`.
    pub fn new(stdout: O) -> Self {
        Self {
            stdout,
            settled: None,
        }
    }

    fn write(&mut self, object: &Value) -> io::Result<()> {
        self.stdout.write_all(json_line(object)?.as_bytes())?;
        self.stdout.flush()
    }
}

impl<O: Write> Output for StreamJsonOutput<O> {
    fn begin(&mut self, info: &RunInfo) -> io::Result<()> {
        self.write(&json!({
            "type": "init",
            "version": STREAM_JSON_VERSION,
            "session_id": info.session_id,
            "saved": info.saved,
            "model": info.model,
            "reasoning": info.reasoning,
            "cwd": info.cwd.to_string_lossy(),
            "tools": info.tools,
        }))
    }

    fn event(&mut self, event: &SessionEvent) -> io::Result<()> {
        // Whatever follows it must not overtake it.
        if !matches!(event, SessionEvent::Idle)
            && let Some(outcome) = self.settled.take()
        {
            self.write(&settled_object(&outcome))?;
        }
        match event {
            SessionEvent::Turn(Event::Settled(outcome)) => {
                self.settled = Some(Arc::clone(outcome));
                Ok(())
            }
            SessionEvent::Turn(event) => self.write(&event_object(event)),
            SessionEvent::Custom { name, data } => self.write(&json!({
                "type": "custom",
                "name": name,
                "data": data,
            })),
            SessionEvent::Idle => Ok(()),
        }
    }

    fn command(&mut self, output: &CommandOutput) -> io::Result<()> {
        self.write(&json!({
            "type": "command_output",
            "text": output.text,
            "data": output.data,
        }))
    }

    fn finish(&mut self, result: &RunResult) -> io::Result<()> {
        self.settled = None;
        result::write(&mut self.stdout, result, None)
    }
}

/// The object of an event: its name as `type`, then its fields.
fn event_object(event: &Event) -> Value {
    let fields = match event {
        Event::TurnStart { turn_id } => json!({ "turn_id": turn_id }),
        Event::UserMessage { id, text } => json!({ "id": id, "text": text }),
        Event::Thinking { index } | Event::AssistantText { index } | Event::Tool { index } => {
            json!({ "index": index })
        }
        Event::ThinkingDelta { index, delta } | Event::AssistantTextDelta { index, delta } => {
            json!({ "index": index, "delta": delta })
        }
        Event::ThinkingComplete { index, text } | Event::AssistantTextComplete { index, text } => {
            json!({ "index": index, "text": text })
        }
        Event::ToolDetails {
            index,
            id,
            tool_name,
        } => json!({ "index": index, "id": id, "tool_name": tool_name }),
        Event::ToolDelta {
            index,
            id,
            tool_name,
            delta,
        } => json!({ "index": index, "id": id, "tool_name": tool_name, "delta": delta }),
        Event::ToolCallComplete {
            index,
            id,
            tool_name,
            input,
        } => json!({ "index": index, "id": id, "tool_name": tool_name, "input": input }),
        Event::ToolDispatchStart {
            id,
            tool_name,
            batch_id,
        } => json!({ "id": id, "tool_name": tool_name, "batch_id": batch_id }),
        Event::ToolOutputDelta {
            id,
            tool_name,
            delta,
        } => json!({ "id": id, "tool_name": tool_name, "delta": delta }),
        Event::ToolResult {
            id,
            tool_name,
            output,
            status,
            details,
        } => {
            let mut object = json!({
                "id": id,
                "tool_name": tool_name,
                "output": output,
                "result_ok": *status == ToolStatus::Ok,
                "status": status,
            });
            if !details.is_empty() {
                object["details"] = json!(details);
            }
            object
        }
        Event::Usage {
            message_id,
            usage,
            cost,
        } => json!({ "message_id": message_id, "usage": usage, "cost": cost }),
        Event::Paused { delay } => json!({ "delay_ms": milliseconds(*delay) }),
        Event::Retry {
            attempt,
            max_retries,
            delay,
            error,
        } => json!({
            "attempt": attempt,
            "max_retries": max_retries,
            "delay_ms": milliseconds(*delay),
            "error": provider_error_object(error),
        }),
        Event::AttemptDiscarded { error } => json!({ "error": provider_error_object(error) }),
        Event::CompactionStart { tokens_before } => json!({ "tokens_before": tokens_before }),
        Event::CompactionEnd {
            tokens_before,
            tokens_after,
            cancelled,
            error,
        } => json!({
            "tokens_before": tokens_before,
            "tokens_after": tokens_after,
            "cancelled": cancelled,
            "error": error.as_ref().map(turn_error_object),
        }),
        Event::Settled(outcome) => return settled_object(outcome),
        // A core that is newer than this schema: its name alone is better than nothing.
        _ => json!({}),
    };
    with_type(event.name(), fields)
}

/// The object of a turn that another one follows.
fn settled_object(outcome: &Arc<Outcome>) -> Value {
    with_type(
        Event::Settled(Arc::clone(outcome)).name(),
        json!({
            "turn_id": outcome.turn_id,
            "stop": outcome.stop,
            "text": outcome.text,
            "error": outcome.error.as_ref().map(turn_error_object),
            "usage": outcome.usage.usage,
            "cost": outcome.usage.cost.filter(|_| outcome.usage.unpriced == 0),
        }),
    )
}

fn with_type(name: &str, fields: Value) -> Value {
    let mut object = Map::new();
    object.insert("type".to_owned(), name.into());
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    Value::Object(object)
}

fn provider_error_object(error: &ProviderError) -> Value {
    json!({
        "kind": error.class.as_str(),
        "message": error.message,
        "retry_after_ms": error.retry_after.map(milliseconds),
        "code": error.code,
        "status": error.status,
        "request_id": error.request_id,
    })
}

fn turn_error_object(error: &TurnError) -> Value {
    json!({ "kind": error.kind(), "message": with_causes(error) })
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
