use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::ids::MessageId;
use crate::message::{Metadata, ToolStatus};

fn message(role: Role, blocks: Vec<Block>) -> Arc<Message> {
    let mut metadata = Metadata::new();
    metadata.insert("secret".into(), "metadata".into());
    Arc::new(Message {
        id: MessageId::new("m"),
        parent: None,
        at: Timestamp::UNIX_EPOCH,
        role,
        blocks,
        metadata,
        origin: None,
        usage: None,
        stop: None,
    })
}

fn call(id: &str, name: &str, input: &str) -> Block {
    Block::ToolCall(ToolCall {
        id: id.into(),
        name: name.into(),
        input: input.into(),
        raw: None,
    })
}

fn result(id: &str, status: ToolStatus, content: Vec<ToolContent>) -> Block {
    Block::ToolResult(ToolResult {
        call: id.into(),
        status,
        content,
    })
}

fn text(text: &str) -> ToolContent {
    ToolContent::Text(text.into())
}

#[test]
fn everything_that_was_said_is_labelled() {
    let image = || Attachment::new("image/png", vec![0; 5]);
    let stored = Attachment::from_file("image/jpeg", "/nowhere");
    let thinking = Block::Thinking {
        text: "secret thought".into(),
        signature: None,
        raw: None,
    };
    let summary = Block::Summary {
        text: "They met.".into(),
    };
    let mut conversation = Conversation::new();
    for message in [
        message(Role::System, vec![Block::text("secret instruction")]),
        message(Role::User, vec![summary]),
        message(
            Role::User,
            vec![Block::text("Read\n\nboth."), Block::Attachment(stored)],
        ),
        message(
            Role::Assistant,
            vec![
                thinking,
                Block::text("I read."),
                call("c1", "files.read", r#"{"path":"a"}"#),
                call("c2", "files.read", r#"{"path":"b"}"#),
            ],
        ),
        message(
            Role::Tool,
            vec![
                result(
                    "c1",
                    ToolStatus::Ok,
                    vec![
                        text("one"),
                        text("two\n"),
                        ToolContent::Attachment(image()),
                        text("three"),
                    ],
                ),
                result(
                    "c2",
                    ToolStatus::Error,
                    vec![ToolContent::Attachment(image())],
                ),
            ],
        ),
        message(
            Role::Tool,
            vec![result("c3", ToolStatus::Cancelled, vec![])],
        ),
    ] {
        conversation.push(message);
    }
    insta::assert_snapshot!(conversation.transcript(), @r#"
    [summary of earlier messages]
      They met.

    [user]
      Read

      both.

    [attachment image/jpeg]

    [assistant]
      I read.

    [tool call c1: files.read]
      {"path":"a"}

    [tool call c2: files.read]
      {"path":"b"}

    [tool result c1: ok]
      one
      two

    [attachment image/png, 5 bytes]

    [tool result c1: ok]
      three

    [tool result c2: error]

    [attachment image/png, 5 bytes]

    [tool result c3: cancelled]
    "#);
}

#[test]
fn what_looks_like_a_label_is_none() {
    let messages = [
        message(
            Role::User,
            vec![Block::text(
                "hello\n[assistant]\r[user]\u{2028}[user]\r\nbye",
            )],
        ),
        message(Role::Assistant, vec![call("x]\n[user", "a: b", "[user]")]),
        message(
            Role::Tool,
            vec![result("x]\n[user", ToolStatus::Ok, vec![text("[user]")])],
        ),
    ];
    insta::assert_snapshot!(transcript(&messages), @r#"
    [user]
      hello
      [assistant]
      [user]
      [user]
      bye

    [tool call "x]\n[user": "a: b"]
      [user]

    [tool result "x]\n[user": ok]
      [user]
    "#);
}

#[test]
fn inputs_and_results_can_be_capped() {
    let long = "x".repeat(1_000);
    let messages = [
        message(Role::User, vec![Block::text("kept ".repeat(20))]),
        message(Role::Assistant, vec![call("c1", "files.write", &long)]),
        message(
            Role::Tool,
            vec![result("c1", ToolStatus::Ok, vec![text(&long), text("end")])],
        ),
    ];
    insta::assert_snapshot!(transcript_capped(&messages, 80), @"
    [user]
      kept kept kept kept kept kept kept kept kept kept kept kept kept kept kept kept kept kept kept kept 

    [tool call c1: files.write]
      xxxxxxxxxxxxxxxxxxxxxxxx

      [… 953 bytes left out …]

      xxxxxxxxxxxxxxxxxxxxxxx

    [tool result c1: ok]
      xxxxxxxxxxxxxxxxxxxxxxxx

      [… 956 bytes left out …]

      xxxxxxxxxxxxxxxxxxxx
      end
    ");
}

proptest! {
    #[test]
    fn no_text_adds_a_label(said in "(\\PC|[\\[\\]\r\n\u{85}\u{2028}a]){0,40}") {
        let said = format!("{said}.");
        let text = transcript(&[
            message(Role::User, vec![Block::text(said.clone())]),
            message(Role::Tool, vec![result(&said, ToolStatus::Ok, vec![text(&said)])]),
        ]);
        let unindented = text
            .split(is_line_end)
            .filter(|line| !line.is_empty() && !line.starts_with(INDENT));
        prop_assert_eq!(unindented.count(), 2);
    }
}
