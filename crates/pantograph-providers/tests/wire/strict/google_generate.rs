//! What the Gemini API refuses.
//!
//! Sources: ai.google.dev/api ("Generating content", "Caching" for schemas), the guides "Function
//! calling", "Thought signatures", "Thinking" and "File input methods", and the words of its
//! refusals.

use std::collections::HashSet;

use pantograph::ReasoningControl;
use serde_json::Value;

use super::{
    Refusals, base64, each_text, image_type, is_blank, list, matches, sign, text, unknown,
};

/// Bytes that a request may have, and a document in it.
const MAX_BYTES: usize = 100_000_000;
const MAX_FILE_BYTES: usize = 50_000_000;

/// What stands for the signature of a call that another model made.
const FOREIGN: &str = "skip_thought_signature_validator";

/// What is known of the model that is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    /// Its name, with which it signs; without one any signature is its own.
    pub(crate) model: Option<&'a str>,
    pub(crate) thinks: Thinks,
}

/// How a model is told how much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinks {
    /// By a level. Such a model takes files in the responses of functions, too.
    Levels,
    /// By a number of tokens.
    Budget,
    Never,
}

impl Thinks {
    pub(crate) fn of(control: Option<ReasoningControl>) -> Self {
        match control {
            None | Some(ReasoningControl::Effort) => Self::Levels,
            Some(ReasoningControl::Budget) => Self::Budget,
            Some(ReasoningControl::None) => Self::Never,
        }
    }
}

pub(crate) fn check(body: &Value, facts: Facts<'_>) -> Vec<String> {
    let mut check = Check {
        body,
        facts,
        refusals: Refusals::default(),
    };
    check.fields();
    check.generation();
    check.tools();
    check.turns();
    check.contents();
    check.refusals.into_vec()
}

struct Check<'a> {
    body: &'a Value,
    facts: Facts<'a>,
    refusals: Refusals,
}

impl<'a> Check<'a> {
    fn fields(&mut self) {
        let known = [
            "systemInstruction",
            "tools",
            "toolConfig",
            "generationConfig",
            "contents",
        ];
        self.known("", self.body, &known);
        self.refusals.unless(
            self.body.to_string().len() <= MAX_BYTES,
            "Request payload size exceeds the limit",
        );
        each_text(self.body, &mut |text| {
            self.refusals
                .unless(!text.contains('\0'), format_args!("{text:?}: NUL"));
        });
        if let Some(system) = self.body.get("systemInstruction") {
            self.known("system_instruction", system, &["parts"]);
            let parts = list(system, "parts");
            self.refusals.unless(
                !parts.is_empty() && parts.iter().all(|part| !is_blank(text(part, "text"))),
                "system_instruction: must have a text parameter",
            );
        }
    }

    fn generation(&mut self) {
        let config = &self.body["generationConfig"];
        self.known(
            "generation_config",
            config,
            &["maxOutputTokens", "thinkingConfig"],
        );
        self.refusals.unless(
            config
                .get("maxOutputTokens")
                .is_none_or(|tokens| tokens.as_u64().is_some_and(|tokens| tokens > 0)),
            "max_output_tokens must be positive",
        );
        let Some(thinking) = config.get("thinkingConfig") else {
            return;
        };
        let known = ["includeThoughts", "thinkingLevel", "thinkingBudget"];
        self.known("thinking_config", thinking, &known);
        self.refusals.unless(
            self.facts.thinks != Thinks::Never,
            "Thinking is not supported by this model",
        );
        let (level, budget) = (thinking.get(known[1]), thinking.get(known[2]));
        self.refusals.unless(
            level.is_none() || budget.is_none(),
            "You can only set only one of thinking budget and thinking level.",
        );
        if let Some(level) = level {
            self.refusals.unless(
                self.facts.thinks == Thinks::Levels,
                "Thinking level is not supported for this model.",
            );
            let known = ["minimal", "low", "medium", "high"];
            self.refusals.unless(
                level.as_str().is_some_and(|level| known.contains(&level)),
                format_args!("Invalid value at 'thinking_config.thinking_level': {level}"),
            );
        }
        self.refusals.unless(
            budget.is_none_or(|budget| {
                budget
                    .as_i64()
                    .is_some_and(|tokens| matches!(tokens, -1 | 0 | 512..=24_576))
            }),
            format_args!(
                "The thinking budget {budget:?} is invalid. Please choose a value between 512 and \
                 24576."
            ),
        );
    }

