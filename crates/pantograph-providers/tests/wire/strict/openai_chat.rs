//! What servers of Chat Completions refuse.
//!
//! Sources: those that `OpenAiChatFlags::of_server` names, and the words of their refusals. What
//! most refuse is refused for all.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    Refusals, base64, each_text, image_type, is_blank, list, matches, schema, text, unknown,
};

/// What one server takes.
#[derive(Debug, Clone, Copy)]
struct Server {
    instructions: &'static str,
    parameters: &'static [&'static str],
    /// What an answer may have beside its role, content and calls.
    answer: &'static [&'static str],
    efforts: &'static [&'static str],
    images: &'static [&'static str],
    pdf: bool,
    max_images: usize,
    max_image_bytes: usize,
    nine: bool,
}

const EVERYWHERE: &[&str] = &["model", "stream", "messages", "tools", "tool_choice"];
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

const PLAIN: Server = Server {
    instructions: "system",
    parameters: &["max_tokens", "stream_options", "reasoning_effort"],
    answer: &[],
    efforts: EFFORTS,
    images: IMAGES,
    pdf: false,
    max_images: 500,
    max_image_bytes: 50 << 20,
    nine: false,
};

fn server(name: &str) -> Server {
    match name {
        "openai" => Server {
            instructions: "developer",
            parameters: &[
                "max_completion_tokens",
                "stream_options",
                "reasoning_effort",
                "prompt_cache_key",
            ],
            pdf: true,
            ..PLAIN
        },
        "openrouter" => Server {
            parameters: &["max_tokens", "stream_options", "reasoning"],
            answer: &["reasoning", "reasoning_details"],
            pdf: true,
            ..PLAIN
        },
        "deepseek" => Server {
            parameters: &[
                "max_tokens",
                "stream_options",
                "reasoning_effort",
                "thinking",
            ],
            answer: &["reasoning_content"],
            efforts: &["low", "medium", "high", "max"],
            ..PLAIN
        },
        "mistral" => Server {
            parameters: &["max_tokens", "reasoning_effort"],
            efforts: &["none", "low", "medium", "high", "max"],
            max_images: 8,
            nine: true,
            ..PLAIN
        },
        "groq" => Server {
            parameters: &[
                "max_completion_tokens",
                "stream_options",
                "reasoning_effort",
            ],
            efforts: &["none", "low", "medium", "high"],
            max_images: 5,
            max_image_bytes: 4 << 20,
            ..PLAIN
        },
        "xai" => Server {
            images: &["image/png", "image/jpeg"],
            ..PLAIN
        },
        "ollama" => Server {
            answer: &["reasoning"],
            efforts: &["none", "low", "medium", "high"],
            images: &["image/png", "image/jpeg", "image/webp"],
            ..PLAIN
        },
        "llama-cpp" => Server {
            parameters: &["max_tokens", "stream_options", "chat_template_kwargs"],
            answer: &["reasoning_content"],
            images: &["image/png", "image/jpeg", "image/gif"],
            ..PLAIN
        },
        "vllm" => Server {
            parameters: &[
                "max_tokens",
                "stream_options",
                "reasoning_effort",
                "chat_template_kwargs",
            ],
            answer: &["reasoning"],
            ..PLAIN
        },
        name => panic!("nothing is known of {name}"),
    }
}

pub(crate) fn check(body: &Value, name: &str) -> Vec<String> {
    let mut check = Check {
        body,
        name,
        server: server(name),
        refusals: Refusals::default(),
    };
    check.parameters();
    check.tools();
    check.messages();
    check.files();
    check.refusals.into_vec()
}

struct Check<'a> {
    body: &'a Value,
    name: &'a str,
    server: Server,
    refusals: Refusals,
}

impl<'a> Check<'a> {
    fn parameters(&mut self) {
        let known: Vec<&str> = [EVERYWHERE, self.server.parameters].concat();
        for key in unknown(self.body, &known) {
            self.refusals.unless(
                false,
                format_args!("Unrecognized request argument supplied: {key}"),
            );
        }
        let efforts = [
            &self.body["reasoning_effort"],
            &self.body["reasoning"]["effort"],
        ];
        for effort in efforts.into_iter().filter(|effort| !effort.is_null()) {
            let takes = effort
                .as_str()
                .is_some_and(|effort| self.server.efforts.contains(&effort));
            self.refusals.unless(
                takes,
                format_args!(
                    "reasoning_effort must be one of {:?}: {effort}",
                    self.server.efforts
                ),
            );
        }
        let kwargs = &self.body["chat_template_kwargs"];
        self.refusals.unless(
            kwargs.is_null() || kwargs["enable_thinking"].is_boolean(),
            "invalid type for \"enable_thinking\" (expected boolean)",
        );
        each_text(self.body, &mut |text| {
            self.refusals
                .unless(!text.contains('\0'), format_args!("{text:?}: NUL"));
        });
    }

