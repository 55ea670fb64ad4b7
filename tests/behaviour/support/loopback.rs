//! A provider on loopback, for a program that is run to its end.

use serde_json::{Value, json};
use tokio::runtime::Runtime;

#[path = "../../../crates/pantograph-providers/tests/wire/support/server.rs"]
#[expect(
    dead_code,
    reason = "shared with the providers' own tests, which use all of it"
)]
mod server;

pub(crate) use server::{Script, Seen};

use super::Machine;

/// A server and the threads that it answers on.
pub(crate) struct Loopback {
    server: server::Server,
    _runtime: Runtime,
}

impl Loopback {
    /// Answers requests in the order of `scripts`, and drops the connection of any further one.
    pub(crate) fn start(scripts: impl IntoIterator<Item = Script>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(server::Server::start(scripts));
        Self {
            server,
            _runtime: runtime,
        }
    }

    /// Where it is reached, without a path.
    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.server.seen()
    }

    /// The one request that came.
    #[track_caller]
    pub(crate) fn asked(&self) -> Asked {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        Asked(seen[0].clone())
    }

    /// All requests that came, in order.
    pub(crate) fn all_asked(&self) -> Vec<Asked> {
        self.seen().into_iter().map(Asked).collect()
    }

    /// A machine whose model answers from here over `openai-chat`, without repetitions.
    pub(crate) fn machine(&self) -> Machine {
        let machine = Machine::without_config();
        machine.write_config(&format!(
            r#"model = "local:small"

[providers.local]
protocol = "openai-chat"
base_url = "{}/v1"
max_retries = 0

[providers.local.models.small]
context_window = 100000
"#,
            self.url()
        ));
        machine
    }
}

/// What a server was asked.
pub(crate) struct Asked(Seen);

impl Asked {
    pub(crate) fn path(&self) -> &str {
        self.0.line.split(' ').nth(1).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.0.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn body(&self) -> Value {
        serde_json::from_slice(&self.0.body).unwrap()
    }
}

/// A streamed answer of `openai-chat` that says `text`.
pub(crate) fn chat(text: &str) -> Script {
    let delta = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    Script::events(&format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n"))
}

/// A streamed answer of `anthropic-messages` that says `text`.
pub(crate) fn messages(text: &str) -> Script {
    events(&[
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 2 } }),
        json!({ "type": "message_stop" }),
    ])
}

/// A streamed answer of `openai-responses` that says `text`.
pub(crate) fn responses(text: &str) -> Script {
    let item = json!({
        "id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
        "content": [{ "type": "output_text", "annotations": [], "text": text }],
    });
    events(&[
        json!({ "type": "response.created", "response": { "id": "resp_1", "status": "in_progress" } }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": { "id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": [] } }),
        json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "msg_1", "delta": text }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": { "id": "resp_1", "status": "completed", "output": [item], "usage": { "input_tokens": 1, "output_tokens": 1 } } }),
    ])
}

/// A streamed answer of `google-generate` that says `text`.
pub(crate) fn generate(text: &str) -> Script {
    events(&[json!({
        "candidates": [{ "content": { "role": "model", "parts": [{ "text": text }] }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1 },
    })])
}

fn events(events: &[Value]) -> Script {
    let event = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    Script::events(&events.iter().map(event).collect::<String>())
}
