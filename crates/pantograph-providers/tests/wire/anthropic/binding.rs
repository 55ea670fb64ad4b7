//! Thinking goes back only behind what it was thought after.

use std::sync::Arc;

use pantograph::protocol::{ProtocolEvent, Request, ToolChoice};
use pantograph::{
    Agent, Block, Conversation, ForcedTool, Message, Model, ReasoningControl, Role, StopReason,
    ToolStatus,
};
use pantograph_providers::{AnthropicFlags, AnthropicMessages};
use proptest::sample::Index;
use serde_json::{Value, json};

use super::protocol;
use crate::strict;
use crate::support::conversation::{Log, anthropic, call, request, result};
use crate::support::endpoint;
use crate::support::replay::read;
use crate::support::server::{Script, Server};

fn body(request: &Request) -> Value {
    serde_json::from_slice(&protocol().encode(request)).unwrap()
}

/// The request with each answer of its own model as the newest models give it to what stands
/// before it, and as it is kept. Every other answer was asked for with a free choice of tools.
pub(crate) fn lived(mut request: Request) -> Request {
    let mut messages: Vec<Arc<Message>> = Vec::new();
    for (at, message) in request.conversation.messages().iter().enumerate() {
        let mut message = Message::clone(message);
        let is_own = message.origin.as_deref().is_some_and(|origin| {
            origin.style == "anthropic-messages"
                && origin.model == request.model.wire_model
                && origin.base_url.as_deref() == Some(AnthropicMessages::BASE_URL)
        });
        if is_own {
            let mut asked = request.clone();
            asked.conversation = Conversation::from_parts(messages.clone(), None);
            if at % 2 == 0 {
                asked.tool_choice = ToolChoice::Auto;
            }
            answered(&asked, &mut message.blocks);
        }
        messages.push(Arc::new(message));
    }
    request.conversation = Conversation::from_parts(messages, None);
    request
}

/// The conversation with a summary in the place of all before one of its users, if it has some.
pub(crate) fn compacted(conversation: &Conversation, cut: Index) -> Conversation {
    let messages = conversation.messages();
    let users: Vec<usize> = (0..messages.len())
        .filter(|&at| messages[at].role == Role::User)
        .collect();
    let Some(&at) = users.get(cut.index(users.len().max(1))) else {
        return conversation.clone();
    };
    let mut log = Log::default();
    let text = "They spoke.".to_owned();
    log.say(Role::User, vec![Block::Summary { text }]);
    let mut kept = log.conversation.messages().to_vec();
    kept.extend(conversation.system_messages().cloned());
    let tail = messages[at..].iter();
    kept.extend(tail.filter(|m| m.role != Role::System).cloned());
    Conversation::from_parts(kept, None)
}

/// Binds the thinking of an answer to what was `asked`, and keeps what is decoded of it.
fn answered(asked: &Request, blocks: &mut [Block]) {
    let body = body(asked);
    let mut answer: Vec<Value> = Vec::new();
    let mut thought: Vec<(usize, usize)> = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let item = match block {
            Block::Text { text, .. } => json!({ "type": "text", "text": text }),
            Block::Thinking {
                text,
                signature: Some(signature),
                ..
            } if !signature.is_empty() => {
                let signature = strict::anthropic::bind(signature, &body, &answer);
                json!({ "type": "thinking", "thinking": text, "signature": signature })
            }
            Block::Opaque { raw } => {
                let mut item: Value = serde_json::from_str(raw.as_str()).unwrap();
                let data = item["data"].as_str().unwrap();
                item["data"] = strict::anthropic::bind(data, &body, &answer).into();
                item
            }
            _ => continue,
        };
        if item["type"] != "text" {
            thought.push((answer.len(), at));
        }
        answer.push(item);
    }
    let events: String = answer
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let start =
                json!({ "type": "content_block_start", "index": index, "content_block": item });
            let stop = json!({ "type": "content_block_stop", "index": index });
            format!("data: {start}\n\ndata: {stop}\n\n")
        })
        .collect();
    let decode = |chunks| protocol().decode(asked, chunks);
    for event in read(&decode, vec![events.as_bytes()]).events {
        let at = |index: u32| {
            let found = thought.iter().find(|(nth, _)| *nth == index as usize);
            found.unwrap().1
        };
        match event {
            ProtocolEvent::ThinkingSignature { index, signature } => {
                if let Block::Thinking {
                    signature: kept, ..
                } = &mut blocks[at(index)]
                {
                    *kept = Some(signature);
                }
            }
            ProtocolEvent::Raw { index, raw } => {
                if let Block::Thinking { raw: kept, .. } = &mut blocks[at(index)] {
                    *kept = Some(raw);
                }
            }
            ProtocolEvent::Opaque { index, raw } => blocks[at(index)] = Block::Opaque { raw },
            _ => {}
        }
    }
}

