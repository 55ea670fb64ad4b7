//! How connections fail and end, which is the same for every protocol.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pantograph::protocol::{Protocol, ProtocolEvent};
use pantograph::{Block, ErrorClass, Model, Role};
use pantograph_providers::{
    AnthropicFlags, AnthropicMessages, ApiKey, BaseUrl, Credentials, CredentialsError, Endpoint,
    HttpClient, NoKey,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::support::conversation::{self, Log, simple};
use crate::support::server::{Gate, Script, Server};
use crate::support::{Answer, KEY, ask, endpoint, failure, render, until};

const HELLO: &str = r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hello"}}

"#;
const STOP: &str = r#"data: {"type":"message_stop"}

"#;

fn model() -> Model {
    conversation::model("anthropic", "claude-x", AnthropicMessages::BASE_URL)
}

fn protocol(base_url: &str) -> AnthropicMessages {
    AnthropicMessages::new(endpoint(base_url), AnthropicFlags::default())
}

async fn answer(script: Script) -> Answer {
    let server = Server::start([script]).await;
    ask(&protocol(&server.url()), simple(model())).await
}

/// What an answer fails with, without the port of the day.
async fn fails(script: Script) -> String {
    let server = Server::start([script]).await;
    let answer = ask(&protocol(&server.url()), simple(model())).await;
    let port = server.url().replace("http://", "");
    failure(&answer.error.unwrap()).replace(&port, "HOST")
}

#[tokio::test]
async fn each_status_has_its_class_and_the_providers_words() {
    let object = |kind: &str, message: &str| {
        format!(
            r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_body"}}"#
        )
    };
    let plain =
        |message: &str| format!(r#"{{"error":{{"message":"{message}","type":null,"code":null}}}}"#);
    let cases = [
        (400, object("invalid_request_error", "messages: bad")),
        (400, object("invalid_request_error", "prompt is too long: 9 > 8 maximum")),
        (400, plain("This model's maximum context length is 8192 tokens.")),
        (400, r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#.into()),
        (
            400,
            r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]"#.into(),
        ),
        (401, object("authentication_error", "invalid x-api-key")),
        (402, plain("pay")),
        (403, plain("not for you")),
        (404, object("not_found_error", "model: claude-x")),
        (405, String::new()),
        (408, plain("too slow")),
        (409, plain("at the same time")),
        (413, object("request_too_large", "Request exceeds the maximum size")),
        (413, String::new()),
        (422, r#"{"detail":"unprocessable"}"#.into()),
        (429, object("rate_limit_error", "slow down")),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#.into(),
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"RetryInfo","retryDelay":"34.5s"}]}}"#.into(),
        ),
        (429, r#"{"message":"plainer"}"#.into()),
        (500, object("api_error", "oops")),
        (500, plain("the request exceeds the available context size")),
        (502, "upstream\n  connect error".into()),
        (503, String::new()),
        (504, r#"{"error":"gateway timeout"}"#.into()),
        (529, object("overloaded_error", "Overloaded")),
    ];
    let mut shown = Vec::new();
    for (status, body) in cases {
        shown.push(fails(Script::json(status, &body)).await);
    }
    insta::assert_snapshot!(shown.join("\n"));
}

#[tokio::test]
async fn the_time_to_wait_comes_in_three_forms() {
    let date = "date: Mon, 30 Nov 2026 16:00:00 GMT\r\n";
    let mut shown = Vec::new();
    for headers in [
        "retry-after: 7\r\n",
        "retry-after: 0.5\r\n",
        "retry-after: 7\r\nretry-after-ms: 1500\r\n",
        "retry-after: Mon, 30 Nov 2026 16:01:30 GMT\r\n",
        "retry-after: Mon, 30 Nov 2026 15:00:00 GMT\r\n",
        "retry-after: soon\r\n",
        "retry-after: -1\r\n",
        "request-id: req_head\r\n",
    ] {
        let headers = format!("{headers}{date}");
        shown.push(fails(Script::answer(429, &headers, "")).await);
    }
    insta::assert_snapshot!(shown.join("\n"));
}

