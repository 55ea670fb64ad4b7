//! Streams that no protocol has and some servers send.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use pantograph::protocol::{Protocol, ProtocolEvent, ProtocolStream};
use pantograph::{ErrorClass, Model};
use pantograph_providers::{
    AnthropicFlags, AnthropicMessages, GoogleGenerate, GoogleGenerateFlags, OpenAiChat,
    OpenAiChatFlags, OpenAiResponses, OpenAiResponsesFlags,
};

use crate::support::conversation::{self, simple};
use crate::support::server::{Script, Server};
use crate::support::{Answer, KEY, ask, drain, endpoint, failure};

type Body = BoxStream<'static, io::Result<Bytes>>;

/// A protocol with the events that carry a text, and those that end the answer.
struct Wire {
    protocol: Arc<dyn Protocol>,
    decode: Box<dyn Fn(Body) -> Box<dyn ProtocolStream>>,
    text: fn(&str) -> String,
    end: &'static str,
}

fn model() -> Model {
    conversation::model("p", "m", "http://127.0.0.1:9")
}

fn anthropic(url: &str) -> Wire {
    let protocol = Arc::new(AnthropicMessages::new(
        endpoint(url),
        AnthropicFlags::default(),
    ));
    let recorded = Arc::clone(&protocol);
    Wire {
        protocol,
        decode: Box::new(move |body| recorded.decode(&simple(model()), body)),
        text: |text| {
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"text":"{text}"}}}}"#)
        },
        end: r#"{"type":"message_stop"}"#,
    }
}

fn responses(url: &str) -> Wire {
    let protocol = Arc::new(OpenAiResponses::new(
        endpoint(url),
        OpenAiResponsesFlags::default(),
    ));
    let recorded = Arc::clone(&protocol);
    Wire {
        protocol,
        decode: Box::new(move |body| recorded.decode(&simple(model()), body)),
        text: |text| {
            format!(r#"{{"type":"response.output_text.delta","output_index":0,"delta":"{text}"}}"#)
        },
        end: r#"{"type":"response.completed","response":{}}"#,
    }
}

fn chat(url: &str) -> Wire {
    let protocol = Arc::new(OpenAiChat::new(
        endpoint(url),
        OpenAiChatFlags::of_server("openai").unwrap(),
    ));
    let recorded = Arc::clone(&protocol);
    Wire {
        protocol,
        decode: Box::new(move |body| recorded.decode(&simple(model()), body)),
        text: |text| format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#),
        end: r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
    }
}

fn google(url: &str) -> Wire {
    let protocol = Arc::new(GoogleGenerate::new(
        endpoint(url),
        GoogleGenerateFlags::default(),
    ));
    let recorded = Arc::clone(&protocol);
    Wire {
        protocol,
        decode: Box::new(move |body| recorded.decode(&simple(model()), body)),
        text: |text| {
            format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}]}}}}]}}"#)
        },
        end: r#"{"candidates":[{"finishReason":"STOP"}]}"#,
    }
}

const NOWHERE: &str = "http://127.0.0.1:9";

fn every(url: &str) -> [Wire; 4] {
    [anthropic(url), responses(url), chat(url), google(url)]
}

impl Wire {
    fn read(&self, body: &str) -> Answer {
        let body = Bytes::copy_from_slice(body.as_bytes());
        let stream = (self.decode)(stream::iter([Ok(body)]).boxed());
        drain(stream).now_or_never().expect("nothing to wait for")
    }

    fn events(&self, data: &[&str]) -> Answer {
        self.read(&body(data))
    }

    /// The text of an answer of these events, complete.
    fn said(&self, data: &[&str]) -> String {
        let answer = self.events(&[data, &[self.end]].concat());
        assert_eq!(answer.error, None, "{data:?}");
        assert!(is_done(&answer), "{answer:?}");
        text(&answer)
    }
}

fn body(data: &[&str]) -> String {
    data.iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect()
}