    fn tools(&mut self) {
        let tools = list(self.body, "tools");
        self.refusals.unless(
            self.body.get("tools").is_none() || !tools.is_empty(),
            "[] is too short - 'tools'",
        );
        let mut names = HashSet::new();
        for (at, tool) in tools.iter().enumerate() {
            let function = &tool["function"];
            let name = text(function, "name");
            self.name_is_sound(&format!("tools[{at}].function.name"), name);
            self.refusals
                .unless(names.insert(name), "tools: names must be unique");
            self.refusals.unless(
                function.get("description").is_none_or(Value::is_string),
                "description is not of type 'string'",
            );
            let at = format!("Invalid schema for function '{name}'");
            schema::check(&at, &function["parameters"], &mut self.refusals);
            schema::arrays_have_items(&at, &function["parameters"], &mut self.refusals);
            if self.name == "llama-cpp" {
                grammar(&function["parameters"], &mut self.refusals);
            }
        }
        let Some(choice) = self.body.get("tool_choice") else {
            return;
        };
        self.refusals.unless(
            !tools.is_empty(),
            "'tool_choice' is only allowed when 'tools' are specified",
        );
        let takes = match choice {
            Value::String(word) => ["auto", "none", "required"].contains(&word.as_str()),
            // llama.cpp takes an object for `auto`.
            named => self.name != "llama-cpp" && names.contains(text(&named["function"], "name")),
        };
        self.refusals
            .unless(takes, format_args!("Invalid tool_choice: {choice}"));
    }

    fn name_is_sound(&mut self, at: &str, name: &str) {
        self.refusals.unless(
            matches(name, "_-", 1, 64),
            format_args!(
                "Invalid '{at}': string does not match pattern '^[a-zA-Z0-9_-]{{1,64}}$': {name}"
            ),
        );
    }

    fn id_is_sound(&mut self, at: &str, id: &str) {
        self.refusals.unless(
            match self.server.nine {
                true => matches(id, "", 9, 9),
                false => matches(id, "_-", 1, 40),
            },
            format_args!("{at}: Tool call id was {id}"),
        );
    }

    fn messages(&mut self) {
        let messages = list(self.body, "messages");
        let mut before = "";
        let mut open: Vec<&str> = Vec::new();
        let mut seen: HashSet<&str> = HashSet::new();
        for (at, message) in messages.iter().enumerate() {
            let role = text(message, "role");
            let at = format!("messages[{at}]");
            self.refusals.unless(
                open.is_empty() || role == "tool",
                format_args!(
                    "An assistant message with 'tool_calls' must be followed by tool messages \
                     responding to each 'tool_call_id': {open:?}"
                ),
            );
            self.order(&at, before, role);
            match role {
                "assistant" => {
                    self.answer(&at, message);
                    for call in list(message, "tool_calls") {
                        let id = text(call, "id");
                        self.refusals
                            .unless(seen.insert(id), format_args!("{at}: the id {id} again"));
                        open.push(id);
                    }
                }
                "tool" => {
                    let id = text(message, "tool_call_id");
                    self.id_is_sound(&at, id);
                    self.fields(&at, message, &["tool_call_id"]);
                    let found = open.iter().position(|open| *open == id);
                    self.refusals.unless(
                        found.is_some(),
                        "messages with role 'tool' must be a response to a preceding message \
                         with 'tool_calls'",
                    );
                    if let Some(found) = found {
                        open.remove(found);
                    }
                }
                _ => self.fields(&at, message, &[]),
            }
            self.content(&at, role, &message["content"]);
            before = role;
        }
        self.refusals.unless(
            matches!(before, "user" | "tool"),
            format_args!("Expected last role User or Tool for serving but got {before}"),
        );
    }

    fn order(&mut self, at: &str, before: &str, role: &str) {
        let is_allowed = match role {
            "system" | "developer" => before.is_empty() && role == self.server.instructions,
            // Templates of local models raise unless the speakers alternate.
            "user" => before != "user" && (before != "tool" || !self.server.nine),
            "assistant" => matches!(before, "user" | "tool"),
            "tool" => matches!(before, "assistant" | "tool"),
            _ => false,
        };
        self.refusals.unless(
            is_allowed,
            format_args!("{at}: Unexpected role '{role}' after role '{before}'"),
        );
    }

    fn fields(&mut self, at: &str, message: &Value, known: &[&str]) {
        let known = [&["role", "content"], known].concat();
        for key in unknown(message, &known) {
            self.refusals
                .unless(false, format_args!("{at}: property '{key}' is unsupported"));
        }
    }

