//! The events of an answer.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use pantograph::protocol::ProtocolEvent;
use pantograph::wire_name::WireNames;
use pantograph::{ErrorClass, ProviderError, RawJson, StopReason};
use serde_json::Value;
use serde_json::value::RawValue;

use super::binding::{self, NEVER, Prefix};
use super::event::{
    Added, Block, BlockKind, Delta, Event, EventKind, is_unknown_event, is_unknown_name,
};
use super::thinking;
use crate::failure;
use crate::frame::Frame;
use crate::harmless;
use crate::stream::Decoder;

/// Reads the events of one answer.
pub(super) struct MessagesDecoder {
    names: Arc<WireNames>,
    /// The blocks that have begun and not ended; rarely more than one.
    open: Vec<Open>,
    /// What the answer is thought after; known once the request is written.
    after: Arc<OnceLock<Prefix>>,
    /// Whether something was said that cannot go back as it came, so that what is thought after
    /// it cannot either.
    is_altered: bool,
    /// The index of the next block. Servers exist that give every block the same.
    next: u32,
    stop: StopReason,
    /// Of the last delta, the number of its block and what it added.
    frame: Frame<(u32, Added)>,
}

struct Open {
    /// What the wire calls it.
    number: u32,
    index: u32,
    kind: Kind,
}

enum Kind {
    Text {
        is_blank: bool,
    },
    Thinking {
        signature: String,
    },
    Call {
        /// What the block began with; it counts if nothing follows.
        input: Option<String>,
    },
    /// A block that only the provider understands, and what its deltas add to it.
    Opaque {
        block: String,
        text: String,
        input: String,
    },
}

impl MessagesDecoder {
    pub(super) fn new(names: Arc<WireNames>, after: Arc<OnceLock<Prefix>>) -> Self {
        Self {
            names,
            open: Vec::new(),
            after,
            is_altered: false,
            next: 0,
            stop: StopReason::End,
            frame: Frame::default(),
        }
    }

