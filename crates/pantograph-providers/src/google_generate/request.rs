//! The body of a request.

use std::borrow::Cow;

use pantograph::protocol::{Request, ToolChoice};
use pantograph::{Model, ReasoningControl};
use serde::Serialize;
use serde_json::Value;

use super::contents::{self, Files, Part, Rules};
use super::thinking::ThinkingConfig;
use super::{GoogleGenerateFlags, STYLE};
use crate::attachment::{FileLimits, FileRule};
use crate::call_ids::IdRule;
use crate::forcing::Forcing;
use crate::harmless;
use crate::history::{History, Results, WireRules};
use crate::payload::{Last, Payload, Writers};
use crate::schema::{self, SchemaRules};

const RULES: WireRules = WireRules {
    style: STYLE,
    ids: IdRule::up_to(64),
    files: FileRule {
        images: &["image/png", "image/jpeg", "image/webp"],
        pdf: true,
        max_encoded: 50_000_000,
    },
    results: Results::Apart,
};

/// A request may have 100 MB, and a document in it 50 MB. What is no file has the rest.
///
/// Source: ai.google.dev/gemini-api/docs, "File input methods".
const LIMITS: FileLimits = FileLimits {
    max_bytes: 75_000_000,
    ..FileLimits::NONE
};

pub(super) fn body(request: &Request, flags: GoogleGenerateFlags, writers: Writers) -> Payload {
    let history = History::new(request, RULES).with_limits(LIMITS);
    let forcing = Forcing::of(request, history.names());
    let turns = history.turns();
    let rules = Rules {
        has_call_ids: !flags.no_call_ids,
        files: files(&request.model, flags),
    };
    let body = Body {
        system_instruction: system(&history, forcing.instruction.clone()),
        tools: tools(&forcing, &history),
        tool_config: tool_config(&forcing.choice, &history),
        generation_config: GenerationConfig {
            max_output_tokens: request.model.max_output,
            thinking_config: ThinkingConfig::of(&request.model, forcing.reasoning),
        },
    };
    // Last, so that a longer conversation begins as the shorter did.
    let contents = Last {
        name: "contents",
        items: &contents::contents(&turns, rules),
    };
    history.written(&body, &contents, writers)
}

/// All but the contents, which come last.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Instruction<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    generation_config: GenerationConfig<'a>,
}

#[derive(Serialize)]
struct Instruction<'a> {
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
struct FunctionDeclaration<'a> {
    name: Cow<'a, str>,
    description: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: FunctionCallingConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCallingConfig<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allowed_function_names: Vec<Cow<'a, str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig<'a>>,
}

/// Where the files of results go. The models that take no levels are those before the ones that
/// take files in responses, which refuse the whole request.
fn files(model: &Model, flags: GoogleGenerateFlags) -> Files {
    let has_levels = matches!(
        model.reasoning_control,
        None | Some(ReasoningControl::Effort)
    );
    match has_levels && !flags.files_after_results {
        true => Files::InResults,
        false => Files::AfterResults,
    }
}

fn system<'a>(history: &History<'a>, instruction: Option<String>) -> Option<Instruction<'a>> {
    let texts = history.system().into_iter();
    let parts: Vec<Part<'a>> = texts
        .chain(instruction.map(Cow::Owned))
        .map(|text| Part::Text { text })
        .collect();
    (!parts.is_empty()).then_some(Instruction { parts })
}

fn tools<'a>(forcing: &Forcing<'a>, history: &'a History<'a>) -> Vec<Tool<'a>> {
    let function_declarations: Vec<FunctionDeclaration<'a>> = forcing
        .tools
        .iter()
        .map(|declared| {
            let name = history.names().encode(declared.name.as_str());
            FunctionDeclaration {
                // The API requires one.
                description: match harmless::is_blank(&declared.description) {
                    true => name.clone(),
                    false => harmless::text(&declared.description),
                },
                name,
                parameters: parameters(&declared.schema),
            }
        })
        .collect();
    match function_declarations.is_empty() {
        true => Vec::new(),
        false => vec![Tool {
            function_declarations,
        }],
    }
}

/// What a function takes, in the form that every version of the API and every model takes; its
/// newer `parametersJsonSchema` is checked for the same things where it is known at all. A
/// function that takes nothing has none: the API refuses objects without properties.
fn parameters(schema: &Value) -> Option<Value> {
    let schema = schema::clean(schema, SchemaRules::OpenApi);
    let has_properties = schema["properties"]
        .as_object()
        .is_some_and(|properties| !properties.is_empty());
    has_properties.then_some(schema)
}

fn tool_config<'a>(choice: &'a ToolChoice, history: &'a History<'_>) -> Option<ToolConfig<'a>> {
    let (mode, allowed) = match choice {
        // What goes without saying is not said.
        ToolChoice::Auto => return None,
        ToolChoice::None => ("NONE", None),
        ToolChoice::Required => ("ANY", None),
        ToolChoice::Named(name) => ("ANY", Some(history.names().encode(name))),
    };
    Some(ToolConfig {
        function_calling_config: FunctionCallingConfig {
            mode,
            allowed_function_names: allowed.into_iter().collect(),
        },
    })
}
