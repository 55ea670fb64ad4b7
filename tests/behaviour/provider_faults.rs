//! Every way in which a provider fails has a sentence of its own.

use std::io::Write;
use std::net::TcpListener;

use crate::support::loopback::{Loopback, Script, chat};
use crate::support::{Machine, Ran};

/// Asks a server that answers so; its address is `SERVER`.
fn asked(script: Script) -> Ran {
    let server = Loopback::start([script]);
    let mut ran = server.machine().run(&["-p", "go"]);
    ran.stderr = ran
        .stderr
        .replace(server.url().trim_start_matches("http://"), "SERVER");
    ran
}

/// Asks what lies at `base_url`.
fn at(base_url: &str, variables: &[(&str, &str)]) -> Ran {
    let machine = Machine::without_config();
    machine.write_config(&format!(
        "model = \"local:small\"\n[providers.local]\nprotocol = \"openai-chat\"\n\
         base_url = \"{base_url}\"\nmax_retries = 0\n[providers.local.models.small]\n"
    ));
    machine.run_with(variables, &["-p", "go"])
}

#[test]
fn an_answer_is_printed() {
    let server = Loopback::start([chat("Hello!")]);
    let ran = server.machine().run(&["-p", "go"]);
    assert_eq!(ran.answer(), "Hello!\n");
    let seen = server.seen();
    assert_eq!(seen[0].line, "POST /v1/chat/completions HTTP/1.1");
}

#[test]
fn a_model_that_answers_with_nothing() {
    insta::assert_snapshot!(asked(chat("")).shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: the model answered with nothing
    ");
}

#[test]
fn a_base_url_that_is_not_http() {
    insta::assert_snapshot!(at("localhost:8080", &[]).shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: could not set up the protocol `openai-chat` for provider `local` (ROOT/home/.config/panto/config.toml:2:12)
      cause: the base URL `localhost:8080` must be `http://HOST` or `https://HOST`, perhaps with a path
    ");
}

#[test]
fn a_host_that_is_not_there() {
    // Two dots make it no name that a resolver would ask anybody for.
    let mut ran = at("http://no..host/v1", &[]);
    let (before, after) = ran.stderr.split_once("could not be found: ").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    ran.stderr = format!("{before}could not be found: THE SYSTEM'S WORDS\n{after}");
    insta::assert_snapshot!(ran.shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: `local:small` gave no answer
      cause: the host `no..host` could not be found: THE SYSTEM'S WORDS
      hint: this may pass; nothing is saved yet: run the same command again
    ");
}

#[test]
fn a_connection_that_is_refused() {
    // Taken and given back, so that nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut ran = at(&format!("http://127.0.0.1:{port}/v1"), &[]);
    ran.stderr = ran.stderr.replace(&port.to_string(), "PORT");
    insta::assert_snapshot!(ran.shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: `local:small` gave no answer
      cause: `127.0.0.1:PORT` refused the connection; is the server running, and the base URL right?
      hint: this may pass; nothing is saved yet: run the same command again
    ");
}

#[test]
fn a_server_without_tls() {
    // Says what any server without TLS says to bytes that are no request.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n";
            let _ = stream.unwrap().write_all(answer);
        }
    });
    let mut ran = at(&format!("https://{address}/v1"), &[]);
    ran.stderr = ran.stderr.replace(&address, "SERVER");
    insta::assert_snapshot!(ran.shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: `local:small` gave no answer
      cause: no secure connection to `SERVER`; does it speak TLS there, and is its certificate trusted here? (received corrupt message of type InvalidContentType)
    ");
}

#[test]
fn a_proxy_that_answers_with_a_page() {
    let page = "<!doctype html><html><head><title>Sign in</title><script>x()</script></head>\
                <body><h1>Guest network</h1>Please sign in.</body></html>";
    let proxy = Loopback::start([Script::answer(200, "content-type: text/html\r\n", page)]);
    let ran = at("http://models.example/v1", &[("http_proxy", &proxy.url())]);
    insta::assert_snapshot!(ran.shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: `local:small` gave no answer
      cause: the provider answered with a web page (200 OK); is the base URL right, and is there a proxy in between? It says: Sign in Guest network Please sign in.
    ");
    assert_eq!(
        proxy.seen()[0].line,
        "POST http://models.example/v1/chat/completions HTTP/1.1"
    );
}

#[test]
fn a_proxy_that_lets_nothing_through() {
    let proxy = Loopback::start([Script::answer(403, "content-type: text/html\r\n", "no")]);
    let ran = at(
        "https://models.example/v1",
        &[("https_proxy", &proxy.url())],
    );
    insta::assert_snapshot!(ran.shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: `local:small` gave no answer
      cause: the proxy let no connection to `models.example` through: tunnel error: unsuccessful
      hint: this may pass; nothing is saved yet: run the same command again
    ");
}

#[test]
fn an_answer_that_cannot_be_unpacked() {
    let headers = "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n";
    let ran = asked(Script::answer(200, headers, "this is not gzip"));
    insta::assert_snapshot!(ran.shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: `local:small` gave no answer
      cause: the answer of `SERVER` could not be unpacked: Invalid gzip header
      hint: this may pass; nothing is saved yet: run the same command again
    ");
}

#[test]
fn a_success_that_is_an_error() {
    let ran = asked(Script::json(
        200,
        r#"{"error":{"message":"the tokens are gone","code":"quota"}}"#,
    ));
    insta::assert_snapshot!(ran.shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: `local:small` gave no answer
      cause: the tokens are gone
      hint: this may pass; nothing is saved yet: run the same command again
    ");
}

#[test]
fn a_success_that_is_something_else() {
    insta::assert_snapshot!(asked(Script::json(200, r#"{"hello":"world"}"#)).shown(), @r#"
    exit 1
    -- stdout
    -- stderr
    error: `local:small` gave no answer
      cause: the provider answered with something else than a stream of events: {"hello":"world"}
    "#);
}

#[test]
fn a_redirect_takes_nothing_with_it() {
    let elsewhere = Loopback::start([chat("Hello!")]);
    let headers = format!("location: {}/v1/chat/completions\r\n", elsewhere.url());
    let mut ran = asked(Script::answer(307, &headers, ""));
    ran.stderr = ran.stderr.replace(&elsewhere.url(), "ELSEWHERE");
    insta::assert_snapshot!(ran.shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: `local:small` gave no answer
      cause: the provider redirects to `ELSEWHERE/v1/chat/completions`, where the key is not sent; the base URL must be where the API is
    ");
    assert!(elsewhere.seen().is_empty());
}

#[test]
fn a_stream_that_ends_early() {
    let event = r#"data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}"#;
    let ran = asked(Script::events(&format!("{event}\n\n")));
    insta::assert_snapshot!(ran.shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: `local:small` gave no answer
      cause: the answer broke off: it ended without a `finish_reason`
      hint: this may pass; nothing is saved yet: run the same command again
    ");
}

#[test]
fn a_connection_that_breaks_amid_an_answer() {
    let event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    let ran = asked(Script::begin().chunk(event).close());
    insta::assert_snapshot!(ran.shown(), @"
    exit 1
    -- stdout
    -- stderr
    error: `local:small` gave no answer
      cause: the connection to `SERVER` broke off: unexpected EOF during chunk size line
      hint: this may pass; nothing is saved yet: run the same command again
    ");
}
