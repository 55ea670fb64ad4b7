//! The events of an answer.

use std::collections::VecDeque;
use std::sync::Arc;

use pantograph::protocol::ProtocolEvent;
use pantograph::wire_name::WireNames;
use pantograph::{ErrorClass, ProviderError, RawJson, StopReason};
use serde_json::value::RawValue;

use super::answer::{Candidate, Event, WireUsage};
use super::fresh_ids::FreshIds;
use super::item::{self, FunctionCall, Part, Pieces};
use super::plain::Plain;
use super::stopped;
use crate::failure;
use crate::frame::Frame;
use crate::lenient;
use crate::stream::Decoder;

/// Reads the events of one answer.
///
/// The wire has no blocks: one of text begins where a text of another kind comes, and each call
/// is one.
pub(super) struct GenerateDecoder {
    names: Arc<WireNames>,
    ids: FreshIds,
    /// The index of the next block.
    next: u32,
    open: Option<Open>,
    stop: Option<StopReason>,
    has_calls: bool,
    usage: Option<WireUsage>,
    /// Of the last plain event, and whether its text was thought.
    frame: Frame<bool>,
}

/// A block of text that may go on.
struct Open {
    index: u32,
    is_thought: bool,
    pieces: Pieces,
}

impl GenerateDecoder {
    pub(super) fn new(names: Arc<WireNames>, ids: FreshIds) -> Self {
        Self {
            names,
            ids,
            next: 0,
            open: None,
            stop: None,
            has_calls: false,
            usage: None,
            frame: Frame::default(),
        }
    }

    /// Takes an event in if it is plain.
    fn plain(&mut self, data: &str, out: &mut VecDeque<ProtocolEvent>) -> bool {
        let (text, usage, is_thought) = match self.frame.read_with(data) {
            Some((text, usage, is_thought)) => (text, Some(usage), is_thought),
            None => {
                let Some(plain) = Plain::read(data) else {
                    return false;
                };
                if let Some(usage) = plain.usage {
                    let text = &plain.text;
                    self.frame
                        .remember_with(data, text, usage, plain.is_thought);
                }
                let usage = plain.usage.and_then(lenient::read);
                (plain.text.0.into_owned(), usage, plain.is_thought)
            }
        };
        self.usage(usage, out);
        if !text.is_empty() {
            self.text(text, is_thought, None, out);
        }
        true
    }

    fn candidate(
        &mut self,
        candidate: Candidate<'_>,
        out: &mut VecDeque<ProtocolEvent>,
    ) -> Result<(), ProviderError> {
        let parts = candidate.content.and_then(|content| content.parts);
        for raw in parts.into_iter().flatten() {
            self.part(raw, out)?;
        }
        if let Some(reason) = &candidate.finish_reason
            && let Some(stop) = stopped::stop(reason, candidate.finish_message.as_deref())?
        {
            self.stop = Some(stop);
        }
        Ok(())
    }

    fn part(
        &mut self,
        raw: &RawValue,
        out: &mut VecDeque<ProtocolEvent>,
    ) -> Result<(), ProviderError> {
        let Some(part) = Part::read(raw) else {
            self.opaque(raw, out);
            return Ok(());
        };
        let signature = part.signature();
        if let Some(call) = part.function_call {
            return self.call(call, signature, out);
        }
        let text = part.text.unwrap_or_default();
        if !text.is_empty() || signature.is_some() {
            let signed = signature.map(|signature| (raw, signature));
            self.text(text, part.thought, signed, out);
        }
        Ok(())
    }

