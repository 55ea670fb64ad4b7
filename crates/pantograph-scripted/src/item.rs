//! What a step plays, item by item.

use std::time::Duration;

use pantograph::protocol::ProtocolEvent;
use pantograph::{RawJson, StopReason, Usage};
use serde_json::Value;

use crate::fault::Fault;

mod from;
mod pieces;

use pieces::Pieces;

/// One thing that a step plays.
///
/// Made from the parts themselves: a `&str` is a text, a [`Duration`] a delay, and so on for
/// everything in this enum and in [`Fault`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Item {
    /// A text block.
    Text(Text),
    /// A thinking block.
    Thinking(Thinking),
    /// A tool call.
    Call(Call),
    /// A whole block that only the provider understands.
    Opaque(RawJson),
    /// Token counts so far; later ones win.
    Usage(Usage),
    /// Why the answer ends. Without it [`StopReason::ToolCalls`] if a call was made, else
    /// [`StopReason::End`]. Protocols report no other ones than these and [`StopReason::Limit`].
    Stop(StopReason),
    /// A wait or a failure.
    Fault(Fault),
}

/// A text block, in one delta unless said otherwise.
#[derive(Debug, Clone)]
pub struct Text {
    pieces: Pieces,
    raw: Option<RawJson>,
}

impl Text {
    /// A block of `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            pieces: Pieces::new(text.into()),
            raw: None,
        }
    }

    /// Splits the text into `chunks` deltas of whole characters, fewer if it is shorter.
    pub fn chunks(mut self, chunks: usize) -> Self {
        self.pieces.split(chunks);
        self
    }

    /// Plays the text, chunks and all, `count` times.
    pub fn count(mut self, count: u64) -> Self {
        self.pieces.count = count;
        self
    }

    /// Plays the text for ever. The deltas are always ready: who reads them is responsible for
    /// stopping.
    pub fn endless(self) -> Self {
        self.count(u64::MAX)
    }

    /// Waits before each delta but the first.
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pieces.pace = Some(pace);
        self
    }

    /// Adds the provider's own item to the block.
    pub fn raw(mut self, raw: RawJson) -> Self {
        self.raw = Some(raw);
        self
    }
}

/// A thinking block, in one delta unless said otherwise.
#[derive(Debug, Clone)]
pub struct Thinking {
    pieces: Pieces,
    signature: Option<String>,
    raw: Option<RawJson>,
}

impl Thinking {
    /// A block of `text`, unsigned; with an empty text and a signature it has no deltas.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            pieces: Pieces::new(text.into()),
            signature: None,
            raw: None,
        }
    }

    /// Signs the block.
    pub fn signature(mut self, signature: impl Into<String>) -> Self {
        self.signature = Some(signature.into());
        self
    }

    /// Splits the text into `chunks` deltas of whole characters, fewer if it is shorter.
    pub fn chunks(mut self, chunks: usize) -> Self {
        self.pieces.split(chunks);
        self
    }

    /// Plays the text, chunks and all, `count` times.
    pub fn count(mut self, count: u64) -> Self {
        self.pieces.count = count;
        self
    }

    /// Waits before each delta but the first.
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pieces.pace = Some(pace);
        self
    }

    /// Adds the provider's own item to the block.
    pub fn raw(mut self, raw: RawJson) -> Self {
        self.raw = Some(raw);
        self
    }
}

/// A tool call, its input in one delta unless said otherwise.
#[derive(Debug, Clone)]
pub struct Call {
    name: String,
    id: Option<String>,
    pieces: Pieces,
    /// The input is JSON, and so must be what is put into its strings.
    is_json: bool,
    raw: Option<RawJson>,
}

impl Call {
    /// A call of the tool with the canonical `name`.
    ///
    /// Without [`Call::id`] it gets `call_1`, `call_2` and so on, the first that the
    /// conversation does not have.
    pub fn new(name: impl Into<String>, input: Value) -> Self {
        Self {
            is_json: true,
            ..Self::with_raw_input(name, input.to_string())
        }
    }

    /// A call whose input is this text, JSON or not.
    pub fn with_raw_input(name: impl Into<String>, input: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            id: None,
            pieces: Pieces::new(input.into()),
            is_json: false,
            raw: None,
        }
    }

    /// Sets the call's id; nothing keeps two calls from having the same.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Splits the input into `chunks` deltas of whole characters, fewer if it is shorter.
    pub fn chunks(mut self, chunks: usize) -> Self {
        self.pieces.split(chunks);
        self
    }

    /// Waits before each delta of the input but the first.
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pieces.pace = Some(pace);
        self
    }

    /// Adds the provider's own item to the block.
    pub fn raw(mut self, raw: RawJson) -> Self {
        self.raw = Some(raw);
        self
    }

    pub(crate) fn explicit_id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

