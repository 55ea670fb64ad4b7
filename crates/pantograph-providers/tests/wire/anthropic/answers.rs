//! What is heard.

use pantograph::protocol::ProtocolEvent;

use super::{model, protocol};
use crate::support::conversation::simple;
use crate::support::replay::{Chunks, every_prefix, every_split, read};
use crate::support::{failure, render};

/// A whole answer, written after the API's documentation: thinking, a redacted block, text, two
/// calls, and events that nobody knows.
const ANSWER: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

: keep-alive

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Ünd"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" \u4f60\ud83d\ude00"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB/+=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking",  "data":"Em4\/"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I \"read\"\n"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"page_location"}}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"files__read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a\\"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"u00e9\" }"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"made_up","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: from_tomorrow
data: {"type":"from_tomorrow","index":"seven"}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89,"output_tokens_details":{"thinking_tokens":40}}}

event: message_stop
data: {"type":"message_stop"}

"#;

fn decode(chunks: Chunks) -> Box<dyn pantograph::protocol::ProtocolStream> {
    protocol().decode(&simple(model()), chunks)
}

fn answer(body: &str) -> crate::support::Answer {
    read(&decode, vec![body.as_bytes()])
}

/// The events of one `data` line each.
fn events(data: &[&str]) -> String {
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
fn each_stop_reason_says_how_the_answer_ended() {
    let shown: Vec<String> = [
        "end_turn",
        "tool_use",
        "max_tokens",
        "stop_sequence",
        "pause_turn",
        "model_context_window_exceeded",
        "refusal",
        "from_tomorrow",
    ]
    .iter()
    .map(|reason| {
        let delta = format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_details":{{"type":"refusal","category":"x","explanation":"unsafe"}}}},"usage":null}}"#
        );
        let body = events(&[&delta, r#"{"type":"message_stop"}"#]);
        format!("{reason}: {}", render(&answer(&body)))
    })
    .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn errors_inside_a_stream_are_classified_by_their_code() {
    let shown: Vec<String> = [
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}"#,
        r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#,
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1: bad"}}"#,
        r#"{"type":"error","error":{"type":"from_tomorrow","message":"?"}}"#,
        r#"{"error":"plain words"}"#,
        r#"{"error":{"code":503,"message":"upstream"}}"#,
        r#"{"type":"error"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"text":"cut"#,
        "no JSON",
    ]
    .iter()
    .map(|data| failure(&answer(&events(&[data])).error.unwrap()))
    .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn blocks_that_only_the_provider_understands_are_kept_with_their_deltas() {
    let body = events(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s1","name":"web","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"q\":"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1}"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"from_tomorrow","text":7}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
    ]);
    insta::assert_snapshot!(render(&answer(&body)));
}

#[test]
fn whole_blocks_count_where_a_server_sends_no_deltas() {
    let body = events(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm.","signature":"s"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"Hi"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"find","input":{ "id": 1 }}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"of no block"}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    insta::assert_snapshot!(render(&answer(&body)));
}

#[test]
fn one_event_of_many_megabytes_passes() {
    let text = "x".repeat(8 << 20);
    let body = events(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        &format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        ),
    ]);
    let chunks = body.as_bytes().chunks(8 * 1024).collect();
    let answer = read(&decode, chunks);
    let expected = ProtocolEvent::TextDelta { index: 0, text };
    assert!(answer.events == [expected] && answer.error.is_none());
}
