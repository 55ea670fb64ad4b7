//! What providers leave in their answers, with signatures that only they know.

use pantograph::{Block, RawJson, ToolCall};
use serde_json::json;

use crate::strict::sign;

const GOOGLE: &str = "google-generate";

/// Where a model is at home.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Home {
    pub(crate) style: &'static str,
    pub(crate) base_url: &'static str,
    pub(crate) model: &'static str,
    /// Whether it gives reasoning details, of a server of `openai-chat`.
    pub(crate) details: bool,
}

impl Home {
    /// The model itself, three from elsewhere, and another model of the same place.
    pub(crate) const SPEAKERS: usize = 6;

    pub(super) fn speaker(self, number: usize) -> Speaker {
        let foreign = |style, base_url, details| Speaker {
            style,
            base_url,
            model: "another",
            details,
            is_foreign: true,
        };
        match number {
            0 | 1 => Speaker {
                style: self.style,
                base_url: self.base_url,
                model: self.model,
                details: self.details,
                is_foreign: false,
            },
            2 => foreign(self.style, self.base_url, self.details),
            3 => foreign("anthropic-messages", "https://api.anthropic.com", false),
            4 => foreign("openai-responses", "https://api.openai.com", false),
            _ => foreign("openai-chat", "https://elsewhere.example", true),
        }
    }
}

/// Who gave an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Speaker {
    pub(super) style: &'static str,
    pub(super) base_url: &'static str,
    pub(super) model: &'static str,
    details: bool,
    pub(super) is_foreign: bool,
}

impl Speaker {
    fn signed(&self, what: &str) -> String {
        sign(self.model, what)
    }

    /// A signature of Google, which goes with what it is of.
    fn google(&self, item: usize) -> String {
        format!("{item}.{}", self.signed(&item.to_string()))
    }

    pub(super) fn thinking(&self, item: usize, is_cut: bool) -> Block {
        let text = match (self.style, item % 3) {
            // Others show what is readable of it, or nothing.
            ("openai-chat" | "openai-responses", 0) => " \0".to_owned(),
            ("openai-chat", 1) => format!("\0thought {item}"),
            _ => format!("thought {item}"),
        };
        let (signature, value) = match self.style {
            "anthropic-messages" => (Some(self.signed(&text)), None),
            "openai-responses" => {
                let id = format!("rs_{item}");
                let encrypted = match is_cut {
                    true => json!(null),
                    false => json!(self.signed(&id)),
                };
                let item = json!({
                    "id": id, "type": "reasoning", "summary": [], "encrypted_content": encrypted,
                });
                (None, Some(item))
            }
            GOOGLE => {
                let part = json!([
                    { "text": text, "thought": true },
                    { "text": "", "thought": true, "thoughtSignature": self.google(item) },
                ]);
                (None, Some(part).filter(|_| !is_cut))
            }
            _ => {
                let id = format!("detail {item}");
                let item = json!([{ "type": "reasoning.text", "text": id, "index": 0 }]);
                (None, Some(item).filter(|_| self.details))
            }
        };
        // A cut has no signature, or an empty one.
        let signature = match is_cut {
            true => item.is_multiple_of(2).then(String::new),
            false => signature,
        };
        Block::Thinking {
            text,
            signature,
            raw: value.map(|value| RawJson::from_value(&value)),
        }
    }

    pub(super) fn opaque(&self, item: usize) -> Option<Block> {
        let value = match self.style {
            "anthropic-messages" => {
                let what = format!("redacted-{item}");
                let data = format!("{what}.{}", self.signed(&what));
                json!({ "type": "redacted_thinking", "data": data })
            }
            "openai-responses" => json!({
                "id": format!("ws_{item}"), "type": "web_search_call", "status": "completed",
            }),
            GOOGLE => json!({
                "executableCode": { "language": "PYTHON", "code": "1" },
                "thoughtSignature": self.google(item),
            }),
            _ if self.details => {
                json!([{ "type": "reasoning.encrypted", "data": "x", "index": 1 }])
            }
            _ => return None,
        };
        let raw = RawJson::from_value(&value);
        Some(Block::Opaque { raw })
    }

    pub(super) fn text(&self, item: usize, led: Option<usize>, text: &str) -> Block {
        let raw = match self.style {
            "openai-responses" => Some(json!({
                "id": id("msg", item, led), "type": "message", "role": "assistant",
                "status": "completed",
                "content": [{ "type": "output_text", "annotations": [], "text": text.replace('\0', "") }],
            })),
            GOOGLE if item.is_multiple_of(2) => {
                Some(json!([{ "text": text, "thoughtSignature": self.google(item) }]))
            }
            _ => None,
        };
        Block::Text {
            text: text.into(),
            raw: raw.map(|value| RawJson::from_value(&value)),
        }
    }

    pub(super) fn call(&self, item: usize, led: Option<usize>, mut call: ToolCall) -> ToolCall {
        call.raw = match self.style {
            "openai-responses" => Some(json!({
                "id": id("fc", item, led), "type": "function_call", "status": "completed",
                "call_id": &*call.id, "name": call.name.replace('.', "__"),
                "arguments": &*call.input,
            })),
            GOOGLE if item.is_multiple_of(2) => {
                Some(json!({ "thoughtSignature": self.google(item) }))
            }
            "openai-chat" if self.details => {
                Some(json!({ "google": { "thought_signature": "c2ln" } }))
            }
            _ => None,
        }
        .map(|value| RawJson::from_value(&value));
        call
    }
}

/// The id of an item, with the reasoning that led to it.
fn id(prefix: &str, item: usize, led: Option<usize>) -> String {
    match led {
        Some(led) => format!("{prefix}_{item}_after_rs_{led}"),
        None => format!("{prefix}_{item}"),
    }
}
