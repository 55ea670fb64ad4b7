//! What the tests of all protocols share.

pub(crate) mod conversation;
pub(crate) mod random;
pub(crate) mod replay;
pub(crate) mod server;

use std::sync::Arc;

use pantograph::ProviderError;
use pantograph::protocol::{Protocol, ProtocolEvent, ProtocolStream, Request};
use pantograph_providers::{BaseUrl, Endpoint, HttpClient, StaticKey};

/// The key of every test; must never be seen but in its header.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// A provider at `base_url` that is asked with [`KEY`].
pub(crate) fn endpoint(base_url: &str) -> Endpoint {
    Endpoint::new(
        BaseUrl::parse(base_url).unwrap(),
        Arc::new(StaticKey::new(KEY, "the test")),
        HttpClient::without_proxies(),
    )
}

/// What a stream gave: its events, and the error that ended it.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) events: Vec<ProtocolEvent>,
    pub(crate) error: Option<ProviderError>,
}

/// Asks and reads to the end.
pub(crate) async fn ask(protocol: &dyn Protocol, request: Request) -> Answer {
    match protocol.open(request).await {
        Ok(stream) => drain(stream).await,
        Err(error) => Answer {
            events: Vec::new(),
            error: Some(error),
        },
    }
}

/// Reads to the end.
pub(crate) async fn drain(mut stream: Box<dyn ProtocolStream>) -> Answer {
    let mut events = Vec::new();
    loop {
        let next = std::future::poll_fn(|cx| stream.poll_event(cx)).await;
        let error = match next {
            Some(Ok(event)) => {
                events.push(event);
                continue;
            }
            Some(Err(error)) => Some(error),
            None => None,
        };
        return Answer { events, error };
    }
}

/// A body as people read it; the order of its keys is kept.
pub(crate) fn pretty(body: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(body).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

/// The events, one a line, with the error that ended them.
pub(crate) fn render(answer: &Answer) -> String {
    let mut lines: Vec<String> = answer
        .events
        .iter()
        .map(|event| format!("{event:?}"))
        .collect();
    lines.extend(answer.error.as_ref().map(failure));
    lines.join("\n")
}

/// Everything that an error says.
pub(crate) fn failure(error: &ProviderError) -> String {
    let ProviderError {
        class,
        message,
        retry_after,
        code,
        status,
        request_id,
    } = error;
    assert!(!format!("{error:?}").contains(KEY), "{error:?}");
    let mut line = format!("{}: {message}", class.as_str());
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            line.push_str(&format!(" [{name} {value}]"));
        }
    };
    add("status", status.map(|status| status.to_string()));
    add("code", code.clone());
    add("after", retry_after.map(|after| format!("{after:?}")));
    add("id", request_id.clone());
    line
}

/// Lets others go on until the condition holds.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}
