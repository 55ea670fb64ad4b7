//! An agent's turns over real sockets: what it makes of streams that end early or not at all.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use pantograph::protocol::Protocol;
use pantograph::{Agent, Event, Model, Outcome};
use pantograph_providers::{
    AnthropicFlags, AnthropicMessages, OpenAiChat, OpenAiChatFlags, OpenAiResponses,
    OpenAiResponsesFlags,
};

use crate::support::conversation;
use crate::support::endpoint;
use crate::support::server::{Script, Server};

/// A protocol, the beginning of an answer of it, and the rest.
const STREAMS: &[(&str, &str, &str)] = &[
    (
        "anthropic-messages",
        r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hello"}}

"#,
        "data: {\"type\":\"message_stop\"}\n\n",
    ),
    (
        "openai-chat",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    ),
    (
        "openai-responses",
        r#"data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hello"}

"#,
        "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n",
    ),
];

fn protocol(name: &str, base_url: &str) -> Arc<dyn Protocol> {
    let endpoint = endpoint(base_url);
    match name {
        "anthropic-messages" => {
            Arc::new(AnthropicMessages::new(endpoint, AnthropicFlags::default()))
        }
        "openai-chat" => Arc::new(OpenAiChat::new(endpoint, OpenAiChatFlags::default())),
        _ => Arc::new(OpenAiResponses::new(
            endpoint,
            OpenAiResponsesFlags::default(),
        )),
    }
}

fn model() -> Model {
    let mut model = conversation::model("p", "m", "http://m.example");
    model.retry.base_delay = Duration::ZERO;
    model
}

/// The errors of the attempts that were repeated, and how the turn ended.
async fn turn(agent: &Agent) -> (Vec<String>, Arc<Outcome>) {
    let mut turn = agent.run("Hello").unwrap();
    let mut repeated = Vec::new();
    loop {
        match turn.next().await.unwrap() {
            Event::Retry { error, .. } => {
                repeated.push(format!("{}: {}", error.class.as_str(), error.message));
            }
            Event::Settled(outcome) => return (repeated, outcome),
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_asked_for_again() {
    for (name, beginning, rest) in STREAMS {
        let whole = format!("{beginning}{rest}");
        let scripts = [
            Script::default().close(),
            Script::begin()
                .chunk(&beginning[..beginning.len() / 2])
                .end(),
            Script::events(beginning),
            Script::begin().chunk(beginning).close(),
            Script::events(&whole),
        ];
        let server = Server::start(scripts).await;
        let agent = Agent::builder(protocol(name, &server.url()), model()).ephemeral();
        let (repeated, outcome) = turn(&agent).await;
        assert_eq!(repeated.len(), 4, "{name}: {repeated:?}");
        assert!(
            repeated
                .iter()
                .all(|error| error.starts_with("transport: "))
        );
        assert!(outcome.error.is_none(), "{name}");
        let last = agent.conversation().last().unwrap().text();
        assert_eq!(last, "Hello", "{name}");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_and_left() {
    for (name, beginning, _) in STREAMS {
        let slow = [
            Script::default().stall(),
            Script::default()
                .send("HTTP/1.1 200 OK\r\ncontent-")
                .stall(),
            Script::begin().chunk(": a comment is no event\n\n").stall(),
            Script::begin().chunk(beginning).stall(),
            Script::begin()
                .chunk(&beginning[..beginning.len() / 2])
                .stall(),
        ];
        for script in slow {
            let server = Server::start([script]).await;
            let mut model = model();
            model.retry.max_retries = 0;
            model.limits.idle = Some(Duration::from_millis(50));
            let agent = Agent::builder(protocol(name, &server.url()), model).ephemeral();
            let (_, outcome) = turn(&agent).await;
            let error = outcome.error.as_ref().unwrap();
            let said = error.source().unwrap().to_string();
            assert_eq!(
                said, "no event within 0.05 s (the idle limit of this provider)",
                "{name}"
            );
            server.client_gone().await;
        }
    }
}
