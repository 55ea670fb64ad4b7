//! Listing sessions and finding one.

use std::os::unix::fs::symlink;

use pantograph::MessageId;
use pantograph::session::{Header, LoadOptions, Record, SessionError, SessionStore};

use crate::support::*;

#[tokio::test]
async fn a_listing_says_what_is_on_the_current_branch() {
    let (_directory, store) = store();
    let header = Header {
        metadata: object(serde_json::json!({"name": "first"})),
        ..header(1)
    };
    let mut first = store.create(header).await.unwrap();
    first.append(exchange(0)).await.unwrap();
    first.append(exchange(1)).await.unwrap();
    drop(session(&store, 2, 1).await);
    // Back to the first answer: the second exchange is no longer counted.
    let head = Record::Head {
        target: Some(MessageId::new("a0")),
        at: time(60),
    };
    first.append(vec![head]).await.unwrap();
    insta::assert_debug_snapshot!(store.list().await.unwrap(), @r#"
    [
        SessionInfo {
            id: 0198c0de-0000-7000-8000-000000000001,
            created: 2027-01-15T08:00:00Z,
            modified: 2027-01-15T08:01:00Z,
            metadata: Some(
                {
                    "name": String("first"),
                },
            ),
            message_count: 2,
            last_user_message: Some(
                "question 0",
            ),
            api_style: Some(
                "scripted",
            ),
            base_url: Some(
                "http://127.0.0.1:1",
            ),
            model: Some(
                "test:small",
            ),
            reasoning: Some(
                "low",
            ),
        },
        SessionInfo {
            id: 0198c0de-0000-7000-8000-000000000002,
            created: 2027-01-15T08:00:00Z,
            modified: 2027-01-15T08:00:01Z,
            metadata: None,
            message_count: 2,
            last_user_message: Some(
                "question 0",
            ),
            api_style: Some(
                "scripted",
            ),
            base_url: Some(
                "http://127.0.0.1:1",
            ),
            model: Some(
                "test:small",
            ),
            reasoning: Some(
                "low",
            ),
        },
    ]
    "#);

    let ids = |infos: Vec<pantograph::session::SessionInfo>| {
        infos.iter().map(|info| info.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(store.list_bounded(1).await.unwrap()), [id(1)]);
    assert_eq!(ids(store.list_bounded(9).await.unwrap()), [id(1), id(2)]);
    assert_eq!(ids(store.list_bounded(0).await.unwrap()), []);
    assert_eq!(store.latest().await.unwrap(), Some(id(1)));
}

#[tokio::test]
async fn only_direct_files_with_an_id_for_a_name_are_sessions() {
    let (directory, store) = store();
    drop(session(&store, 1, 1).await);
    let sessions = store.directory();
    let file = store.path(id(1));
    let copy = |name: &str| std::fs::copy(&file, sessions.join(name)).unwrap();
    copy("notes.jsonl");
    copy("0198C0DE-0000-7000-8000-000000000002.jsonl");
    copy(&format!("{}.jsonl.broken-1", id(3)));
    copy(&format!(".{}.1.tmp", id(3)));
    symlink(&file, store.path(id(4))).unwrap();
    std::fs::create_dir(store.path(id(5))).unwrap();
    let children = sessions.join("children").join(id(1).to_string());
    std::fs::create_dir_all(&children).unwrap();
    std::fs::copy(&file, children.join(format!("{}.jsonl", id(6)))).unwrap();

    let infos = store.list().await.unwrap();
    assert_eq!(
        infos.iter().map(|info| info.id).collect::<Vec<_>>(),
        [id(1)]
    );
    let mut found = Vec::new();
    for n in 1..7 {
        for result in [
            store.resolve(&id(n).to_string()).await.map(|_| ()),
            store.load(id(n)).await.map(|_| ()),
            store.open(id(n)).await.map(|_| ()),
            store
                .load_messages(id(n), &LoadOptions::default())
                .await
                .map(|_| ()),
        ] {
            found.push(match result {
                Ok(()) => format!("{n} found"),
                Err(error) => text(&error, directory.path()),
            });
        }
    }
    found.dedup();
    insta::assert_snapshot!(found.join("\n"), @r"
    1 found
    no session `0198c0de-0000-7000-8000-000000000002` (nearest: 0198c0de-0000-7000-8000-000000000001)
    no session `0198c0de-0000-7000-8000-000000000003` (nearest: 0198c0de-0000-7000-8000-000000000001)
    no session `0198c0de-0000-7000-8000-000000000004` (nearest: 0198c0de-0000-7000-8000-000000000001)
    no session `0198c0de-0000-7000-8000-000000000005` (nearest: 0198c0de-0000-7000-8000-000000000001)
    no session `0198c0de-0000-7000-8000-000000000006` (nearest: 0198c0de-0000-7000-8000-000000000001)
    ");
}

#[tokio::test]
async fn an_id_is_found_by_its_beginning() {
    let (directory, store) = store();
    drop(session(&store, 0x1a, 1).await);
    drop(session(&store, 0x1b, 1).await);
    drop(session(&store, 0x2c, 1).await);
    let mut lines = Vec::new();
    for wanted in [
        "0198c0de-0000-7000-8000-00000000001a",
        "0198c0de-0000-7000-8000-00000000002",
        "0198c0de-0000-7000-8000-00000000001",
        "0198c0de-0000-7000-8000-00000000003",
        "0198C0DE-0000-7000-8000-00000000001A",
        "",
        "../x",
        "é",
    ] {
        lines.push(match store.resolve(wanted).await {
            Ok(id) => format!("{wanted}: {id}"),
            Err(error) => text(&error, directory.path()),
        });
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    0198c0de-0000-7000-8000-00000000001a: 0198c0de-0000-7000-8000-00000000001a
    0198c0de-0000-7000-8000-00000000002: 0198c0de-0000-7000-8000-00000000002c
    `0198c0de-0000-7000-8000-00000000001` is the beginning of several ids (candidates: 0198c0de-0000-7000-8000-00000000001a, 0198c0de-0000-7000-8000-00000000001b)
    no session `0198c0de-0000-7000-8000-00000000003` (nearest: 0198c0de-0000-7000-8000-00000000002c, 0198c0de-0000-7000-8000-00000000001b, 0198c0de-0000-7000-8000-00000000001a)
    no session `0198C0DE-0000-7000-8000-00000000001A` (nearest: 0198c0de-0000-7000-8000-00000000002c, 0198c0de-0000-7000-8000-00000000001b, 0198c0de-0000-7000-8000-00000000001a)
    no session `` (nearest: 0198c0de-0000-7000-8000-00000000002c, 0198c0de-0000-7000-8000-00000000001b, 0198c0de-0000-7000-8000-00000000001a)
    no session `../x` (nearest: 0198c0de-0000-7000-8000-00000000002c, 0198c0de-0000-7000-8000-00000000001b, 0198c0de-0000-7000-8000-00000000001a)
    no session `é` (nearest: 0198c0de-0000-7000-8000-00000000002c, 0198c0de-0000-7000-8000-00000000001b, 0198c0de-0000-7000-8000-00000000001a)
    ");
}

#[tokio::test]
async fn a_store_without_a_directory_is_empty() {
    let (directory, store) = store();
    assert_eq!(store.list().await.unwrap(), []);
    assert_eq!(store.latest().await.unwrap(), None);
    let error = store.resolve("0").await.unwrap_err();
    assert_eq!(text(&error, directory.path()), "no session `0`");
    assert_eq!(names(directory.path()), [""; 0]);
}

#[tokio::test]
async fn a_session_that_cannot_be_read_is_left_out_of_the_list_and_named_by_a_survey() {
    let (directory, store) = store();
    drop(session(&store, 1, 1).await);
    std::fs::write(store.path(id(2)), "garbage\n").unwrap();
    std::fs::write(store.path(id(3)), "").unwrap();
    let newer = r#"{"type":"session","version":2,"id":{},"created":7}"#;
    std::fs::write(store.path(id(4)), format!("{newer}\n")).unwrap();
    let infos = store.list().await.unwrap();
    assert_eq!(
        infos.iter().map(|info| info.id).collect::<Vec<_>>(),
        [id(1)]
    );
    assert_eq!(store.list_bounded(2).await.unwrap(), infos);
    assert_eq!(infos[0].last_user_message.as_deref(), Some("question 0"));
    let survey = store.survey().await.unwrap();
    assert_eq!(survey.sessions, infos);
    let unreadable: Vec<String> = survey
        .unreadable
        .iter()
        .map(|(id, error)| format!("{id}: {}", text(error, directory.path())))
        .collect();
    insta::assert_snapshot!(unreadable.join("\n"), @"
    0198c0de-0000-7000-8000-000000000002: `DIR/sessions/0198c0de-0000-7000-8000-000000000002.jsonl`, line 1, column 1: expected value
    0198c0de-0000-7000-8000-000000000003: `DIR/sessions/0198c0de-0000-7000-8000-000000000003.jsonl`, line 1, column 1: the file is empty
    0198c0de-0000-7000-8000-000000000004: `DIR/sessions/0198c0de-0000-7000-8000-000000000004.jsonl` has format version 2, and only versions up to 1 are known here; use the panto that wrote it, or a newer one
    ");
}

#[tokio::test]
async fn an_older_session_does_not_stand_in_for_the_latest() {
    let (_directory, store) = store();
    let touch = |n, seconds| {
        let file = std::fs::File::options()
            .append(true)
            .open(store.path(id(n)))
            .unwrap();
        let since = std::time::Duration::from_secs(seconds);
        file.set_modified(std::time::UNIX_EPOCH + since).unwrap();
    };
    drop(session(&store, 1, 1).await);
    std::fs::write(store.path(id(2)), "garbage\n").unwrap();
    touch(1, 5);
    touch(2, 6);
    assert!(matches!(
        store.latest().await,
        Err(SessionError::Corrupt { path, .. }) if path == store.path(id(2))
    ));
    touch(1, 7);
    assert_eq!(store.latest().await.unwrap(), Some(id(1)));
    std::fs::remove_file(store.path(id(1))).unwrap();
    store.latest().await.unwrap_err();
}