    fn tools(&mut self) {
        let tools = list(self.body, "tools");
        self.refusals.unless(
            tools.len() <= 1 && (self.body.get("tools").is_none() || !tools.is_empty()),
            "tools: one tool with all functions is supported",
        );
        let mut names = HashSet::new();
        for tool in tools {
            self.known("tools[0]", tool, &["functionDeclarations"]);
            let declared = list(tool, "functionDeclarations");
            self.refusals.unless(
                !declared.is_empty(),
                "tools[0].tool_type: required one_of 'tool_type' must have one initialized field",
            );
            for function in declared {
                let name = text(function, "name");
                let at = format!("function_declarations[{name}]");
                self.known(&at, function, &["name", "description", "parameters"]);
                self.refusals.unless(
                    matches(name, "_-.:", 1, 64)
                        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'),
                    format_args!("{at}: Invalid function name."),
                );
                self.refusals.unless(
                    names.insert(name),
                    format_args!("Duplicate function declaration found: {name}"),
                );
                self.refusals.unless(
                    !is_blank(text(function, "description")),
                    format_args!("{at}.description: missing field."),
                );
                if let Some(parameters) = function.get("parameters") {
                    let at = format!("{at}.parameters");
                    let properties = parameters["properties"].as_object();
                    self.refusals.unless(
                        text(parameters, "type") == "object"
                            && properties.is_some_and(|properties| !properties.is_empty()),
                        format_args!("{at}.properties: should be non-empty for OBJECT type"),
                    );
                    self.schema(&at, parameters);
                }
            }
        }
        self.choice(&names);
    }

    fn choice(&mut self, names: &HashSet<&str>) {
        let Some(config) = self.body.get("toolConfig") else {
            return;
        };
        self.known("tool_config", config, &["functionCallingConfig"]);
        let config = &config["functionCallingConfig"];
        let known = ["mode", "allowedFunctionNames"];
        self.known("function_calling_config", config, &known);
        self.refusals.unless(
            !names.is_empty(),
            "Function calling config is set without function_declarations.",
        );
        let mode = text(config, "mode");
        self.refusals.unless(
            ["AUTO", "ANY", "NONE"].contains(&mode),
            format_args!("Invalid value at 'function_calling_config.mode': {mode}"),
        );
        let allowed = list(config, "allowedFunctionNames");
        self.refusals.unless(
            allowed.is_empty() || mode == "ANY",
            "Allowed function names should be set only when function calling mode is ANY.",
        );
        let is_declared = |name: &Value| name.as_str().is_some_and(|name| names.contains(name));
        self.refusals.unless(
            allowed.iter().all(is_declared),
            format_args!("allowed_function_names: {allowed:?} is not declared"),
        );
    }

    fn schema(&mut self, at: &str, schema: &Value) {
        if let Some(members) = schema.get("anyOf") {
            self.refusals.unless(
                schema.as_object().is_some_and(|schema| schema.len() == 1),
                format_args!("{at}: when using any_of, it must be the only field set"),
            );
            let members = members.as_array().map_or(&[][..], Vec::as_slice);
            self.refusals.unless(
                !members.is_empty(),
                format_args!("{at}.any_of: should be non-empty"),
            );
            for (nth, member) in members.iter().enumerate() {
                self.schema(&format!("{at}.any_of[{nth}]"), member);
            }
            return;
        }
        let kind = text(schema, "type");
        let (own, formats): (&[&str], &[&str]) = match kind {
            "string" => (
                &["enum", "format", "minLength", "maxLength"],
                &["enum", "date-time"],
            ),
            "number" => (&["format", "minimum", "maximum"], &["float", "double"]),
            "integer" => (&["format", "minimum", "maximum"], &["int32", "int64"]),
            "boolean" => (&[], &[]),
            "array" => (&["items", "minItems", "maxItems"], &[]),
            "object" => (
                &["properties", "required", "minProperties", "maxProperties"],
                &[],
            ),
            _ => {
                let refusal = format_args!("Invalid value at '{at}.type': {kind}");
                return self.refusals.unless(false, refusal);
            }
        };
        let common = ["type", "description", "nullable"];
        let known: Vec<&str> = common.iter().chain(own).copied().collect();
        self.known(at, schema, &known);
        if let Some(format) = schema.get("format") {
            self.refusals.unless(
                format
                    .as_str()
                    .is_some_and(|format| formats.contains(&format)),
                format_args!("{at}.format: {format} is not supported for type {kind}"),
            );
        }
        match (kind, schema.get("items")) {
            ("array", Some(items)) => self.schema(&format!("{at}.items"), items),
            ("array", None) => {
                let refusal = format_args!("{at}.items: missing field.");
                self.refusals.unless(false, refusal);
            }
            _ => {}
        }
        for value in list(schema, "enum") {
            self.refusals.unless(
                value.as_str().is_some_and(|value| !value.is_empty()),
                format_args!("{at}.enum: cannot be empty: {value}"),
            );
        }
        for key in list(schema, "required") {
            self.refusals.unless(
                key.as_str()
                    .is_some_and(|key| schema["properties"].get(key).is_some()),
                format_args!("{at}.required: {key}: property is not defined"),
            );
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            self.schema(&format!("{at}.properties[{name}]"), property);
        }
    }

