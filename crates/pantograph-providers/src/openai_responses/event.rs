//! The events of the API, as far as they are read.

use pantograph::Usage;
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde_json::value::RawValue;

use crate::lenient;

/// Any event. Flat, so that it is read in one pass.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Option<EventKind>,
    /// Which item it is about. The items' ids say the same, but some proxies change them.
    pub(super) output_index: Option<u32>,
    pub(super) content_index: Option<u32>,
    pub(super) summary_index: Option<u32>,
    pub(super) delta: Option<String>,
    /// All of a part, at its end.
    pub(super) text: Option<String>,
    pub(super) refusal: Option<String>,
    pub(super) arguments: Option<String>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum EventKind {
    #[serde(rename = "response.output_item.added")]
    ItemAdded,
    #[serde(rename = "response.output_item.done")]
    ItemDone,
    #[serde(rename = "response.output_text.delta")]
    TextDelta,
    #[serde(rename = "response.output_text.done")]
    TextDone,
    #[serde(rename = "response.refusal.delta")]
    RefusalDelta,
    #[serde(rename = "response.refusal.done")]
    RefusalDone,
    #[serde(rename = "response.reasoning_summary_text.delta")]
    SummaryDelta,
    #[serde(rename = "response.reasoning_text.delta")]
    ReasoningDelta,
    #[serde(rename = "response.function_call_arguments.delta")]
    ArgumentsDelta,
    #[serde(rename = "response.function_call_arguments.done")]
    ArgumentsDone,
    #[serde(rename = "response.completed")]
    Completed,
    #[serde(rename = "response.incomplete")]
    Incomplete,
    #[serde(rename = "response.failed")]
    Failed,
    #[serde(rename = "error")]
    Error,
    /// `response.created` and `response.in_progress`; the ends of thoughts and parts, which the
    /// end of their item repeats; and what the API may come to have.
    #[serde(other)]
    Other,
}

impl EventKind {
    /// The kind of an event that may have any shape otherwise; `None` if it is not JSON.
    pub(super) fn of(data: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Tag {
            #[serde(rename = "type", default, deserialize_with = "lenient::field")]
            kind: Option<EventKind>,
        }
        let tag: Tag = serde_json::from_str(data).ok()?;
        Some(tag.kind.unwrap_or(Self::Other))
    }

    /// Whether nobody here knows an event of this name.
    pub(super) fn is_unknown(name: &str) -> bool {
        let kind = Self::deserialize(StrDeserializer::<serde::de::value::Error>::new(name));
        kind == Ok(Self::Other) && name != "message"
    }
}

/// An answer as its last event has it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Response<'a> {
    #[serde(deserialize_with = "lenient::field")]
    pub(super) usage: Option<WireUsage>,
    incomplete_details: Option<IncompleteDetails>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

impl<'a> Response<'a> {
    pub(super) fn read(json: Option<&'a RawValue>) -> Self {
        let response = json.and_then(|json| serde_json::from_str(json.get()).ok());
        response.unwrap_or_default()
    }

    /// All items of the answer; some servers leave them out.
    pub(super) fn output(&self) -> Vec<&'a RawValue> {
        let output = self
            .output
            .and_then(|json| serde_json::from_str(json.get()).ok());
        output.unwrap_or_default()
    }

    /// Why it is not complete.
    pub(super) fn reason(&self) -> Option<&str> {
        self.incomplete_details.as_ref()?.reason.as_deref()
    }
}

#[derive(Deserialize)]
pub(super) struct WireUsage {
    /// Those of the cache included.
    #[serde(default, deserialize_with = "lenient::count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::field")]
    input_tokens_details: Option<InputDetails>,
    #[serde(default, deserialize_with = "lenient::count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::field")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    #[serde(default, deserialize_with = "lenient::count")]
    cached_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "lenient::count")]
    reasoning_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let cache = usage.input_tokens_details.unwrap_or_default();
        let cached = cache.cached_tokens.unwrap_or(0);
        let written = cache.cache_write_tokens.unwrap_or(0);
        Usage {
            input: usage
                .input_tokens
                .map(|all| all.saturating_sub(cached).saturating_sub(written)),
            output: usage.output_tokens,
            cache_read: cache.cached_tokens,
            cache_write: cache.cache_write_tokens,
            reasoning: usage
                .output_tokens_details
                .and_then(|details| details.reasoning_tokens),
        }
    }
}