#[tokio::test]
async fn what_is_no_stream_of_events_is_named() {
    let page = "<!DOCTYPE html><html><head><style>b { x: y }</style><title>Sign in</title></head>\
                <body><p>to the <b>network</b></body></html>";
    let html = "content-type: text/html; charset=utf-8\r\n";
    let shown = [
        fails(Script::answer(200, html, page)).await,
        fails(Script::answer(502, html, page)).await,
        fails(Script::answer(403, "", page)).await,
        fails(Script::json(
            200,
            r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ))
        .await,
        fails(Script::json(200, r#"{"id":"msg_1","content":[]}"#)).await,
        fails(Script::answer(
            307,
            "location: https://elsewhere.example/v1\r\n",
            "",
        ))
        .await,
        fails(Script::answer(301, "", "")).await,
        fails(Script::default().send("220 smtp.example ESMTP\r\n").close()).await,
    ];
    insta::assert_snapshot!(shown.join("\n"));
}

#[tokio::test]
async fn a_long_refusal_is_cut() {
    let body = format!(r#"{{"error":{{"message":"{}"}}}}"#, "é".repeat(20_000));
    let error = answer(Script::json(400, &body)).await.error.unwrap();
    assert_eq!(error.message.chars().count(), 2_001);
    let endless = Script::head(500, "content-type: text/plain\r\n").send("word ".repeat(100_000));
    let error = answer(endless.stall()).await.error.unwrap();
    assert!(error.message.chars().count() < 300, "{}", error.message);
}

#[tokio::test]
async fn a_connection_that_breaks_off_is_a_transport_error() {
    let gzip = "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n";
    let shown = [
        fails(Script::begin().chunk(HELLO).close()).await,
        fails(Script::begin().chunk(HELLO).reset()).await,
        fails(
            Script::default()
                .send("HTTP/1.1 200 OK\r\ncontent-")
                .close(),
        )
        .await,
        fails(Script::default().close()).await,
        fails(
            Script::head(200, "content-length: 1000\r\n")
                .send(HELLO)
                .close(),
        )
        .await,
        fails(Script::answer(200, gzip, "no gzip at all")).await,
        fails(Script::begin().send("xyz\r\n").close()).await,
    ];
    for line in &shown {
        assert!(line.starts_with("transport: "), "{line}");
    }
    insta::assert_snapshot!(shown.join("\n"));
}

#[tokio::test]
async fn an_end_without_the_last_event_is_only_an_end() {
    let answer = answer(Script::events(HELLO)).await;
    let text = "Hello".to_owned();
    assert_eq!(answer.events, [ProtocolEvent::TextDelta { index: 0, text }]);
    assert_eq!(answer.error, None);
}

#[tokio::test]
async fn a_packed_answer_is_unpacked() {
    let packed = STANDARD.decode(PACKED).unwrap();
    let headers = "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n";
    let answer = answer(Script::answer(200, headers, packed)).await;
    insta::assert_snapshot!(render(&answer), @"Done { stop: End }");
}

/// [`STOP`], packed.
const PACKED: &str = "H4sIAAAAAAACA0tJLEm0UqhWKqksSFWyUspNLS5OTE+NLy7JL1Cq5eICAHUK6/sfAAAA";

#[tokio::test]
async fn a_connection_that_cannot_be_made_says_why() {
    let refused = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let without_tls = plain.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let (mut stream, _) = plain.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await
    });
    let mut shown = Vec::new();
    for (base_url, host) in [
        (format!("http://{refused}"), refused),
        (format!("https://{without_tls}"), without_tls),
        // Two dots make it no name that a resolver would ask anybody for.
        ("http://no..host".to_owned(), "no..host".to_owned()),
    ] {
        let answer = ask(&protocol(&base_url), simple(model())).await;
        shown.push(failure(&answer.error.unwrap()).replace(&host, "HOST"));
    }
    insta::assert_snapshot!(shown.join("\n"), @"
    transport: `HOST` refused the connection; is the server running, and the base URL right?
    terminal: no secure connection to `HOST`; does it speak TLS there, and is its certificate trusted here? (received corrupt message of type InvalidContentType)
    transport: the host `HOST` could not be found: failed to lookup address information: Name or service not known
    ");
}

#[tokio::test]
async fn a_connection_has_a_limit() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    // Once the queue is full nobody is let in, and nobody is turned away.
    let mut queue = Vec::new();
    while let Ok(stream) =
        tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await
    {
        queue.push(stream);
    }
    let mut model = model();
    model.limits.connect = Some(Duration::from_millis(50));
    let protocol = protocol(&format!("http://{address}"));
    let error = ask(&protocol, simple(model)).await.error.unwrap();
    let shown = failure(&error).replace(&address.to_string(), "HOST");
    insta::assert_snapshot!(shown, @"transport: no connection to `HOST` within 0.05 s (the connect limit of this provider)");
}

#[tokio::test]
async fn headers_are_waited_for_by_the_stream() {
    let gate = Gate::new();
    let slow = Script::default()
        .send("HTTP/1.1 200 OK\r\ncontent-type: text/")
        .wait(&gate)
        .send("event-stream\r\n\r\n")
        .send(STOP)
        .close();
    let server = Server::start([slow]).await;
    let protocol = protocol(&server.url());
    let mut stream = protocol.open(simple(model())).await.unwrap();
    let mut next = std::future::poll_fn(|cx| stream.poll_event(cx));
    tokio::select! {
        biased;
        _ = &mut next => panic!("there is no answer yet"),
        () = until(|| !server.seen().is_empty()) => gate.open(),
    }
    assert!(matches!(next.await, Some(Ok(ProtocolEvent::Done { .. }))));
}

#[tokio::test]
async fn bytes_without_an_event_are_silence() {
    let gate = Gate::new();
    let comments = Script::begin()
        .chunk(": keep-alive\n\n")
        .chunk("event: ping\n\n: more\n")
        .wait(&gate)
        .chunk(STOP)
        .end();
    let server = Server::start([comments]).await;
    let mut stream = protocol(&server.url()).open(simple(model())).await.unwrap();
    let mut next = std::future::poll_fn(|cx| stream.poll_event(cx));
    tokio::select! {
        biased;
        _ = &mut next => panic!("there is no event yet"),
        () = until(|| !server.seen().is_empty()) => gate.open(),
    }
    assert!(matches!(next.await, Some(Ok(ProtocolEvent::Done { .. }))));
}

#[tokio::test]
async fn a_redirect_takes_nothing_along() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = Server::start([Script::events(STOP)]).await;
        let location = format!("location: {}/v1/messages\r\n", elsewhere.url());
        let server = Server::start([Script::answer(status, &location, "")]).await;
        let answer = ask(&protocol(&server.url()), simple(model())).await;
        let error = answer.error.unwrap();
        assert_eq!(
            (error.class, error.status),
            (ErrorClass::Terminal, Some(status))
        );
        assert!(
            error.message.contains(&elsewhere.url()),
            "{}",
            error.message
        );
        assert_eq!((server.seen().len(), elsewhere.connections()), (1, 0));
    }
}

