//! Reasoning labels as the API takes them.

use pantograph::{Model, ReasoningControl};
use serde::Serialize;

/// The smallest and the largest budget that every model with budgets takes.
const MIN_BUDGET: i64 = 512;
const MAX_BUDGET: i64 = 24_576;

/// The budget that leaves it to the model.
const DYNAMIC: i64 = -1;

/// The request's `thinkingConfig`. The API refuses a level beside a budget.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig<'a> {
    #[serde(skip_serializing_if = "is_false")]
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<i64>,
}

impl<'a> ThinkingConfig<'a> {
    /// Without a label the model does as it does by itself.
    pub(super) fn of(model: &Model, label: Option<&'a str>) -> Option<Self> {
        let label = label?;
        let is_budget = model.reasoning_control == Some(ReasoningControl::Budget);
        Some(Self {
            include_thoughts: label != "off",
            thinking_level: (!is_budget).then(|| level(label)),
            thinking_budget: is_budget.then(|| budget(label, model.max_output)),
        })
    }
}

/// The level for a label.
fn level(label: &str) -> &str {
    match label {
        // Models with levels cannot be kept from thinking, and this is the least that all take.
        "off" => "low",
        "xhigh" | "max" => "high",
        label => label,
    }
}

/// The tokens for a label, which leave a quarter of the answer for what it says.
fn budget(label: &str, max_output: Option<u64>) -> i64 {
    let wanted = match label {
        "off" => return 0,
        "minimal" => MIN_BUDGET,
        "low" => 2_048,
        "medium" => 8_192,
        "high" => 16_384,
        "xhigh" | "max" => MAX_BUDGET,
        _ => return DYNAMIC,
    };
    let room = max_output.map_or(MAX_BUDGET, |tokens| {
        i64::try_from(tokens / 4 * 3).unwrap_or(MAX_BUDGET)
    });
    wanted.min(room).max(MIN_BUDGET)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
fn is_false(value: &bool) -> bool {
    !value
}
