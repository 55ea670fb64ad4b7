//! When what is on disk, and what happens when the disk refuses.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use pantograph::session::{FileSystemJsonlStore, Record, SessionStore};
use pantograph::{Attachment, Block, Role};

use crate::support::*;

/// Set for a process that may write small files only: the store's directory.
const LIMITED: &str = "PANTOGRAPH_TEST_LIMITED";

#[tokio::test]
async fn the_file_appears_with_the_first_answer() {
    let (directory, store) = store();
    let mut session = store.create(header(1)).await.unwrap();
    session.append(vec![]).await.unwrap();
    session
        .append(vec![
            record("s", None, Role::System, "be brief"),
            record("u", Some("s"), Role::User, "hello"),
        ])
        .await
        .unwrap();
    assert_eq!(names(directory.path()), [""; 0]);
    session
        .append(vec![record("a", Some("u"), Role::Assistant, "hi")])
        .await
        .unwrap();
    assert_eq!(names(store.directory()), [format!("{}.jsonl", id(1))]);
    assert_eq!(branch(&store, 1).await, "s u a");
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(store.directory()), 0o700);
    assert_eq!(mode(&store.path(id(1))), 0o600);
}

#[tokio::test]
async fn an_id_is_taken_once() {
    let (directory, store) = store();
    let mut late = store.create(header(1)).await.unwrap();
    drop(session(&store, 1, 1).await);
    let Err(error) = store.create(header(1)).await else {
        panic!("created twice");
    };
    let again = late.append(exchange(0)).await.unwrap_err();
    let before = format!("could not create `DIR/sessions/{}.jsonl`", id(1));
    assert_eq!(
        text(&error, directory.path()),
        format!("{before}: entity already exists")
    );
    assert_eq!(
        text(&again, directory.path()),
        format!("{before}: File exists (os error 17)")
    );
    assert_eq!(branch(&store, 1).await, "u0 a0");
    assert_eq!(names(store.directory()), [format!("{}.jsonl", id(1))]);
}

#[tokio::test]
async fn what_cannot_be_created_waits() {
    let (directory, store) = store();
    // A file in the directory's place: refused to anybody, root included.
    std::fs::write(store.directory(), "").unwrap();
    let mut session = store.create(header(1)).await.unwrap();
    let error = session.append(exchange(0)).await.unwrap_err();
    insta::assert_snapshot!(text(&error, directory.path()), @"could not create the directory `DIR/sessions`: File exists (os error 17)");
    std::fs::remove_file(store.directory()).unwrap();
    session.append(exchange(1)).await.unwrap();
    assert_eq!(branch(&store, 1).await, "u0 a0 u1 a1");
}

#[tokio::test]
async fn a_directory_that_cannot_be_written_is_an_error() {
    let (directory, store) = store();
    std::fs::create_dir(store.directory()).unwrap();
    let set = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(store.directory(), mode).unwrap();
    };
    set(0o500);
    let mut session = store.create(header(1)).await.unwrap();
    let result = session.append(exchange(0)).await;
    // Root may write anywhere.
    if !rustix::process::geteuid().is_root() {
        insta::assert_snapshot!(text(&result.unwrap_err(), directory.path()), @"could not create `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl`: Permission denied (os error 13)");
    }
    set(0o700);
    session.append(exchange(1)).await.unwrap();
    assert_eq!(branch(&store, 1).await, "u0 a0 u1 a1");
}

