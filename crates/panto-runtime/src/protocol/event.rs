//! What `next` may return.

use std::time::Duration;

use mlua::{Table, Value};
use pantograph::protocol::ProtocolEvent;
use pantograph::{ErrorClass, ProviderError, StopReason, Usage};

use crate::failure::named;

/// What a call of `next` came to.
pub(super) enum Progress {
    /// There is nothing yet.
    Nothing,
    Events(Vec<ProtocolEvent>),
    /// The answer is complete, with these last events.
    Done(Vec<ProtocolEvent>),
    /// The provider failed.
    Failed(ProviderError),
}

/// Numbers the blocks of one answer.
#[derive(Default)]
pub(super) struct Reading {
    next_block: u32,
    /// The block of text that is being written.
    text: Option<u32>,
    has_calls: bool,
}

/// What is wrong with a value, as in "`next` returned …".
type Wrong = String;

impl Reading {
    pub(super) fn read(&mut self, value: &Value) -> Result<Progress, Wrong> {
        let event = match value {
            Value::Nil => return Ok(Progress::Nothing),
            Value::Table(event) => Event(event),
            other => return Err(format!("{}; an event table expected", named(other))),
        };
        match event.text("type")?.as_str() {
            "text_delta" => Ok(Progress::Events(self.text_delta(event.text("text")?))),
            "tool_call" => Ok(Progress::Events(self.tool_call(&event)?)),
            "done" => {
                let mut events = Vec::new();
                events.extend(self.end_text());
                events.extend(event.usage()?.map(ProtocolEvent::Usage));
                let stop = match self.has_calls {
                    true => StopReason::ToolCalls,
                    false => StopReason::End,
                };
                events.push(ProtocolEvent::Done { stop });
                Ok(Progress::Done(events))
            }
            "error" => Ok(Progress::Failed(event.error()?)),
            other => Err(format!(
                "an event of the unknown type `{}`; expected one of text_delta, tool_call, done, error",
                other.escape_debug()
            )),
        }
    }

    fn begin(&mut self) -> u32 {
        let block = self.next_block;
        self.next_block += 1;
        block
    }

    fn text_delta(&mut self, text: String) -> Vec<ProtocolEvent> {
        let index = match self.text {
            Some(index) => index,
            None => self.begin(),
        };
        self.text = Some(index);
        vec![ProtocolEvent::TextDelta { index, text }]
    }

    fn end_text(&mut self) -> Option<ProtocolEvent> {
        let index = self.text.take()?;
        Some(ProtocolEvent::BlockEnd { index })
    }

    fn tool_call(&mut self, event: &Event<'_>) -> Result<Vec<ProtocolEvent>, Wrong> {
        // An id that is not there is given by the turn.
        let id = event.optional_text("id")?.unwrap_or_default();
        let name = event.text("name")?;
        let json = event.text("input_json")?;
        let mut events = Vec::with_capacity(4);
        events.extend(self.end_text());
        let index = self.begin();
        self.has_calls = true;
        events.push(ProtocolEvent::ToolCallStart { index, id, name });
        events.push(ProtocolEvent::ToolCallDelta { index, json });
        events.push(ProtocolEvent::BlockEnd { index });
        Ok(events)
    }
}

/// An event table. Its fields are read without running code of the table's.
struct Event<'a>(&'a Table);

impl Event<'_> {
    fn optional_text(&self, name: &str) -> Result<Option<String>, Wrong> {
        match self.0.raw_get(name) {
            Ok(Value::Nil) => Ok(None),
            Ok(Value::String(text)) => match text.to_str() {
                Ok(text) => Ok(Some(text.to_owned())),
                Err(_) => Err(format!("an event whose `{name}` is not UTF-8")),
            },
            Ok(other) => Err(format!(
                "an event whose `{name}` is {}; text expected",
                named(&other)
            )),
            Err(error) => Err(error.to_string()),
        }
    }

    fn text(&self, name: &str) -> Result<String, Wrong> {
        self.optional_text(name)?
            .ok_or_else(|| format!("an event without `{name}`"))
    }

    fn usage(&self) -> Result<Option<Usage>, Wrong> {
        let usage = match self.0.raw_get("usage") {
            Ok(Value::Nil) => return Ok(None),
            Ok(Value::Table(usage)) => usage,
            Ok(other) => return Err(format!("{} as `usage`; a table expected", named(&other))),
            Err(error) => return Err(error.to_string()),
        };
        let count = |name: &str| match usage.raw_get(name) {
            Ok(Value::Nil) => Ok(None),
            Ok(Value::Integer(count)) if count >= 0 => Ok(Some(count.unsigned_abs())),
            Ok(Value::Number(count)) if count >= 0.0 && count.fract() == 0.0 && count < 1e15 => {
                Ok(Some(count as u64))
            }
            _ => Err(format!("`usage.{name}` that is no count")),
        };
        Ok(Some(Usage {
            input: count("input")?,
            output: count("output")?,
            cache_read: count("cache_read")?,
            cache_write: count("cache_write")?,
            reasoning: count("reasoning")?,
        }))
    }

    fn error(&self) -> Result<ProviderError, Wrong> {
        let class = match self.optional_text("kind")?.as_deref() {
            Some("rate_limit") => ErrorClass::RateLimit,
            Some("overloaded") => ErrorClass::Overloaded,
            Some("authentication") => ErrorClass::Authentication,
            Some("invalid_request") => ErrorClass::InvalidRequest,
            Some("model_not_found") => ErrorClass::ModelNotFound,
            Some("server") => ErrorClass::Server,
            Some("transport") => ErrorClass::Transport,
            Some("context_overflow") => ErrorClass::ContextOverflow,
            _ => ErrorClass::Terminal,
        };
        let message = self.optional_text("message")?;
        let message = message.unwrap_or_else(|| "the provider failed without a message".to_owned());
        let mut error = ProviderError::new(class, message);
        let seconds = match self.0.raw_get("retry_after") {
            Ok(Value::Integer(seconds)) => seconds as f64,
            Ok(Value::Number(seconds)) => seconds,
            Ok(Value::Nil) => return Ok(error),
            _ => return Err("an event whose `retry_after` is no number of seconds".to_owned()),
        };
        error.retry_after = Duration::try_from_secs_f64(seconds).ok();
        Ok(error)
    }
}
