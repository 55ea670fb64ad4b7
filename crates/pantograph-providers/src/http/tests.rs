//! What needs a client that no environment gives: proxies, and HTTP/2 without TLS.
//!
//! TLS on loopback would need a certificate that the system trusts. So HTTP/2 is proven by prior
//! knowledge: all that comes after the handshake is the same.

use std::future::poll_fn;

use bytes::Bytes;
use pantograph::protocol::{Protocol, ProtocolEvent, ProtocolStream, Request};
use pantograph::{Block, Conversation, Message, MessageId, Metadata, Model, ModelRef, Role};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::{AnthropicFlags, AnthropicMessages, BaseUrl, StaticKey};

const HELLO: &str = r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hello"}}

"#;
const STOP: &str = "data: {\"type\":\"message_stop\"}\n\n";

fn protocol(
    base_url: &str,
    adapt: impl Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + Sync + 'static,
) -> AnthropicMessages {
    let mut client = HttpClient::without_proxies();
    client.adapted = Some(Arc::new(adapt));
    let key = StaticKey::new("sk-test", "the test");
    let base_url = BaseUrl::parse(base_url).unwrap();
    let endpoint = Endpoint::new(base_url, Arc::new(key), client);
    AnthropicMessages::new(endpoint, AnthropicFlags::default())
}

fn request() -> Request {
    of([(Role::User, "Hello".into())])
}

fn of(messages: impl IntoIterator<Item = (Role, String)>) -> Request {
    let mut conversation = Conversation::new();
    for (role, text) in messages {
        conversation.push(Arc::new(Message {
            id: MessageId::new(format!("m{}", conversation.len())),
            parent: conversation.head().cloned(),
            at: jiff::Timestamp::UNIX_EPOCH,
            role,
            blocks: vec![Block::text(text)],
            metadata: Metadata::new(),
            origin: None,
            usage: None,
            stop: None,
        }));
    }
    Request {
        model: Arc::new(Model::new(ModelRef::parse("anthropic:m").unwrap())),
        purpose: pantograph::protocol::Purpose::Turn,
        context: "c".into(),
        label: None,
        system_prompt: None,
        conversation,
        tools: Default::default(),
        tool_choice: Default::default(),
    }
}

async fn next(
    stream: &mut Box<dyn ProtocolStream>,
) -> Option<Result<ProtocolEvent, ProviderError>> {
    poll_fn(|cx| stream.poll_event(cx)).await
}

/// What is said of a request to `base_url` through a proxy that answers it with `answer`.
async fn through_a_proxy(base_url: &str, answer: &'static str) -> (String, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            stream.read_buf(&mut head).await.unwrap();
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        // Until the client has read it: a reset would take it away.
        while stream.read_buf(&mut head).await.is_ok_and(|read| read > 0) {}
        let head = String::from_utf8_lossy(&head).into_owned();
        head.lines().next().unwrap_or_default().to_owned()
    });
    let protocol = protocol(base_url, move |builder| {
        builder.proxy(reqwest::Proxy::all(&proxy).unwrap())
    });
    let mut stream = protocol.open(request()).await.unwrap();
    let error = next(&mut stream).await.unwrap().unwrap_err();
    drop(stream);
    let said = format!("{}: {}", error.class.as_str(), error.message);
    (asked.await.unwrap(), said)
}

#[tokio::test]
async fn a_proxy_that_answers_itself_is_named() {
    const PAGE: &str =
        "content-type: text/html\r\nconnection: close\r\n\r\n<html><p>Access <b>denied</b></html>";
    let page = |status: &str| -> &'static str {
        Box::leak(format!("HTTP/1.1 {status}\r\n{PAGE}").into_boxed_str())
    };
    let mut shown = Vec::new();
    for base_url in ["http://a.example", "https://a.example"] {
        for status in [
            "200 OK",
            "403 Forbidden",
            "407 Proxy Authentication Required",
            "502 Bad Gateway",
        ] {
            let (asked, said) = through_a_proxy(base_url, page(status)).await;
            shown.push(format!("{asked} -> {status}\n  {said}"));
        }
    }
    insta::assert_snapshot!(shown.join("\n"), @"
    POST http://a.example/v1/messages HTTP/1.1 -> 200 OK
      terminal: the provider answered with a web page (200 OK); is the base URL right, and is there a proxy in between? It says: Access denied
    POST http://a.example/v1/messages HTTP/1.1 -> 403 Forbidden
      authentication: the provider answered with a web page (403 Forbidden); is the base URL right, and is there a proxy in between? It says: Access denied (the key is from the test)
    POST http://a.example/v1/messages HTTP/1.1 -> 407 Proxy Authentication Required
      terminal: the proxy wants a user name and a password (407 Proxy Authentication Required)
    POST http://a.example/v1/messages HTTP/1.1 -> 502 Bad Gateway
      server: the provider answered with a web page (502 Bad Gateway); is the base URL right, and is there a proxy in between? It says: Access denied
    CONNECT a.example:443 HTTP/1.1 -> 200 OK
      transport: could not connect to `a.example`: tls handshake eof
    CONNECT a.example:443 HTTP/1.1 -> 403 Forbidden
      transport: the proxy let no connection to `a.example` through: tunnel error: unsuccessful
    CONNECT a.example:443 HTTP/1.1 -> 407 Proxy Authentication Required
      terminal: the proxy let no connection to `a.example` through: tunnel error: proxy authorization required
    CONNECT a.example:443 HTTP/1.1 -> 502 Bad Gateway
      transport: the proxy let no connection to `a.example` through: tunnel error: unsuccessful
    ");
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named() {
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let proxy = format!("http://{gone}");
    let protocol = protocol("https://a.example", move |builder| {
        builder.proxy(reqwest::Proxy::all(&proxy).unwrap())
    });
    let mut stream = protocol.open(request()).await.unwrap();
    let error = next(&mut stream).await.unwrap().unwrap_err();
    insta::assert_snapshot!(error.message.replace(&gone, "PROXY"), @"the proxy let no connection to `a.example` through: Connection refused (os error 111)");
}

#[tokio::test]
async fn streams_over_http_2_share_a_connection_and_end_alone() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(serve_two(listener));
    let protocol = protocol(&base_url, |builder| builder.http2_prior_knowledge());
    let mut first = protocol.open(request()).await.unwrap();
    let hello = Some(Ok(ProtocolEvent::TextDelta {
        index: 0,
        text: "Hello".into(),
    }));
    assert_eq!(next(&mut first).await, hello);
    let mut second = protocol.open(request()).await.unwrap();
    assert_eq!(next(&mut second).await, hello);
    // Only the second is reset; the first goes on to its end over the same connection.
    drop(second);
    let end = next(&mut first).await;
    assert!(
        matches!(end, Some(Ok(ProtocolEvent::Done { .. }))),
        "{end:?}"
    );
    drop((first, protocol));
    assert_eq!(server.await.unwrap(), h2::Reason::CANCEL);
}

