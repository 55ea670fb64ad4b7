//! The four protocols as one: for what must hold of each of them.

use std::sync::Arc;

use pantograph::Model;
use pantograph::protocol::{Protocol, Request};
use pantograph_providers::{
    AnthropicFlags, AnthropicMessages, GoogleGenerate, GoogleGenerateFlags, OpenAiChat,
    OpenAiChatFlags, OpenAiResponses, OpenAiResponsesFlags,
};
use serde_json::Value;

use crate::support::conversation::{self, Native};
use crate::support::endpoint;
use crate::{google_generate, openai_chat, openai_responses};

/// A protocol, with a model that speaks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Party {
    Anthropic,
    Responses,
    Chat,
    Google,
}

impl Party {
    pub(crate) const ALL: [Self; 4] = [Self::Anthropic, Self::Responses, Self::Chat, Self::Google];

    /// The name for snapshots.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Google => "google",
        }
    }

    /// What its answers leave in a conversation.
    pub(crate) fn native(self) -> Native {
        match self {
            Self::Anthropic => conversation::anthropic(),
            Self::Responses => openai_responses::native(),
            Self::Chat => openai_chat::native(),
            Self::Google => google_generate::native(),
        }
    }

    /// What of that no other may see.
    pub(crate) fn own(self) -> &'static [&'static str] {
        match self {
            Self::Anthropic => &["redacted_thinking", "Em4KAhgB", "EqQBCgIYAhIk"],
            Self::Responses => &["web_search_call", "gAAAAA", "rs_1", "ws_1", "msg_1", "fc_1"],
            Self::Chat => &["\"reasoning.encrypted\"", "c2ln", "Z0FB", "Q2F\\/"],
            Self::Google => &["executableCode", "VGhv", "VGV4", "Q2Fs", "Q29k"],
        }
    }

    /// The model of [`Party::native`].
    pub(crate) fn model(self) -> Model {
        let origin = self.native().origin;
        let mut model = conversation::model(self.name(), &origin.model, &origin.base_url.unwrap());
        model.reasoning = Some("high".into());
        model
    }

    pub(crate) fn protocol(self, base_url: &str) -> Arc<dyn Protocol> {
        let endpoint = endpoint(base_url);
        match self {
            Self::Anthropic => {
                Arc::new(AnthropicMessages::new(endpoint, AnthropicFlags::default()))
            }
            Self::Responses => Arc::new(OpenAiResponses::new(
                endpoint,
                OpenAiResponsesFlags::default(),
            )),
            Self::Chat => Arc::new(OpenAiChat::new(endpoint, chat_flags())),
            Self::Google => Arc::new(GoogleGenerate::new(
                endpoint,
                GoogleGenerateFlags::default(),
            )),
        }
    }

    /// The body that it sends for a request.
    pub(crate) fn encode(self, request: &Request) -> String {
        let endpoint = endpoint("https://unused.example");
        let body = match self {
            Self::Anthropic => {
                let flags = AnthropicFlags::default();
                AnthropicMessages::new(endpoint, flags).encode(request)
            }
            Self::Responses => {
                let flags = OpenAiResponsesFlags::default();
                OpenAiResponses::new(endpoint, flags).encode(request)
            }
            Self::Chat => OpenAiChat::new(endpoint, chat_flags()).encode(request),
            Self::Google => {
                let flags = GoogleGenerateFlags::default();
                GoogleGenerate::new(endpoint, flags).encode(request)
            }
        };
        String::from_utf8(body).unwrap()
    }

    /// The conversation in a body.
    pub(crate) fn messages(self, body: &Value) -> &[Value] {
        let key = match self {
            Self::Anthropic | Self::Chat => "messages",
            Self::Responses => "input",
            Self::Google => "contents",
        };
        body[key].as_array().unwrap()
    }

    /// What a conversation is made of, as far as calls and results are concerned.
    pub(crate) fn steps(self, body: &Value) -> Vec<Step> {
        let mut steps = Vec::new();
        for message in self.messages(body) {
            match self {
                Self::Anthropic => {
                    let parts = message["content"].as_array().into_iter().flatten();
                    steps.extend(parts.map(|part| match part["type"].as_str() {
                        Some("tool_use") => Step::Call(text(&part["id"])),
                        Some("tool_result") => Step::Result(text(&part["tool_use_id"])),
                        _ => Step::Other,
                    }));
                }
                Self::Responses => steps.push(match message["type"].as_str() {
                    Some("function_call") => Step::Call(text(&message["call_id"])),
                    Some("function_call_output") => Step::Result(text(&message["call_id"])),
                    _ => Step::Other,
                }),
                Self::Chat => {
                    let calls = message["tool_calls"].as_array().into_iter().flatten();
                    steps.push(match message["role"].as_str() {
                        Some("tool") => Step::Result(text(&message["tool_call_id"])),
                        _ => Step::Other,
                    });
                    steps.extend(calls.map(|call| Step::Call(text(&call["id"]))));
                }
                Self::Google => {
                    let parts = message["parts"].as_array().unwrap().iter();
                    steps.extend(parts.map(|part| {
                        let [call, result] = ["functionCall", "functionResponse"]
                            .map(|key| part.get(key).map(|it| text(&it["id"])));
                        match (call, result) {
                            (Some(id), _) => Step::Call(id),
                            (_, Some(id)) => Step::Result(id),
                            _ => Step::Other,
                        }
                    }));
                }
            }
        }
        steps
    }

    /// The ids that it takes.
    pub(crate) fn takes_id(self, id: &str) -> bool {
        let max = match self {
            Self::Chat => 40,
            Self::Anthropic | Self::Responses | Self::Google => 64,
        };
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        (1..=max).contains(&id.len()) && id.bytes().all(legal)
    }

    /// Events of a whole answer: some text, then maybe a call of the tool `files.read`.
    pub(crate) fn answer(self, said: &str, calls: Option<&str>) -> String {
        let mut events = vec![self.hello(said)];
        match self {
            Self::Anthropic => {
                if let Some(id) = calls {
                    events.extend([
                        format!(r#"{{"type":"content_block_start","index":1,"content_block":{{"type":"tool_use","id":"{id}","name":"files__read","input":{{}}}}}}"#),
                        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a.txt\"}"}}"#.into(),
                        r#"{"type":"content_block_stop","index":1}"#.into(),
                        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#.into(),
                    ]);
                }
                events.push(r#"{"type":"message_stop"}"#.into());
            }
            Self::Responses => {
                if let Some(id) = calls {
                    events.push(format!(r#"{{"type":"response.output_item.done","output_index":1,"item":{{"type":"function_call","id":"fc","call_id":"{id}","name":"files__read","arguments":"{{\"path\": \"a.txt\"}}"}}}}"#));
                }
                events.push(r#"{"type":"response.completed","response":{}}"#.into());
            }
            Self::Chat => {
                if let Some(id) = calls {
                    events.push(format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"{id}","function":{{"name":"files__read","arguments":"{{\"path\": \"a.txt\"}}"}}}}]}}}}]}}"#));
                }
                events.push(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.into());
                events.push("[DONE]".into());
            }
            Self::Google => {
                if let Some(id) = calls {
                    events.push(format!(r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"id":"{id}","name":"files__read","args":{{"path": "a.txt"}}}}}}]}}}}]}}"#));
                }
                events.push(r#"{"candidates":[{"finishReason":"STOP"}]}"#.into());
            }
        }
        events
            .iter()
            .map(|data| format!("data: {data}\n\n"))
            .collect()
    }

    /// The first event of an answer, of some text.
    pub(crate) fn begin(self, said: &str) -> String {
        format!("data: {}\n\n", self.hello(said))
    }

    fn hello(self, said: &str) -> String {
        match self {
            Self::Anthropic => format!(
                r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"text","text":"{said}"}}}}"#
            ),
            Self::Responses => format!(
                r#"{{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"{said}"}}"#
            ),
            Self::Chat => {
                format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{said}"}}}}]}}"#)
            }
            Self::Google => {
                format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{said}"}}]}}}}]}}"#)
            }
        }
    }
}

/// A step of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Call(String),
    Result(String),
    Other,
}

/// A server that has everything that servers of the protocol have.
fn chat_flags() -> OpenAiChatFlags {
    OpenAiChatFlags::of_server("openrouter").unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
