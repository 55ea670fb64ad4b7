//! What is heard.

use std::sync::{Arc, LazyLock};

use pantograph::protocol::{ProtocolEvent, Request};
use pantograph::{Agent, Role};
use pantograph_providers::{GoogleGenerate, GoogleGenerateFlags};
use serde_json::Value;

use super::{model, native, protocol};
use crate::support::conversation::{request, rich, simple, tools};
use crate::support::replay::{Chunks, every_prefix, every_split, read};
use crate::support::server::{Script, Server};
use crate::support::{Answer, ask, endpoint, failure, render};

/// A whole answer, written after the API's documentation: thoughts, signed at their end; text in
/// pieces, of which the last is signed; code that the provider ran; two calls at once, of which
/// the first is signed; and a signature without words at the end.
pub(super) const ANSWER: &str = r#"data: {"candidates":[{"content":{"parts":[{"text":"Ünd","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":2125,"totalTokenCount":2125,"promptTokensDetails":[{"modality":"TEXT","tokenCount":2125}]},"modelVersion":"gemini-x","responseId":"r1"}

: keep-alive

data: {"candidates":[{"content":{"parts":[{"text":" \u4f60\ud83d\ude00","thought":true},{ "text":"","thought":true, "thoughtSignature":"VGhv\/w==" }],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":2125,"totalTokenCount":2125,"promptTokensDetails":[{"modality":"TEXT","tokenCount":2125}]}}

data: {"candidates":[{"content":{"parts":[{"text":"I \"read\""}],"role":"model"},"index":0,"safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"NEGLIGIBLE"}]}]}

data: {"candidates":[{"content":{"parts":[{"text":"\n"},{"text":"it", "thoughtSignature":"VGV4\/w=="},{"text":"."}],"role":"model"},"index":0}]}

data: {"candidates":[{"content":{"parts":[{"executableCode":{"language":"PYTHON",  "code":"1"}}],"role":"model"},"index":0}]}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"files__read","args":{"path": "a\u00e9",  "limit": 1e1 },"id":"c1"},"thoughtSignature":"Q2Fs\/w=="},{"functionCall":{"name":"made_up"}}],"role":"model"},"index":0}]}