#[tokio::test]
async fn a_file_that_was_removed_or_changed_is_not_written_to() {
    let (directory, store) = store();
    let mut session = session(&store, 1, 1).await;
    let path = store.path(id(1));
    let aside = directory.path().join("aside");
    let mut errors = Vec::new();

    std::fs::rename(&path, &aside).unwrap();
    errors.push(session.append(exchange(1)).await.unwrap_err());
    std::fs::copy(&aside, &path).unwrap();
    errors.push(session.append(vec![]).await.unwrap_err());
    std::fs::rename(&aside, &path).unwrap();
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{whole}\n")).unwrap();
    errors.push(session.append(vec![]).await.unwrap_err());
    std::fs::write(&path, &whole).unwrap();
    session.append(vec![]).await.unwrap();
    assert_eq!(branch(&store, 1).await, "u0 a0 u1 a1");

    std::fs::remove_dir_all(store.directory()).unwrap();
    errors.push(session.append(exchange(2)).await.unwrap_err());
    assert!(!store.directory().exists());
    let texts: Vec<String> = errors.iter().map(|e| text(e, directory.path())).collect();
    insta::assert_snapshot!(texts.join("\n"), @r"
    could not append to `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl`: the file was removed or replaced while the session was open
    could not append to `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl`: the file was removed or replaced while the session was open
    could not append to `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl`: another program changed the file while the session was open
    could not append to `DIR/sessions/0198c0de-0000-7000-8000-000000000001.jsonl`: the file was removed or replaced while the session was open
    ");
}

#[tokio::test]
async fn a_full_disk_leaves_nothing_half_written() {
    if let Some(directory) = std::env::var_os(LIMITED) {
        return fill(FileSystemJsonlStore::new(directory)).await;
    }
    let (_directory, store) = store();
    // The shell sets the limit and ignores the signal that comes with it, so that a write past
    // 32 KiB (blocks are of 512 bytes or of 1024) fails as on a full disk.
    let limited = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 32; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([
            "writing::a_full_disk_leaves_nothing_half_written",
            "--exact",
        ])
        .env(LIMITED, store.directory())
        // Piped: a log that is a file would come under the limit, too.
        .output()
        .unwrap();
    assert!(
        limited.status.success(),
        "{}",
        String::from_utf8_lossy(&limited.stdout)
    );
    // With room again, what waited is written.
    let tree = store.load(id(1)).await.unwrap();
    assert_eq!(tree.torn_bytes(), 0);
    assert_eq!(branch(&store, 1).await, "u0 a0 u1 a1");
    assert_eq!(names(store.directory()), [format!("{}.jsonl", id(1))]);
}

/// What the limited process does.
async fn fill(store: FileSystemJsonlStore) {
    let large = "x".repeat(40_000);
    let is_full =
        |error: &dyn std::error::Error| pantograph::with_causes(error).contains("File too large");

    let mut refused = store.create(header(2)).await.unwrap();
    let error = refused
        .append(vec![record("a", None, Role::Assistant, &large)])
        .await
        .unwrap_err();
    assert!(is_full(&error), "{error}");
    assert_eq!(names(store.directory()), [""; 0]);

    let mut session = session(&store, 1, 2).await;
    let before = std::fs::read(store.path(id(1))).unwrap();
    let next = record("u2", Some("a1"), Role::User, &large);
    let error = session.append(vec![next]).await.unwrap_err();
    assert!(is_full(&error), "{error}");
    assert_eq!(std::fs::read(store.path(id(1))).unwrap(), before);
    // It waits, and so does what comes after it.
    session.append(exchange(3)).await.unwrap_err();
    assert_eq!(std::fs::read(store.path(id(1))).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_appends_at_once_keep_their_order_and_one_record_a_line() {
    let (_directory, store) = store();
    let mut sessions = tokio::task::JoinSet::new();
    for n in 0..10 {
        let store = store.clone();
        sessions.spawn(async move {
            let mut session = session(&store, n, 1).await;
            let mut parent = "a0".to_owned();
            for k in 0..10 {
                let text = format!("{k}\n").repeat(3_000);
                let id = format!("m{k}");
                let mut appended = message(&id, Some(&parent), Role::User, &text);
                if k == 5 {
                    // What is refused is left out, and nothing else.
                    let gone = Attachment::from_file("image/png", "/nowhere/gone.png");
                    appended.blocks.push(Block::Attachment(gone));
                } else {
                    parent = id;
                }
                let mut append = session.append(vec![Record::Message(appended)]);
                // Dropped as soon as it is under way, so that all ten are under way at once.
                let waker = std::task::Waker::noop();
                let mut context = std::task::Context::from_waker(waker);
                let _ = append.as_mut().poll(&mut context);
            }
            session.append(vec![]).await.unwrap();
        });
    }
    sessions.join_all().await;
    for n in 0..10 {
        let text = std::fs::read_to_string(store.path(id(n))).unwrap();
        assert_eq!(text.lines().count(), 1 + 2 + 9);
        assert!(
            text.lines()
                .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
        );
        assert_eq!(branch(&store, n).await, "u0 a0 m0 m1 m2 m3 m4 m6 m7 m8 m9");
    }
}