#[tokio::test]
async fn a_stream_that_nobody_reads_asks_nobody() {
    let server = Server::start([Script::default().stall()]).await;
    let protocol = protocol(&server.url());
    drop(protocol.open(simple(model())));
    drop(protocol.open(simple(model())).await.unwrap());
    // Whatever was begun would be there before this is answered.
    let mut stream = protocol.open(simple(model())).await.unwrap();
    let mut next = std::future::poll_fn(|cx| stream.poll_event(cx));
    tokio::select! {
        _ = &mut next => panic!("there is no answer"),
        () = until(|| !server.seen().is_empty()) => {}
    }
    assert_eq!((server.connections(), server.seen().len()), (1, 1));
}

#[tokio::test]
async fn dropping_a_stream_amid_its_request_closes_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    // More than the buffers between the two hold.
    let mut log = Log::default();
    log.say(Role::User, vec![Block::text("word ".repeat(8 << 20))]);
    let request = conversation::request(model(), log.conversation);
    let mut stream = protocol(&base_url).open(request).await.unwrap();
    let mut next = std::future::poll_fn(|cx| stream.poll_event(cx));
    let (mut accepted, _) = tokio::select! {
        _ = &mut next => panic!("there is no answer"),
        accepted = listener.accept() => accepted.unwrap(),
    };
    let mut some = vec![0; 1024];
    tokio::select! {
        _ = &mut next => panic!("there is no answer"),
        read = accepted.read_exact(&mut some) => read.unwrap(),
    };
    drop(stream);
    let mut rest = Vec::new();
    // An end or a reset: nothing more comes, and not all of it came.
    let _ = accepted.read_to_end(&mut rest).await;
    assert!(rest.len() < 40 << 20, "{}", rest.len());
}

