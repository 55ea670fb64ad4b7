//! What is heard.

use pantograph::protocol::ProtocolEvent;
use pantograph::{ErrorClass, StopReason};
use pantograph_providers::{OpenAiChat, OpenAiChatFlags};

use super::{model, protocol};
use crate::support::conversation::simple;
use crate::support::replay::{Chunks, every_prefix, every_split, read};
use crate::support::server::{Script, Server};
use crate::support::{Answer, ask, endpoint, failure, render};

/// A whole answer, written after the API's documentation: text, two calls, usage after the end,
/// another choice and fields that nobody knows.
const ANSWER: &str = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"default","system_fingerprint":"fp","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x"}

: OPENROUTER PROCESSING

data: {"choices":[{"index":0,"delta":{"content":"Ünd"},"finish_reason":null}],"usage":null}

data: {"choices":[{"index":1,"delta":{"content":"another"},"finish_reason":"length"}],"usage":null}

data: {"choices":[{"index":0,"delta":{"content":" \u4f60\ud83d\ude00"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"files__read","arguments":""}}]},"finish_reason":null}],"usage":null}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\": \"a\\"}}]},"finish_reason":null}],"usage":null}

event: ping
data: nothing that is known

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"u00e9\" }"}}]},"finish_reason":null}],"usage":null}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"made_up","arguments":""}}]},"finish_reason":null}],"usage":null}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}

data: {"choices":[],"usage":{"prompt_tokens":2125,"completion_tokens":89,"total_tokens":2214,"prompt_tokens_details":{"cached_tokens":2000,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":40}}}

data: [DONE]

"#;

fn decode(chunks: Chunks) -> Box<dyn pantograph::protocol::ProtocolStream> {
    protocol("openai").decode(&simple(model()), chunks)
}

fn answer(body: &str) -> Answer {
    read(&decode, vec![body.as_bytes()])
}

/// The events of one `data` line each.
fn events(data: &[&str]) -> String {
    data.iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect()
}

/// An answer of these deltas, complete.
fn deltas(deltas: &[&str]) -> Answer {
    let mut body: String = deltas
        .iter()
        .map(|delta| format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n"))
        .collect();
    body.push_str(&events(&[END, "[DONE]"]));
    answer(&body)
}

/// The end of an answer.
const END: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;

/// The answer up to the event that says why it ended.
fn up_to_the_end() -> &'static str {
    let end = ANSWER.find(r#"data: {"choices":[],"#).unwrap();
    &ANSWER[..end]
}

/// Tool calls in the pieces in which servers send them.
pub(crate) const CALLS: [(&str, &[&str]); 10] = [
    (
        "whole, all number 0, with text",
        &[
            r#"{"content":"Now","tool_calls":[{"index":0,"id":"a","function":{"name":"find","arguments":"{\"id\":1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"find","arguments":"{\"id\":2}"}}]}"#,
        ],
    ),
    (
        "no numbers",
        &[
            r#"{"tool_calls":[{"id":"a","function":{"name":"find","arguments":"{\"id\":1}"}},{"id":"b","function":{"name":"find","arguments":"{\"id\":"}}]}"#,
            r#"{"tool_calls":[{"function":{"arguments":"2}"}}]}"#,
        ],
    ),
    (
        "id and name in every piece",
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"find","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"find","arguments":"{\"id\""}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"find","arguments":":1}"}}]}"#,
        ],
    ),
    (
        "an id of its own for every piece",
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"find","arguments":null}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":null,"arguments":"{}"}}]}"#,
        ],
    ),
    (
        "late name and id",
        &[
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"id\""}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"find","arguments":":1}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"","function":{"name":"find"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"b","function":{"arguments":"{}"}}]}"#,
        ],
    ),
    (
        "interleaved",
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"find","arguments":"{"}},{"index":1,"id":"b","function":{"name":"find","arguments":"{"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"}"}},{"index":1,"function":{"arguments":"}"}}]}"#,
        ],
    ),
    (
        "text between the pieces",
        &[
            r#"{"content":"Now","tool_calls":[{"index":0,"id":"a","function":{"name":"find","arguments":"{"}}]}"#,
            r#"{"content":", then","tool_calls":[{"index":0,"function":{"arguments":"}"}}]}"#,
            r#"{"content":" that"}"#,
        ],
    ),
    (
        "an object as input, and a signature",
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"find","arguments":{"id":1,"a":null}},"extra_content":{"google": {"thought_signature":"Q\/"}}}]}"#,
        ],
    ),
    (
        "the old form",
        &[
            r#"{"function_call":{"name":"find","arguments":""}}"#,
            r#"{"function_call":{"arguments":"{\"id\":1}"}}"#,
        ],
    ),
    (
        "without name, id or anything",
        &[
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{}"}},{"index":1}]}"#,
            r#"{"tool_calls":[{"index":2,"function":{"name":"find"}}]}"#,
        ],
    ),
];