/// One that thinks by itself and cannot be forced.
fn model() -> Model {
    let mut model = super::model();
    model.reasoning_control = Some(ReasoningControl::Effort);
    model.forced_tool = ForcedTool::No;
    model
}

fn thinking(text: &str) -> Block {
    Block::Thinking {
        text: text.into(),
        signature: Some(strict::sign("claude-x", text)),
        raw: None,
    }
}

/// A user, an answer that thought and called, and its result.
fn round(log: &mut Log, nth: usize) {
    log.say(Role::User, vec![Block::text(format!("Question {nth}."))]);
    let id = format!("toolu_{nth}");
    let redacted = strict::sign("claude-x", "what");
    let redacted = json!({ "type": "redacted_thinking", "data": format!("what.{redacted}") });
    let blocks = vec![
        thinking(&format!("thought {nth}")),
        Block::Opaque {
            raw: pantograph::RawJson::from_value(&redacted),
        },
        Block::text("Looking."),
        Block::ToolCall(call(&id, "find", "{}")),
    ];
    log.answer(&anthropic(), blocks, StopReason::ToolCalls);
    log.results(vec![result(&id, ToolStatus::Ok, Vec::new())]);
}

fn rounds(count: usize) -> Request {
    let mut log = Log::default();
    (1..=count).for_each(|nth| round(&mut log, nth));
    request(model(), log.conversation)
}

/// Which of the thoughts are in a request, which the API takes.
fn thoughts(request: &Request) -> Vec<String> {
    let body = body(request);
    let facts = strict::anthropic::Facts {
        model: "claude-x",
        budget: false,
        forced_while_thinking: false,
        thinks_unasked: true,
    };
    assert_eq!(strict::anthropic::check(&body, facts), [""; 0]);
    let messages = body["messages"].as_array().unwrap();
    let blocks = messages
        .iter()
        .flat_map(|m| m["content"].as_array().unwrap());
    let blocks: Vec<&Value> = blocks.collect();
    let redacted = blocks.iter().filter(|b| b["type"] == "redacted_thinking");
    let shown: Vec<String> = blocks
        .iter()
        .filter_map(|block| Some(block["thinking"].as_str()?.to_owned()))
        .collect();
    assert!(redacted.count() <= shown.len());
    shown
}

const NONE: [&str; 0] = [];

/// The validator refuses: thinking may be missing from the oldest on, and nothing may change.
#[test]
fn the_api_refuses_thinking_behind_anything_else() {
    let good = body(&lived(rounds(3)));
    let facts = strict::anthropic::Facts {
        model: "claude-x",
        budget: false,
        forced_while_thinking: false,
        thinks_unasked: true,
    };
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut body = good.clone();
        change(&mut body);
        let refusals = strict::anthropic::check(&body, facts);
        let mut bound = refusals
            .iter()
            .map(|refusal| refusal.contains("is bound to"));
        assert!(bound.all(|is_bound| is_bound), "{refusals:?}");
        refusals.len()
    };
    let forget = |answer: usize| {
        move |body: &mut Value| {
            let content = body["messages"][answer]["content"].as_array_mut().unwrap();
            content.drain(..2);
        }
    };
    assert_eq!(refused(&|_| {}), 0);
    assert_eq!(refused(&|body| body["system"][0]["text"] = "x".into()), 6);
    assert_eq!(
        refused(&|body| body["tools"][0]["description"] = "x".into()),
        6
    );
    assert_eq!(
        refused(&|body| body["messages"][2]["content"][1]["text"] = "x".into()),
        4
    );
    assert_eq!(refused(&forget(1)), 0);
    assert_eq!(refused(&forget(3)), 2);
    let moved = |body: &mut Value| {
        body["system"][0]
            .as_object_mut()
            .unwrap()
            .remove("cache_control");
    };
    assert_eq!(refused(&moved), 0);
}

#[test]
fn it_goes_back_behind_what_it_was_thought_after() {
    let request = lived(rounds(3));
    assert_eq!(thoughts(&request), ["thought 1", "thought 2", "thought 3"]);
    let mut other = request.clone();
    let mut model = Model::clone(&request.model);
    model.reasoning = Some("low".into());
    other.model = Arc::new(model);
    assert_eq!(thoughts(&other).len(), 3);
}

#[test]
fn it_stays_away_behind_anything_else() {
    let request = lived(rounds(2));
    let mut other_prompt = request.clone();
    other_prompt.system_prompt = Some("You help a lot.".into());
    assert_eq!(thoughts(&other_prompt), NONE);
    let mut other_tools = request.clone();
    let tools = request.tools.iter().take(1).cloned().collect();
    other_tools.tools = pantograph::ToolSet::new(tools).unwrap();
    assert_eq!(thoughts(&other_tools), NONE);
    // The instruction in its place comes and goes.
    let mut forced = request.clone();
    forced.tool_choice = ToolChoice::Required;
    assert_eq!(thoughts(&forced), NONE);
}