    fn start(&mut self, number: u32, block: &RawValue, out: &mut VecDeque<ProtocolEvent>) {
        let index = self.next;
        self.next += 1;
        let raw = block.get();
        let opaque = || Kind::Opaque {
            block: raw.to_owned(),
            text: String::new(),
            input: String::new(),
        };
        let kind = match serde_json::from_str::<Block<'_>>(raw) {
            Ok(block) => match block.kind {
                BlockKind::Text => {
                    let text = block.text.unwrap_or_default();
                    let is_blank = harmless::is_blank(&text);
                    self.is_altered |= text.contains('\0');
                    out.extend(text_delta(index, text));
                    Kind::Text { is_blank }
                }
                BlockKind::Thinking => {
                    out.extend(block.thinking.and_then(|text| thinking_delta(index, text)));
                    Kind::Thinking {
                        signature: block.signature.unwrap_or_default(),
                    }
                }
                BlockKind::ToolUse => {
                    let name = block.name.unwrap_or_default();
                    out.push_back(ProtocolEvent::ToolCallStart {
                        index,
                        id: block.id.unwrap_or_default(),
                        name: self.names.decode(&name).unwrap_or(&name).to_owned(),
                    });
                    let input = block.input.map(RawValue::get);
                    Kind::Call {
                        input: input
                            .filter(|input| !is_empty_object(input))
                            .map(str::to_owned),
                    }
                }
                BlockKind::Other => opaque(),
            },
            Err(_) => opaque(),
        };
        self.open.push(Open {
            number,
            index,
            kind,
        });
    }

    /// Takes in what is added to a block. Text for one that did not begin, or has ended, or is of
    /// another kind begins a block.
    fn delta(
        &mut self,
        number: u32,
        delta: Delta<'_>,
        out: &mut VecDeque<ProtocolEvent>,
    ) -> Result<(), ProviderError> {
        let found = self
            .open
            .iter()
            .rposition(|open| open.number == number && delta.fits(&open.kind));
        let at = match (found, delta.begins()) {
            (Some(at), _) => at,
            (None, Some(kind)) => {
                self.open.push(Open {
                    number,
                    index: self.next,
                    kind,
                });
                self.next += 1;
                self.open.len() - 1
            }
            (None, None) if delta.has_input() => {
                return Err(ProviderError::transport(
                    "the provider's stream has the input of a tool call that did not begin",
                ));
            }
            (None, None) => return Ok(()),
        };
        let open = &mut self.open[at];
        let index = open.index;
        match &mut open.kind {
            Kind::Text { is_blank } => {
                let text = delta.text.unwrap_or_default().0.into_owned();
                *is_blank = *is_blank && harmless::is_blank(&text);
                self.is_altered |= text.contains('\0');
                out.extend(text_delta(index, text));
            }
            Kind::Thinking { signature } => {
                let text = delta.thinking.map(|text| text.0.into_owned());
                out.extend(text.and_then(|text| thinking_delta(index, text)));
                signature.push_str(delta.signature.as_deref().unwrap_or_default());
            }
            Kind::Call { input } => {
                let json = delta.partial_json.map(|json| json.0.into_owned());
                if let Some(json) = json.filter(|json| !json.is_empty()) {
                    *input = None;
                    out.push_back(ProtocolEvent::ToolCallDelta { index, json });
                }
            }
            Kind::Opaque { text, input, .. } => {
                text.push_str(&delta.text.unwrap_or_default().0);
                input.push_str(&delta.partial_json.unwrap_or_default().0);
            }
        }
        Ok(())
    }

    fn end_block(&mut self, number: u32, out: &mut VecDeque<ProtocolEvent>) {
        let Some(at) = self.open.iter().rposition(|open| open.number == number) else {
            return;
        };
        let Open { index, kind, .. } = self.open.remove(at);
        match kind {
            // Blank text is not sent back.
            Kind::Text { is_blank } => self.is_altered |= is_blank,
            Kind::Thinking { signature } if signature.is_empty() => {}
            Kind::Thinking { signature } => {
                out.push_back(ProtocolEvent::ThinkingSignature { index, signature });
                let note = self.after().and_then(|after| binding::note(&after));
                out.extend(note.map(|raw| ProtocolEvent::Raw { index, raw }));
            }
            Kind::Call { input } => {
                out.extend(input.map(|json| ProtocolEvent::ToolCallDelta { index, json }));
            }
            Kind::Opaque { block, text, input } => {
                let raw = whole_item(&block, text, &input);
                let raw = raw.map(|raw| match self.after() {
                    Some(after) if thinking::is_redacted(&raw) => {
                        binding::wrap(&raw, &after).unwrap_or(raw)
                    }
                    _ => raw,
                });
                out.extend(raw.map(|raw| ProtocolEvent::Opaque { index, raw }));
            }
        }
        out.push_back(ProtocolEvent::BlockEnd { index });
    }

    /// What a block that ends now was thought after, as it is kept.
    fn after(&self) -> Option<String> {
        match self.is_altered {
            true => Some(NEVER.to_owned()),
            false => self.after.get().map(Prefix::to_string),
        }
    }

    fn stopped(&mut self, delta: &Delta<'_>) -> Result<(), ProviderError> {
        self.stop = match delta.stop_reason.as_deref() {
            None => return Ok(()),
            Some("tool_use") => StopReason::ToolCalls,
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::Limit,
            Some("refusal") => return Err(refusal(delta)),
            // `end_turn`, `stop_sequence`, `pause_turn`, and what the API may come to have.
            Some(_) => StopReason::End,
        };
        Ok(())
    }
}