#[test]
fn a_whole_answer_is_the_same_however_it_is_cut() {
    insta::assert_snapshot!(render(&every_split(ANSWER, decode)));
}

#[test]
fn an_answer_that_ends_early_is_never_complete() {
    every_prefix(up_to_the_end(), decode);
    let cut = answer(&events(&[
        r#"{"choices":[{"delta":{"content":"a"}}]}"#,
        "[DONE]",
    ]));
    insta::assert_snapshot!(render(&cut));
}

#[test]
fn the_reason_is_the_end_whether_or_not_more_is_said() {
    let short = answer(up_to_the_end());
    let Some(ProtocolEvent::Done { stop }) = short.events.last() else {
        panic!("{short:?}");
    };
    assert_eq!(*stop, StopReason::ToolCalls);
    let junk = answer(&format!("{ANSWER}data: junk\n\n<junk>"));
    assert_eq!(junk, answer(ANSWER));
}

#[test]
fn each_reason_says_how_the_answer_ended() {
    let shown: Vec<String> = [
        "stop",
        "tool_calls",
        "function_call",
        "length",
        "model_length",
        "content_filter",
        "error",
        "insufficient_system_resource",
        "from_tomorrow",
    ]
    .iter()
    .map(|reason| {
        let end = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
        format!("{reason}: {}", render(&answer(&events(&[&end, END]))))
    })
    .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn thinking_is_read_wherever_it_arrives() {
    let cases: [(&str, &[&str]); 5] = [
        (
            "DeepSeek",
            &[
                r#"{"role":"assistant","content":null,"reasoning_content":""}"#,
                r#"{"content":null,"reasoning_content":"Hm"}"#,
                r#"{"reasoning_content":"."}"#,
                r#"{"content":"Hi","reasoning_content":null}"#,
            ],
        ),
        (
            "both fields",
            &[
                r#"{"reasoning":"Hm.","reasoning_content":"Hm."}"#,
                r#"{"content":"Hi"}"#,
            ],
        ),
        (
            "OpenRouter",
            &[
                r#"{"content":"","reasoning":"Hm","reasoning_details":[{"type":"reasoning.text","text":"Hm","index":0}]}"#,
                r#"{"content":"","reasoning":".","reasoning_details":[{"type":"reasoning.text","text":".","index":0}]}"#,
                r#"{"content":"","reasoning_details":[{"type":"reasoning.text","signature":"s\/g","index":0}]}"#,
                r#"{"content":"Hi"}"#,
            ],
        ),
        (
            "OpenRouter, encrypted only",
            &[
                r#"{"content":"Hi"}"#,
                r#"{"content":"","reasoning_details":[{"type":"reasoning.encrypted", "data":"Z\/","index":0}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"find","arguments":"{}"}}]}"#,
            ],
        ),
        (
            "Mistral",
            &[
                r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]}"#,
                r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"."}],"closed":true}]}"#,
                r#"{"content":[{"type":"text","text":"Hi"}]}"#,
                r#"{"content":" there"}"#,
            ],
        ),
    ];
    let shown = cases.map(|(name, pieces)| format!("{name}\n{}\n", render(&deltas(pieces))));
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn calls_are_told_apart_however_they_are_numbered() {
    let shown = CALLS.map(|(name, pieces)| format!("{name}\n{}\n", render(&deltas(pieces))));
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_call_that_the_limit_cut_does_not_end() {
    let body = events(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"find","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"find","arguments":"{\"i"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#,
    ]);
    insta::assert_snapshot!(render(&answer(&body)));
}

#[test]
fn a_refusal_is_no_answer() {
    let refused = deltas(&[r#"{"refusal":"I can't "}"#, r#"{"refusal":"do that."}"#]);
    insta::assert_snapshot!(render(&refused));
}

#[test]
fn usage_is_read_wherever_it_arrives() {
    let shown: Vec<String> = [
        r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"cost":0.1,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":4}}}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":10,"completion_tokens":2}}]}"#,
        r#"{"choices":[],"x_groq":{"id":"req_1","usage":{"prompt_tokens":10,"completion_tokens":2}}}"#,
        r#"{"choices":null,"usage":{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":3}}}"#,
    ]
    .iter()
    .map(|usage| render(&answer(&events(&[usage, END]))))
    .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn errors_inside_a_stream_are_classified() {
    let shown: Vec<String> = [
        r#"{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}"#,
        r#"{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}"#,
        r#"{"error":{"code":502,"message":"Provider returned error","metadata":{"provider_name":"X","raw":"prompt is too long: 2 > 1"}},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#,
        r#"{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"error\":\"input is too long\"}"}}}"#,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}"#,
        r#"{"object":"error","message":"Unexpected role","type":"invalid_request_message_order","param":null,"code":"3230"}"#,
        r#"{"error":"model runner has unexpectedly stopped"}"#,
        r#"{"choices":[{"delta":{"content":7}}]}"#,
        r#"{"choices":[{"delta":{"content":"cut"#,
        "no JSON",
    ]
    .iter()
    .map(|data| failure(&answer(&events(&[data])).error.unwrap()))
    .collect();
    insta::assert_snapshot!(shown.join("\n"));
    let named = answer("event: error\ndata: out of memory\n\n")
        .error
        .unwrap();
    assert_eq!(named.class, ErrorClass::Server);
}

