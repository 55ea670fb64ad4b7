//! The events of the API, as far as they are read.

use pantograph::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::few::Few;
use crate::lenient;

/// One event: a piece of an answer, which has no kind of its own.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event<'a> {
    #[serde(borrow)]
    pub(super) candidates: Option<Few<Candidate<'a>>>,
    pub(super) prompt_feedback: Option<PromptFeedback>,
    #[serde(default, deserialize_with = "lenient::field")]
    pub(super) usage_metadata: Option<WireUsage>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

impl Event<'_> {
    /// Whether these are events in a list, as errors sometimes come, and one is an error.
    pub(super) fn are_errors(data: &str) -> bool {
        data.trim_start().starts_with('[')
            && serde_json::from_str::<Vec<Event<'_>>>(data)
                .is_ok_and(|events| events.iter().any(|event| event.error.is_some()))
    }
}

/// One of the answers; there is only one unless more were asked for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    pub(super) index: Option<u32>,
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    pub(super) finish_reason: Option<String>,
    pub(super) finish_message: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Content<'a> {
    #[serde(borrow)]
    pub(super) parts: Option<Few<&'a RawValue>>,
}

/// Why a request was not answered at all.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback {
    pub(super) block_reason: Option<String>,
    pub(super) block_reason_message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireUsage {
    /// Those of the cache included.
    #[serde(default, deserialize_with = "lenient::count")]
    prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    cached_content_token_count: Option<u64>,
    /// What tools of the provider added to the prompt; not part of its count.
    #[serde(default, deserialize_with = "lenient::count")]
    tool_use_prompt_token_count: Option<u64>,
    /// Thoughts excluded.
    #[serde(default, deserialize_with = "lenient::count")]
    candidates_token_count: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    thoughts_token_count: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let cached = usage.cached_content_token_count.unwrap_or(0);
        let prompt = usage
            .prompt_token_count
            .map(|all| all.saturating_sub(cached));
        Usage {
            input: sum(prompt, usage.tool_use_prompt_token_count),
            output: sum(usage.candidates_token_count, usage.thoughts_token_count),
            cache_read: usage.cached_content_token_count,
            cache_write: None,
            reasoning: usage.thoughts_token_count,
        }
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}
