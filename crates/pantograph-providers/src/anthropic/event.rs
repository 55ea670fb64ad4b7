//! The events of the API, as far as they are read.

use pantograph::Usage;
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde_json::value::RawValue;

use crate::lenient;

/// Any event. Flat, so that it is read in one pass; what most events lack is boxed, since what is
/// read is moved.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", default)]
    pub(super) kind: EventKind,
    pub(super) index: Option<u32>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    pub(super) delta: Option<Delta>,
    #[serde(default, deserialize_with = "lenient::field")]
    pub(super) message: Option<Box<Started>>,
    #[serde(default, deserialize_with = "lenient::field")]
    pub(super) usage: Option<Box<WireUsage>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
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
pub(super) struct Delta {
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) signature: Option<String>,
    pub(super) partial_json: Option<String>,
    pub(super) stop_reason: Option<String>,
    pub(super) stop_details: Option<Box<StopDetails>>,
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
pub(super) struct Started {
    #[serde(default, deserialize_with = "lenient::field")]
    pub(super) usage: Option<Box<WireUsage>>,
}

#[derive(Deserialize)]
pub(super) struct WireUsage {
    #[serde(default, deserialize_with = "lenient::field")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::field")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::field")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::field")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::field")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "lenient::field")]
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
