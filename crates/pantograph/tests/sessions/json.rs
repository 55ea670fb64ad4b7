//! Headers, records and descriptions as JSON text by themselves.

use pantograph::session::{
    Compaction, Header, LoadOptions, Record, SessionInfo, SessionStore, SessionTree,
};
use pantograph::{
    Attachment, Block, MessageId, RawJson, Role, ToolCall, ToolContent, ToolResult, ToolStatus,
};
use serde_json::json;

use crate::support::*;

#[test]
fn a_record_needs_nothing_beside_it() {
    let mut answer = message("a0", Some("u0"), Role::Assistant, "hé");
    answer.blocks.push(Block::ToolCall(ToolCall {
        id: "call".into(),
        name: "shell".into(),
        input: "{\"a\": 1}".into(),
        raw: Some(RawJson::parse("{\n\"x\": 1.50}").unwrap()),
    }));
    let mut shown = message("t0", Some("a0"), Role::Tool, "");
    let large = Attachment::new("image/png", vec![7; 100 * 1024]);
    shown.blocks = vec![Block::ToolResult(ToolResult {
        call: "call".into(),
        status: ToolStatus::Ok,
        content: vec![ToolContent::Attachment(Attachment::new(
            "image/png",
            vec![1, 2],
        ))],
    })];
    let records = [
        Record::Message(answer),
        Record::Message(shown.clone()),
        Record::Compaction(Compaction {
            id: MessageId::new("c"),
            parent: None,
            at: time(5),
            summary: "short".into(),
            first_kept: MessageId::new("a0"),
            tokens_before: 99,
        }),
    ];
    let mut lines = vec![header(1).to_json().unwrap()];
    for record in &records {
        lines.push(record.to_json().unwrap());
        assert_eq!(
            Record::from_json(lines.last().unwrap()).unwrap().as_ref(),
            Some(record)
        );
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"type":"session","version":1,"id":"0198c0de-0000-7000-8000-000000000001","created":"2027-01-15T08:00:00Z","cwd":"/home/ann/app","metadata":{}}
    {"type":"message","id":"a0","parent":"u0","at":"2027-01-15T08:00:01Z","role":"assistant","blocks":[{"type":"text","text":"hé"},{"type":"tool_call","id":"call","name":"shell","input":"{\"a\": 1}","raw_json":"{\n\"x\": 1.50}"}],"metadata":{},"origin":{"style":"scripted","base_url":"http://127.0.0.1:1","model":"small","reference":"test:small","reasoning":"low"}}
    {"type":"message","id":"t0","parent":"a0","at":"2027-01-15T08:00:01Z","role":"tool","blocks":[{"type":"tool_result","call":"call","status":"ok","content":[{"type":"attachment","media_type":"image/png","data":"AQI="}]}],"metadata":{}}
    {"type":"compaction","id":"c","parent":null,"at":"2027-01-15T08:00:05Z","summary":"short","first_kept":"a0","tokens_before":99}
    "#);
    // A large one is in the text, too.
    shown.blocks = vec![Block::Attachment(large)];
    let shown = Record::Message(shown);
    let text = shown.to_json().unwrap();
    assert_eq!(Record::from_json(&text).unwrap(), Some(shown));
}

#[tokio::test]
async fn a_file_of_such_lines_is_a_session() {
    let (_directory, store) = store();
    std::fs::create_dir_all(store.directory()).unwrap();
    let mut answer = message("a0", Some("u0"), Role::Assistant, "x");
    answer.blocks.push(Block::Opaque {
        raw: RawJson::parse("{ \"y\":1e5 }").unwrap(),
    });
    let records = [
        record("u0", None, Role::User, "hello"),
        Record::Message(answer),
    ];
    let mut text = header(1).to_json().unwrap() + "\n";
    for record in &records {
        text += &(record.to_json().unwrap() + "\n");
    }
    std::fs::write(store.path(id(1)), text).unwrap();
    let tree = store.load(id(1)).await.unwrap();
    let messages = tree
        .messages()
        .map(|message| Record::Message((**message).clone()));
    assert!(messages.eq(records));
}