#[tokio::test]
async fn dropping_a_stream_closes_its_connection() {
    let before_the_head = Script::default().stall();
    let amid_the_body = Script::begin().chunk(HELLO).stall();
    for script in [before_the_head, amid_the_body] {
        let server = Server::start([script]).await;
        let mut stream = protocol(&server.url()).open(simple(model())).await.unwrap();
        let mut next = std::future::poll_fn(|cx| stream.poll_event(cx));
        tokio::select! {
            biased;
            _ = &mut next => {}
            () = until(|| !server.seen().is_empty()) => {}
        }
        drop(stream);
        server.client_gone().await;
    }
}

#[tokio::test]
async fn a_connection_that_was_read_to_its_end_is_used_again() {
    let scripts = (0..3).map(|_| Script::answer(200, "", STOP));
    let server = Server::start(scripts).await;
    let protocol = protocol(&server.url());
    for _ in 0..3 {
        let answer = ask(&protocol, simple(model())).await;
        assert_eq!(render(&answer), "Done { stop: End }");
        // The client's own task puts the connection back.
        tokio::task::yield_now().await;
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_key_that_a_provider_repeats_is_taken_out() {
    let words = format!("bad key {KEY} in x-team: another-long-secret");
    let object = format!(r#"{{"error":{{"type":"{KEY}","message":"{words}"}}}}"#);
    let page = format!("<html>{}{words}</html>", "x".repeat(180));
    let event = format!("data: {{\"type\":\"error\",\"error\":{{\"message\":\"{words}\"}}}}\n\n");
    let scripts = [
        Script::json(401, &object),
        Script::answer(500, "", page),
        Script::events(&event),
        Script::events(&format!("data: {words}\n\n")),
        Script::answer(302, &format!("location: http://a/?{KEY}\r\n"), ""),
    ];
    let server = Server::start(scripts).await;
    let endpoint = endpoint(&server.url())
        .with_headers([("x-team", "Bearer another-long-secret")])
        .unwrap();
    let protocol = AnthropicMessages::new(endpoint, AnthropicFlags::default());
    assert!(!format!("{protocol:?}").contains(KEY));
    let mut shown = Vec::new();
    for _ in 0..5 {
        let error = ask(&protocol, simple(model())).await.error.unwrap();
        shown.push(failure(&error));
    }
    let shown = shown.join("\n");
    assert!(!shown.contains("another-long-secret"));
    insta::assert_snapshot!(shown);
}

/// A source that fails.
struct Locked;

#[async_trait]
impl Credentials for Locked {
    async fn key(&self) -> Result<Option<ApiKey>, CredentialsError> {
        Err(CredentialsError::new("`pass show x`", "it exited with 1"))
    }
}

#[tokio::test]
async fn credentials_that_fail_send_nothing_and_no_key_is_said() {
    let server = Server::start([Script::answer(401, "", "")]).await;
    let base_url = BaseUrl::parse(&server.url()).unwrap();
    let mut shown = Vec::new();
    for credentials in [Arc::new(Locked) as Arc<dyn Credentials>, Arc::new(NoKey)] {
        let client = HttpClient::without_proxies();
        let endpoint = Endpoint::new(base_url.clone(), credentials, client);
        let protocol = AnthropicMessages::new(endpoint, AnthropicFlags::default());
        let error = ask(&protocol, simple(model())).await.error.unwrap();
        shown.push(failure(&error));
    }
    assert_eq!(server.seen().len(), 1);
    insta::assert_snapshot!(shown.join("\n"), @"
    authentication: no usable key from `pass show x`: it exited with 1
    authentication: the provider answered with 401 Unauthorized and no words (no key was sent) [status 401]
    ");
}
