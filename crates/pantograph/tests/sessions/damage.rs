//! Files that were cut, broken, or written by somebody else.

use pantograph::session::{Compaction, LoadOptions, Record, SessionError, SessionStore};
use pantograph::{MessageId, Role};

use crate::support::*;

#[tokio::test]
async fn a_file_cut_at_any_byte_goes_on() {
    let (_directory, store) = store();
    let mut written = session(&store, 1, 1).await;
    let compaction = Record::Compaction(Compaction {
        id: MessageId::new("c"),
        parent: Some(MessageId::new("a0")),
        at: time(2),
        summary: "é 😀".into(),
        first_kept: MessageId::new("u0"),
        tokens_before: 1,
    });
    let last = record("u1", Some("c"), Role::User, "é 😀\n");
    written.append(vec![compaction, last]).await.unwrap();
    drop(written);
    let path = store.path(id(1));
    let whole = std::fs::read(&path).unwrap();
    let line_ends: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] == b'\n').collect();

    for cut in 0..=whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let lines = line_ends.iter().filter(|&&end| end < cut).count();
        if lines == 0 {
            // A file has its first lines from the beginning, or it has no name.
            let error = store.load(id(1)).await.unwrap_err();
            assert!(
                matches!(error, SessionError::Corrupt { line: 1, .. }),
                "{cut}: {error}"
            );
            continue;
        }
        let good = line_ends[lines - 1] + 1;
        let mut open = store.open(id(1)).await.unwrap();
        assert_eq!(open.tree.torn_bytes(), (cut - good) as u64, "{cut}");
        assert_eq!(
            std::fs::read(&path).unwrap(),
            whole[..cut],
            "opening changes nothing"
        );
        let messages = open.tree.branch().len();
        let options = LoadOptions {
            from_end: true,
            ..LoadOptions::default()
        };
        assert_eq!(
            store.load_messages(id(1), &options).await.unwrap().len(),
            messages,
            "{cut}"
        );
        assert_eq!(
            store.list().await.unwrap()[0].message_count,
            messages as u64,
            "{cut}"
        );

        let head = open.tree.head().map(|id| id.to_string());
        open.session
            .append(vec![record("next", head.as_deref(), Role::User, "on")])
            .await
            .unwrap();
        let now = std::fs::read(&path).unwrap();
        assert_eq!(now[..good], whole[..good], "{cut}");
        let tree = store.load(id(1)).await.unwrap();
        assert_eq!(
            (tree.torn_bytes(), tree.branch().len()),
            (0, messages + 1),
            "{cut}"
        );
    }
}

#[tokio::test]
async fn an_end_that_was_never_written_is_torn_too() {
    let (_directory, store) = store();
    drop(session(&store, 1, 1).await);
    let path = store.path(id(1));
    let whole = std::fs::read(&path).unwrap();
    for tail in ["\0\0\0\0", "{\"type\":\"mess", "\0\0\n"] {
        std::fs::write(&path, [&whole, tail.as_bytes()].concat()).unwrap();
        let mut open = store.open(id(1)).await.unwrap();
        assert_eq!(open.tree.torn_bytes(), tail.len() as u64);
        let loaded = store.load(id(1)).await.unwrap();
        assert_eq!(loaded.torn_bytes(), tail.len() as u64);
        open.session.append(exchange(1)).await.unwrap();
        assert_eq!(branch(&store, 1).await, "u0 a0 u1 a1");
    }
}