    /// Text; `signed` is the part that it came in and its signature, if it has one.
    fn text(
        &mut self,
        text: String,
        is_thought: bool,
        signed: Option<(&RawValue, &RawValue)>,
        out: &mut VecDeque<ProtocolEvent>,
    ) {
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.is_thought != is_thought)
        {
            self.close(out);
        }
        let open = self.open.get_or_insert_with(|| Open {
            index: fresh(&mut self.next),
            is_thought,
            pieces: Pieces::default(),
        });
        match signed {
            Some((part, signature)) => open.pieces.signed(part, signature, is_thought),
            None => open.pieces.unsigned(&text),
        }
        let index = open.index;
        out.push_back(match is_thought {
            true => ProtocolEvent::ThinkingDelta { index, text },
            false => ProtocolEvent::TextDelta { index, text },
        });
    }

    fn call(
        &mut self,
        call: FunctionCall<'_>,
        signature: Option<&RawValue>,
        out: &mut VecDeque<ProtocolEvent>,
    ) -> Result<(), ProviderError> {
        if call.is_partial() {
            // A call without the rest of its arguments would do something else.
            return Err(ProviderError::new(
                ErrorClass::Terminal,
                "the provider sent the arguments of a tool call in pieces, unasked",
            ));
        }
        self.close(out);
        self.has_calls = true;
        let index = fresh(&mut self.next);
        let name = call.name.unwrap_or_default();
        out.push_back(ProtocolEvent::ToolCallStart {
            index,
            id: self.ids.take(call.id),
            name: self.names.decode(&name).unwrap_or(&name).to_owned(),
        });
        out.extend(call.args.map(|args| ProtocolEvent::ToolCallDelta {
            index,
            json: args.get().to_owned(),
        }));
        let raw = signature.and_then(item::kept_signature);
        out.extend(raw.map(|raw| ProtocolEvent::Raw { index, raw }));
        out.push_back(ProtocolEvent::BlockEnd { index });
        Ok(())
    }

    /// Code that the provider ran, images, and what the API may come to have.
    fn opaque(&mut self, raw: &RawValue, out: &mut VecDeque<ProtocolEvent>) {
        let Ok(raw) = RawJson::parse(raw.get()) else {
            return;
        };
        self.close(out);
        let index = fresh(&mut self.next);
        out.push_back(ProtocolEvent::Opaque { index, raw });
        out.push_back(ProtocolEvent::BlockEnd { index });
    }

    /// Says what was used, if it is not the same as before.
    fn usage(&mut self, usage: Option<WireUsage>, out: &mut VecDeque<ProtocolEvent>) {
        if let Some(usage) = usage
            && self.usage.replace(usage) != Some(usage)
        {
            out.push_back(ProtocolEvent::Usage(usage.into()));
        }
    }

    fn close(&mut self, out: &mut VecDeque<ProtocolEvent>) {
        if let Some(open) = self.open.take() {
            let index = open.index;
            let raw = open.pieces.finish(open.is_thought);
            out.extend(raw.map(|raw| ProtocolEvent::Raw { index, raw }));
            out.push_back(ProtocolEvent::BlockEnd { index });
        }
    }
}

impl Decoder for GenerateDecoder {
    fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        out: &mut VecDeque<ProtocolEvent>,
    ) -> Result<(), ProviderError> {
        if name == Some("error") || Event::are_errors(data) {
            return Err(failure::in_stream(data));
        }
        if self.plain(data, out) {
            return Ok(());
        }
        let event: Event<'_> = match serde_json::from_str(data) {
            Ok(event) => event,
            // Events of the protocol have no name; one that has may be anything.
            Err(_) if name.is_some_and(|name| name != "message") => return Ok(()),
            Err(_) => {
                return Err(failure::malformed("the provider sent a broken event", data));
            }
        };
        if event.error.is_some() {
            return Err(failure::in_stream(data));
        }
        self.usage(event.usage_metadata, out);
        if let Some(error) = event.prompt_feedback.as_ref().and_then(stopped::blocked) {
            return Err(error);
        }
        for candidate in event.candidates.into_iter().flatten() {
            // One was asked for; another would be another answer.
            if candidate.index.unwrap_or_default() == 0 {
                self.candidate(candidate, out)?;
            }
        }
        Ok(())
    }

    /// The reason to end is not always in the last event, but there is none after the last part.
    fn end(&mut self, out: &mut VecDeque<ProtocolEvent>) -> Result<(), ProviderError> {
        let Some(stop) = self.stop else {
            return Err(ProviderError::transport(
                "the answer broke off: it ended without a `finishReason`",
            ));
        };
        self.close(out);
        let stop = match stop {
            StopReason::End if self.has_calls => StopReason::ToolCalls,
            stop => stop,
        };
        out.push_back(ProtocolEvent::Done { stop });
        Ok(())
    }

    fn is_finished(&self) -> bool {
        self.stop.is_some()
    }
}

fn fresh(next: &mut u32) -> u32 {
    let index = *next;
    *next += 1;
    index
}
