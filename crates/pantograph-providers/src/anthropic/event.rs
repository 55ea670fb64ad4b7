//! The events of the API, as far as they are read.

use std::borrow::Cow;

use pantograph::Usage;
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde_json::value::RawValue;

use crate::frame::Text;
use crate::lenient;

/// Any event. Flat, so that it is read in one pass; what may be of any shape is read when it is
/// looked at.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", default)]
    pub(super) kind: EventKind,
    pub(super) index: Option<u32>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

impl Event<'_> {
    /// What the message that begins has used.
    pub(super) fn first_usage(&self) -> Option<Usage> {
        let message: Started = lenient::read(self.message?)?;
        message.usage.map(WireUsage::into)
    }

    /// What the message has used so far.
    pub(super) fn usage(&self) -> Option<Usage> {
        lenient::read(self.usage?).map(WireUsage::into)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EventKind {
    MessageStart,
    ContentBlockStart,
    ContentBlockDelta,
    ContentBlockStop,
    MessageDelta,
    MessageStop,
    Error,
    /// `ping`, and what the API may come to have.
    #[default]
    #[serde(other)]
    Other,
}

/// The delta of a block or of the message.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Text<'a>>,
    pub(super) signature: Option<String>,
    #[serde(borrow)]
    pub(super) partial_json: Option<Text<'a>>,
    pub(super) stop_reason: Option<String>,
    pub(super) stop_details: Option<Box<StopDetails>>,
}

/// What the delta of a block adds to it.
#[derive(Clone, Copy)]
pub(super) enum Added {
    Text,
    Thinking,
    Input,
}

impl<'a> Delta<'a> {
    /// The delta that adds a text and nothing else.
    pub(super) fn of(added: Added, text: String) -> Self {
        let text = Some(Text(Cow::Owned(text)));
        let nothing = Self::default();
        match added {
            Added::Text => Self { text, ..nothing },
            Added::Thinking => Self {
                thinking: text,
                ..nothing
            },
            Added::Input => Self {
                partial_json: text,
                ..nothing
            },
        }
    }

    /// What it adds, if that is one text and nothing else.
    pub(super) fn sole(&self) -> Option<(Added, &Text<'a>)> {
        if self.signature.is_some() {
            return None;
        }
        match (&self.text, &self.thinking, &self.partial_json) {
            (Some(text), None, None) => Some((Added::Text, text)),
            (None, Some(text), None) => Some((Added::Thinking, text)),
            (None, None, Some(text)) => Some((Added::Input, text)),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct StopDetails {
    pub(super) explanation: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Block<'a> {
    #[serde(rename = "type")]
    pub(super) kind: BlockKind,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) signature: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BlockKind {
    Text,
    Thinking,
    ToolUse,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Started {
    #[serde(default, deserialize_with = "lenient::field")]
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default, deserialize_with = "lenient::count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::field")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "lenient::count")]
    thinking_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        Usage {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cache_read_input_tokens,
            cache_write: usage.cache_creation_input_tokens,
            reasoning: usage
                .output_tokens_details
                .and_then(|details| details.thinking_tokens),
        }
    }
}

/// Whether this is JSON of a kind that nobody here knows.
pub(super) fn is_unknown_event(data: &str) -> bool {
    #[derive(Deserialize)]
    struct Tag {
        #[serde(rename = "type", default, deserialize_with = "lenient::field")]
        kind: Option<EventKind>,
    }
    let tag = serde_json::from_str::<Tag>(data);
    tag.is_ok_and(|tag| tag.kind.unwrap_or_default() == EventKind::Other)
}

/// Whether nobody here knows an event of this name.
pub(super) fn is_unknown_name(name: &str) -> bool {
    let kind = EventKind::deserialize(StrDeserializer::<serde::de::value::Error>::new(name));
    kind == Ok(EventKind::Other) && name != "message"
}