fn text(answer: &Answer) -> String {
    let texts = answer.events.iter().filter_map(|event| match event {
        ProtocolEvent::TextDelta { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn is_done(answer: &Answer) -> bool {
    matches!(answer.events.last(), Some(ProtocolEvent::Done { .. }))
}

#[test]
fn half_a_character_costs_no_text() {
    for wire in every(NOWHERE) {
        let texts = [r"caf\u00e9 \ud83d", r"\ude00!", r"\ud83d\ude00"].map(wire.text);
        let data: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(wire.said(&data), "café \u{FFFD}\u{FFFD}!😀");
    }
}

#[test]
fn the_text_of_an_item_comes_once_wherever_it_is() {
    let wire = responses(NOWHERE);
    let delta = (wire.text)("Hello");
    let item = |text: &str| {
        format!(r#"{{"type":"message","content":[{{"type":"output_text","text":"{text}"}}]}}"#)
    };
    let done = |text: &str| {
        let item = item(text);
        format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#)
    };
    let text_done = r#"{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"Hello world"}"#;
    let completed = |output: &str| {
        format!(r#"{{"type":"response.completed","response":{{"output":[{output}]}}}}"#)
    };
    let whole = done("Hello world");
    let added =
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}"#;
    for data in [
        vec![&*delta, &*whole],
        vec![&*delta, text_done],
        vec![text_done],
        vec![added, text_done, &*whole],
        vec![&*whole, text_done],
        vec![&*delta, &*completed(&item("Hello world"))],
        vec![&*completed(&item("Hello world"))],
        vec![added, &*completed(&item("Hello world"))],
        vec![&*whole, &*completed(&item("Hello world"))],
        vec![text_done, &*completed(&item("Hello world"))],
    ] {
        assert_eq!(wire.said(&data), "Hello world", "{data:?}");
    }
    assert_eq!(wire.said(&[&*delta, &*done(r"\nHello\n")]), "Hello");
    assert_eq!(wire.said(&[&*delta, &*done("Hell")]), "Hello");
    assert_eq!(wire.said(&[&*delta, &*done("Bye.")]), "Hello\n\nBye.");
}

#[test]
fn a_call_that_only_the_last_event_has_is_made_once() {
    let wire = responses(NOWHERE);
    let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
    let done = format!(r#"{{"type":"response.output_item.done","output_index":7,"item":{call}}}"#);
    let last = format!(r#"{{"type":"response.completed","response":{{"output":[{call}]}}}}"#);
    for data in [vec![&*last], vec![&*done, &*last]] {
        let answer = wire.events(&data);
        let is_start =
            |event: &&ProtocolEvent| matches!(event, ProtocolEvent::ToolCallStart { .. });
        assert_eq!(
            answer.events.iter().filter(is_start).count(),
            1,
            "{answer:?}"
        );
        assert!(is_done(&answer));
    }
}

#[test]
fn the_input_of_a_call_may_come_at_its_end_alone() {
    let wire = responses(NOWHERE);
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":""}}"#;
    let delta =
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\":1}"}"#;
    let done = r#"{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"a\":1}"}"#;
    let item = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}}"#;
    for data in [
        vec![added, done],
        vec![added, delta, done],
        vec![added, done, item],
        vec![added, delta, done, item],
        vec![added, item, done],
    ] {
        let answer = wire.events(&[&data[..], &[wire.end]].concat());
        let inputs = answer.events.iter().filter_map(|event| match event {
            ProtocolEvent::ToolCallDelta { json, .. } => Some(json.as_str()),
            _ => None,
        });
        assert_eq!(inputs.collect::<String>(), r#"{"a":1}"#, "{data:?}");
    }
}

#[test]
fn deltas_of_a_block_that_is_not_open_are_text_all_the_same() {
    let wire = anthropic(NOWHERE);
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    let one = (wire.text)("one");
    let two = (wire.text)(", two");
    assert_eq!(wire.said(&[&*one, stop, &*two]), "one, two");
    let call = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"f"}}"#;
    assert_eq!(wire.said(&[call, &*one, stop, &*two]), "one, two");
    let input = r#"{"type":"content_block_delta","index":3,"delta":{"partial_json":"{\"a\":"}}"#;
    let error = wire.events(&[call, input, wire.end]).error.unwrap();
    insta::assert_snapshot!(failure(&error), @"transport: the provider's stream has the input of a tool call that did not begin");
}

#[test]
fn an_answer_without_end_is_given_up() {
    let event = Bytes::from(format!("event: odd\ndata: {}\n\n", "y".repeat(1 << 20)));
    let endless = stream::repeat_with(move || Ok::<_, io::Error>(event.clone())).boxed();
    let error = drain((chat(NOWHERE).decode)(endless))
        .now_or_never()
        .unwrap()
        .error
        .unwrap();
    insta::assert_snapshot!(failure(&error), @"terminal: the answer is larger than any answer may be (128 MiB of events)");
}

#[tokio::test]
async fn a_body_without_an_event_is_quoted() {
    let secret = format!("{} {KEY}", "x".repeat(190));
    let bodies = [
        ("", "<html><body>Sign in</body></html>"),
        ("content-type: text/plain\r\n", "upstream unavailable\n"),
        (
            "content-type: application/problem+json\r\n",
            r#"{"title":"Gone","status":410}"#,
        ),
        ("", r#"{"detail":"Model not loaded"}"#),
        (
            "content-type: text/event-stream\r\n",
            r#"{"detail":"Model not loaded"}"#,
        ),
        ("content-type: text/plain\r\n", &secret),
        ("", ": keep-alive\n\n"),
        ("", "data: {\"ty"),
        ("", ""),
    ];
    let mut shown = Vec::new();
    for (headers, body) in bodies {
        let server = Server::start([Script::answer(200, headers, body)]).await;
        let wire = chat(&server.url());
        let error = ask(&*wire.protocol, simple(model())).await.error.unwrap();
        assert!(!error.message.contains("sk-"), "{}", error.message);
        shown.push(failure(&error));
    }
    insta::assert_snapshot!(shown.join("\n"), @r#"
    terminal: the provider answered with a web page (200 OK); is the base URL right, and is there a proxy in between? It says: Sign in [status 200]
    terminal: the provider answered with something else than a stream of events: upstream unavailable [status 200]
    terminal: the provider answered with something else than a stream of events: {"title":"Gone","status":410} [status 200]
    server: Model not loaded [status 200]
    server: Model not loaded [status 200]
    terminal: the provider answered with something else than a stream of events: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx [redacted… [status 200]
    transport: the answer broke off: it ended without a `finish_reason`
    transport: the answer broke off: it ended without a `finish_reason`
    transport: the answer broke off: it ended without a `finish_reason`
    "#);
    for wire in every(NOWHERE) {
        let error = wire.read("upstream unavailable").error.unwrap();
        assert!(error.message.contains("something else"), "{error:?}");
    }
}

#[tokio::test]
async fn what_is_quoted_of_an_event_has_no_half_of_a_key() {
    for at in 160..200 {
        let body = format!("data: {{\"x\":{} {KEY}\n\n", "y".repeat(at));
        let server = Server::start([Script::events(&body)]).await;
        let wire = chat(&server.url());
        let error = ask(&*wire.protocol, simple(model())).await.error.unwrap();
        assert!(
            error
                .message
                .starts_with("the provider sent a broken event")
        );
        assert!(!error.message.contains("sk-"), "{}", error.message);
    }
}

#[test]
fn counts_that_are_none_and_events_of_nobody_cost_no_answer() {
    let counts = [
        "1.5",
        "-1",
        r#""7""#,
        "99999999999999999999999",
        "1e999",
        "{}",
        "[]",
        "true",
    ];
    let usages: [fn(&str) -> Vec<String>; 4] = [
        |n| {
            vec![
                format!(
                    r#"{{"type":"message_start","message":{{"usage":{{"input_tokens":{n},"output_tokens":3}}}}}}"#
                ),
                format!(
                    r#"{{"type":"message_delta","delta":{{}},"usage":{{"output_tokens":3,"output_tokens_details":{n}}}}}"#
                ),
                format!(r#"{{"type":"message_delta","delta":{{}},"usage":{n}}}"#),
            ]
        },
        |n| {
            vec![format!(
                r#"{{"type":"response.completed","response":{{"usage":{{"input_tokens":{n},"output_tokens":3,"input_tokens_details":{n}}}}}}}"#
            )]
        },
        |n| {
            vec![
                format!(
                    r#"{{"choices":[],"usage":{{"prompt_tokens":{n},"completion_tokens":3,"prompt_tokens_details":{{"cached_tokens":{n}}}}}}}"#
                ),
                format!(r#"{{"object":{n},"choices":[],"usage":{n}}}"#),
            ]
        },
        |n| {
            vec![
                format!(
                    r#"{{"usageMetadata":{{"promptTokenCount":{n},"candidatesTokenCount":3}}}}"#
                ),
                format!(r#"{{"usageMetadata":{n}}}"#),
            ]
        },
    ];
    for (wire, usage) in every(NOWHERE).into_iter().zip(usages) {
        for count in counts {
            let mut data = vec![(wire.text)("hi"), r#"{"type":5}"#.to_owned()];
            data.extend(usage(count));
            data.push(wire.end.to_owned());
            let data: Vec<&str> = data.iter().map(String::as_str).collect();
            let answer = wire.events(&data);
            assert_eq!(answer.error, None, "{data:?}");
            assert_eq!(text(&answer), "hi");
            let output = answer.events.iter().find_map(|event| match event {
                ProtocolEvent::Usage(usage) => usage.output,
                _ => None,
            });
            assert_eq!(output, Some(3), "{data:?}");
        }
        let heartbeat = format!(
            "event: heartbeat\ndata: ok\n\n{}",
            body(&[&(wire.text)("hi"), wire.end])
        );
        assert!(is_done(&wire.read(&heartbeat)));
    }
}

#[test]
fn pieces_of_calls_that_say_nothing_cost_nothing() {
    let wire = chat(NOWHERE);
    let piece = |index: usize| {
        format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index}}}]}}}}]}}"#)
    };
    let mut data: Vec<String> = (0..80_000).map(piece).collect();
    data.push(wire.end.to_owned());
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    let begun = Instant::now();
    assert!(is_done(&wire.events(&data)));
    assert!(begun.elapsed() < Duration::from_secs(10));
    let ids: Vec<String> = (0..5_000)
        .map(|at| {
            format!(
                r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{at},"id":"c{at}"}}]}}}}]}}"#
            )
        })
        .collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let error = wire.events(&ids).error.unwrap();
    assert_eq!(error.class, ErrorClass::Terminal);
}

