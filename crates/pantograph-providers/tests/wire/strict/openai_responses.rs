//! What the Responses API refuses of a request that keeps nothing upstream.
//!
//! Sources: developers.openai.com ("Create a model response", "Reasoning", "Function calling",
//! "Images and vision") and the words of its refusals.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    Refusals, base64, each_text, image_type, is_blank, list, matches, schema, sign, text, unknown,
};

/// What is known of the model that is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    /// Its name, with which it encrypts.
    pub(crate) model: &'a str,
    pub(crate) reasons: bool,
}

pub(crate) fn check(body: &Value, facts: Facts<'_>) -> Vec<String> {
    let mut check = Check {
        body,
        facts,
        refusals: Refusals::default(),
    };
    check.parameters();
    check.tools();
    check.pairs();
    check.input();
    check.refusals.into_vec()
}

struct Check<'a> {
    body: &'a Value,
    facts: Facts<'a>,
    refusals: Refusals,
}

impl<'a> Check<'a> {
    fn parameters(&mut self) {
        let known = [
            "model",
            "stream",
            "store",
            "include",
            "prompt_cache_key",
            "max_output_tokens",
            "reasoning",
            "tool_choice",
            "tools",
            "input",
        ];
        for key in unknown(self.body, &known) {
            self.refusals
                .unless(false, format_args!("Unknown parameter: '{key}'."));
        }
        self.refusals.unless(
            self.body["store"] == false,
            "Items are only encrypted when `store` is set to false",
        );
        let asks = !list(self.body, "include").is_empty();
        self.refusals.unless(
            !asks || self.facts.reasons,
            "Encrypted content is not supported with this model.",
        );
        let reasoning = &self.body["reasoning"];
        self.refusals.unless(
            reasoning.is_null() || self.facts.reasons,
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        );
        let efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
        self.refusals.unless(
            reasoning.is_null() || efforts.contains(&text(reasoning, "effort")),
            format_args!(
                "Invalid value: '{}'. Supported values are {efforts:?}",
                reasoning["effort"]
            ),
        );
        self.refusals.unless(
            self.body["max_output_tokens"]
                .as_u64()
                .is_none_or(|tokens| tokens >= 16),
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16",
        );
        let key = &self.body["prompt_cache_key"];
        self.refusals.unless(
            key.is_null()
                || key
                    .as_str()
                    .is_some_and(|key| (1..=64).contains(&key.chars().count())),
            "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64",
        );
        each_text(self.body, &mut |text| {
            self.refusals
                .unless(!text.contains('\0'), format_args!("{text:?}: NUL"));
        });
    }

    fn tools(&mut self) {
        let mut names = HashSet::new();
        for (at, tool) in list(self.body, "tools").iter().enumerate() {
            let name = text(tool, "name");
            self.name(&format!("tools[{at}].name"), name);
            self.refusals
                .unless(names.insert(name), "tools: names must be unique");
            let at = format!("Invalid schema for function '{name}'");
            schema::check(&at, &tool["parameters"], &mut self.refusals);
            schema::arrays_have_items(&at, &tool["parameters"], &mut self.refusals);
            self.refusals.unless(
                tool["strict"] == false,
                format_args!(
                    "{at}: 'additionalProperties' is required to be supplied and to be false"
                ),
            );
        }
        let Some(choice) = self.body.get("tool_choice") else {
            return;
        };
        self.refusals.unless(
            !names.is_empty(),
            "Tool choice is only allowed when 'tools' are specified",
        );
        let takes = match choice {
            Value::String(word) => ["auto", "none", "required"].contains(&word.as_str()),
            named => text(named, "type") == "function" && names.contains(text(named, "name")),
        };
        self.refusals
            .unless(takes, format_args!("Invalid tool_choice: {choice}"));
    }

    fn name(&mut self, at: &str, name: &str) {
        self.refusals.unless(
            matches(name, "_-", 1, 64),
            format_args!(
                "Invalid '{at}': string does not match pattern. Expected a string that matches \
                 the pattern '^[a-zA-Z0-9_-]+$': {name}"
            ),
        );
    }

    /// Every call has one output, after it.
    fn pairs(&mut self) {
        let mut open: Vec<&str> = Vec::new();
        let mut seen = HashSet::new();
        for item in list(self.body, "input") {
            let id = text(item, "call_id");
            match text(item, "type") {
                "function_call" => {
                    self.refusals
                        .unless(seen.insert(id), format_args!("Duplicate call_id {id}"));
                    open.push(id);
                }
                "function_call_output" => {
                    let found = open.iter().position(|open| *open == id);
                    self.refusals.unless(
                        found.is_some(),
                        format_args!(
                            "No tool call found for function call output with call_id {id}."
                        ),
                    );
                    if let Some(found) = found {
                        open.remove(found);
                    }
                }
                _ => {}
            }
        }
        self.refusals.unless(
            open.is_empty(),
            format_args!("No tool output found for function call {open:?}."),
        );
    }

