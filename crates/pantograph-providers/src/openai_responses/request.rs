//! The body of a request.

use std::borrow::Cow;

use pantograph::protocol::{Request, ToolChoice};
use pantograph::{Model, ReasoningControl};
use serde::Serialize;
use serde_json::{Value, json};

use super::input;
use super::{OpenAiResponsesFlags, STYLE};
use crate::attachment::{FileLimits, FileRule, IMAGES};
use crate::call_ids::IdRule;
use crate::forcing::Forcing;
use crate::harmless;
use crate::history::{History, Results, WireRules};
use crate::payload::{Last, Payload, Writers};
use crate::prompt_cache;
use crate::schema::{self, SchemaRules};

const RULES: WireRules = WireRules {
    style: STYLE,
    ids: IdRule::up_to(64),
    files: FileRule {
        images: IMAGES,
        pdf: true,
        max_encoded: 20 * 1024 * 1024,
    },
    results: Results::Apart,
};

/// A request may have 50 MB and 500 images. Source: developers.openai.com, "Images and vision".
const LIMITS: FileLimits = FileLimits {
    max_files: 500,
    max_bytes: 40 * 1024 * 1024,
    ..FileLimits::NONE
};

/// The smallest bound of an answer that the API takes.
const MIN_OUTPUT_TOKENS: u64 = 16;

pub(super) fn body(request: &Request, flags: OpenAiResponsesFlags, writers: Writers) -> Payload {
    let history = History::new(request, RULES).with_limits(LIMITS);
    let forcing = Forcing::of(request, history.names());
    let turns = history.turns();
    let instruction = forcing.instruction.clone();
    let body = Body {
        model: &request.model.wire_model,
        stream: true,
        store: false,
        include: match flags.no_encrypted_reasoning || !reasons(&request.model) {
            true => &[],
            false => &["reasoning.encrypted_content"],
        },
        prompt_cache_key: prompt_cache::key(request).filter(|_| !flags.no_cache_key),
        max_output_tokens: request
            .model
            .max_output
            .map(|tokens| tokens.max(MIN_OUTPUT_TOKENS)),
        reasoning: forcing.reasoning.map(Reasoning::of),
        tool_choice: tool_choice(&forcing.choice, &history),
        tools: tools(&forcing, &history),
    };
    // Last, so that a longer conversation begins as the shorter did.
    let input = Last {
        name: "input",
        items: &input::items(history.system(), &turns, instruction, flags),
    };
    history.written(&body, &input, writers)
}

/// Whether the model is known to reason, or asked to. Others refuse to be asked for what they
/// thought, and one of which nothing is known may be one of them.
fn reasons(model: &Model) -> bool {
    match model.reasoning_control {
        Some(control) => control != ReasoningControl::None,
        None => model.reasoning.is_some(),
    }
}

/// All but the input, which comes last.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct Reasoning<'a> {
    effort: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

impl<'a> Reasoning<'a> {
    /// The labels are the API's own words, `off` being `none`. Which of them a model takes, the
    /// catalog says: each refuses some, and the newest take `max`.
    fn of(label: &'a str) -> Self {
        match label {
            "off" => Self {
                effort: "none",
                summary: None,
            },
            effort => Self {
                effort,
                summary: Some("auto"),
            },
        }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "harmless::is_blank")]
    description: Cow<'a, str>,
    parameters: Value,
    /// Left out it means `true`, which few schemas are written for.
    strict: bool,
}

fn tools<'a>(forcing: &Forcing<'a>, history: &'a History<'a>) -> Vec<Tool<'a>> {
    forcing
        .tools
        .iter()
        .map(|declared| Tool {
            r#type: "function",
            name: history.names().encode(declared.name.as_str()),
            description: harmless::text(&declared.description),
            parameters: schema::clean(&declared.schema, SchemaRules::JsonSchema),
            strict: false,
        })
        .collect()
}

fn tool_choice(choice: &ToolChoice, history: &History<'_>) -> Option<Value> {
    Some(match choice {
        // What goes without saying is not said.
        ToolChoice::Auto => return None,
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => {
            json!({ "type": "function", "name": history.names().encode(name) })
        }
    })
}