#[tokio::test(start_paused = true)]
async fn a_finished_answer_waits_two_seconds_for_more() {
    for wire in [chat(NOWHERE), google(NOWHERE)] {
        let open = |data: &[&str]| {
            let body = Bytes::from(body(data));
            let chunks = stream::iter([Ok::<_, io::Error>(body)]).chain(stream::pending());
            drain((wire.decode)(chunks.boxed()))
        };
        let text = (wire.text)("Hello");
        let begun = tokio::time::Instant::now();
        assert!(is_done(&open(&[&*text, wire.end]).await));
        assert_eq!(begun.elapsed(), Duration::from_secs(2));
        let unfinished = open(&[&*text]);
        let waited = tokio::time::timeout(Duration::from_secs(60), unfinished).await;
        assert!(waited.is_err(), "{waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_within_the_two_seconds_counts() {
    let wire = chat(NOWHERE);
    let usage = r#"{"choices":[],"usage":{"completion_tokens":3}}"#;
    let chunks = stream::iter([body(&[wire.end]), body(&[usage])]).then(|body| async {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        Ok::<_, io::Error>(Bytes::from(body))
    });
    let chunks = chunks.chain(stream::pending());
    let answer = drain((wire.decode)(chunks.boxed())).await;
    let has_usage = |event: &ProtocolEvent| matches!(event, ProtocolEvent::Usage(_));
    assert!(
        answer.events.iter().any(has_usage) && is_done(&answer),
        "{answer:?}"
    );
}

/// No answer gives the number of one block to another.
#[test]
fn blocks_that_share_a_number_are_blocks_of_their_own() {
    let start = |kind: &str| {
        format!(r#"{{"type":"content_block_start","index":0,"content_block":{kind}}}"#)
    };
    let item = |what: &str, kind: &str| {
        format!(r#"{{"type":"response.output_item.{what}","output_index":0,"item":{kind}}}"#)
    };
    let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
    let message = r#"{"type":"message","content":[]}"#;
    let cases = [
        (
            anthropic(NOWHERE),
            vec![
                start(r#"{"type":"text","text":"a"}"#),
                start(r#"{"type":"tool_use","id":"c","name":"f"}"#),
                start(r#"{"type":"thinking","thinking":"t"}"#),
                start(r#"{"type":"tool_use","id":"d","name":"f"}"#),
            ],
        ),
        (
            responses(NOWHERE),
            vec![
                item("added", message),
                item("done", call),
                item("added", call),
                item("added", message),
                item("done", message),
                item("done", call),
            ],
        ),
        (
            chat(NOWHERE),
            vec![
                (chat(NOWHERE).text)("a"),
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"d","function":{"name":"f","arguments":"{}"}}]}}]}"#.to_owned(),
            ],
        ),
        (
            google(NOWHERE),
            vec![r#"{"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"name":"f","id":"c"}},{"functionCall":{"name":"f","id":"c"}}]}}]}"#.to_owned()],
        ),
    ];
    for (wire, data) in cases {
        let mut data: Vec<&str> = data.iter().map(String::as_str).collect();
        data.push(wire.end);
        let answer = wire.events(&data);
        assert!(is_done(&answer), "{answer:?}");
        let starts: Vec<u32> = answer
            .events
            .iter()
            .filter_map(|event| match event {
                ProtocolEvent::ToolCallStart { index, .. } => Some(*index),
                _ => None,
            })
            .collect();
        assert_eq!(starts.len(), 2, "{answer:?}");
        let other = |event: &ProtocolEvent| match event {
            ProtocolEvent::TextDelta { index, .. } | ProtocolEvent::ThinkingDelta { index, .. } => {
                starts.contains(index)
            }
            _ => false,
        };
        assert!(
            starts[0] != starts[1] && !answer.events.iter().any(other),
            "{answer:?}"
        );
    }
}
