//! What is heard.

use std::sync::LazyLock;

use pantograph::protocol::{ProtocolEvent, Request};
use pantograph_providers::{OpenAiResponses, OpenAiResponsesFlags};

use serde_json::json;

use super::{model, protocol};
use crate::support::conversation::simple;
use crate::support::replay::{Chunks, every_prefix, every_split, read};
use crate::support::server::{Script, Server};
use crate::support::{ask, endpoint, failure, render};

/// A whole answer, written after the API's documentation: reasoning with a summary in two parts,
/// a search that only the provider understands, a message, two calls, and an event that nobody
/// knows.
pub(super) const ANSWER: &str = r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","error":null,"output":[],"usage":null}}

: keep-alive

data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gA","summary":[]}}

data: {"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0,"part":{"text":""}}

data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Ünd","obfuscation":"x9"}

data: {"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":" \u4f60\ud83d\ude00"}

data: {"type":"response.reasoning_summary_text.done","output_index":0,"summary_index":0,"text":"Ünd 你😀"}

data: {"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"then"}

data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1",  "type":"reasoning","encrypted_content":"gAB\/x==","summary":[{"text":"Ünd \u4f60😀"},{"text":"then"}]}}

data: {"type":"response.output_item.added","output_index":1,"item":{"id":"ws_1","type":"web_search_call"}}

data: {"type":"response.web_search_call.searching","output_index":1}

data: {"type":"response.output_item.done","output_index":1,"item":{"id":"ws_1","type":"web_search_call","content":7}}

data: {"type":"response.output_item.added","output_index":2,"item":{"id":"msg_1","type":"message","content":[]}}

data: {"type":"response.content_part.added","output_index":2,"content_index":0,"part":{"text":""}}

data: {"type":"response.output_text.delta","output_index":2,"content_index":0,"delta":"I \"read\"","logprobs":[]}

data: {"type":"response.output_text.delta","output_index":2,"content_index":0,"delta":"\n"}

data: {"type":"response.output_text.done","output_index":2,"content_index":0,"text":"I \"read\"\n"}

data: {"type":"response.content_part.done","output_index":2,"part":{"text":"I \"read\"\n"}}

data: {"type":"response.output_item.done","output_index":2,"item":{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"I \"read\"\n"}],"phase":"commentary"}}

data: {"type":"response.output_item.added","output_index":3,"item":{"id":"fc_1","type":"function_call","arguments":"","call_id":"call_1","name":"files__read"}}

data: {"type":"response.function_call_arguments.delta","output_index":3,"delta":"{\"path\": \"a\\"}

data: {"type":"response.function_call_arguments.delta","output_index":3,"delta":"u00e9\" }"}

data: {"type":"response.function_call_arguments.done","output_index":3,"arguments":"{\"path\": \"a\\u00e9\" }"}

data: {"type":"response.output_item.done","output_index":3,"item":{"id":"fc_1","type":"function_call","arguments":"{\"path\": \"a\\u00e9\" }","call_id":"call_1","name":"files__read"}}

data: {"type":"response.output_item.added","output_index":4,"item":{"id":"fc_2","type":"function_call","arguments":"","call_id":"call_2","name":"made_up"}}

data: {"type":"response.output_item.done","output_index":4,"item":{"id":"fc_2","type":"function_call","arguments":"","call_id":"call_2","name":"made_up"}}

data: {"type":"response.from_tomorrow","output_index":"seven","delta":{}}

data: {"type":"response.completed","response":{"error":null,"usage":{"input_tokens":2125,"input_tokens_details":{"cached_tokens":2000},"output_tokens":89,"output_tokens_details":{"reasoning_tokens":40},"total_tokens":2214}}}

"#;

pub(super) const HELLO: &str =
    r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hello"}"#;
pub(super) const COMPLETED: &str = r#"{"type":"response.completed","response":{"usage":null}}"#;

