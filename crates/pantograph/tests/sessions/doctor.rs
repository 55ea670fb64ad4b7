//! What the doctor finds, what it repairs, and that the session goes on.

use pantograph::session::{Compaction, Record, SessionError, SessionStore, doctor};
use pantograph::{Attachment, Block, Message, MessageId, Role};

use crate::support::*;

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
    let broken = whole.replacen("\"n\":2,", "\"n\":2", 1) + "{\"type\":";
    std::fs::write(&path, &broken).unwrap();

    let report = doctor::examine(&path).unwrap();
    insta::assert_snapshot!(summary(&report), @"
    7 records
    3:76: expected `,` or `}` -> the line is left out
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

/// Three exchanges, the last two kept by a compaction, and one after it.
async fn compacted(store: &pantograph::session::FileSystemJsonlStore) -> String {
    let mut written = session(store, 1, 3).await;
    let compaction = Record::Compaction(Compaction {
        id: MessageId::new("c"),
        parent: Some(MessageId::new("a2")),
        at: time(2),
        summary: "short".into(),
        first_kept: MessageId::new("u1"),
        tokens_before: 1,
    });
    let records = vec![
        compaction,
        record("u3", Some("c"), Role::User, "question 3"),
        record("a3", Some("u3"), Role::Assistant, "answer 3"),
    ];
    written.append(records).await.unwrap();
    std::fs::read_to_string(store.path(id(1))).unwrap()
}

async fn conversation(store: &pantograph::session::FileSystemJsonlStore) -> String {
    let conversation = store.load(id(1)).await.unwrap().conversation();
    let ids: Vec<&str> = conversation
        .messages()
        .iter()
        .map(|message| message.id.as_str())
        .collect();
    ids.join(" ")
}

#[tokio::test]
async fn a_damaged_message_keeps_its_place() {
    let (_directory, store) = store();
    let whole = compacted(&store).await;
    let path = store.path(id(1));
    let before = conversation(&store).await;
    assert_eq!(before, "c u1 a1 u2 a2 u3 a3");
    let mut broken = whole.clone().into_bytes();
    for text in ["question 1", "answer 2"] {
        let at = whole.find(text).unwrap();
        broken[at] = 0xff;
    }
    std::fs::write(&path, broken).unwrap();
    let report = doctor::repair(&path).unwrap();
    insta::assert_snapshot!(summary(&report), @"
    7 records
    4:154: invalid unicode code point -> a message that says so takes its place
    7:161: invalid unicode code point -> a message that says so takes its place
    ");
    assert_eq!(conversation(&store).await, before);
    let tree = store.load(id(1)).await.unwrap();
    let stub = &tree.branch()[2];
    assert_eq!((stub.role, stub.at), (Role::User, time(1)));
    assert_eq!(
        stub.text(),
        "(This message was damaged and cannot be read.)"
    );
    assert_eq!(doctor::examine(&path).unwrap().problems, []);
    // What could be read is as it was.
    let now = std::fs::read_to_string(&path).unwrap();
    let same = now.lines().filter(|line| whole.contains(line)).count();
    assert_eq!((same, now.lines().count()), (8, 11));
    let info = store.list().await.unwrap().remove(0);
    assert_eq!(
        (info.message_count, info.last_user_message.as_deref()),
        (8, Some("question 3"))
    );
}

#[tokio::test]
async fn what_follows_a_lost_first_kept_message_is_kept() {
    let (_directory, store) = store();
    let whole = compacted(&store).await;
    let path = store.path(id(1));
    let line = |n: &str| {
        let key = format!("\"id\":\"{n}\"");
        whole.lines().find(|line| line.contains(&key)).unwrap()
    };
    let cases = [
        // Its id can be guessed, its role cannot.
        whole.replacen(line("u1"), &line("u1").replace("\"n\":3,", "\"n\":3"), 1),
        // Nothing is left of it.
        whole.replacen(line("u1"), "garbage", 1),
        whole.replacen(&format!("{}\n", line("u1")), "", 1),
        // Nothing is left of it and of the one after it.
        whole
            .replacen(line("u1"), "garbage", 1)
            .replacen(line("a1"), "garbage", 1),
        // Both can be guessed.
        whole
            .replacen(line("u1"), &line("u1").replace("\"n\":3,", "\"n\":3"), 1)
            .replacen(line("a1"), &line("a1").replace("\"n\":4,", "\"n\":4"), 1),
    ];
    let mut texts = Vec::new();
    for broken in cases {
        assert_ne!(broken, whole);
        std::fs::write(&path, broken).unwrap();
        let report = doctor::repair(&path).unwrap();
        texts.push(format!(
            "{}\n-> {}",
            summary(&report),
            conversation(&store).await
        ));
        assert_eq!(doctor::examine(&path).unwrap().problems, []);
    }
    insta::assert_snapshot!(texts.join("\n\n"), @"
    8 records
    4:76: expected `,` or `}` -> the line is left out
    5:29: its parent `u1` is not there -> it names `a0` instead
    8:129: its first_kept `u1` is not there -> it names `a1` instead
    -> c a1 u2 a2 u3 a3

    8 records
    4:1: expected value -> the line is left out
    5:29: its parent `u1` is not there -> it names `a0` instead
    8:129: its first_kept `u1` is not there -> it names `a1` instead
    -> c a1 u2 a2 u3 a3

    8 records
    4:29: its parent `u1` is not there -> it names `a0` instead
    7:129: its first_kept `u1` is not there -> it names `a1` instead
    -> c a1 u2 a2 u3 a3

    7 records
    4:1: expected value -> the line is left out
    5:1: expected value -> the line is left out
    6:29: its parent `a1` is not there -> it names `a0` instead
    8:129: its first_kept `u1` is not there -> it names `u0` instead
    -> c u0 a0 u2 a2 u3 a3

    7 records
    4:76: expected `,` or `}` -> the line is left out
    5:76: expected `,` or `}` -> the line is left out
    6:29: its parent `a1` is not there -> it names `a0` instead
    8:129: its first_kept `u1` is not there -> it names `u2` instead
    -> c u2 a2 u3 a3
    ");
}

#[tokio::test]
async fn a_compaction_that_keeps_nothing_is_no_problem() {
    let (_directory, store) = store();
    let mut written = session(&store, 1, 1).await;
    let compaction = |id: &str, parent: &str, first_kept: &str| {
        Record::Compaction(Compaction {
            id: MessageId::new(id),
            parent: Some(MessageId::new(parent)),
            at: time(2),
            summary: "short".into(),
            first_kept: MessageId::new(first_kept),
            tokens_before: 1,
        })
    };
    // One names itself, the other what comes after it.
    written
        .append(vec![
            compaction("c", "a0", "c"),
            compaction("d", "c", "u1"),
            record("u1", Some("d"), Role::User, "on"),
        ])
        .await
        .unwrap();
    let report = doctor::examine(&store.path(id(1))).unwrap();
    assert_eq!(report.problems, []);
}

#[tokio::test]
async fn missing_and_changed_attachments_are_reported_and_left() {
    let (_directory, store) = store();
    let with = |id: &str, parent: &str, byte: u8| {
        let mut message = message(id, Some(parent), Role::User, "look");
        let attachment = Attachment::new("image/png", vec![byte; 100_000]);
        message.blocks.push(Block::Attachment(attachment));
        Record::Message(message)
    };
    let mut written = session(&store, 1, 1).await;
    written
        .append(vec![
            with("x", "a0", 1),
            with("y", "x", 2),
            with("again", "y", 1),
            with("good", "again", 3),
        ])
        .await
        .unwrap();
    drop(written);
    let path = store.path(id(1));
    assert_eq!(doctor::examine(&path).unwrap().problems, []);
    let stored = |message: &Message| {
        let Block::Attachment(attachment) = &message.blocks[1] else {
            panic!("expected an attachment");
        };
        attachment.path().unwrap().to_owned()
    };
    let branch = store.load(id(1)).await.unwrap().branch();
    let (gone, cut) = (stored(&branch[2]), stored(&branch[3]));
    std::fs::remove_file(&gone).unwrap();
    std::fs::write(&cut, "short").unwrap();
    let report = doctor::repair(&path).unwrap();
    let name = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let text = summary(&report)
        .replace(&name(&gone), "GONE")
        .replace(&name(&cut), "CUT");
    insta::assert_snapshot!(text, @"
    6 records
    4:214: its attachment `GONE` cannot be read: No such file or directory (os error 2) -> it stays named; the session loads, but whatever needs these bytes fails
    5:213: its attachment `CUT` was cut off or changed: 5 bytes are there -> it stays, and is used as it is
    6:218: its attachment `GONE` cannot be read: No such file or directory (os error 2) -> it stays named; the session loads, but whatever needs these bytes fails
    ");
    assert!(!report.repairable);
    assert_eq!(report.kept, None, "there was nothing to do");

    // With something to repair it is the same, and the kept file can still be examined.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend(b"{");
    std::fs::write(&path, bytes).unwrap();
    let repaired = doctor::repair(&path).unwrap();
    assert!(repaired.repairable);
    assert_eq!(repaired.problems[..3], report.problems);
    let kept = doctor::examine(&repaired.kept.unwrap()).unwrap();
    assert_eq!(kept.problems, repaired.problems);
    assert_eq!(doctor::examine(&path).unwrap().problems, report.problems);
}

#[tokio::test]
async fn an_id_that_comes_twice_is_reported() {
    let (_directory, store) = store();
    let mut written = session(&store, 1, 1).await;
    written
        .append(vec![record("u0", Some("a0"), Role::User, "again")])
        .await
        .unwrap();
    drop(written);
    let report = doctor::repair(&store.path(id(1))).unwrap();
    insta::assert_snapshot!(summary(&report), @"
    3 records
    4:19: its id `u0` is that of line 2, too -> both stay; records after it that name the id mean this one
    ");
    assert_eq!((report.repairable, report.kept), (false, None));
}
