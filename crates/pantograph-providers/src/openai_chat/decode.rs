//! The events of an answer.

use std::collections::VecDeque;
use std::sync::Arc;

use pantograph::protocol::ProtocolEvent;
use pantograph::wire_name::WireNames;
use pantograph::{ErrorClass, ProviderError, StopReason};
use serde_json::value::RawValue;

use super::calls::{Calls, Slot};
use super::chunk::{CallDelta, Choice, Chunk, ContentDelta, Delta};
use super::details::Details;
use super::plain::Plain;
use crate::failure;
use crate::frame::{Frame, Text};
use crate::stream::Decoder;

/// Reads the events of one answer.
///
/// The wire has no blocks: one begins where what comes is of another kind, or of another call.
/// Calls end with the answer, since no piece of one says that it is the last.
pub(super) struct ChatDecoder {
    names: Arc<WireNames>,
    blocks: Blocks,
    calls: Calls,
    refusal: String,
    stop: Option<StopReason>,
    frame: Frame<Kind>,
    /// Whether the last event was of a call, and so the next is no plain one.
    is_calling: bool,
}

impl ChatDecoder {
    pub(super) fn new(names: Arc<WireNames>) -> Self {
        Self {
            names,
            blocks: Blocks::default(),
            calls: Calls::default(),
            refusal: String::new(),
            stop: None,
            frame: Frame::default(),
            is_calling: false,
        }
    }

    /// Takes an event in if it is plain.
    fn plain(&mut self, data: &str, out: &mut VecDeque<ProtocolEvent>) -> bool {
        let (text, kind) = match self.frame.read(data) {
            Some(framed) => framed,
            None if self.is_calling => return false,
            None => {
                let Some(plain) = Plain::read(data) else {
                    return false;
                };
                let said = |text: &Text<'_>| !text.0.is_empty();
                let (text, kind) = match (plain.text.filter(said), plain.thought.filter(said)) {
                    (Some(text), None) => (text, Kind::Text),
                    (None, Some(thought)) => (thought, Kind::Thinking),
                    (None, None) => return true,
                    (Some(_), Some(_)) => return false,
                };
                self.frame.remember(data, &text, kind);
                (text.0.into_owned(), kind)
            }
        };
        match kind {
            Kind::Text => self.blocks.text(text, out),
            Kind::Thinking => self.blocks.thinking(Some(text), Vec::new(), out),
        }
        true
    }

    fn choice(
        &mut self,
        choice: Choice<'_>,
        out: &mut VecDeque<ProtocolEvent>,
    ) -> Result<(), ProviderError> {
        let usage = choice.usage();
        if let Some(delta) = choice.delta {
            self.delta(delta, out)?;
        }
        out.extend(usage.map(ProtocolEvent::Usage));
        match choice.finish_reason.as_deref() {
            // Some servers repeat it with the usage, and not always the same.
            Some(reason) if !reason.is_empty() && self.stop.is_none() => {
                self.stop = Some(stop_reason(reason)?);
            }
            _ => {}
        }
        Ok(())
    }

    fn delta(
        &mut self,
        delta: Delta<'_>,
        out: &mut VecDeque<ProtocolEvent>,
    ) -> Result<(), ProviderError> {
        self.is_calling = delta.tool_calls.is_some() || delta.function_call.is_some();
        // Servers that have both fields say the same in both.
        let thought = [delta.reasoning_content, delta.reasoning]
            .into_iter()
            .flatten()
            .find(|text| !text.is_empty());
        self.blocks
            .thinking(thought, delta.reasoning_details.unwrap_or_default(), out);
        match delta.content {
            Some(ContentDelta::Text(text)) => self.blocks.text(text, out),
            Some(ContentDelta::Parts(parts)) => {
                for part in parts {
                    let thought = part.thinking.map(|thinking| thinking.0);
                    self.blocks.thinking(thought, Vec::new(), out);
                    self.blocks.text(part.text.unwrap_or_default(), out);
                }
            }
            None => {}
        }
        self.refusal
            .push_str(delta.refusal.as_deref().unwrap_or_default());
        let old_form = delta.function_call.map(|function| CallDelta {
            function: Some(*function),
            ..CallDelta::default()
        });
        let pieces = delta.tool_calls.into_iter().flatten().chain(old_form);
        for piece in pieces {
            if let Some(slot) = self.calls.take(piece)?
                && (slot.block.is_some() || slot.is_ready())
            {
                self.blocks.call(slot, &self.names, out);
            }
        }
        Ok(())
    }
}