    /// Who speaks when, and that each call has its response in the turn that follows.
    fn turns(&mut self) {
        let contents = list(self.body, "contents");
        self.refusals
            .unless(!contents.is_empty(), "contents is not specified");
        let mut open: Vec<&Value> = Vec::new();
        let mut ids = HashSet::new();
        let mut before = Turn::Nothing;
        for (at, content) in contents.iter().enumerate() {
            let turn = Turn::of(content);
            self.refusals.unless(
                turn == Turn::Responded || open.is_empty(),
                format_args!("{at}: Please ensure that function call turn is followed by a function response turn."),
            );
            match turn {
                Turn::Said => self.refusals.unless(
                    before != Turn::Said,
                    format_args!("{at}: Please ensure that multiturn requests alternate between user and model."),
                ),
                Turn::Answered => {
                    self.refusals.unless(
                        matches!(before, Turn::Said | Turn::Responded),
                        format_args!("{at}: Please ensure that function call turn comes immediately after a user turn or after a function response turn."),
                    );
                    open = fields(content, "functionCall").collect();
                    for id in open.iter().filter_map(|call| call.get("id")) {
                        self.refusals.unless(
                            id != "" && ids.insert(id.as_str()),
                            format_args!("{at}: Duplicate function call id: {id}"),
                        );
                    }
                }
                Turn::Responded => {
                    let responses: Vec<&Value> = fields(content, "functionResponse").collect();
                    self.refusals.unless(
                        before == Turn::Answered && !open.is_empty(),
                        format_args!("{at}: Please ensure that function response turn comes immediately after a function call turn."),
                    );
                    self.refusals.unless(
                        responses.len() == open.len() && responses.len() == list(content, "parts").len(),
                        format_args!("{at}: Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."),
                    );
                    for (response, call) in responses.iter().zip(open.drain(..)) {
                        self.refusals.unless(
                            response["name"] == call["name"] && response.get("id") == call.get("id"),
                            format_args!("{at}: the function response is of no function call: {response}"),
                        );
                    }
                }
                Turn::Nothing => self.refusals.unless(
                    false,
                    format_args!("{at}: Please use a valid role: user, model."),
                ),
            }
            before = turn;
        }
        self.refusals.unless(
            before != Turn::Answered,
            "Please ensure that multiturn requests end with a user role or a function response.",
        );
    }

    fn contents(&mut self) {
        for (at, content) in list(self.body, "contents").iter().enumerate() {
            let at = format!("contents[{at}]");
            self.known(&at, content, &["role", "parts"]);
            let parts = list(content, "parts");
            self.refusals.unless(
                !parts.is_empty(),
                format_args!("{at}.parts must not be empty."),
            );
            let is_model = text(content, "role") == "model";
            for part in parts {
                match is_model {
                    true => self.answered(&at, part),
                    false => self.said(&at, part),
                }
            }
            let first = parts.iter().find(|part| part.get("functionCall").is_some());
            self.refusals.unless(
                first.is_none_or(|part| part.get("thoughtSignature").is_some()),
                format_args!("{at}: Function call is missing a thought_signature"),
            );
        }
    }

