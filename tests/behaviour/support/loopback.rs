//! A provider on loopback, for a program that is run to its end.

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

/// A streamed answer of `openai-chat` that says `text`.
pub(crate) fn chat(text: &str) -> Script {
    let delta = serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    Script::events(&format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n"))
}