data: {"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"RW5k\/w=="}],"role":"model"},"finishReason":"STOP","index":0},{"content":{"parts":[{"text":"of another answer"}]},"index":1}],"usageMetadata":{"promptTokenCount":2125,"cachedContentTokenCount":2000,"toolUsePromptTokenCount":7,"candidatesTokenCount":49,"thoughtsTokenCount":40,"totalTokenCount":2221}}

"#;

const HELLO: &str = r#"{"candidates":[{"content":{"parts":[{"text":"Hello"}]}}]}"#;

fn decode(chunks: Chunks) -> Box<dyn pantograph::protocol::ProtocolStream> {
    // Made once: an answer is read thousands of times.
    static ASKED: LazyLock<(GoogleGenerate, Request)> =
        LazyLock::new(|| (protocol(), simple(model())));
    let (protocol, request) = &*ASKED;
    protocol.decode(request, chunks)
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

/// An event with these parts.
fn parts(parts: &str) -> String {
    format!(r#"{{"candidates":[{{"content":{{"parts":[{parts}]}}}}]}}"#)
}

fn finish(reason: &str) -> String {
    format!(r#"{{"candidates":[{{"finishReason":"{reason}"}}]}}"#)
}

#[test]
fn a_whole_answer_is_the_same_however_it_is_cut() {
    insta::assert_snapshot!(render(&every_split(ANSWER, decode)), @r#"
    Usage(Usage { input: Some(2125), output: None, cache_read: None, cache_write: None, reasoning: None })
    ThinkingDelta { index: 0, text: "Ünd" }
    ThinkingDelta { index: 0, text: " 你😀" }
    ThinkingDelta { index: 0, text: "" }
    Raw { index: 0, raw: [{"text":"Ünd 你😀","thought":true},{ "text":"","thought":true, "thoughtSignature":"VGhv\/w==" }] }
    BlockEnd { index: 0 }
    TextDelta { index: 1, text: "I \"read\"" }
    TextDelta { index: 1, text: "\n" }
    TextDelta { index: 1, text: "it" }
    TextDelta { index: 1, text: "." }
    Raw { index: 1, raw: [{"text":"I \"read\"\n"},{"text":"it", "thoughtSignature":"VGV4\/w=="},{"text":"."}] }
    BlockEnd { index: 1 }
    Opaque { index: 2, raw: {"executableCode":{"language":"PYTHON",  "code":"1"}} }
    BlockEnd { index: 2 }
    ToolCallStart { index: 3, id: "c1", name: "files.read" }
    ToolCallDelta { index: 3, json: "{\"path\": \"a\\u00e9\",  \"limit\": 1e1 }" }
    Raw { index: 3, raw: {"thoughtSignature":"Q2Fs\/w=="} }
    BlockEnd { index: 3 }
    ToolCallStart { index: 4, id: "call_fcdb046e93ec1d9677ef225d", name: "made_up" }
    BlockEnd { index: 4 }
    Usage(Usage { input: Some(132), output: Some(89), cache_read: Some(2000), cache_write: None, reasoning: Some(40) })
    TextDelta { index: 5, text: "" }
    Raw { index: 5, raw: [{"text":"","thoughtSignature":"RW5k\/w=="}] }
    BlockEnd { index: 5 }
    Done { stop: ToolCalls }
    "#);
}

#[test]
fn an_answer_that_ends_early_is_never_complete() {
    every_prefix(ANSWER, decode);
}

#[test]
fn an_end_without_a_reason_is_none() {
    insta::assert_snapshot!(render(&answer(&events(&[HELLO]))), @r#"
    TextDelta { index: 0, text: "Hello" }
    transport: the answer broke off: it ended without a `finishReason`
    "#);
    let unspecified = finish("FINISH_REASON_UNSPECIFIED");
    let error = answer(&events(&[HELLO, &unspecified])).error.unwrap();
    assert!(error.class.is_retryable());
}

#[test]
fn each_reason_says_how_the_answer_ended() {
    let mut shown = Vec::new();
    for reason in [
        "STOP",
        "MAX_TOKENS",
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "MALFORMED_RESPONSE",
        "OTHER",
        "FROM_TOMORROW",
    ] {
        let answer = answer(&events(&[&finish(reason)]));
        shown.push(format!("{reason}: {}", render(&answer)));
    }
    let words = r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(1)"}]}"#;
    shown.push(render(&answer(&events(&[words]))));
    insta::assert_snapshot!(shown.join("\n"), @"
    STOP: Done { stop: End }
    MAX_TOKENS: Done { stop: Limit }
    SAFETY: terminal: the provider's content filter stopped the answer (SAFETY) [code SAFETY]
    RECITATION: terminal: the provider's content filter stopped the answer (RECITATION) [code RECITATION]
    LANGUAGE: terminal: the provider's content filter stopped the answer (LANGUAGE) [code LANGUAGE]
    BLOCKLIST: terminal: the provider's content filter stopped the answer (BLOCKLIST) [code BLOCKLIST]
    PROHIBITED_CONTENT: terminal: the provider's content filter stopped the answer (PROHIBITED_CONTENT) [code PROHIBITED_CONTENT]
    SPII: terminal: the provider's content filter stopped the answer (SPII) [code SPII]
    IMAGE_SAFETY: terminal: the provider's content filter stopped the answer (IMAGE_SAFETY) [code IMAGE_SAFETY]
    MALFORMED_FUNCTION_CALL: server: the model wrote a broken tool call (MALFORMED_FUNCTION_CALL) [code MALFORMED_FUNCTION_CALL]
    UNEXPECTED_TOOL_CALL: server: the model called a tool that it does not have (UNEXPECTED_TOOL_CALL) [code UNEXPECTED_TOOL_CALL]
    TOO_MANY_TOOL_CALLS: terminal: the provider stopped the answer: too many tool calls in a row (TOO_MANY_TOOL_CALLS) [code TOO_MANY_TOOL_CALLS]
    MISSING_THOUGHT_SIGNATURE: invalid_request: the provider misses the signature of an earlier tool call (MISSING_THOUGHT_SIGNATURE) [code MISSING_THOUGHT_SIGNATURE]
    MALFORMED_RESPONSE: server: the model wrote a broken answer (MALFORMED_RESPONSE) [code MALFORMED_RESPONSE]
    OTHER: server: the provider stopped the answer without saying why (OTHER) [code OTHER]
    FROM_TOMORROW: terminal: the provider stopped the answer (FROM_TOMORROW) [code FROM_TOMORROW]
    server: the model wrote a broken tool call: Malformed function call: print(1) [code MALFORMED_FUNCTION_CALL]
    ");
}

#[test]
fn a_request_that_is_blocked_says_why() {
    let shown = [
        r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9}}"#,
        r#"{"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"Not this."}}"#,
        r#"{"promptFeedback":{"safetyRatings":[]}}"#,
    ]
    .map(|data| render(&answer(&events(&[data]))));
    insta::assert_snapshot!(shown.join("\n"), @"
    terminal: the provider's content filter refused the request (PROHIBITED_CONTENT) [code PROHIBITED_CONTENT]
    terminal: the provider's content filter refused the request: Not this. [code SAFETY]
    transport: the answer broke off: it ended without a `finishReason`
    ");
}

#[test]
fn usage_counts_each_token_once() {
    let shown = [
        r#"{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":5,"thoughtsTokenCount":7}"#,
        r#"{"promptTokenCount":100,"thoughtsTokenCount":7}"#,
        r#"{"promptTokenCount":1,"cachedContentTokenCount":2,"toolUsePromptTokenCount":3}"#,
        "{}",
        "null",
    ]
    .map(|usage| {
        let last = format!(r#"{{"candidates":[{{"finishReason":"STOP"}}],"usageMetadata":{usage}}}"#);
        render(&answer(&events(&[&last])))
    });
    insta::assert_snapshot!(shown.join("\n"), @"
    Usage(Usage { input: Some(40), output: Some(12), cache_read: Some(60), cache_write: None, reasoning: Some(7) })
    Done { stop: End }
    Usage(Usage { input: Some(100), output: Some(7), cache_read: None, cache_write: None, reasoning: Some(7) })
    Done { stop: End }
    Usage(Usage { input: Some(3), output: None, cache_read: Some(2), cache_write: None, reasoning: None })
    Done { stop: End }
    Usage(Usage { input: None, output: None, cache_read: None, cache_write: None, reasoning: None })
    Done { stop: End }
    Done { stop: End }
    ");
}

#[test]
fn errors_inside_a_stream_are_classified_by_their_code() {
    let object = |code: u16, status: &str, message: &str| {
        format!(r#"{{"error":{{"code":{code},"message":"{message}","status":"{status}"}}}}"#)
    };
    let shown: Vec<String> = [
        object(503, "UNAVAILABLE", "The model is overloaded."),
        object(500, "INTERNAL", "An internal error has occurred."),
        object(504, "DEADLINE_EXCEEDED", "Too slow."),
        object(401, "UNAUTHENTICATED", "No."),
        object(403, "PERMISSION_DENIED", "No."),
        object(404, "NOT_FOUND", "models/gemini-x is not found for API version v1beta."),
        object(400, "INVALID_ARGUMENT", "Function call is missing a thought_signature in functionCall parts."),
        object(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        object(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
        r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}"#.into(),
        r#"{"error":{"code":429,"message":"Quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}"#.into(),
        format!("[{}]", object(503, "UNAVAILABLE", "In a list.")),
        r#"{"error":{}}"#.into(),
        r#"{"candidates":[{"content":{"parts":[{"text":"cut"#.into(),
        r#"[{"candidates":[]}]"#.into(),
        "no JSON".into(),
    ]
    .iter()
    .map(|data| failure(&answer(&events(&[HELLO, data])).error.unwrap()))
    .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    overloaded: The model is overloaded. [code UNAVAILABLE]
    server: An internal error has occurred. [code INTERNAL]
    server: Too slow. [code DEADLINE_EXCEEDED]
    authentication: No. [code UNAUTHENTICATED]
    authentication: No. [code PERMISSION_DENIED]
    model_not_found: models/gemini-x is not found for API version v1beta. [code NOT_FOUND]
    invalid_request: Function call is missing a thought_signature in functionCall parts. [code INVALID_ARGUMENT]
    context_overflow: The input token count (1200000) exceeds the maximum number of tokens allowed (1048576). [code INVALID_ARGUMENT]
    invalid_request: User location is not supported for the API use. [code FAILED_PRECONDITION]
    authentication: API key not valid. [code API_KEY_INVALID]
    rate_limit: Quota. [code RESOURCE_EXHAUSTED] [after 17s]
    overloaded: In a list. [code UNAVAILABLE]
    server: the provider reported an error: {"error":{}}
    transport: the provider sent a broken event: {"candidates":[{"content":{"parts":[{"text":"cut
    transport: the provider sent a broken event: [{"candidates":[]}]
    transport: the provider sent a broken event: no JSON
    "#);
    let named = answer("event: error\ndata: upstream is gone\n\n");
    insta::assert_snapshot!(render(&named), @"server: the provider reported an error: upstream is gone");
}

#[test]
fn calls_without_ids_or_with_taken_ones_get_their_own() {
    let body = events(&[
        &parts(
            r#"{"functionCall":{"name":"find","args":{}}},{"functionCall":{"name":"find","id":"r7x9k2pq"}}"#,
        ),
        &parts(
            r#"{"functionCall":{"name":"find","id":"new"}},{"functionCall":{"name":"find","id":"new"}},{"functionCall":{"name":"find","id":""}}"#,
        ),
        &finish("STOP"),
    ]);
    let ids = |request: &Request| -> Vec<String> {
        let decode = |chunks: Chunks| protocol().decode(request, chunks);
        let events = read(&decode, vec![body.as_bytes()]).events;
        let ids = events.into_iter().filter_map(|event| match event {
            ProtocolEvent::ToolCallStart { id, .. } => Some(id),
            _ => None,
        });
        ids.collect()
    };
    let asked = request(model(), rich(&native()));
    let first = ids(&asked);
    insta::assert_snapshot!(first.join(" "), @"call_d8733cd70635de46a31323c2 call_a02ac6de8286c7f1166495ae new call_71dbc1de4cbe4222fba32b91 call_9a4f334eb14f302a1d46892c");
    assert_eq!(ids(&asked), first);
    let mut later = asked.clone();
    later.conversation.truncate(5);
    assert!(
        ids(&later)
            .iter()
            .all(|id| id == "new" || !first.contains(id))
    );
}

#[test]
fn parts_that_say_nothing_leave_no_block() {
    let body = events(&[
        &parts(r#"{"text":""},{},{"text":"","thought":true},{"thoughtSignature":""}"#),
        &parts(r#"{"text":7,"from":"tomorrow"},{"text":"a"},{"text":"","thoughtSignature":null}"#),
        r#"{"candidates":[{"content":{}}]}"#,
        r#"{"candidates":null}"#,
        &parts(r#"{"thoughtSignature":"U2ln"}"#),
        &finish("STOP"),
    ]);
    insta::assert_snapshot!(render(&answer(&body)), @r#"
    Opaque { index: 0, raw: {"text":7,"from":"tomorrow"} }
    BlockEnd { index: 0 }
    TextDelta { index: 1, text: "a" }
    TextDelta { index: 1, text: "" }
    Raw { index: 1, raw: [{"text":"a"},{"text":"","thoughtSignature":"U2ln"}] }
    BlockEnd { index: 1 }
    Done { stop: End }
    "#);
}

#[test]
fn what_follows_the_reason_to_end_still_counts() {
    let body = events(&[
        HELLO,
        &finish("STOP"),
        &parts(r#"{"functionCall":{"name":"find","args":{},"id":"c"}}"#),
        &finish("STOP"),
    ]);
    insta::assert_snapshot!(render(&answer(&body)), @r#"
    TextDelta { index: 0, text: "Hello" }
    BlockEnd { index: 0 }
    ToolCallStart { index: 1, id: "c", name: "find" }
    ToolCallDelta { index: 1, json: "{}" }
    BlockEnd { index: 1 }
    Done { stop: ToolCalls }
    "#);
}

#[test]
fn a_call_whose_arguments_come_in_pieces_is_never_run() {
    let body = events(&[
        &parts(r#"{"functionCall":{"name":"find","willContinue":true}}"#),
        &parts(r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.id","numberValue":1}]}}"#),
        &finish("STOP"),
    ]);
    insta::assert_snapshot!(render(&answer(&body)), @"terminal: the provider sent the arguments of a tool call in pieces, unasked");
}

#[test]
fn one_event_of_many_megabytes_passes() {
    let text = "x".repeat(8 << 20);
    let body = events(&[&parts(&format!(r#"{{"text":"{text}"}}"#))]);
    let chunks = body.as_bytes().chunks(8 * 1024).collect();
    let answer = read(&decode, chunks);
    assert!(answer.events == [ProtocolEvent::TextDelta { index: 0, text }]);
}

#[tokio::test]
async fn what_an_agent_heard_it_says_again_byte_for_byte() {
    let last = events(&[HELLO, &finish("STOP")]);
    let server = Server::start([Script::events(ANSWER), Script::events(&last)]).await;
    let flags = GoogleGenerateFlags::default();
    let protocol = GoogleGenerate::new(endpoint(&server.url()), flags);
    let mut model = model();
    model.base_url = Some(server.url());
    let agent = Agent::builder(Arc::new(protocol), model)
        .tools(tools())
        .ephemeral();
    let mut turn = agent.run("Hello").unwrap();
    while turn.next().await.is_some() {}
    assert_eq!(agent.conversation().last().unwrap().role, Role::Assistant);
    let sent = String::from_utf8(server.seen()[1].body.clone()).unwrap();
    let body: Value = serde_json::from_str(&sent).unwrap();
    super::accepted(&body, &super::model());
    let made_up = body["contents"][2]["parts"][1]["functionResponse"]["id"].clone();
    let heard = [
        r#"{"text":"Ünd 你😀","thought":true}"#,
        r#"{ "text":"","thought":true, "thoughtSignature":"VGhv\/w==" }"#,
        r#"{"text":"I \"read\"\n"}"#,
        r#"{"text":"it", "thoughtSignature":"VGV4\/w=="}"#,
        r#"{"text":"."}"#,
        r#"{"executableCode":{"language":"PYTHON",  "code":"1"}}"#,
        r#"{"functionCall":{"id":"c1","name":"files__read","args":{"path": "a\u00e9",  "limit": 1e1 }},"thoughtSignature":"Q2Fs\/w=="}"#,
        &format!(r#"{{"functionCall":{{"id":{made_up},"name":"made_up","args":{{}}}}}}"#),
        r#"{"text":"","thoughtSignature":"RW5k\/w=="}"#,
    ];
    assert!(sent.contains(&heard.join(",")), "{sent}");
}

#[tokio::test]
async fn each_status_has_its_class_and_the_providers_words() {
    let cases = [
        (
            400,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#,
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"Unknown name \"x\": Cannot find field.","status":"INVALID_ARGUMENT","details":[{"fieldViolations":[]}]}}]"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"The input token count (2) exceeds the maximum number of tokens allowed (1).","status":"INVALID_ARGUMENT"}}"#,
        ),
        (
            403,
            r#"{"error":{"code":403,"message":"Method doesn't allow unregistered callers.","status":"PERMISSION_DENIED"}}"#,
        ),
        (
            404,
            r#"{"error":{"code":404,"message":"models/gemini-x is not found.","status":"NOT_FOUND"}}"#,
        ),
        (
            429,
            r#"[{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17.5s"}]}}]"#,
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"retryDelay":"44s"}]}}"#,
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"Your prepayment credits are depleted.","status":"RESOURCE_EXHAUSTED"}}"#,
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}"#,
        ),
        (
            503,
            r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#,
        ),
        (
            200,
            r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#,
        ),
        (
            200,
            r#"[{"candidates":[{"content":{"parts":[{"text":"not as events"}]}}]}]"#,
        ),
    ];
    let server = Server::start(cases.map(|(status, body)| Script::json(status, body))).await;
    let protocol = GoogleGenerate::new(endpoint(&server.url()), GoogleGenerateFlags::default());
    let mut shown = Vec::new();
    for _ in cases {
        let answer = ask(&protocol, simple(model())).await;
        shown.push(failure(&answer.error.unwrap()));
    }
    insta::assert_snapshot!(shown.join("\n"), @r#"
    authentication: API key not valid. Please pass a valid API key. (the key is from the test) [status 400] [code API_KEY_INVALID]
    invalid_request: Unknown name "x": Cannot find field. [status 400] [code INVALID_ARGUMENT]
    context_overflow: The input token count (2) exceeds the maximum number of tokens allowed (1). [status 400] [code INVALID_ARGUMENT]
    authentication: Method doesn't allow unregistered callers. (the key is from the test) [status 403] [code PERMISSION_DENIED]
    model_not_found: models/gemini-x is not found. [status 404] [code NOT_FOUND]
    rate_limit: You exceeded your current quota. [status 429] [code RESOURCE_EXHAUSTED] [after 17.5s]
    terminal: You exceeded your current quota. [status 429] [code RESOURCE_EXHAUSTED] [after 44s]
    terminal: Your prepayment credits are depleted. [status 429] [code RESOURCE_EXHAUSTED]
    server: An internal error has occurred. [status 500] [code INTERNAL]
    overloaded: The model is overloaded. [status 503] [code UNAVAILABLE]
    overloaded: The model is overloaded. [status 200] [code UNAVAILABLE]
    terminal: the provider answered with something else than a stream of events: [{"candidates":[{"content":{"parts":[{"text":"not as events"}]}}]}] [status 200]
    "#);
}

/// So does the API when it runs out of capacity amid an answer.
#[tokio::test]
async fn an_error_that_is_no_event_is_one_all_the_same() {
    let error = "{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"High demand.\",\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n";
    let begun = events(&[HELLO]);
    let script = Script::begin().chunk(&begun).chunk(error).end();
    let server = Server::start([script]).await;
    let protocol = GoogleGenerate::new(endpoint(&server.url()), GoogleGenerateFlags::default());
    let over_a_connection = ask(&protocol, simple(model())).await;
    insta::assert_snapshot!(render(&over_a_connection), @r#"
    TextDelta { index: 0, text: "Hello" }
    overloaded: High demand. [code UNAVAILABLE]
    "#);
    assert_eq!(answer(&format!("{begun}{error}")), over_a_connection);
}

#[tokio::test]
async fn an_answer_comes_over_a_connection_as_it_comes_from_a_recording() {
    let server = Server::start([Script::events(ANSWER)]).await;
    let protocol = GoogleGenerate::new(endpoint(&server.url()), GoogleGenerateFlags::default());
    assert_eq!(ask(&protocol, simple(model())).await, answer(ANSWER));
}