#[tokio::test]
async fn a_whole_last_line_with_a_bad_byte_is_not_dropped() {
    let (directory, store) = store();
    drop(session(&store, 1, 1).await);
    let path = store.path(id(1));
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(6).position(|part| part == b"answer").unwrap();
    bytes[at] = 0xff;
    std::fs::write(&path, &bytes).unwrap();
    let from_end = LoadOptions {
        from_end: true,
        ..LoadOptions::default()
    };
    let errors = [
        store.load(id(1)).await.map(|_| ()),
        store.open(id(1)).await.map(|_| ()),
        store.load_messages(id(1), &from_end).await.map(|_| ()),
        store
            .load_messages(id(1), &LoadOptions::default())
            .await
            .map(|_| ()),
    ];
    let mut texts = errors
        .map(|e| text(&e.unwrap_err(), directory.path()))
        .to_vec();
    texts.dedup();
    insta::assert_snapshot!(texts.join("\n"), @"`DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl`, line 3, column 159: invalid unicode code point");
    assert_eq!(store.list().await.unwrap(), []);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_and_stays_as_it_is() {
    let (directory, store) = store();
    drop(session(&store, 1, 2).await);
    let path = store.path(id(1));
    let whole = std::fs::read_to_string(&path).unwrap();
    let header = whole.lines().next().unwrap();
    let cases = [
        (
            "a bad line",
            whole.replacen("\"id\":\"u1\",", "\"id\":\"u1\"", 1),
        ),
        (
            "a bad role",
            whole.replacen("\"role\":\"user\"", "\"role\":\"boss\"", 1),
        ),
        (
            "no id, at the end",
            format!("{whole}{{\"type\":\"message\",\"role\":\"user\",\"blocks\":[]}}\n"),
        ),
        (
            "a bad block",
            whole.replacen("\"text\":\"question 1\"", "\"text\":7", 1),
        ),
        ("garbage", "garbage\n".into()),
        (
            "no header",
            whole.replacen(header, "{\"type\":\"message\"}", 1),
        ),
        (
            "newer",
            whole.replacen("\"version\":1", "\"version\":7,\"cwd\":{}", 1),
        ),
    ];
    let mut lines = Vec::new();
    for (name, contents) in cases {
        assert_ne!(contents, whole);
        std::fs::write(&path, &contents).unwrap();
        let error = store.load(id(1)).await.unwrap_err();
        lines.push(format!("{name}: {}", text(&error, directory.path())));
        let Err(again) = store.open(id(1)).await else {
            panic!("opened");
        };
        assert_eq!(again.to_string(), error.to_string());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), contents);
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    a bad line: `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl`, line 4, column 28: expected `,` or `}`
    a bad role: `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl`, line 2, column 1: unknown role `boss`
    no id, at the end: `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl`, line 6, column 1: missing field `id`
    a bad block: `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl`, line 4, column 153: invalid type: integer `7`, expected a string
    garbage: `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl`, line 1, column 1: expected value
    no header: `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl`, line 1, column 1: expected a record of type `session`
    newer: `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl` has format version 7, and only versions up to 1 are known here; use the panto that wrote it, or a newer one
    ");
}

/// Long sessions are read by several threads at once.
#[tokio::test]
async fn a_long_session_is_read_in_its_order_up_to_what_is_wrong() {
    const LINES: usize = 4_000;
    let (directory, store) = store();
    let mut written = store.create(header(1)).await.unwrap();
    written.append(exchange(1)).await.unwrap();
    drop(written);
    let before = store.load(id(1)).await.unwrap().branch().len();
    let path = store.path(id(1));
    let mut text_of_file = std::fs::read_to_string(&path).unwrap();
    let lines_before = text_of_file.lines().count();
    let words = "word ".repeat(200);
    for n in 0..LINES {
        // Without a parent each follows the one before it.
        text_of_file.push_str(&format!(
            "{{\"type\":\"message\",\"id\":\"m{n}\",\"role\":\"user\",\"blocks\":[{{\"type\":\"text\",\"text\":\"{words}\"}}]}}\n"
        ));
    }
    std::fs::write(&path, &text_of_file).unwrap();
    let tree = store.load(id(1)).await.unwrap();
    let ids: Vec<String> = tree.branch().iter().map(|m| m.id.to_string()).collect();
    let expected: Vec<String> = (0..LINES).map(|n| format!("m{n}")).collect();
    assert_eq!(ids[before..], expected);
    for wrong in [3_000, LINES - 1, 10] {
        let line = lines_before + wrong + 1;
        let name = format!("\"id\":\"m{wrong}\"");
        let broken = text_of_file.replace(&name, "\"id\":7");
        std::fs::write(&path, broken).unwrap();
        let error = store.load(id(1)).await.unwrap_err();
        let shown = text(&error, directory.path());
        assert!(shown.contains(&format!("line {line}, ")), "{shown}");
    }
    std::fs::write(&path, &text_of_file[..text_of_file.len() - 5]).unwrap();
    let tree = store.load(id(1)).await.unwrap();
    assert_eq!(tree.branch().len(), before + LINES - 1);
    assert!(tree.torn_bytes() > 1_000);
}
