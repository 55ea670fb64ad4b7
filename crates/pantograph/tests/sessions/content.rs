//! What is written is read again: every record, every block, and what others may have written.

use pantograph::session::{Compaction, Header, LoadOptions, Record, SessionStore, SessionTree};
use pantograph::{
    Attachment, Block, Message, MessageId, RawJson, Role, StopReason, ToolCall, ToolContent,
    ToolResult, ToolStatus, Usage,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::any::{any_record, metadata};
use crate::support::*;

#[tokio::test]
async fn a_file_looks_as_the_format_says() {
    let (_directory, store) = store();
    let mut session = store.create(header(1)).await.unwrap();
    let mut answer = message("a0", Some("u0"), Role::Assistant, "hé\u{2028}\0");
    answer.blocks.push(Block::ToolCall(ToolCall {
        id: "call".into(),
        name: "shell".into(),
        input: "{\"a\": 1}".into(),
        raw: Some(RawJson::parse("{\n\"x\": 1}").unwrap()),
    }));
    answer.usage = Some(Usage {
        input: Some(3),
        ..Usage::default()
    });
    answer.stop = Some(StopReason::ToolCalls);
    let records = vec![
        record("u0", None, Role::User, "hello"),
        Record::Message(answer),
        Record::Message(Message {
            blocks: vec![Block::ToolResult(ToolResult {
                call: "call".into(),
                status: ToolStatus::Error,
                content: vec![
                    ToolContent::Text("no".into()),
                    ToolContent::Attachment(Attachment::new("image/png", vec![1, 2])),
                ],
            })],
            ..message("t0", Some("a0"), Role::Tool, "")
        }),
        Record::Metadata {
            target: MessageId::new("u0"),
            metadata: object(serde_json::json!({"x.y": 1})),
            at: time(4),
        },
        Record::Compaction(Compaction {
            id: MessageId::new("c"),
            parent: Some(MessageId::new("t0")),
            at: time(5),
            summary: "short".into(),
            first_kept: MessageId::new("a0"),
            tokens_before: 99,
        }),
        Record::Head {
            target: Some(MessageId::new("u0")),
            at: time(6),
        },
    ];
    session.append(records).await.unwrap();
    let text = std::fs::read_to_string(store.path(id(1))).unwrap();
    insta::assert_snapshot!(text.replace('\u{2028}', "U+2028"), @r#"
    {"type":"session","version":1,"id":"0198c0de-0000-7000-8000-000000000001","created":"2027-01-15T08:00:00Z","cwd":"/home/ann/app","metadata":{}}
    {"type":"message","id":"u0","parent":null,"at":"2027-01-15T08:00:01Z","n":1,"user_at":144,"role":"user","blocks":[{"type":"text","text":"hello"}],"metadata":{}}
    {"type":"message","id":"a0","parent":"u0","at":"2027-01-15T08:00:01Z","n":2,"user_at":144,"origin_at":305,"role":"assistant","blocks":[{"type":"text","text":"héU+2028\u0000"},{"type":"tool_call","id":"call","name":"shell","input":"{\"a\": 1}","raw":{ "x": 1}}],"metadata":{},"origin":{"style":"scripted","base_url":"http://127.0.0.1:1","model":"small","reference":"test:small","reasoning":"low"},"usage":{"input":3},"stop":"tool_calls"}
    {"type":"message","id":"t0","parent":"a0","at":"2027-01-15T08:00:01Z","n":3,"user_at":144,"origin_at":305,"role":"tool","blocks":[{"type":"tool_result","call":"call","status":"error","content":[{"type":"text","text":"no"},{"type":"attachment","media_type":"image/png","data":"AQI="}]}],"metadata":{}}
    {"type":"metadata","target":"u0","at":"2027-01-15T08:00:04Z","n":3,"user_at":144,"origin_at":305,"metadata":{"x.y":1}}
    {"type":"compaction","id":"c","parent":"t0","at":"2027-01-15T08:00:05Z","n":3,"user_at":144,"origin_at":305,"summary":"short","first_kept":"a0","tokens_before":99}
    {"type":"head","target":"u0","at":"2027-01-15T08:00:06Z","n":1,"user_at":144}
    "#);
}

#[tokio::test]
async fn what_is_unknown_is_ignored_or_kept() {
    let (_directory, store) = store();
    drop(session(&store, 1, 1).await);
    let path = store.path(id(1));
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str(concat!(
        "\n",
        r#"{"type":"future","id":5,"at":{},"blocks":"x"}"#, "\n",
        r#"{"type":"message","id":"x","role":"user","new":[1],"blocks":[{"type":"text","text":"\ud83d \ud83d\ude00","x":1},{"type":"video","text":7, "u":"v"}]}"#, "\n",
        r#"{"type":"message","id":"y","at":"2027-01-01T00:00:00Z","role":"tool","stop":"bored","metadata":null,"blocks":[{"type":"tool_result","call":"c","status":"ok","content":[{"type":"text","text":"t"},{"type":"sound","hz":440}]}]}"#, "\r\n",
    ));
    std::fs::write(&path, text).unwrap();
    let tree = store.load(id(1)).await.unwrap();
    let branch = tree.branch();
    assert_eq!(tree.torn_bytes(), 0);
    assert_eq!(branch[2].parent, Some(MessageId::new("a0")));
    assert_eq!(branch[3].parent, Some(MessageId::new("x")));
    assert_eq!(
        branch[2].at,
        time(0),
        "a record without a time has the session's"
    );
    assert_eq!(
        branch[2].blocks,
        [
            Block::text("\u{fffd} 😀"),
            Block::Opaque {
                raw: RawJson::parse(r#"{"type":"video","text":7, "u":"v"}"#).unwrap()
            }
        ]
    );
    assert_eq!(
        branch[3].tool_results().next().unwrap().content[1],
        ToolContent::Text(r#"{"type":"sound","hz":440}"#.into())
    );
    let from_end = LoadOptions {
        from_end: true,
        ..LoadOptions::default()
    };
    for options in [LoadOptions::default(), from_end] {
        let messages = store.load_messages(id(1), &options).await.unwrap();
        assert_eq!(
            messages.iter().collect::<Vec<_>>(),
            branch.iter().map(|m| &**m).collect::<Vec<_>>()
        );
    }
    // Whoever wrote this wrote no marks, so the listing reads it whole.
    let info = store.list().await.unwrap().remove(0);
    assert_eq!(info.message_count, 4);
    assert_eq!(info.last_user_message.as_deref(), Some("\u{fffd} 😀"));
    assert_eq!(info.model.as_deref(), Some("test:small"));
}

#[tokio::test]
async fn metadata_that_could_not_be_read_again_is_refused() {
    let (_directory, store) = store();
    let mut session = session(&store, 1, 1).await;
    let deep = (0..200).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    let record = Record::Metadata {
        target: MessageId::new("u0"),
        metadata: object(serde_json::json!({ "deep": deep })),
        at: time(2),
    };
    let error = session.append(vec![record]).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the session store refuses this: metadata is nested deeper than 100 levels"
    );
    session.append(exchange(1)).await.unwrap();
    assert_eq!(branch(&store, 1).await, "u0 a0 u1 a1");
}

#[tokio::test]
async fn a_deep_item_of_a_provider_is_kept() {
    let (_directory, store) = store();
    let raw = RawJson::parse(&format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000))).unwrap();
    let mut answer = message("a0", None, Role::Assistant, "x");
    answer.blocks.push(Block::Opaque { raw });
    let mut session = store.create(header(1)).await.unwrap();
    session
        .append(vec![Record::Message(answer.clone())])
        .await
        .unwrap();
    let tree = store.load(id(1)).await.unwrap();
    assert_eq!(*tree.branch()[0], answer);
}

#[tokio::test]
async fn a_line_of_twelve_megabytes_is_read_and_written() {
    let (_directory, store) = store();
    let mut session = session(&store, 1, 1).await;
    let long = "\u{1F600}\"\n".repeat(2_000_000);
    session
        .append(vec![record("u1", Some("a0"), Role::User, &long)])
        .await
        .unwrap();
    let tree = store.load(id(1)).await.unwrap();
    assert_eq!(tree.branch()[2].text(), long);
    let options = LoadOptions {
        limit: Some(2),
        from_end: true,
        ..LoadOptions::default()
    };
    let messages = store.load_messages(id(1), &options).await.unwrap();
    assert_eq!(messages.len(), 2);
    let info = store.list().await.unwrap().remove(0);
    assert_eq!(info.last_user_message, Some(long));
}

#[tokio::test]
async fn a_large_attachment_is_stored_once_beside_the_session() {
    let (_directory, store) = store();
    let large = Attachment::new("image/png", vec![7; 20 * 1024 * 1024]);
    let small = Attachment::new("image/png", vec![7; 64 * 1024]);
    let with = |id: &str, parent: Option<&str>, attachment: &Attachment| {
        let mut message = message(id, parent, Role::Assistant, "x");
        message.blocks.push(Block::Attachment(attachment.clone()));
        Record::Message(message)
    };
    let mut session = store.create(header(1)).await.unwrap();
    session
        .append(vec![with("a", None, &large), with("b", Some("a"), &small)])
        .await
        .unwrap();
    session
        .append(vec![with("c", Some("b"), &large)])
        .await
        .unwrap();
    drop(session);

    let files = store.directory().join(format!("{}.files", id(1)));
    assert_eq!(names(&files).len(), 1);
    assert!(std::fs::metadata(store.path(id(1))).unwrap().len() < 100 * 1024);
    let mut open = store.open(id(1)).await.unwrap();
    let Block::Attachment(loaded) = open.tree.branch()[2].blocks[1].clone() else {
        panic!("expected an attachment");
    };
    assert!(loaded.path().is_some());
    assert_eq!(loaded.bytes().unwrap(), large.bytes().unwrap());
    // What was loaded is stored again by its name alone, even if the bytes are gone by now.
    std::fs::remove_file(loaded.path().unwrap()).unwrap();
    open.session
        .append(vec![with("d", Some("c"), &loaded)])
        .await
        .unwrap();
    assert_eq!(store.load(id(1)).await.unwrap().branch().len(), 4);
}

#[tokio::test]
async fn an_unreadable_attachment_is_refused_and_the_session_goes_on() {
    let (directory, store) = store();
    let mut session = session(&store, 1, 1).await;
    let missing = Attachment::from_file("image/png", directory.path().join("gone.png"));
    let mut shown = message("t", Some("a0"), Role::Tool, "");
    shown.blocks = vec![Block::ToolResult(ToolResult {
        call: "call".into(),
        status: ToolStatus::Ok,
        content: vec![ToolContent::Attachment(missing.clone())],
    })];
    let mut asked = message("x", Some("a0"), Role::User, "");
    asked.blocks.push(Block::Attachment(missing));
    for refused in [shown, asked] {
        let before = record("before", Some("a0"), Role::User, "not taken either");
        let error = session
            .append(vec![before, Record::Message(refused)])
            .await
            .unwrap_err();
        insta::allow_duplicates! {
            insta::assert_snapshot!(crate::support::text(&error, directory.path()), @"the session store refuses this: could not read the attachment `DIR/gone.png`: No such file or directory (os error 2)");
        }
    }
    session.append(exchange(1)).await.unwrap();
    assert_eq!(branch(&store, 1).await, "u0 a0 u1 a1");
}

#[tokio::test]
async fn what_an_attachment_holds_is_taken_with_its_record() {
    let (directory, store) = store();
    let file = directory.path().join("small.png");
    std::fs::write(&file, "pixels").unwrap();
    let mut session = store.create(header(1)).await.unwrap();
    let mut asked = message("u", None, Role::User, "");
    asked.blocks = vec![Block::Attachment(Attachment::from_file("image/png", &file))];
    session.append(vec![Record::Message(asked)]).await.unwrap();
    // Nothing is on disk yet, and the file need not stay.
    std::fs::remove_file(&file).unwrap();
    session
        .append(vec![record("a", Some("u"), Role::Assistant, "seen")])
        .await
        .unwrap();
    let Block::Attachment(stored) = store.load(id(1)).await.unwrap().branch()[0].blocks[0].clone()
    else {
        panic!("expected an attachment");
    };
    assert_eq!(&*stored.bytes().unwrap(), b"pixels");
}

#[tokio::test]
async fn an_attachment_never_leads_out_of_its_directory() {
    let (directory, store) = store();
    drop(session(&store, 1, 1).await);
    let path = store.path(id(1));
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str(r#"{"type":"message","id":"x","role":"user","blocks":[{"type":"attachment","media_type":"a","file":"../../x"}]}"#);
    text.push('\n');
    std::fs::write(&path, text).unwrap();
    let error = store.load(id(1)).await.unwrap_err();
    insta::assert_snapshot!(crate::support::text(&error, directory.path()), @"`DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl`, line 4, column 1: an attachment's file must be named by its SHA-256, not `../../x`");
}

#[tokio::test]
async fn a_stored_attachment_is_never_read_or_written_through_a_link() {
    let (directory, store) = store();
    let large = Attachment::new("image/png", vec![1; 100_000]);
    let mut asked = message("u", None, Role::User, "");
    asked.blocks = vec![Block::Attachment(large.clone())];
    let mut session = store.create(header(1)).await.unwrap();
    session
        .append(vec![
            Record::Message(asked.clone()),
            record("a", Some("u"), Role::Assistant, "seen"),
        ])
        .await
        .unwrap();
    let tree = store.load(id(1)).await.unwrap();
    let Block::Attachment(stored) = &tree.branch()[0].blocks[0] else {
        panic!("expected an attachment");
    };
    let path = stored.path().unwrap();
    let files = path.parent().unwrap();
    let elsewhere = directory.path().join("elsewhere");
    std::fs::rename(files, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, files).unwrap();
    let by_directory = stored.bytes().unwrap_err();
    asked.id = MessageId::new("v");
    let written = session
        .append(vec![Record::Message(asked)])
        .await
        .unwrap_err();
    insta::assert_snapshot!(
        crate::support::text(&written, directory.path()).replace(path.file_name().unwrap().to_str().unwrap(), "NAME"),
        @"could not write the attachment `DIR/sessions/0198c0de-0000-7000-8000-000000000001.files/NAME`: a link stands in the place of its directory");
    std::fs::remove_file(files).unwrap();
    std::fs::rename(&elsewhere, files).unwrap();
    session.append(vec![]).await.unwrap();
    assert_eq!(stored.bytes().unwrap(), large.bytes().unwrap());

    std::fs::rename(path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, path).unwrap();
    let by_file = stored.bytes().unwrap_err();
    std::fs::remove_file(path).unwrap();
    std::fs::create_dir(path).unwrap();
    let no_file = stored.bytes().unwrap_err();
    let errors = [by_directory, by_file, no_file].map(|error| error.to_string());
    insta::assert_snapshot!(errors.join("\n"), @"
    a link stands in its place
    a link stands in its place
    it is no regular file
    ");
}

#[tokio::test]
async fn messages_are_chosen_on_the_current_branch() {
    let (_directory, store) = store();
    let mut session = session(&store, 1, 3).await;
    let head = Record::Head {
        target: Some(MessageId::new("a1")),
        at: time(3),
    };
    let tag = Record::Metadata {
        target: MessageId::new("u1"),
        metadata: object(serde_json::json!({"tag": true})),
        at: time(3),
    };
    let side = record("side", Some("a1"), Role::User, "aside");
    session.append(vec![head, side, tag]).await.unwrap();
    let length = |id: &str| {
        let text = std::fs::read_to_string(store.path(crate::support::id(1))).unwrap();
        let key = format!("\"id\":\"{id}\"");
        text.lines().find(|line| line.contains(&key)).unwrap().len() as u64
    };
    let all = LoadOptions::default();
    let cases = [
        ("all", all.clone()),
        (
            "2",
            LoadOptions {
                limit: Some(2),
                ..all.clone()
            },
        ),
        (
            "none",
            LoadOptions {
                limit: Some(0),
                ..all.clone()
            },
        ),
        (
            "users",
            LoadOptions {
                role: Some(Role::User),
                ..all.clone()
            },
        ),
        (
            "tagged",
            LoadOptions {
                metadata_key: Some("tag".into()),
                ..all.clone()
            },
        ),
        (
            "one byte",
            LoadOptions {
                max_bytes: Some(1),
                ..all.clone()
            },
        ),
        (
            "two users",
            LoadOptions {
                role: Some(Role::User),
                max_bytes: Some(length("u0") + length("u1")),
                ..all.clone()
            },
        ),
    ];
    let mut lines = Vec::new();
    for (name, options) in cases {
        let end = LoadOptions {
            from_end: true,
            ..options.clone()
        };
        let mut row = vec![name.to_owned()];
        for options in [options, end] {
            let messages = store.load_messages(id(1), &options).await.unwrap();
            let ids: Vec<&str> = messages.iter().map(|m| m.id.as_str()).collect();
            row.push(ids.join(" "));
        }
        lines.push(row.join(" | "));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    all | u0 a0 u1 a1 side | u0 a0 u1 a1 side
    2 | u0 a0 | a1 side
    none |  | 
    users | u0 u1 side | u0 u1 side
    tagged | u1 | u1
    one byte | u0 | side
    two users | u0 u1 | side
    ");
}

#[tokio::test]
async fn from_the_end_no_more_is_read_than_needed() {
    let (_directory, store) = store();
    drop(session(&store, 1, 4).await);
    let path = store.path(id(1));
    let text = std::fs::read_to_string(&path).unwrap();
    // A bad line that is not reached does not matter, though the whole cannot be loaded.
    std::fs::write(&path, text.replacen("\"id\":\"u1\"", "\"id\":\"u1", 1)).unwrap();
    store.load(id(1)).await.unwrap_err();
    let mut options = LoadOptions {
        limit: Some(3),
        from_end: true,
        ..LoadOptions::default()
    };
    assert_eq!(store.load_messages(id(1), &options).await.unwrap().len(), 3);
    options.limit = None;
    store.load_messages(id(1), &options).await.unwrap_err();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Also proves that what is known of a session without reading all of it (its listing, its
    /// messages from the end) is what all of it says.
    #[test]
    fn what_is_written_is_read(
        cwd in any::<String>(),
        metadata in metadata(),
        records in vec(any_record(), 1..12),
        split in 0_usize..12,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let header = Header { cwd: cwd.into(), metadata, ..header(1) };
            let (_directory, store) = store();
            let mut expected = SessionTree::new(header.clone());
            let mut records = records;
            records.push(record("z", None, Role::Assistant, "answer"));
            for record in &records {
                expected.apply(record.clone());
            }
            prop_assert_eq!(Header::from_json(&header.to_json().unwrap()).unwrap(), header.clone());
            for record in &records {
                let text = record.to_json().unwrap();
                prop_assert_eq!(Record::from_json(&text).unwrap(), Some(record.clone()));
            }
            let later = records.split_off(split.min(records.len()));
            let mut session = store.create(header).await.unwrap();
            session.append(records).await.unwrap();
            session.append(later).await.unwrap();

            let loaded = store.load(id(1)).await.unwrap();
            prop_assert_eq!(loaded.header(), expected.header());
            prop_assert_eq!(loaded.head(), expected.head());
            prop_assert!(loaded.messages().eq(expected.messages()));
            let branch = expected.branch();
            prop_assert!(loaded.branch() == branch);

            for from_end in [false, true] {
                let options = LoadOptions { from_end, ..LoadOptions::default() };
                let messages = store.load_messages(id(1), &options).await.unwrap();
                prop_assert!(messages.iter().eq(branch.iter().map(|message| &**message)));
            }
            let info = store.list().await.unwrap().remove(0);
            prop_assert_eq!(info.message_count, branch.len() as u64);
            let user = branch.iter().rev().find(|message| message.role == Role::User);
            prop_assert_eq!(info.last_user_message, user.map(|message| message.text()));
            let origin = branch.iter().rev().filter(|message| message.role == Role::Assistant)
                .find_map(|message| message.origin.clone());
            prop_assert_eq!(info.model, origin.as_ref().map(|origin| origin.reference.clone()));
            prop_assert_eq!(info.api_style, origin.as_ref().map(|origin| origin.style.clone()));
            Ok(())
        })?;
    }
}
