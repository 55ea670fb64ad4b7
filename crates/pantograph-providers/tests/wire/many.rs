//! Many answers at once.

use std::fs;
use std::sync::Arc;

use futures_util::future;
use pantograph::Agent;
use pantograph_providers::{AnthropicFlags, AnthropicMessages};

use crate::support::conversation;
use crate::support::server::{Gate, Script, Server};
use crate::support::{endpoint, until};

const STREAMS: usize = 64;

const ANSWER: &str = r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello."}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_stop"}

"#;

/// One of an address, and one of a name that must be looked up.
#[test]
fn sixty_four_turns_at_once_need_no_thread_each() {
    let own_name = thread_name("/proc/thread-self");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_name(own_name.trim())
        .build()
        .unwrap();
    let before = threads(&own_name);
    for host in ["127.0.0.1", "localhost"] {
        let during = runtime.block_on(turns(host, || threads(&own_name)));
        // The threads that block: for the lookup, which all turns share.
        let grown = during - before;
        assert!(grown <= 2, "{grown} more threads for {host}");
    }
}

/// Runs turns of which none gets a byte until all have asked; gives what was measured then.
async fn turns<T>(host: &str, measure: impl Fn() -> T) -> T {
    let gate = Gate::new();
    let answer = Script::default().wait(&gate).then(Script::events(ANSWER));
    let server = Server::start(vec![answer; STREAMS]).await;
    let url = server.url().replace("127.0.0.1", host);
    let protocol = Arc::new(AnthropicMessages::new(
        endpoint(&url),
        AnthropicFlags::default(),
    ));
    let agents: Vec<Agent> = (0..STREAMS)
        .map(|_| Agent::builder(protocol.clone(), conversation::model("p", "m", &url)).ephemeral())
        .collect();
    let settled = future::join_all(
        agents
            .iter()
            .map(|agent| async { agent.run("go").unwrap().outcome().await }),
    );
    let measured = async {
        until(|| server.seen().len() == STREAMS).await;
        let measured = measure();
        gate.open();
        measured
    };
    let (settled, measured) = future::join(settled, measured).await;
    assert_eq!(server.connections(), STREAMS);
    for outcome in settled {
        assert_eq!(outcome.text.as_deref(), Some("Hello."), "{outcome:?}");
    }
    measured
}

/// How many threads have this name. Those that nobody named have that of their maker, so the
/// threads of tests that run beside this one do not count.
fn threads(name: &str) -> usize {
    fs::read_dir("/proc/self/task")
        .unwrap()
        .filter(|thread| thread_name(&thread.as_ref().unwrap().path().to_string_lossy()) == name)
        .count()
}

/// Empty for a thread that is gone.
fn thread_name(directory: &str) -> String {
    fs::read_to_string(format!("{directory}/comm")).unwrap_or_default()
}
