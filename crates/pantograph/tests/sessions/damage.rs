//! Files that were cut, broken, or written by somebody else; and the doctor.

use pantograph::session::{Compaction, LoadOptions, Record, SessionError, SessionStore, doctor};
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

fn summary(report: &doctor::Report) -> String {
    let problems: Vec<String> = report
        .problems
        .iter()
        .map(|p| format!("{}:{}: {} -> {}", p.line, p.column, p.what, p.repair))
        .collect();
    format!("{} records\n{}", report.records, problems.join("\n"))
}

#[tokio::test]
async fn the_doctor_repairs_into_a_new_file() {
    let (_directory, store) = store();
    let mut written = session(&store, 1, 3).await;
    let head = Record::Head {
        target: Some(MessageId::new("a0")),
        at: time(9),
    };
    written
        .append(vec![head, record("x", Some("a0"), Role::User, "side")])
        .await
        .unwrap();
    drop(written);
    let path = store.path(id(1));
    let whole = std::fs::read_to_string(&path).unwrap();
    // `a0` loses its line, so `u1`, the head record and `x` lose what they name; the end is cut.
    let broken = whole.replacen("\"text\":\"answer 0\"", "\"text\":\"answer 0", 1) + "{\"type\":";
    std::fs::write(&path, &broken).unwrap();

    let report = doctor::examine(&path).unwrap();
    insta::assert_snapshot!(summary(&report), @r"
    7 records
    3:171: expected `,` or `}` -> the line is left out
    4:29: its parent `a0` is not there -> it names `u0` instead
    8:16: its target `a0` is not there -> it names `u0` instead
    9:28: its parent `a0` is not there -> it names `u0` instead
    10:1: the last record was cut off (8 bytes) -> it is left out
    ");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), broken);

    let repaired = doctor::repair(&path).unwrap();
    assert_eq!(repaired.problems, report.problems);
    let kept = repaired.kept.unwrap();
    assert_eq!(
        kept.file_name().unwrap().to_str().unwrap(),
        format!("{}.jsonl.broken-1", id(1))
    );
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), broken);
    assert_eq!(branch(&store, 1).await, "u0 x");
    let tree = store.load(id(1)).await.unwrap();
    let other = tree.conversation_at(&MessageId::new("a2")).unwrap();
    let ids: Vec<&str> = other.messages().iter().map(|m| m.id.as_str()).collect();
    assert_eq!(ids, ["u0", "u1", "a1", "u2", "a2"]);
    let info = store.list().await.unwrap().remove(0);
    assert_eq!(
        (info.message_count, info.last_user_message.as_deref()),
        (2, Some("side"))
    );
    assert_eq!(info.modified, time(1));
    // Good lines are as they were.
    let now = std::fs::read_to_string(&path).unwrap();
    let same = now
        .lines()
        .filter(|line| whole.lines().any(|old| old == *line))
        .count();
    assert_eq!((same, now.lines().count()), (5, 9));

    let healthy = doctor::repair(&path).unwrap();
    assert_eq!((healthy.problems.len(), healthy.kept), (0, None));
    let mut open = store.open(id(1)).await.unwrap();
    assert!(matches!(
        doctor::repair(&path),
        Err(SessionError::InUse { .. })
    ));
    open.session
        .append(vec![record("y", Some("x"), Role::User, "on")])
        .await
        .unwrap();
    assert_eq!(branch(&store, 1).await, "u0 x y");
}

#[tokio::test]
async fn the_doctor_replaces_a_lost_header() {
    let (_directory, store) = store();
    drop(session(&store, 1, 1).await);
    let path = store.path(id(1));
    let whole = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let without = lines[1..].join("\n") + "\n";
    let mut summaries = Vec::new();
    for broken in [
        without.clone(),
        format!("garbage\n{without}"),
        String::new(),
    ] {
        std::fs::write(&path, &broken).unwrap();
        let report = doctor::repair(&path).unwrap();
        summaries.push(summary(&report));
        let tree = store.load(id(1)).await.unwrap();
        assert_eq!(tree.header().id, id(1));
        assert_eq!(
            tree.messages().count(),
            if broken.is_empty() { 0 } else { 2 }
        );
    }
    assert_eq!(
        names(store.directory()).len(),
        4,
        "every broken file is kept"
    );
    insta::assert_snapshot!(summaries.join("\n\n"), @r"
    2 records
    1:1: no session header: expected a record of type `session` -> a new one is written, without a working directory

    2 records
    1:1: no session header: expected value -> a new one is written, without a working directory

    0 records
    1:1: no session header: the file is empty -> a new one is written, without a working directory
    ");
}

#[tokio::test]
async fn the_doctor_leaves_alone_what_it_does_not_know() {
    let (directory, store) = store();
    drop(session(&store, 1, 1).await);
    let path = store.path(id(1));
    let text_of =
        |result: Result<doctor::Report, SessionError>| text(&result.unwrap_err(), directory.path());
    let newer = "{\"type\":\"session\",\"version\":2}\n";
    std::fs::write(&path, newer).unwrap();
    let odd = directory.path().join("odd.jsonl");
    std::fs::write(&odd, "x\n").unwrap();
    let errors = [
        text_of(doctor::examine(&path)),
        text_of(doctor::repair(&path)),
        text_of(doctor::repair(&odd)),
        text_of(doctor::examine(&directory.path().join("nothing"))),
    ];
    insta::assert_snapshot!(errors.join("\n"), @r"
    `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl` has format version 2, and only versions up to 1 are known here; use the panto that wrote it, or a newer one
    `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl` has format version 2, and only versions up to 1 are known here; use the panto that wrote it, or a newer one
    could not repair `DIR/odd.jsonl`: expected a file `<id>.jsonl`
    could not open `DIR/nothing`: No such file or directory (os error 2)
    ");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), newer);
    assert_eq!(doctor::examine(&odd).unwrap().problems.len(), 1);
}