impl Decoder for ChatDecoder {
    fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        out: &mut VecDeque<ProtocolEvent>,
    ) -> Result<(), ProviderError> {
        if name == Some("error") {
            return Err(failure::in_stream(data));
        }
        if self.plain(data, out) {
            return Ok(());
        }
        let chunk: Chunk<'_> = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            // Events of the protocol have no name; one that has may be anything.
            Err(_) if data.trim().is_empty() || name.is_some_and(|name| name != "message") => {
                return Ok(());
            }
            Err(_) => {
                return Err(failure::malformed("the provider sent a broken event", data));
            }
        };
        if chunk.is_error() {
            return Err(failure::in_stream(data));
        }
        let usage = chunk.usage();
        for choice in chunk.choices.into_iter().flatten() {
            // One was asked for; another would be another answer.
            if choice.index.unwrap_or_default() == 0 {
                self.choice(choice, out)?;
            }
        }
        out.extend(usage.map(ProtocolEvent::Usage));
        Ok(())
    }

    fn end(&mut self, out: &mut VecDeque<ProtocolEvent>) -> Result<(), ProviderError> {
        let Some(stop) = self.stop else {
            return Err(ProviderError::transport(
                "the answer broke off: it ended without a `finish_reason`",
            ));
        };
        if !self.refusal.is_empty() {
            return Err(refusal(&self.refusal));
        }
        for slot in self.calls.iter_mut() {
            if slot.block.is_none() && !slot.is_blank() {
                self.blocks.call(slot, &self.names, out);
            }
        }
        for slot in self.calls.iter_mut() {
            // One that the limit may have cut stays open: it is no call.
            if stop != StopReason::Limit || slot.is_whole() {
                let ended = slot.block;
                out.extend(ended.map(|index| ProtocolEvent::BlockEnd { index }));
            }
        }
        self.blocks.close(out);
        out.push_back(ProtocolEvent::Done { stop });
        Ok(())
    }

    fn is_finished(&self) -> bool {
        self.stop.is_some()
    }
}

/// The blocks so far. At most one of them is open, beside calls.
#[derive(Default)]
struct Blocks {
    next: u32,
    open: Option<(Kind, u32)>,
    details: Details,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

impl Blocks {
    fn text(&mut self, text: String, out: &mut VecDeque<ProtocolEvent>) {
        if !text.is_empty() {
            let index = self.at(Kind::Text, out);
            out.push_back(ProtocolEvent::TextDelta { index, text });
        }
    }

    fn thinking(
        &mut self,
        text: Option<String>,
        details: Vec<&RawValue>,
        out: &mut VecDeque<ProtocolEvent>,
    ) {
        // Details that came before the block are this block's.
        let read: String = details
            .into_iter()
            .map(|raw| self.details.take(raw))
            .collect();
        let text = text.unwrap_or(read);
        if text.is_empty() {
            return;
        }
        if !matches!(self.open, Some((Kind::Thinking, _))) {
            self.end_open(out);
            self.open = Some((Kind::Thinking, self.fresh()));
        }
        let index = self.at(Kind::Thinking, out);
        out.push_back(ProtocolEvent::ThinkingDelta { index, text });
    }

    /// Begins a call, or goes on with it.
    fn call(&mut self, slot: &mut Slot, names: &WireNames, out: &mut VecDeque<ProtocolEvent>) {
        let index = match slot.block {
            Some(index) => index,
            None => {
                self.close(out);
                let index = self.fresh();
                slot.block = Some(index);
                out.push_back(ProtocolEvent::ToolCallStart {
                    index,
                    id: slot.id.clone(),
                    name: names.decode(&slot.name).unwrap_or(&slot.name).to_owned(),
                });
                index
            }
        };
        let input = slot.new_input();
        out.extend(input.map(|json| ProtocolEvent::ToolCallDelta { index, json }));
        let extra = slot.new_extra();
        out.extend(extra.map(|raw| ProtocolEvent::Raw { index, raw }));
    }

    /// The open block of the kind, which begins if it is not.
    fn at(&mut self, kind: Kind, out: &mut VecDeque<ProtocolEvent>) -> u32 {
        match self.open {
            Some((open, index)) if open == kind => index,
            _ => {
                self.close(out);
                let index = self.fresh();
                self.open = Some((kind, index));
                index
            }
        }
    }

    /// Ends the open block. Details go with the thinking that they belong to, or by themselves.
    fn close(&mut self, out: &mut VecDeque<ProtocolEvent>) {
        if let Some((Kind::Thinking, index)) = self.open {
            let raw = self.details.drain();
            out.extend(raw.map(|raw| ProtocolEvent::Raw { index, raw }));
        }
        self.end_open(out);
        if let Some(raw) = self.details.drain() {
            let index = self.fresh();
            out.push_back(ProtocolEvent::Opaque { index, raw });
            out.push_back(ProtocolEvent::BlockEnd { index });
        }
    }

    fn end_open(&mut self, out: &mut VecDeque<ProtocolEvent>) {
        if let Some((_, index)) = self.open.take() {
            out.push_back(ProtocolEvent::BlockEnd { index });
        }
    }

    fn fresh(&mut self) -> u32 {
        let index = self.next;
        self.next += 1;
        index
    }
}

fn stop_reason(reason: &str) -> Result<StopReason, ProviderError> {
    let failed = |class, message: &str| {
        let mut error = ProviderError::new(class, message);
        error.code = Some(reason.to_owned());
        Err(error)
    };
    match reason {
        "length" | "model_length" | "max_tokens" => Ok(StopReason::Limit),
        "tool_calls" | "function_call" => Ok(StopReason::ToolCalls),
        "content_filter" => failed(
            ErrorClass::Terminal,
            "the provider's content filter stopped the answer",
        ),
        "error" => failed(
            ErrorClass::Server,
            "the provider stopped the answer with an error and no words",
        ),
        "insufficient_system_resource" => failed(
            ErrorClass::Overloaded,
            "the provider stopped the answer since it lacked resources",
        ),
        // `stop`, and what servers may come to have.
        _ => Ok(StopReason::End),
    }
}

fn refusal(words: &str) -> ProviderError {
    let mut error = ProviderError::new(
        ErrorClass::Terminal,
        format!("the model refused to answer: {words}"),
    );
    error.code = Some("refusal".into());
    error
}
