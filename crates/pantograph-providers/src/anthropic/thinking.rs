//! Reasoning labels as the Messages API takes them.

use std::borrow::Cow;

use pantograph::{Model, RawJson, ReasoningControl};
use serde::{Deserialize, Serialize};

use crate::forcing::Forcing;

/// What an answer may have if nobody knows the model's limit.
const DEFAULT_MAX_TOKENS: u64 = 4_096;

/// The smallest budget that the API takes.
const MIN_BUDGET: u64 = 1_024;

/// The request's `thinking`.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thinking {
    Adaptive { display: &'static str },
    Enabled { budget_tokens: u64 },
    Disabled,
}

/// As much as the model sees fit, and what it thought is told.
const ADAPTIVE: Thinking = Thinking::Adaptive {
    display: "summarized",
};

/// The request's `output_config`.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct OutputConfig<'a> {
    effort: &'a str,
}

/// What of a request depends on the reasoning label.
#[derive(Debug, PartialEq)]
pub(super) struct Reasoning<'a> {
    pub(super) max_tokens: u64,
    pub(super) thinking: Option<Thinking>,
    pub(super) output_config: Option<OutputConfig<'a>>,
    /// The model is known not to think.
    pub(super) is_off: bool,
}

impl<'a> Reasoning<'a> {
    /// Without a label a model that takes an effort thinks as much as it sees fit, and others do
    /// as they do by themselves, unless that clashes with a tool that they are made to call: the
    /// newest think unasked. With a budget none may think amid calls that it did not think before.
    pub(super) fn of(model: &Model, forcing: &Forcing<'a>, amid_unthought_calls: bool) -> Self {
        let max_tokens = model.max_output.unwrap_or(DEFAULT_MAX_TOKENS).max(1);
        let (thinking, effort) = match (forcing.reasoning, model.reasoning_control) {
            // One whose control is known has a label then.
            (None, None) if forcing.forbids_thinking(model) => (Some(Thinking::Disabled), None),
            // By themselves they show nothing of it, not even what they say between calls.
            (None, Some(ReasoningControl::Effort)) => (Some(ADAPTIVE), None),
            (None, _) => (None, None),
            (Some("off"), Some(ReasoningControl::Budget)) => (None, None),
            (Some("off"), _) => (Some(Thinking::Disabled), None),
            (Some(label), Some(ReasoningControl::Budget)) => (
                budget(label, max_tokens)
                    .filter(|_| !amid_unthought_calls)
                    .map(|budget_tokens| Thinking::Enabled { budget_tokens }),
                None,
            ),
            (Some(label), _) => (
                Some(ADAPTIVE),
                Some(match label {
                    "minimal" => "low",
                    label => label,
                }),
            ),
        };
        let is_budget = model.reasoning_control == Some(ReasoningControl::Budget);
        Self {
            max_tokens,
            is_off: match thinking {
                Some(Thinking::Disabled) => true,
                Some(_) => false,
                // Those with a budget think only if they are told to.
                None => is_budget,
            },
            thinking,
            output_config: effort.map(|effort| OutputConfig { effort }),
        }
    }
}

/// Whether an item of the provider's own is thinking that it does not show.
pub(super) fn is_redacted(raw: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Item<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
    }
    serde_json::from_str::<Item<'_>>(raw.as_str())
        .is_ok_and(|item| item.r#type == "redacted_thinking")
}

/// The tokens for a label, which leave a quarter of the answer for what it says; `None` if that
/// is less than the API takes.
fn budget(label: &str, max_tokens: u64) -> Option<u64> {
    let wanted = match label {
        "minimal" => MIN_BUDGET,
        "low" => 4_096,
        "medium" => 10_240,
        "high" => 20_480,
        "xhigh" => 32_768,
        _ => u64::MAX,
    };
    let budget = wanted.min(max_tokens / 4 * 3);
    (budget >= MIN_BUDGET).then_some(budget)
}