#[test]
fn what_a_record_leaves_out_follows_from_those_before_it() {
    let mut tree = SessionTree::new(header(1));
    for text in [
        r#"{"type":"message","id":"u","role":"user","blocks":[]}"#,
        r#"{"type":"future","id":7}"#,
        r#"{"type":"message","id":"a","role":"assistant","blocks":[{"type":"video"}]}"#,
    ] {
        tree.apply_json(text).unwrap();
    }
    let messages: Vec<_> = tree.messages().collect();
    assert_eq!(messages[1].parent, Some(MessageId::new("u")));
    assert_eq!(messages[1].at, time(0));
    assert!(
        matches!(&messages[1].blocks[0], Block::Opaque { raw } if raw.as_str() == r#"{"type":"video"}"#)
    );
}

#[test]
fn what_is_no_such_text_is_told() {
    let file = "a".repeat(64);
    let records = [
        "[]".to_owned(),
        r#"{"type":"message","id":"u","blocks":[]}"#.into(),
        r#"{"type":"message","id":"u","role":"user","blocks":{}}"#.into(),
        r#"{"type":"message","id":"u","role":"user","blocks":[{"type":"opaque","raw_json":"{"}]}"#
            .into(),
        format!(
            r#"{{"type":"message","id":"u","role":"user","blocks":[{{"type":"attachment","media_type":"a","file":"{file}"}}]}}"#
        ),
    ];
    let headers = [
        r#"{"type":"session","version":1}"#.to_owned(),
        r#"{"type":"session","version":1,"id":"x"}"#.into(),
        header(1)
            .to_json()
            .unwrap()
            .replace("\"version\":1", "\"version\":2"),
        header(1).to_json().unwrap().replace("session", "message"),
    ];
    let infos = [
        "{}",
        r#"{"id":1}"#,
        r#"{"id":"0198c0de-0000-7000-8000-000000000001","created":"noon"}"#,
        r#"{"id":"0198c0de-0000-7000-8000-000000000001","metadata":[]}"#,
        r#"{"id":"0198c0de-0000-7000-8000-000000000001","message_count":-1}"#,
    ];
    let errors = (records
        .iter()
        .map(|text| Record::from_json(text).unwrap_err()))
    .chain(
        headers
            .iter()
            .map(|text| Header::from_json(text).unwrap_err()),
    )
    .chain(
        infos
            .iter()
            .map(|text| SessionInfo::from_json(text).unwrap_err()),
    )
    .map(|error| error.to_string());
    insta::assert_snapshot!(errors.collect::<Vec<_>>().join("\n"), @"
    column 2: invalid length 0, expected struct Kind with 1 element
    column 1: missing field `role`
    column 50: invalid type: map, expected a sequence
    column 1: `raw_json` is not JSON: EOF while parsing an object at line 1 column 1
    column 1: an attachment must have its `data`: there is no directory for its `file`
    column 1: missing field `id`
    column 1: `x` is not a session id: expected a UUID in lower-case, hyphenated form
    column 1: the format version is 2, and only versions up to 1 are known here
    column 1: expected a record of type `session`
    column 1: missing field `id`
    column 1: `id` is not a string
    column 1: `created`: `noon` is not a time (RFC 3339)
    column 1: `metadata` is not an object
    column 1: `message_count` is not a count
    ");
}

#[test]
fn a_description_needs_only_its_id() {
    let info = SessionInfo::from_json(r#"{"id":"0198c0de-0000-7000-8000-000000000001"}"#).unwrap();
    assert_eq!(info.modified, info.created);
    assert!(
        info.created > time(-100_000_000),
        "it is the time of the id"
    );
    assert_eq!((info.message_count, info.metadata), (0, None));
}

#[test]
fn messages_of_a_tree_are_chosen_as_those_of_a_file() {
    let mut tree = SessionTree::new(header(1));
    for record in (0..3).flat_map(exchange) {
        tree.apply(record);
    }
    tree.apply(Record::Metadata {
        target: MessageId::new("u1"),
        metadata: object(json!({ "tag": 1 })),
        at: time(3),
    });
    let size = |n: u32| exchange(n)[0].to_json().unwrap().len() as u64;
    let all = LoadOptions::default();
    let cases = [
        all.clone(),
        LoadOptions {
            limit: Some(2),
            ..all.clone()
        },
        LoadOptions {
            limit: Some(0),
            ..all.clone()
        },
        LoadOptions {
            role: Some(Role::User),
            ..all.clone()
        },
        LoadOptions {
            metadata_key: Some("tag".into()),
            ..all.clone()
        },
        LoadOptions {
            max_bytes: Some(1),
            ..all.clone()
        },
        LoadOptions {
            role: Some(Role::User),
            max_bytes: Some(2 * size(0)),
            ..all
        },
    ];
    let rows = cases.map(|options| {
        let row = [false, true].map(|from_end| {
            let options = LoadOptions {
                from_end,
                ..options.clone()
            };
            let ids = tree
                .some_messages(&options)
                .into_iter()
                .map(|message| message.id.to_string());
            ids.collect::<Vec<_>>().join(" ")
        });
        row.join(" | ")
    });
    insta::assert_snapshot!(rows.join("\n"), @"
    u0 a0 u1 a1 u2 a2 | u0 a0 u1 a1 u2 a2
    u0 a0 | u2 a2
     | 
    u0 u1 u2 | u0 u1 u2
    u1 | u1
    u0 | a2
    u0 | u2
    ");
}

#[test]
fn what_could_not_be_read_again_is_refused() {
    let deep = (0..150).fold(json!(1), |deep, _| json!([deep]));
    let metadata = object(json!({ "deep": deep }));
    let header = Header {
        metadata: metadata.clone(),
        ..header(1)
    };
    let record = Record::Metadata {
        target: MessageId::new("u"),
        metadata,
        at: time(1),
    };
    for refused in [header.to_json(), record.to_json()] {
        let error = refused.unwrap_err().to_string();
        assert_eq!(
            error,
            "the session store refuses this: metadata is nested deeper than 100 levels"
        );
    }
}
