//! The provider's own items, sent back.

use std::sync::Arc;

use pantograph::protocol::Request;
use pantograph::{Agent, Block, RawJson, Role, StopReason};
use pantograph_providers::{OpenAiResponses, OpenAiResponsesFlags};
use serde_json::Value;

use super::answers::{ANSWER, COMPLETED, HELLO, events};
use super::{CALL, MESSAGE, REASONING, model, native, protocol};
use crate::support::conversation::{Log, Native, anthropic, call, foreign, request, rich, tools};
use crate::support::endpoint;
use crate::support::server::{Script, Server};

fn text(request: &Request) -> String {
    String::from_utf8(protocol().encode(request)).unwrap()
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&protocol().encode(request)).unwrap()
}

#[tokio::test]
async fn what_an_agent_heard_it_says_again_byte_for_byte() {
    let last = events(&[HELLO, COMPLETED]);
    let server = Server::start([Script::events(ANSWER), Script::events(&last)]).await;
    let flags = OpenAiResponsesFlags::default();
    let protocol = OpenAiResponses::new(endpoint(&server.url()), flags);
    let agent = Agent::builder(Arc::new(protocol), model())
        .tools(tools())
        .ephemeral();
    let mut turn = agent.run("Hello").unwrap();
    while turn.next().await.is_some() {}
    let request = String::from_utf8(server.seen()[1].body.clone()).unwrap();
    let heard = ANSWER
        .lines()
        .filter(|line| line.contains("response.output_item.done"))
        .map(|line| {
            let (_, item) = line.split_once(r#""item":"#).unwrap();
            item.strip_suffix('}').unwrap()
        });
    let mut heard: Vec<&str> = heard.collect();
    // A call without arguments has an object of them for whoever reads it later.
    heard.pop();
    heard.push(r#"{"type":"function_call","call_id":"call_2","name":"made_up","arguments":"{}"}"#);
    assert!(request.contains(&heard.join(",")), "{request}");
}

/// The input items, one a line, without those of the system.
fn input(request: &Request) -> String {
    let body = body(request);
    let items = body["input"].as_array().unwrap().iter();
    let lines: Vec<String> = items
        .filter(|item| item["role"] != "developer")
        .map(Value::to_string)
        .collect();
    lines.join("\n")
}

/// An answer of these blocks between two user messages, for the model that gave it.
fn answered(blocks: Vec<Block>) -> Request {
    let mut log = Log::default();
    log.say(Role::User, vec![Block::text("Hello")]);
    log.answer(&native(), blocks, StopReason::End);
    log.say(Role::User, vec![Block::text("Go on.")]);
    request(model(), log.conversation)
}

fn thinking(raw: Option<&str>) -> Block {
    Block::Thinking {
        text: "Let me look.".into(),
        signature: None,
        raw: raw.map(|raw| RawJson::parse(raw).unwrap()),
    }
}

fn said(raw: &str) -> Block {
    Block::Text {
        text: "Looking.".into(),
        raw: Some(RawJson::parse(raw).unwrap()),
    }
}

fn called(id: &str, name: &str, input: &str, raw: &str) -> Block {
    let mut call = call(id, name, input);
    call.raw = Some(RawJson::parse(raw).unwrap());
    Block::ToolCall(call)
}

#[test]
fn reasoning_that_the_provider_did_not_encrypt_is_left_out_with_the_ids_that_need_it() {
    let without = r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":null}"#;
    let call = || called("call_01A", "files.read", "{}", CALL);
    let shown = |first: Block| input(&answered(vec![first, said(MESSAGE), call()]));
    let cut = shown(thinking(Some(without)));
    insta::assert_snapshot!(cut, @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]}
    {"type":"message","role":"assistant","content":"Looking."}
    {"type":"function_call","call_id":"call_01A","name":"files__read","arguments":"{}"}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"Go on."}]}
    "#);
    assert_eq!(shown(thinking(None)), cut);
    assert_eq!(
        shown(thinking(Some(r#"{"type":"reasoning","content":7}"#))),
        cut
    );
}

#[test]
fn reasoning_in_clear_goes_back_as_well() {
    let clear = r#"{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]}"#;
    let text = text(&answered(vec![thinking(Some(clear)), said(MESSAGE)]));
    assert!(text.contains(&format!("{clear},{MESSAGE}")), "{text}");
}

#[test]
fn reasoning_that_nothing_follows_is_left_out() {
    let only = input(&answered(vec![thinking(Some(REASONING))]));
    insta::assert_snapshot!(only, @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"Go on."}]}
    "#);
    let after = vec![
        thinking(Some(REASONING)),
        said(MESSAGE),
        thinking(Some(REASONING)),
    ];
    let after = text(&answered(after));
    assert!(
        after.contains(&format!("{REASONING},{MESSAGE},{{")),
        "{after}"
    );
    assert_eq!(after.matches(REASONING).count(), 1);
}

#[test]
fn a_call_that_is_not_what_its_item_says_is_written_anew() {
    let arguments = r#"{ "path": "a\u00e9.txt",  "limit": 1e1 }"#;
    let shown = |id: &str, name: &str, input: &str| {
        let call = called(id, name, input, CALL);
        let request = answered(vec![thinking(Some(REASONING)), call]);
        text(&request).contains(CALL)
    };
    assert!(shown("call_01A", "files.read", arguments));
    assert!(!shown("call_01B", "files.read", arguments));
    assert!(!shown("call_01A", "find", arguments));
    assert!(!shown("call_01A", "files.read", "{}"));
    let broken =
        r#"{"type":"function_call","call_id":"call_1","name":"find","arguments":"{\"a\":"}"#;
    let request = answered(vec![called("call_1", "find", r#"{"a":"#, broken)]);
    insta::assert_snapshot!(input(&request), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]}
    {"type":"function_call","call_id":"call_1","name":"find","arguments":"{\"malformed_input\":\"{\\\"a\\\":\"}"}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"Go on."}]}
    "#);
}

/// Every call has one output after it, whatever ids it came with.
#[test]
fn calls_and_outputs_stay_pairs() {
    let pairs = |native: &Native| {
        let body = body(&request(model(), rich(native)));
        let ids = |kind: &str| -> Vec<Value> {
            let items = body["input"].as_array().unwrap().iter();
            let items = items.filter(|item| item["type"] == kind);
            items.map(|item| item["call_id"].clone()).collect()
        };
        assert_eq!(ids("function_call").len(), 3);
        assert_eq!(ids("function_call"), ids("function_call_output"));
    };
    for native in [native(), anthropic(), foreign()] {
        pairs(&native);
    }
}