fn decode(chunks: Chunks) -> Box<dyn pantograph::protocol::ProtocolStream> {
    // Made once: an answer is read thousands of times.
    static ASKED: LazyLock<(OpenAiResponses, Request)> =
        LazyLock::new(|| (protocol(), simple(model())));
    let (protocol, request) = &*ASKED;
    protocol.decode(request, chunks)
}

fn answer(body: &str) -> crate::support::Answer {
    read(&decode, vec![body.as_bytes()])
}

/// The events of one `data` line each.
pub(super) fn events(data: &[&str]) -> String {
    data.iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect()
}

#[test]
fn a_whole_answer_is_the_same_however_it_is_cut() {
    insta::assert_snapshot!(render(&every_split(ANSWER, decode)));
}

#[test]
fn an_answer_that_ends_early_is_never_complete() {
    every_prefix(ANSWER, decode);
}

#[test]
fn what_follows_the_last_event_does_not_matter() {
    let whole = answer(ANSWER);
    assert_eq!(
        answer(&format!("{ANSWER}data: [DONE]\n\n<junk>\n\n")),
        whole
    );
    assert_eq!(answer(&format!("{ANSWER}data: junk\n\n")), whole);
}

#[test]
fn an_end_that_is_no_last_event_is_none() {
    let body = events(&[HELLO, "[DONE]"]);
    insta::assert_snapshot!(render(&answer(&body)), @r#"
    TextDelta { index: 0, text: "" }
    TextDelta { index: 0, text: "Hello" }
    "#);
}

#[test]
fn an_incomplete_answer_says_why() {
    let shown: Vec<String> = [
        r#"{"reason":"max_output_tokens"}"#,
        r#"{"reason":"content_filter"}"#,
        r#"{"reason":"from_tomorrow"}"#,
        "null",
    ]
    .iter()
    .map(|details| {
        let last = format!(
            r#"{{"type":"response.incomplete","response":{{"incomplete_details":{details},"usage":{{"output_tokens":7}}}}}}"#
        );
        format!("{details}\n{}", render(&answer(&events(&[HELLO, &last]))))
    })
    .collect();
    insta::assert_snapshot!(shown.join("\n\n"), @r#"
    {"reason":"max_output_tokens"}
    TextDelta { index: 0, text: "" }
    TextDelta { index: 0, text: "Hello" }
    Usage(Usage { input: None, output: Some(7), cache_read: None, cache_write: None, reasoning: None })
    Done { stop: Limit }

    {"reason":"content_filter"}
    TextDelta { index: 0, text: "" }
    TextDelta { index: 0, text: "Hello" }
    terminal: the provider's content filter stopped the answer [code content_filter]

    {"reason":"from_tomorrow"}
    TextDelta { index: 0, text: "" }
    TextDelta { index: 0, text: "Hello" }
    Usage(Usage { input: None, output: Some(7), cache_read: None, cache_write: None, reasoning: None })
    Done { stop: Limit }

    null
    TextDelta { index: 0, text: "" }
    TextDelta { index: 0, text: "Hello" }
    Usage(Usage { input: None, output: Some(7), cache_read: None, cache_write: None, reasoning: None })
    Done { stop: Limit }
    "#);
}

#[test]
fn what_the_cache_gave_and_took_is_no_plain_input() {
    let shown: Vec<String> = [
        r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"output_tokens":5}"#,
        r#"{"input_tokens":100,"input_tokens_details":null,"output_tokens_details":{"reasoning_tokens":3}}"#,
        r#"{"input_tokens":1,"input_tokens_details":{"cached_tokens":2}}"#,
        "7",
    ]
    .iter()
    .map(|usage| {
        let last = format!(r#"{{"type":"response.completed","response":{{"usage":{usage}}}}}"#);
        render(&answer(&events(&[&last])))
    })
    .collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    Usage(Usage { input: Some(10), output: Some(5), cache_read: Some(60), cache_write: Some(30), reasoning: None })
    Done { stop: End }
    Usage(Usage { input: Some(100), output: None, cache_read: None, cache_write: None, reasoning: Some(3) })
    Done { stop: End }
    Usage(Usage { input: Some(0), output: None, cache_read: Some(2), cache_write: None, reasoning: None })
    Done { stop: End }
    Done { stop: End }
    ");
}

#[test]
fn errors_inside_a_stream_are_classified_by_their_code() {
    let failed = |error: &str| {
        format!(
            r#"{{"type":"response.failed","response":{{"status":"failed","error":{error},"usage":null}}}}"#
        )
    };
    let shown: Vec<String> = [
        failed(r#"{"code":"server_error","message":"An error occurred."}"#),
        failed(r#"{"code":"rate_limit_exceeded","message":"Rate limit reached. Please try again in 1.898s."}"#),
        failed(r#"{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}"#),
        failed(r#"{"code":"invalid_prompt","message":"Bad prompt."}"#),
        failed(r#"{"code":"invalid_base64_image","message":"Bad image."}"#),
        failed(r#"{"code":"insufficient_quota","message":"Pay."}"#),
        failed(r#"{"code":"server_is_overloaded","message":"Busy."}"#),
        failed("null"),
        r#"{"type":"error","code":"rate_limit_exceeded","message":"Slow down","param":null,"sequence_number":3}"#.into(),
        r#"{"type":"error","sequence_number":2,"error":{"type":"tokens","code":"context_length_exceeded","message":"Too long","param":"input"}}"#.into(),
        r#"{"type":"error","error":{"type":"invalid_request_error","code":null,"message":"This model's maximum context length is 8192 tokens."}}"#.into(),
        r#"{"error":{"code":503,"message":"upstream"}}"#.into(),
        r#"{"type":"error"}"#.into(),
        r#"{"type":"response.output_text.delta","delta":"cut"#.into(),
        "no JSON".into(),
    ]
    .iter()
    .map(|data| failure(&answer(&events(&[data])).error.unwrap()))
    .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    server: An error occurred. [code server_error]
    rate_limit: Rate limit reached. Please try again in 1.898s. [code rate_limit_exceeded] [after 1.898s]
    context_overflow: Your input exceeds the context window of this model. [code context_length_exceeded]
    invalid_request: Bad prompt. [code invalid_prompt]
    invalid_request: Bad image. [code invalid_base64_image]
    terminal: Pay. [code insufficient_quota]
    overloaded: Busy. [code server_is_overloaded]
    server: the provider reported an error: {"type":"response.failed","response":{"status":"failed","error":null,"usage":null}}
    rate_limit: Slow down [code rate_limit_exceeded]
    context_overflow: Too long [code context_length_exceeded]
    context_overflow: This model's maximum context length is 8192 tokens. [code invalid_request_error]
    overloaded: upstream
    server: the provider reported an error: {"type":"error"}
    transport: the provider sent a broken event: {"type":"response.output_text.delta","delta":"cut
    transport: the provider sent a broken event: no JSON
    "#);
    let named = answer("event: error\ndata: upstream is gone\n\n");
    insta::assert_snapshot!(render(&named), @"server: the provider reported an error: upstream is gone");
}

#[test]
fn whole_items_count_where_a_server_sends_no_deltas() {
    let body = events(&[
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","summary":[{"text":"a"},{"text":"b"}],"content":null}}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","content":[]}}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"text":"Hi"},{"refusal":"no"}]}}"#,
        r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call"}}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{"}"#,
        r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_1","name":"find","arguments":"{ \"id\": 1 }"}}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":9,"delta":"of no item"}"#,
        COMPLETED,
    ]);
    insta::assert_snapshot!(render(&answer(&body)), @r#"
    ThinkingDelta { index: 0, text: "" }
    ThinkingDelta { index: 0, text: "a\n\nb" }
    Raw { index: 0, raw: {"type":"reasoning","summary":[{"text":"a"},{"text":"b"}],"content":null} }
    BlockEnd { index: 0 }
    TextDelta { index: 1, text: "" }
    TextDelta { index: 1, text: "Hi\n\nno" }
    Raw { index: 1, raw: {"type":"message","content":[{"text":"Hi"},{"refusal":"no"}]} }
    BlockEnd { index: 1 }
    ToolCallStart { index: 2, id: "fc_1", name: "find" }
    ToolCallDelta { index: 2, json: "{ \"id\": 1 }" }
    Raw { index: 2, raw: {"type":"function_call","id":"fc_1","name":"find","arguments":"{ \"id\": 1 }"} }
    BlockEnd { index: 2 }
    Done { stop: ToolCalls }
    "#);
}

#[test]
fn deltas_of_items_that_did_not_begin_begin_them() {
    let body = events(&[
        r#"{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"Hm"}"#,
        r#"{"type":"response.reasoning_text.delta","output_index":0,"content_index":1,"delta":"so"}"#,
        HELLO,
        r#"{"type":"response.refusal.delta","output_index":0,"content_index":1,"delta":"I can"}"#,
        r#"{"type":"response.refusal.delta","output_index":0,"content_index":1,"delta":"not."}"#,
        r#"{"type":"response.output_text.delta","delta":"of the last"}"#,
        r#"{"type":"response.completed"}"#,
    ]);
    insta::assert_snapshot!(render(&answer(&body)), @r#"
    ThinkingDelta { index: 0, text: "" }
    ThinkingDelta { index: 0, text: "Hm" }
    ThinkingDelta { index: 0, text: "\n\nso" }
    TextDelta { index: 1, text: "" }
    TextDelta { index: 1, text: "Hello" }
    TextDelta { index: 1, text: "\n\nI can" }
    TextDelta { index: 1, text: "not." }
    TextDelta { index: 1, text: "\n\nof the last" }
    Done { stop: End }
    "#);
}

#[test]
fn a_call_that_the_limit_cut_does_not_end() {
    let body = events(&[
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","status":"completed","call_id":"a","name":"find","arguments":"{}"}}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"b","name":"find","arguments":""}}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","status":"incomplete","call_id":"b","name":"find","arguments":""}}"#,
        r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#,
    ]);
    insta::assert_snapshot!(render(&answer(&body)), @r#"
    ToolCallStart { index: 0, id: "a", name: "find" }
    ToolCallDelta { index: 0, json: "{}" }
    Raw { index: 0, raw: {"type":"function_call","status":"completed","call_id":"a","name":"find","arguments":"{}"} }
    BlockEnd { index: 0 }
    ToolCallStart { index: 1, id: "b", name: "find" }
    Done { stop: Limit }
    "#);
}

#[test]
fn items_that_overlap_stay_apart() {
    let added = |index: u32, id: &str| {
        format!(
            r#"{{"type":"response.output_item.added","output_index":{index},"item":{{"type":"function_call","call_id":"{id}","name":"find","arguments":""}}}}"#
        )
    };
    let delta = |index: u32, json: &str| {
        format!(
            r#"{{"type":"response.function_call_arguments.delta","output_index":{index},"delta":"{json}"}}"#
        )
    };
    let body = events(&[
        &added(0, "a"),
        &added(1, "b"),
        &delta(0, "{"),
        &delta(1, "["),
        &delta(0, "}"),
        &delta(1, "]"),
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a","name":"find","arguments":"{}"}}"#,
        COMPLETED,
    ]);
    insta::assert_snapshot!(render(&answer(&body)), @r#"
    ToolCallStart { index: 0, id: "a", name: "find" }
    ToolCallStart { index: 1, id: "b", name: "find" }
    ToolCallDelta { index: 0, json: "{" }
    ToolCallDelta { index: 1, json: "[" }
    ToolCallDelta { index: 0, json: "}" }
    ToolCallDelta { index: 1, json: "]" }
    Raw { index: 0, raw: {"type":"function_call","call_id":"a","name":"find","arguments":"{}"} }
    BlockEnd { index: 0 }
    Done { stop: ToolCalls }
    "#);
}

#[test]
fn a_message_without_words_leaves_no_item() {
    let body = events(&[
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}"#,
        COMPLETED,
    ]);
    insta::assert_snapshot!(render(&answer(&body)), @r#"
    TextDelta { index: 0, text: "" }
    BlockEnd { index: 0 }
    Done { stop: End }
    "#);
}

#[test]
fn one_event_of_many_megabytes_passes() {
    let text = "x".repeat(8 << 20);
    let body = events(&[&format!(
        r#"{{"type":"response.output_text.delta","output_index":0,"delta":"{text}"}}"#
    )]);
    let chunks = body.as_bytes().chunks(8 * 1024).collect();
    let answer = read(&decode, chunks);
    let begun = |text| ProtocolEvent::TextDelta { index: 0, text };
    assert!(answer.events == [begun(String::new()), begun(text)] && answer.error.is_none());
}

#[tokio::test]
async fn each_status_has_its_class_and_the_providers_words() {
    let cases = "\
        400 invalid_request_error context_length_exceeded Too long.
        400 invalid_request_error - Your input exceeds the context window of this model.
        400 invalid_request_error string_above_max_length Expected a shorter string.
        400 invalid_request_error unsupported_parameter Unsupported parameter: 'x'.
        400 invalid_request_error - Item 'rs_1' of type 'reasoning' was provided without its item.
        401 invalid_request_error invalid_api_key Incorrect API key provided.
        403 request_forbidden unsupported_country_region_territory Not here.
        404 invalid_request_error model_not_found The model `gpt-x` does not exist.
        429 insufficient_quota insufficient_quota You exceeded your current quota.
        429 tokens rate_limit_exceeded Rate limit reached.
        500 server_error - The server had an error.
        503 server_error slow_down Slow down.";
    let scripts = cases.lines().map(|case| {
        let [status, kind, code, message]: [&str; 4] = case
            .trim_start()
            .splitn(4, ' ')
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        let code = (code != "-").then_some(code);
        let error = json!({ "message": message, "type": kind, "param": null, "code": code });
        let headers = "content-type: application/json\r\nx-request-id: req_1\r\n";
        let body = json!({ "error": error }).to_string();
        Script::answer(status.parse().unwrap(), headers, body)
    });
    let server = Server::start(scripts).await;
    let flags = OpenAiResponsesFlags::default();
    let protocol = OpenAiResponses::new(endpoint(&server.url()), flags);
    let mut shown = Vec::new();
    for _ in cases.lines() {
        let answer = ask(&protocol, simple(model())).await;
        shown.push(failure(&answer.error.unwrap()));
    }
    insta::assert_snapshot!(shown.join("\n"), @"
    context_overflow: Too long. [status 400] [code context_length_exceeded] [id req_1]
    context_overflow: Your input exceeds the context window of this model. [status 400] [code invalid_request_error] [id req_1]
    context_overflow: Expected a shorter string. [status 400] [code string_above_max_length] [id req_1]
    invalid_request: Unsupported parameter: 'x'. [status 400] [code unsupported_parameter] [id req_1]
    invalid_request: Item 'rs_1' of type 'reasoning' was provided without its item. [status 400] [code invalid_request_error] [id req_1]
    authentication: Incorrect API key provided. (the key is from the test) [status 401] [code invalid_api_key] [id req_1]
    authentication: Not here. (the key is from the test) [status 403] [code unsupported_country_region_territory] [id req_1]
    model_not_found: The model `gpt-x` does not exist. [status 404] [code model_not_found] [id req_1]
    terminal: You exceeded your current quota. [status 429] [code insufficient_quota] [id req_1]
    rate_limit: Rate limit reached. [status 429] [code rate_limit_exceeded] [id req_1]
    server: The server had an error. [status 500] [code server_error] [id req_1]
    overloaded: Slow down. [status 503] [code slow_down] [id req_1]
    ");
}

#[tokio::test]
async fn an_answer_comes_over_a_connection_as_it_comes_from_a_recording() {
    let server = Server::start([Script::events(ANSWER)]).await;
    let flags = OpenAiResponsesFlags::default();
    let protocol = OpenAiResponses::new(endpoint(&server.url()), flags);
    assert_eq!(ask(&protocol, simple(model())).await, answer(ANSWER));
}