    fn answer(&mut self, at: &str, message: &Value) {
        self.fields(at, message, &[&["tool_calls"], self.server.answer].concat());
        let calls = list(message, "tool_calls");
        self.refusals.unless(
            message.get("tool_calls").is_none() || !calls.is_empty(),
            format_args!("{at}.tool_calls: [] is too short"),
        );
        self.refusals.unless(
            !calls.is_empty() || !message["content"].is_null(),
            format_args!("{at}: content must be a string, got null"),
        );
        for call in calls {
            self.id_is_sound(at, text(call, "id"));
            let function = &call["function"];
            self.name_is_sound(at, text(function, "name"));
            let arguments = serde_json::from_str::<Value>(text(function, "arguments"));
            self.refusals.unless(
                arguments.is_ok_and(|arguments| arguments.is_object()),
                format_args!("{at}: invalid tool call arguments: {function}"),
            );
            let known: &[&str] = match self.name {
                "openrouter" => &["id", "type", "function", "extra_content"],
                _ => &["id", "type", "function"],
            };
            for key in unknown(call, known) {
                self.refusals
                    .unless(false, format_args!("{at}: property '{key}' is unsupported"));
            }
        }
        self.refusals.unless(
            self.name != "deepseek" || message["reasoning_content"].is_string(),
            format_args!(
                "{at}: The `reasoning_content` in the thinking mode must be passed back to the API."
            ),
        );
        for field in self.server.answer {
            let value = &message[field];
            let is_sound = match *field {
                "reasoning_details" => {
                    value.is_null() || value.as_array().is_some_and(|d| !d.is_empty())
                }
                _ => value.is_null() || value.is_string(),
            };
            self.refusals
                .unless(is_sound, format_args!("{at}.{field}: {value}"));
        }
    }

    fn content(&mut self, at: &str, role: &str, content: &Value) {
        match content {
            Value::Null => self.refusals.unless(
                role == "assistant",
                format_args!("{at}: Invalid value for 'content': expected a string, got null."),
            ),
            Value::String(text) => self.text(at, text),
            Value::Array(parts) => {
                self.refusals
                    .unless(!parts.is_empty(), format_args!("{at}: empty array"));
                for part in parts {
                    self.part(at, role, part);
                }
            }
            other => self.refusals.unless(false, format_args!("{at}: {other}")),
        }
    }

    fn text(&mut self, at: &str, text: &str) {
        self.refusals.unless(
            !is_blank(text),
            format_args!("{at}: text content blocks must be non-empty"),
        );
    }

    fn part(&mut self, at: &str, role: &str, part: &Value) {
        let kind = text(part, "type");
        let takes = match (kind, role) {
            ("text", _) | ("image_url", "user") => true,
            ("file", "user") => self.server.pdf,
            ("thinking", "assistant") => self.name == "mistral",
            _ => false,
        };
        self.refusals.unless(
            takes,
            format_args!("{at}: unsupported content type {kind} from {role}"),
        );
        match kind {
            "text" => self.text(at, text(part, "text")),
            "thinking" => self.text(at, text(&part["thinking"][0], "text")),
            _ => {}
        }
    }

    fn files(&mut self) {
        let mut images = 0;
        let mut bytes = 0;
        let parts = list(self.body, "messages")
            .iter()
            .flat_map(|message| list(message, "content"));
        for part in parts {
            let url = match text(part, "type") {
                "image_url" => text(&part["image_url"], "url"),
                "file" => text(&part["file"], "file_data"),
                _ => continue,
            };
            let (media_type, data) = url
                .strip_prefix("data:")
                .and_then(|url| url.split_once(";base64,"))
                .unwrap_or_default();
            let decoded = base64(data).unwrap_or_default();
            let is_sound = !decoded.is_empty()
                && match text(part, "type") {
                    "file" => media_type == "application/pdf",
                    _ => {
                        self.server.images.contains(&media_type)
                            && image_type(&decoded) == media_type
                    }
                };
            self.refusals
                .unless(is_sound, format_args!("invalid image input: {media_type}"));
            images += 1;
            bytes += data.len();
        }
        self.refusals.unless(
            images <= self.server.max_images && bytes <= self.server.max_image_bytes,
            format_args!("Too many images provided: {images} of {bytes} bytes"),
        );
    }
}

/// What llama.cpp can make no grammar of.
fn grammar(parameters: &Value, refusals: &mut Refusals) {
    schema::each(parameters, &mut |object| {
        let has = |keyword: &str| object.contains_key(keyword);
        let has_form = object.is_empty()
            || [
                "type",
                "enum",
                "const",
                "oneOf",
                "anyOf",
                "allOf",
                "properties",
                "items",
            ]
            .iter()
            .any(|keyword| has(keyword))
            || has("prefixItems")
            || object
                .get("additionalProperties")
                .is_some_and(|value| value != true);
        refusals.unless(has_form, format_args!("Unrecognized schema: {object:?}"));
        refusals.unless(
            !has("pattern"),
            format_args!("Pattern must start with '^' and end with '$': {object:?}"),
        );
        let bounds = ["minLength", "maxLength", "minItems", "maxItems"];
        let is_small = bounds
            .iter()
            .filter_map(|bound| object.get(*bound)?.as_u64())
            .all(|bound| bound <= 2_000);
        refusals.unless(is_small, "number of repetitions exceeds sane defaults");
    });
}