    fn input(&mut self) {
        let items = list(self.body, "input");
        self.refusals
            .unless(!items.is_empty(), "Missing required parameter: 'input'.");
        let mut ids = HashSet::new();
        for (at, item) in items.iter().enumerate() {
            let name = format!("input[{at}]");
            if let Some(id) = item.get("id").and_then(Value::as_str) {
                self.refusals.unless(
                    ids.insert(id),
                    format_args!("Duplicate item found with id {id}"),
                );
                self.id(&name, item, id, &items[..at]);
            }
            match text(item, "type") {
                "message" => self.message(&name, item),
                "function_call" => {
                    self.call_id(&name, item);
                    self.name(&name, text(item, "name"));
                    let arguments = serde_json::from_str::<Value>(text(item, "arguments"));
                    self.refusals.unless(
                        arguments.is_ok_and(|arguments| arguments.is_object()),
                        format_args!("{name}.arguments: {item}"),
                    );
                }
                "function_call_output" => {
                    self.call_id(&name, item);
                    self.content(&name, "user", &item["output"]);
                }
                "reasoning" => self.reasoning(&name, item, items.get(at + 1)),
                "web_search_call" => {}
                kind => self.refusals.unless(
                    false,
                    format_args!("Invalid value: '{kind}' at {name}.type"),
                ),
            }
        }
    }

    /// An item of the provider's own is known by its id, and by the reasoning that led to it.
    fn id(&mut self, at: &str, item: &Value, id: &str, before: &[Value]) {
        let prefix = match text(item, "type") {
            "message" => "msg_",
            "function_call" => "fc_",
            "reasoning" => "rs_",
            _ => "ws_",
        };
        self.refusals.unless(
            id.starts_with(prefix) && matches(id, "_-", 1, 64),
            format_args!("Invalid '{at}.id': '{id}'. Expected an ID that begins with '{prefix}'."),
        );
        let Some((_, led)) = id.split_once("_after_") else {
            return;
        };
        let answer = before.iter().rev().take_while(|item| {
            text(item, "type") != "function_call_output" && text(item, "role") != "user"
        });
        let is_there = answer.into_iter().any(|item| text(item, "id") == led);
        self.refusals.unless(
            is_there,
            format_args!(
                "Item '{id}' was provided without its required 'reasoning' item: '{led}'."
            ),
        );
    }

    fn reasoning(&mut self, at: &str, item: &Value, next: Option<&Value>) {
        let id = text(item, "id");
        self.refusals.unless(
            text(item, "encrypted_content") == sign(self.facts.model, id),
            format_args!(
                "{at}: Item with id '{id}' not found. Items are not persisted when `store` is set \
                 to false."
            ),
        );
        self.refusals.unless(
            item["summary"].is_array(),
            format_args!("Missing required parameter: '{at}.summary'."),
        );
        let follows = next.is_some_and(|next| {
            text(next, "role") == "assistant"
                || matches!(text(next, "type"), "function_call" | "web_search_call")
        });
        self.refusals.unless(
            follows,
            format_args!(
                "Item '{id}' of type 'reasoning' was provided without its required following item."
            ),
        );
    }

    fn call_id(&mut self, at: &str, item: &Value) {
        let id = text(item, "call_id");
        self.refusals.unless(
            (1..=64).contains(&id.len()),
            format_args!(
                "Invalid '{at}.call_id': string too long. Expected a string with maximum length 64"
            ),
        );
    }

    fn message(&mut self, at: &str, item: &Value) {
        let role = text(item, "role");
        self.refusals.unless(
            ["user", "assistant", "developer", "system"].contains(&role),
            format_args!("Invalid value: '{role}' at {at}.role"),
        );
        self.content(at, role, &item["content"]);
    }

    fn content(&mut self, at: &str, role: &str, content: &Value) {
        let parts = match content {
            Value::String(text) => {
                self.refusals
                    .unless(!is_blank(text), format_args!("{at}: empty content"));
                return;
            }
            Value::Array(parts) => parts,
            other => {
                self.refusals.unless(false, format_args!("{at}: {other}"));
                return;
            }
        };
        self.refusals.unless(
            !parts.is_empty(),
            format_args!("Invalid '{at}.content': empty array."),
        );
        for part in parts {
            let kind = text(part, "type");
            let takes = match role {
                "assistant" => matches!(kind, "output_text" | "refusal"),
                "user" => matches!(kind, "input_text" | "input_image" | "input_file"),
                _ => kind == "input_text",
            };
            self.refusals.unless(
                takes,
                format_args!("Invalid value: '{kind}' at {at}.content of {role}"),
            );
            match kind {
                "input_text" | "output_text" => self.refusals.unless(
                    !is_blank(text(part, "text")),
                    format_args!("{at}: empty text"),
                ),
                "input_image" => self.file(at, text(part, "image_url"), "image/"),
                "input_file" => {
                    self.refusals.unless(
                        !text(part, "filename").is_empty(),
                        format_args!("Missing required parameter: '{at}.filename'."),
                    );
                    self.file(at, text(part, "file_data"), "application/pdf");
                }
                _ => {}
            }
        }
    }

    fn file(&mut self, at: &str, url: &str, kind: &str) {
        let (media_type, data) = url
            .strip_prefix("data:")
            .and_then(|url| url.split_once(";base64,"))
            .unwrap_or_default();
        let decoded = base64(data).unwrap_or_default();
        let is_sound = !decoded.is_empty()
            && media_type.starts_with(kind)
            && (kind != "image/" || image_type(&decoded) == media_type);
        self.refusals.unless(
            is_sound,
            format_args!(
                "{at}: The image data you provided does not represent a valid image: {media_type}"
            ),
        );
    }
}