/// Answers two requests of one connection; the first to its end once the second was reset. Gives
/// how it was.
async fn serve_two(listener: TcpListener) -> h2::Reason {
    let (stream, _): (TcpStream, _) = listener.accept().await.unwrap();
    let mut connection = h2::server::handshake(stream).await.unwrap();
    let mut answers = Vec::new();
    for _ in 0..2 {
        let (asked, mut answer) = connection.accept().await.unwrap().unwrap();
        assert_eq!(asked.headers()["x-api-key"], "sk-test");
        let head = http::Response::builder()
            .header("content-type", "text/event-stream")
            .body(())
            .unwrap();
        let mut body = answer.send_response(head, false).unwrap();
        body.send_data(Bytes::from_static(HELLO.as_bytes()), false)
            .unwrap();
        answers.push(body);
    }
    let mut second = answers.pop().unwrap();
    let mut first = answers.pop().unwrap();
    let reset = tokio::select! {
        reset = poll_fn(|cx| second.poll_reset(cx)) => reset.unwrap(),
        more = connection.accept() => panic!("{:?}", more.is_some()),
    };
    first
        .send_data(Bytes::from_static(STOP.as_bytes()), true)
        .unwrap();
    // Until the client goes.
    while connection.accept().await.is_some() {}
    reset
}

/// A body that is whole is sent again by the client itself, one in parts by us: once for a
/// connection that the server closed in good order, and once for a stream that it refused.
#[tokio::test]
async fn what_a_server_over_http_2_did_not_look_at_is_sent_again() {
    let long = || {
        let roles = [Role::User, Role::Assistant].into_iter().cycle();
        of(roles
            .take(41)
            .map(|role| (role, "a \"line\"\n".repeat(10_000))))
    };
    for request in [request(), long()] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(serve_the_third(listener));
        let protocol = protocol(&base_url, |builder| builder.http2_prior_knowledge());
        let expected = protocol.encode(&request);
        let mut stream = protocol.open(request).await.unwrap();
        let end = next(&mut stream).await;
        assert!(
            matches!(end, Some(Ok(ProtocolEvent::Done { .. }))),
            "{end:?}"
        );
        drop((stream, protocol));
        assert!(server.await.unwrap() == expected);
    }
}

/// Closes the connection at the first request, refuses the second on the next, and answers the
/// third. Gives that one's body.
async fn serve_the_third(listener: TcpListener) -> Vec<u8> {
    let (mut stream, _) = listener.accept().await.unwrap();
    // More than there is before a request.
    let mut asked = [0; 128];
    stream.write_all(b"\0\0\0\x04\0\0\0\0\0").await.unwrap();
    stream.read_exact(&mut asked).await.unwrap();
    let go_away = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";
    stream.write_all(go_away).await.unwrap();
    stream.shutdown().await.unwrap();
    while stream.read(&mut asked).await.is_ok_and(|read| read > 0) {}
    let (stream, _) = listener.accept().await.unwrap();
    let mut connection = h2::server::handshake(stream).await.unwrap();
    let (_, mut refused) = connection.accept().await.unwrap().unwrap();
    refused.send_reset(h2::Reason::REFUSED_STREAM);
    let (asked, mut answer) = connection.accept().await.unwrap().unwrap();
    let (head, mut asked) = asked.into_parts();
    let reading = tokio::spawn(async move {
        let mut body = Vec::new();
        while let Some(data) = asked.data().await {
            let data = data.unwrap();
            asked.flow_control().release_capacity(data.len()).unwrap();
            body.extend_from_slice(&data);
        }
        assert_eq!(head.headers["content-length"], body.len().to_string());
        let head = http::Response::builder()
            .header("content-type", "text/event-stream")
            .body(())
            .unwrap();
        let mut stop = answer.send_response(head, false).unwrap();
        stop.send_data(Bytes::from_static(STOP.as_bytes()), true)
            .unwrap();
        body
    });
    // Until the client goes.
    while connection.accept().await.is_some() {}
    reading.await.unwrap()
}
