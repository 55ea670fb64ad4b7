//! Conversations that move: from each protocol to each other, to another model, and back.
//!
//! The snapshots show the conversation as the new provider gets it, one message a line.

use pantograph::protocol::Request;
use pantograph::{Block, Conversation, Role, StopReason};
use serde_json::Value;

use crate::party::{Party, Step};
use crate::support::conversation::{Log, Native, call, request, result, rich};
use crate::{google_generate, strict};

/// The body that `to` gets for a conversation.
fn body(to: Party, conversation: Conversation) -> (String, Value) {
    sent(to, &request(to.model(), conversation))
}

fn sent(to: Party, request: &Request) -> (String, Value) {
    let text = to.encode(request);
    let body = serde_json::from_str(&text).unwrap();
    (text, body)
}

fn lines(to: Party, body: &Value) -> String {
    let messages = to.messages(body).iter().map(Value::to_string);
    messages.collect::<Vec<_>>().join("\n")
}

/// Panics where what must hold of every request does not.
fn check(to: Party, body: &Value) {
    let mut open: Vec<String> = Vec::new();
    let mut answered = false;
    let mut seen: Vec<String> = Vec::new();
    for step in to.steps(body) {
        match step {
            Step::Call(id) => {
                assert!(!answered || open.is_empty(), "a call amid results");
                assert!(to.takes_id(&id), "{to:?} takes no id {id:?}");
                assert!(!seen.contains(&id), "the id {id} again");
                seen.push(id.clone());
                open.push(id);
                answered = false;
            }
            Step::Result(id) => {
                assert_eq!(open.first(), Some(&id), "a result out of order");
                open.remove(0);
                answered = true;
            }
            Step::Other => assert!(open.is_empty(), "calls without results: {open:?}"),
        }
    }
    assert!(open.is_empty(), "calls without results: {open:?}");
    for message in to.messages(body) {
        is_filled(message);
    }
    match to {
        Party::Chat => assert_eq!(strict::openai_chat::check(body, "openrouter"), [""; 0]),
        Party::Google => google_generate::accepted(body, &to.model()),
        Party::Anthropic => alternates(to.messages(body)),
        Party::Responses => {}
    }
}

fn alternates(messages: &[Value]) {
    for (at, message) in messages.iter().enumerate() {
        let role = ["user", "assistant"][at % 2];
        assert_eq!(message["role"], role, "{at}");
    }
}

/// Panics at a text or a list of parts that is empty, unless it is the place of a signature.
fn is_filled(value: &Value) {
    match value {
        Value::Array(items) => {
            items.iter().for_each(is_filled);
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                let is_signed = fields.contains_key("thoughtSignature");
                match (&**key, field) {
                    ("text", Value::String(text)) => {
                        assert!(is_signed || !text.trim().is_empty(), "{value}");
                    }
                    ("content" | "parts" | "tool_calls", Value::Array(items)) => {
                        assert!(!items.is_empty(), "{value}");
                    }
                    ("content" | "output", Value::String(text)) => {
                        assert!(!text.trim().is_empty(), "{value}");
                    }
                    _ => {}
                }
                // What is called with is the tool's, and may be anything.
                if !matches!(&**key, "input" | "args") {
                    is_filled(field);
                }
            }
        }
        _ => {}
    }
}

fn has_none_of(text: &str, from: Party) {
    for own in from.own() {
        assert!(!text.contains(own), "{own} of {from:?} in {text}");
    }
}

fn pairs() -> impl Iterator<Item = (Party, Party)> {
    Party::ALL.into_iter().flat_map(|from| {
        let others = Party::ALL.into_iter().filter(move |to| *to != from);
        others.map(move |to| (from, to))
    })
}

#[test]
fn a_conversation_goes_on_at_each_other_protocol() {
    for (from, to) in pairs() {
        let (text, body) = body(to, rich(&from.native()));
        check(to, &body);
        has_none_of(&text, from);
        assert!(!text.contains("Let me look."), "{from:?}'s thoughts");
        let name = format!("{}_to_{}", from.name(), to.name());
        insta::assert_snapshot!(name, lines(to, &body));
    }
}

#[test]
fn another_model_of_the_same_provider_is_elsewhere() {
    for party in Party::ALL {
        let mut model = party.model();
        model.wire_model.push_str("-2");
        let (text, body) = sent(party, &request(model, rich(&party.native())));
        check(party, &body);
        has_none_of(&text, party);
        let name = format!("{}_to_another_model", party.name());
        insta::assert_snapshot!(name, lines(party, &body));
    }
}

#[test]
fn each_provider_gets_its_own_back() {
    for party in Party::ALL {
        let (text, body) = body(party, rich(&party.native()));
        check(party, &body);
        for own in party.own() {
            assert!(text.contains(own), "{own} in {text}");
        }
    }
}

/// Every beginning of a conversation that a request may be made of.
#[test]
fn a_conversation_may_move_at_any_time() {
    for (from, to) in pairs() {
        let all = rich(&from.native());
        for messages in 1..all.len() {
            let mut part = all.clone();
            part.truncate(messages);
            let speaks = part.messages().last().unwrap().role;
            if matches!(speaks, Role::User | Role::Tool) {
                let (text, body) = body(to, part);
                check(to, &body);
                has_none_of(&text, from);
            }
        }
    }
}

/// An answer of one provider after that of another, both with their own items.
fn both(first: &Native, second: &Native) -> Conversation {
    let mut log = Log {
        conversation: rich(first),
    };
    let mut called = call("second_1", "find", "{}");
    called.raw = second.call.clone();
    let mut blocks = vec![Block::Thinking {
        text: "Hm.".into(),
        signature: second.signature.map(str::to_owned),
        raw: second.thinking.clone(),
    }];
    blocks.extend(second.opaque.clone().map(|raw| Block::Opaque { raw }));
    blocks.push(Block::ToolCall(called));
    log.answer(second, blocks, StopReason::ToolCalls);
    let text = pantograph::ToolContent::Text("found".into());
    log.results(vec![result(
        "second_1",
        pantograph::ToolStatus::Ok,
        vec![text],
    )]);
    log.conversation
}

#[test]
fn a_conversation_that_comes_back_finds_its_own_items_and_no_others() {
    for (first, second) in pairs() {
        let conversation = both(&first.native(), &second.native());
        for (home, guest) in [(first, second), (second, first)] {
            let (text, body) = body(home, conversation.clone());
            check(home, &body);
            has_none_of(&text, guest);
            let opaque = home.native().opaque.unwrap();
            let opaque = opaque.as_str().trim_matches(['[', ']']);
            assert!(text.contains(opaque), "{opaque} in {text}");
        }
    }
}