/// What a block has at one of its positions.
pub(crate) enum BlockStep {
    /// An event.
    Event(ProtocolEvent),
    /// Its end.
    End,
}

impl Item {
    /// What the item's block has at `position`; items that are no block are at their end.
    ///
    /// `id` is asked for at the start of a call without an id.
    pub(crate) fn block_step(
        &self,
        index: u32,
        position: u64,
        id: impl FnOnce() -> String,
    ) -> BlockStep {
        let event = match self {
            Item::Text(text) => text.event(index, position),
            Item::Thinking(thinking) => thinking.event(index, position),
            Item::Call(call) => call.event(index, position, id),
            _ => None,
        };
        event.map_or(BlockStep::End, BlockStep::Event)
    }

    /// Puts what was taken from the request into the item's text.
    pub(crate) fn fill(&mut self, taken: &[(&str, String)]) {
        match self {
            Item::Call(call) if call.is_json => {
                let inside_string = |value: &String| {
                    let json = Value::from(value.as_str()).to_string();
                    json[1..json.len() - 1].to_owned()
                };
                let taken: Vec<_> = taken
                    .iter()
                    .map(|(name, value)| (*name, inside_string(value)))
                    .collect();
                call.pieces.fill(&taken);
            }
            _ => {
                if let Some(pieces) = self.pieces() {
                    pieces.fill(taken);
                }
            }
        }
    }

    /// Lets the item's deltas come without waits.
    pub(crate) fn unpace(&mut self) {
        if let Some(pieces) = self.pieces() {
            pieces.pace = None;
        }
    }

    fn pieces(&mut self) -> Option<&mut Pieces> {
        match self {
            Item::Text(text) => Some(&mut text.pieces),
            Item::Thinking(thinking) => Some(&mut thinking.pieces),
            Item::Call(call) => Some(&mut call.pieces),
            _ => None,
        }
    }

    /// How long to wait before the block's `position`.
    pub(crate) fn pace_before(&self, position: u64) -> Option<Duration> {
        match self {
            Item::Text(text) => text.pieces.pace_before(position),
            Item::Thinking(thinking) => thinking.pieces.pace_before(position),
            Item::Call(call) => call.pieces.pace_before(position.saturating_sub(1)),
            _ => None,
        }
    }
}

impl Text {
    fn event(&self, index: u32, position: u64) -> Option<ProtocolEvent> {
        // A block begins with its first event, so an empty one has an empty delta.
        let deltas = self.pieces.len().max(1);
        if position < deltas {
            let text = self.pieces.get(position).to_owned();
            return Some(ProtocolEvent::TextDelta { index, text });
        }
        let raw = self.raw.clone().filter(|_| position == deltas)?;
        Some(ProtocolEvent::Raw { index, raw })
    }
}

impl Thinking {
    fn event(&self, index: u32, position: u64) -> Option<ProtocolEvent> {
        let begins_otherwise = self.signature.is_some() && self.pieces.is_empty();
        let deltas = match begins_otherwise {
            true => 0,
            false => self.pieces.len().max(1),
        };
        if position < deltas {
            let text = self.pieces.get(position).to_owned();
            return Some(ProtocolEvent::ThinkingDelta { index, text });
        }
        let signature = self
            .signature
            .clone()
            .map(|signature| ProtocolEvent::ThinkingSignature { index, signature });
        let raw = self
            .raw
            .clone()
            .map(|raw| ProtocolEvent::Raw { index, raw });
        after_deltas([signature, raw], position - deltas)
    }
}

impl Call {
    fn event(
        &self,
        index: u32,
        position: u64,
        id: impl FnOnce() -> String,
    ) -> Option<ProtocolEvent> {
        let Some(delta) = position.checked_sub(1) else {
            return Some(ProtocolEvent::ToolCallStart {
                index,
                id: self.id.clone().unwrap_or_else(id),
                name: self.name.clone(),
            });
        };
        let deltas = match self.pieces.is_empty() {
            true => 0,
            false => self.pieces.len(),
        };
        if delta < deltas {
            let json = self.pieces.get(delta).to_owned();
            return Some(ProtocolEvent::ToolCallDelta { index, json });
        }
        let raw = self.raw.clone().filter(|_| delta == deltas)?;
        Some(ProtocolEvent::Raw { index, raw })
    }
}

/// The event at `position` of those that there are.
fn after_deltas(events: [Option<ProtocolEvent>; 2], position: u64) -> Option<ProtocolEvent> {
    let position = usize::try_from(position).ok()?;
    events.into_iter().flatten().nth(position)
}