impl Delta<'_> {
    fn has_text(&self) -> bool {
        self.text.as_ref().is_some_and(|text| !text.0.is_empty())
    }

    fn has_thinking(&self) -> bool {
        let thinking = self.thinking.as_ref();
        thinking.is_some_and(|thinking| !thinking.0.is_empty())
    }

    fn has_input(&self) -> bool {
        let input = self.partial_json.as_ref();
        input.is_some_and(|input| !input.0.is_empty())
    }

    /// Whether a block of the kind can take it.
    fn fits(&self, kind: &Kind) -> bool {
        match kind {
            Kind::Text { .. } => !self.has_thinking() && !self.has_input(),
            Kind::Thinking { .. } => !self.has_text() && !self.has_input(),
            Kind::Call { .. } => !self.has_text() && !self.has_thinking(),
            Kind::Opaque { .. } => true,
        }
    }

    /// The block that it could be of if there is none.
    fn begins(&self) -> Option<Kind> {
        match (self.has_text(), self.has_thinking()) {
            (true, _) => Some(Kind::Text { is_blank: true }),
            (_, true) => Some(Kind::Thinking {
                signature: String::new(),
            }),
            _ => None,
        }
    }
}

impl Decoder for MessagesDecoder {
    fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        out: &mut VecDeque<ProtocolEvent>,
    ) -> Result<(), ProviderError> {
        if name != Some("error")
            && let Some((text, (number, added))) = self.frame.read(data)
        {
            return self.delta(number, Delta::of(added, text), out);
        }
        let event: Event<'_> = match serde_json::from_str(data) {
            Ok(event) => event,
            // An event of a kind that is not known may have any shape.
            Err(_) if is_unknown_event(data) || name.is_some_and(is_unknown_name) => return Ok(()),
            Err(_) => {
                return Err(failure::malformed("the provider sent a broken event", data));
            }
        };
        if event.kind == EventKind::Error || name == Some("error") || event.error.is_some() {
            return Err(failure::in_stream(data));
        }
        let number = event.index.unwrap_or_default();
        match event.kind {
            EventKind::MessageStart => {
                out.extend(event.first_usage().map(ProtocolEvent::Usage));
            }
            EventKind::ContentBlockStart => {
                if let Some(block) = event.content_block {
                    self.start(number, block, out);
                }
            }
            EventKind::ContentBlockDelta => {
                if let Some(delta) = event.delta {
                    if let Some((added, text)) = delta.sole() {
                        self.frame.remember(data, text, (number, added));
                    }
                    self.delta(number, delta, out)?;
                }
            }
            EventKind::ContentBlockStop => self.end_block(number, out),
            EventKind::MessageDelta => {
                out.extend(event.usage().map(ProtocolEvent::Usage));
                if let Some(delta) = &event.delta {
                    self.stopped(delta)?;
                }
            }
            EventKind::MessageStop => out.push_back(ProtocolEvent::Done { stop: self.stop }),
            EventKind::Error | EventKind::Other => {}
        }
        Ok(())
    }
}

fn text_delta(index: u32, text: String) -> Option<ProtocolEvent> {
    (!text.is_empty()).then_some(ProtocolEvent::TextDelta { index, text })
}

fn thinking_delta(index: u32, text: String) -> Option<ProtocolEvent> {
    (!text.is_empty()).then_some(ProtocolEvent::ThinkingDelta { index, text })
}

fn is_empty_object(json: &str) -> bool {
    json.strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|inside| inside.trim().is_empty())
}

/// A block that only the provider understands, with its deltas put where they belong.
fn whole_item(block: &str, text: String, input: &str) -> Option<RawJson> {
    if text.is_empty() && input.is_empty() {
        return RawJson::parse(block).ok();
    }
    let mut item: Value = serde_json::from_str(block).ok()?;
    let fields = item.as_object_mut()?;
    if let Ok(input) = serde_json::from_str::<Value>(input) {
        fields.insert("input".into(), input);
    }
    if !text.is_empty() {
        fields.insert("text".into(), text.into());
    }
    Some(RawJson::from_value(&item))
}

fn refusal(delta: &Delta<'_>) -> ProviderError {
    let details = delta.stop_details.as_ref();
    let explanation = details.and_then(|details| details.explanation.as_deref());
    let mut error = ProviderError::new(
        ErrorClass::Terminal,
        match explanation {
            Some(explanation) => format!("the model refused to answer: {explanation}"),
            None => "the model refused to answer".to_owned(),
        },
    );
    error.code = Some("refusal".into());
    error
}