/// Amid its calls too, and what is thought after that goes back again.
#[test]
fn a_summary_takes_the_thinking_before_it_along() {
    let mut request = lived(rounds(2));
    let mut kept = request.conversation.messages()[3..].to_vec();
    let mut log = Log::default();
    let text = "They spoke.".to_owned();
    log.say(Role::User, vec![Block::Summary { text }]);
    let mut messages = log.conversation.messages().to_vec();
    messages.append(&mut kept);
    request.conversation = Conversation::from_parts(messages, None);
    assert_eq!(thoughts(&request), NONE);

    log.conversation = request.conversation.clone();
    let mut blocks = vec![thinking("thought 3"), Block::text("Found.")];
    answered(&request, &mut blocks);
    log.answer(&anthropic(), blocks, StopReason::End);
    log.say(Role::User, vec![Block::text("Thanks.")]);
    request.conversation = log.conversation;
    assert_eq!(thoughts(&request), ["thought 3"]);
}

/// What was thought amid an instruction was thought after another beginning.
#[test]
fn what_was_thought_amid_an_instruction_takes_what_came_before_it_along() {
    let mut forced = lived(rounds(1));
    forced.tool_choice = ToolChoice::Named("find".into());
    let mut log = Log {
        conversation: forced.conversation.clone(),
    };
    let mut blocks = vec![
        thinking("thought 2"),
        Block::ToolCall(call("toolu_2", "find", "{}")),
    ];
    answered(&forced, &mut blocks);
    log.answer(&anthropic(), blocks, StopReason::ToolCalls);
    log.results(vec![result("toolu_2", ToolStatus::Ok, Vec::new())]);
    let mut again = forced.clone();
    again.conversation = log.conversation.clone();
    let body = body(&again).to_string();
    assert!(!body.contains("thought 1") && body.contains("thought 2"));
    again.tool_choice = ToolChoice::Auto;
    assert_eq!(thoughts(&again), NONE);
}

/// The API holds what is thought after a blank text to that text, which it does not take back.
#[test]
fn what_is_thought_after_a_blank_text_never_goes_back() {
    let mut log = Log::default();
    log.say(Role::User, vec![Block::text("Question.")]);
    let blocks = vec![
        thinking("thought 1"),
        Block::text("\n"),
        thinking("thought 2"),
        Block::text("Found."),
    ];
    log.answer(&anthropic(), blocks, StopReason::End);
    log.say(Role::User, vec![Block::text("Thanks.")]);
    let request = lived(request(model(), log.conversation));
    let body = body(&request).to_string();
    assert!(!body.contains("thought"), "{body}");
}

/// Those with a budget must begin with it, and are not held to anything.
#[test]
fn a_model_with_a_budget_gets_it_back_behind_anything() {
    let mut request = lived(rounds(2));
    request.system_prompt = Some("You help a lot.".into());
    let mut model = super::reasoning(ReasoningControl::Budget, "high");
    model.forced_tool = ForcedTool::No;
    request.model = Arc::new(model);
    let body = body(&request).to_string();
    assert!(body.contains("thought 1") && body.contains("thought 2"));
}

/// What an agent keeps of its answers is what it was told, through a compaction and after it.
#[tokio::test]
async fn an_agent_sends_its_thinking_back_until_it_compacts() {
    let answer = |nth: usize| {
        let thinking = json!({
            "type": "thinking", "thinking": "Hm.", "signature": format!("signature {nth}"),
        });
        let words = "word ".repeat(500);
        let text = json!({ "type": "text", "text": format!("Answer {nth}. {words}") });
        let events = [
            json!({ "type": "content_block_start", "index": 0, "content_block": thinking }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "content_block_start", "index": 1, "content_block": text }),
            json!({ "type": "content_block_stop", "index": 1 }),
            json!({ "type": "message_stop" }),
        ];
        let events: String = events.iter().map(|e| format!("data: {e}\n\n")).collect();
        Script::events(&events)
    };
    let server = Server::start((1..=6).map(answer)).await;
    let mut model = model();
    model.base_url = Some(server.url());
    let protocol = AnthropicMessages::new(endpoint(&server.url()), AnthropicFlags::default());
    let agent = Agent::builder(Arc::new(protocol), model).ephemeral();
    for _ in 0..3 {
        agent.ask("Go on.").await.unwrap();
    }
    let mut compaction = agent.compact(None).unwrap();
    while compaction.next().await.is_some() {}
    for _ in 0..2 {
        agent.ask("Go on.").await.unwrap();
    }
    let sent: Vec<Vec<usize>> = server
        .seen()
        .iter()
        .map(|seen| {
            let body = String::from_utf8_lossy(&seen.body);
            let has = |nth: &usize| body.contains(&format!("signature {nth}"));
            (1..=6).filter(has).collect()
        })
        .collect();
    // The fourth is the compaction, whose answer is none of the conversation.
    let wanted: [&[usize]; 6] = [&[], &[1], &[1, 2], &[], &[], &[5]];
    assert_eq!(sent, wanted);
}