#[tokio::test]
async fn overflow_is_recognised_in_the_words_of_each_server() {
    let cases = [
        (
            "OpenAI",
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        ),
        (
            "OpenRouter",
            400,
            r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens","code":400,"metadata":{"provider_name":null}}}"#,
        ),
        (
            "OpenRouter, passed on",
            400,
            r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}"#,
        ),
        (
            "DeepSeek",
            400,
            r#"{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 140000 tokens","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
        ),
        (
            "Mistral",
            400,
            r#"{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt_too_long","param":null,"code":"3051"}"#,
        ),
        (
            "Groq",
            400,
            r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        ),
        (
            "vLLM",
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}"#,
        ),
        (
            "llama.cpp",
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}"#,
        ),
        (
            "Ollama",
            400,
            r#"{"error":{"message":"the input length exceeds the context length","type":"invalid_request_error","param":null,"code":null}}"#,
        ),
        ("too many bytes", 413, "Payload Too Large"),
    ];
    let server = Server::start(cases.map(|(_, status, body)| Script::json(status, body))).await;
    let protocol = OpenAiChat::new(endpoint(&server.url()), OpenAiChatFlags::default());
    for (name, _, _) in cases {
        let error = ask(&protocol, simple(model())).await.error.unwrap();
        assert_eq!(error.class, ErrorClass::ContextOverflow, "{name}: {error}");
    }
}

#[tokio::test]
async fn a_connection_that_ends_after_the_last_event_is_used_again() {
    let whole = format!("{:x}\r\n{ANSWER}\r\n0\r\n\r\n", ANSWER.len());
    let scripts = (0..3).map(|_| Script::begin().send(&whole));
    let server = Server::start(scripts).await;
    let protocol = OpenAiChat::new(endpoint(&server.url()), OpenAiChatFlags::default());
    for _ in 0..3 {
        assert_eq!(ask(&protocol, simple(model())).await, answer(ANSWER));
        // The client's own task puts the connection back.
        tokio::task::yield_now().await;
    }
    assert_eq!(server.connections(), 1);
}