    fn said(&mut self, at: &str, part: &Value) {
        if let Some(response) = part.get("functionResponse") {
            self.known(at, part, &["functionResponse"]);
            self.known(at, response, &["id", "name", "response", "parts"]);
            self.refusals.unless(
                response["response"].is_object(),
                format_args!("{at}: Invalid value at 'function_response.response'"),
            );
            self.refusals.unless(
                response.get("parts").is_none() || self.facts.thinks == Thinks::Levels,
                format_args!("{at}: Multimodal function response is not supported by this model"),
            );
            for file in list(response, "parts") {
                self.file(at, file);
            }
        } else if part.get("inlineData").is_some() {
            self.file(at, part);
        } else {
            self.known(at, part, &["text"]);
            self.refusals.unless(
                !is_blank(text(part, "text")),
                format_args!("{at}: it must have a text parameter"),
            );
        }
    }

    fn file(&mut self, at: &str, part: &Value) {
        self.known(at, part, &["inlineData"]);
        let file = &part["inlineData"];
        self.known(at, file, &["mimeType", "data"]);
        let (media_type, data) = (text(file, "mimeType"), text(file, "data"));
        let known = ["image/png", "image/jpeg", "image/webp", "application/pdf"];
        self.refusals.unless(
            known.contains(&media_type),
            format_args!("{at}: Unsupported MIME type: {media_type}"),
        );
        if data.len() > MAX_FILE_BYTES {
            let refusal = format_args!("{at}: the document exceeds the supported size");
            return self.refusals.unless(false, refusal);
        }
        let bytes = base64(data).unwrap_or_default();
        self.refusals.unless(
            !bytes.is_empty()
                && (!media_type.starts_with("image/") || image_type(&bytes) == media_type),
            format_args!("{at}: Provided image is not valid."),
        );
    }

    /// A part of the model's. One that it signed is as it gave it; nobody else's is signed.
    fn answered(&mut self, at: &str, part: &'a Value) {
        if let Some(signature) = part.get("thoughtSignature").and_then(Value::as_str) {
            let call = part.get("functionCall").is_some();
            let own = self.facts.model.is_none_or(|model| {
                signature
                    .split_once('.')
                    .is_some_and(|(what, signed)| sign(model, what) == signed)
            });
            self.refusals.unless(
                own || (call && signature == FOREIGN),
                format_args!("{at}: Thought signature is not valid: {signature}"),
            );
        }
        if let Some(call) = part.get("functionCall") {
            self.known(at, part, &["functionCall", "thoughtSignature"]);
            self.known(at, call, &["id", "name", "args"]);
            self.refusals.unless(
                matches(text(call, "name"), "_-.:", 1, 64),
                format_args!("{at}: Invalid function name."),
            );
            self.refusals.unless(
                call["args"].is_object(),
                format_args!("{at}: Invalid value at 'function_call.args': {call}"),
            );
        } else if part.get("text").is_some() {
            self.known(at, part, &["text", "thought", "thoughtSignature"]);
            let is_signed = part.get("thoughtSignature").is_some();
            self.refusals.unless(
                is_signed || !text(part, "text").is_empty(),
                format_args!("{at}: it must have a text parameter"),
            );
        } else {
            self.known(at, part, &["executableCode", "thoughtSignature"]);
            self.refusals.unless(
                part.get("executableCode").is_some(),
                format_args!("{at}: required one_of 'data' must have one initialized field"),
            );
        }
    }

    fn known(&mut self, at: &str, object: &Value, known: &[&str]) {
        for key in unknown(object, known) {
            self.refusals.unless(
                false,
                format_args!("Unknown name \"{key}\" at '{at}': Cannot find field."),
            );
        }
    }
}

/// What a content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Nothing,
    Said,
    Answered,
    Responded,
}

impl Turn {
    fn of(content: &Value) -> Self {
        match text(content, "role") {
            "model" => Self::Answered,
            "user" if fields(content, "functionResponse").next().is_some() => Self::Responded,
            "user" => Self::Said,
            _ => Self::Nothing,
        }
    }
}

/// The parts of a content that are of one kind.
fn fields<'a>(content: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    list(content, "parts")
        .iter()
        .filter_map(move |part| part.get(kind))
}
