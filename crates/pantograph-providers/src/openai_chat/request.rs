//! The body of a request.

use std::borrow::Cow;

use pantograph::protocol::{Purpose, Request, ToolChoice};
use serde::Serialize;
use serde_json::{Value, json};

use super::STYLE;
use super::flags::{OpenAiChatFlags, OutputLimit, ReasoningParameter};
use super::messages;
use super::reasoning::Reasoning;
use crate::attachment::{FileLimits, FileRule, IMAGES};
use crate::call_ids::IdRule;
use crate::forcing::Forcing;
use crate::harmless;
use crate::history::{History, Results, WireRules};
use crate::payload::{Last, Payload, Writers};
use crate::prompt_cache;
use crate::schema::{self, SchemaRules};

/// Bytes that one attachment may have, as base64.
const MAX_ENCODED: usize = 20 * 1024 * 1024;

fn rules(flags: OpenAiChatFlags) -> WireRules {
    WireRules {
        style: STYLE,
        ids: match flags.short_call_ids {
            true => IdRule {
                min: 9,
                max: 9,
                punctuation: false,
            },
            // What OpenAI takes; others take more.
            false => IdRule::up_to(40),
        },
        files: FileRule {
            images: images(flags),
            pdf: flags.documents,
            max_encoded: MAX_ENCODED.min(limits(flags).max_bytes),
        },
        results: Results::Apart,
    }
}

fn images(flags: OpenAiChatFlags) -> &'static [&'static str] {
    match (flags.no_gif, flags.no_webp) {
        (false, false) => IMAGES,
        (true, false) => &["image/png", "image/jpeg", "image/webp"],
        (false, true) => &["image/png", "image/jpeg", "image/gif"],
        (true, true) => &["image/png", "image/jpeg"],
    }
}

fn limits(flags: OpenAiChatFlags) -> FileLimits {
    let none = FileLimits::NONE;
    FileLimits {
        max_files: flags.max_files.unwrap_or(none.max_files),
        max_bytes: flags.max_file_bytes.unwrap_or(none.max_bytes),
        ..none
    }
}

pub(super) fn body(request: &Request, flags: OpenAiChatFlags, writers: Writers) -> Payload {
    let history = History::new(request, rules(flags)).with_limits(limits(flags));
    let forcing = forcing(request, &history, flags);
    let turns = history.turns();
    // A server with a switch has it on, unless it is told otherwise.
    let off =
        flags.reasoning == ReasoningParameter::Switch && forcing.forbids_thinking(&request.model);
    let label = forcing.reasoning.or(off.then_some("off"));
    // A compaction's request is never continued.
    let marks = flags.cache_marks && request.purpose == Purpose::Turn;
    let max_output = request.model.max_output;
    let limit = |parameter| max_output.filter(|_| flags.output_limit == parameter);
    let mut messages = messages::system(&history, forcing.instruction.as_deref(), flags, marks);
    messages.extend(messages::conversation(&turns, flags, marks));
    let body = Body {
        model: &request.model.wire_model,
        stream: true,
        stream_options: (!flags.no_stream_usage).then_some(StreamOptions {
            include_usage: true,
        }),
        max_tokens: limit(OutputLimit::MaxTokens),
        max_completion_tokens: limit(OutputLimit::MaxCompletionTokens),
        reasoning: Reasoning::of(label, flags.reasoning, flags.efforts),
        prompt_cache_key: prompt_cache::key(request).filter(|_| flags.cache_key),
        tool_choice: tool_choice(&forcing.choice, &history),
        tools: tools(&forcing, &history, flags),
    };
    let messages = Last {
        name: "messages",
        items: &messages,
    };
    history.written(&body, &messages, writers)
}

/// All but the messages, which come last.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(flatten)]
    reasoning: Reasoning<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    /// Servers refuse an empty list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: String,
    #[serde(skip_serializing_if = "harmless::is_blank")]
    description: Cow<'a, str>,
    parameters: Value,
}

/// What leaves of the tool choice. One tool by its name is, where a server does not know it, any
/// of one.
fn forcing<'a>(request: &'a Request, history: &History<'_>, flags: OpenAiChatFlags) -> Forcing<'a> {
    let forcing = Forcing::of(request, history.names());
    match &forcing.choice {
        ToolChoice::Named(name) if flags.no_named_tool => Forcing {
            tools: request.tools.get(name).into_iter().collect(),
            choice: ToolChoice::Required,
            ..forcing
        },
        _ => forcing,
    }
}

fn tool_choice(choice: &ToolChoice, history: &History<'_>) -> Option<Value> {
    Some(match choice {
        // What goes without saying is not said.
        ToolChoice::Auto => return None,
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({
            "type": "function",
            "function": { "name": history.names().encode(name) },
        }),
    })
}

fn tools<'a>(
    forcing: &Forcing<'a>,
    history: &History<'_>,
    flags: OpenAiChatFlags,
) -> Vec<Tool<'a>> {
    let parameters = |declared| {
        let mut parameters = schema::clean(declared, SchemaRules::JsonSchema);
        if flags.grammar_schemas {
            schema::keep_grammar(&mut parameters);
        }
        parameters
    };
    forcing
        .tools
        .iter()
        .map(|declared| Tool {
            r#type: "function",
            function: Function {
                name: history.names().encode(declared.name.as_str()).into_owned(),
                description: harmless::text(&declared.description),
                parameters: parameters(&declared.schema),
            },
        })
        .collect()
}
