use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::attachment::Attachment;
use crate::ids::{MessageId, SessionId};
use crate::message::{Metadata, ToolCall, ToolResult, ToolStatus};
use crate::session::{Compaction, Header, Record, SessionTree};
use crate::tool::ToolDeclaration;
use crate::usage::Usage;

/// A message of 30 bytes of text, which follows another.
fn message(role: Role, id: &str, parent: Option<&str>) -> Message {
    Message {
        id: MessageId::new(id),
        parent: parent.map(MessageId::new),
        at: Timestamp::UNIX_EPOCH,
        role,
        blocks: vec![Block::text("x".repeat(30))],
        metadata: Metadata::new(),
        origin: None,
        usage: None,
        stop: None,
    }
}

fn answer(id: &str, parent: &str, input: u64, output: Option<u64>) -> Message {
    Message {
        usage: Some(Usage {
            input: Some(input),
            output,
            ..Usage::default()
        }),
        ..message(Role::Assistant, id, Some(parent))
    }
}

fn blocks(blocks: Vec<Block>) -> u64 {
    let message = message(Role::User, "m", None);
    message_tokens(&Message { blocks, ..message }) - OVERHEAD
}

fn estimate(messages: Vec<Message>) -> u64 {
    let mut conversation = Conversation::new();
    for message in messages {
        conversation.push(Arc::new(message));
    }
    context_tokens(&conversation, Some("prompt"), &tools())
}

fn tools() -> ToolSet {
    let schema = json!({"type": "object"});
    ToolSet::new(vec![ToolDeclaration::new("now", "Time.", schema).unwrap()]).unwrap()
}

#[test]
fn every_block_counts() {
    let raw = |length: usize| Some(RawJson::from_value(&json!("x".repeat(length - 2))));
    let image = || Attachment::from_file("image/png", "/nowhere");
    let text = |raw| Block::Text {
        text: "1234".into(),
        raw,
    };
    assert_eq!(blocks(vec![]), 0);
    assert_eq!(
        blocks(vec![text(None), text(raw(3)), text(raw(30))]),
        2 + 2 + 10
    );
    assert_eq!(
        blocks(vec![Block::Thinking {
            text: "123".into(),
            signature: Some("123456".into()),
            raw: None,
        }]),
        3
    );
    assert_eq!(
        blocks(vec![Block::ToolCall(ToolCall {
            id: "c1".into(),
            name: "now".into(),
            input: "{}".into(),
            raw: None,
        })]),
        3
    );
    assert_eq!(
        blocks(vec![
            Block::ToolResult(ToolResult {
                call: "c1".into(),
                status: ToolStatus::Ok,
                content: vec![
                    ToolContent::Text("123".into()),
                    ToolContent::Attachment(image()),
                ],
            }),
            Block::Attachment(image()),
        ]),
        1 + 1 + 2_000 + 2_000
    );
}

#[test]
fn tools_count_with_their_schemas() {
    assert_eq!(tools_tokens(&ToolSet::default()), 0);
    let declared = "nowTime.{\"type\":\"object\"}".len() as u64;
    assert_eq!(tools_tokens(&tools()), declared.div_ceil(3) + OVERHEAD);
}

#[test]
fn without_a_count_everything_is_estimated() {
    let unknown = Message {
        usage: Some(Usage {
            output: Some(5),
            ..Usage::default()
        }),
        ..message(Role::Assistant, "a1", Some("u1"))
    };
    let own = 2 + OVERHEAD + tools_tokens(&tools());
    assert_eq!(estimate(vec![]), own);
    assert_eq!(
        estimate(vec![message(Role::User, "u1", None), unknown]),
        own + 2 * (10 + OVERHEAD)
    );
}

#[test]
fn the_last_count_holds_and_what_came_since_is_added() {
    let mut messages = vec![
        message(Role::User, "u1", None),
        answer("a1", "u1", 7_000, Some(70)),
        message(Role::User, "u2", Some("a1")),
        answer("a2", "u2", 8_000, Some(80)),
    ];
    assert_eq!(estimate(messages.clone()), 8_080);
    messages.push(message(Role::User, "u3", Some("a2")));
    assert_eq!(estimate(messages.clone()), 8_080 + 10 + OVERHEAD);
    messages.push(message(Role::Assistant, "a3", Some("u3")));
    assert_eq!(estimate(messages), 8_080 + 2 * (10 + OVERHEAD));
}

#[test]
fn an_answer_that_was_cut_short_is_estimated() {
    let cancelled = Message {
        stop: Some(StopReason::Cancelled),
        ..answer("a1", "u1", 7_000, Some(1))
    };
    assert_eq!(estimate(vec![cancelled]), 7_001 + 10 + OVERHEAD);
    let uncounted = answer("a1", "u1", 7_000, None);
    assert_eq!(estimate(vec![uncounted]), 7_000 + 10 + OVERHEAD);
}

#[test]
fn a_count_from_before_a_compaction_does_not_hold() {
    let mut tree = SessionTree::new(Header {
        id: SessionId::parse("0198c0de-0000-7000-8000-00000000abcd").unwrap(),
        created: Timestamp::UNIX_EPOCH,
        cwd: "/".into(),
        metadata: Metadata::new(),
    });
    for message in [
        message(Role::System, "s1", None),
        message(Role::User, "u1", Some("s1")),
        answer("a1", "u1", 7_000, Some(70)),
        message(Role::User, "u2", Some("a1")),
        answer("a2", "u2", 8_000, Some(80)),
    ] {
        tree.apply(Record::Message(message));
    }
    let tokens =
        |tree: &SessionTree| context_tokens(&tree.conversation(), None, &ToolSet::default());
    assert_eq!(tokens(&tree), 8_080);

    tree.apply(Record::Compaction(Compaction {
        id: MessageId::new("c1"),
        parent: Some(MessageId::new("a2")),
        at: Timestamp::UNIX_EPOCH,
        summary: "x".repeat(30),
        first_kept: MessageId::new("u2"),
        tokens_before: 8_080,
    }));
    assert_eq!(tree.conversation().len(), 4);
    assert_eq!(tokens(&tree), 4 * (10 + OVERHEAD));

    tree.apply(Record::Message(message(Role::User, "u3", Some("c1"))));
    assert_eq!(tokens(&tree), 5 * (10 + OVERHEAD));
    tree.apply(Record::Message(answer("a3", "u3", 500, Some(5))));
    assert_eq!(tokens(&tree), 505);
}
