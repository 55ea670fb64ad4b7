//! Sessions to test with: everything in them is fixed.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use pantograph::session::{FileSystemJsonlStore, Header, Record, Session, SessionStore};
use pantograph::{Block, Message, MessageId, Metadata, Origin, Role, SessionId};
use tempfile::TempDir;

pub(crate) fn id(n: u32) -> SessionId {
    SessionId::parse(&format!("0198c0de-0000-7000-8000-{n:012x}")).unwrap()
}

pub(crate) fn time(seconds: i64) -> Timestamp {
    Timestamp::new(1_800_000_000 + seconds, 0).unwrap()
}

pub(crate) fn header(n: u32) -> Header {
    Header {
        id: id(n),
        created: time(0),
        cwd: "/home/ann/app".into(),
        metadata: Metadata::new(),
    }
}

pub(crate) fn object(json: serde_json::Value) -> Metadata {
    json.as_object().unwrap().clone()
}

/// A message of one text; an assistant's has an origin.
pub(crate) fn message(id: &str, parent: Option<&str>, role: Role, text: &str) -> Message {
    let origin = Origin {
        style: "scripted".into(),
        base_url: Some("http://127.0.0.1:1".into()),
        model: "small".into(),
        reference: "test:small".into(),
        reasoning: Some("low".into()),
    };
    Message {
        id: MessageId::new(id),
        parent: parent.map(MessageId::new),
        at: time(1),
        role,
        blocks: vec![Block::text(text)],
        metadata: Metadata::new(),
        origin: (role == Role::Assistant).then(|| Arc::new(origin)),
        usage: None,
        stop: None,
    }
}

pub(crate) fn record(id: &str, parent: Option<&str>, role: Role, text: &str) -> Record {
    Record::Message(message(id, parent, role, text))
}

/// A user message and its answer, ids `u` and `a` with a number.
pub(crate) fn exchange(n: u32) -> Vec<Record> {
    let before = (n > 0).then(|| format!("a{}", n - 1));
    let (user, answer) = (format!("u{n}"), format!("a{n}"));
    vec![
        record(
            &user,
            before.as_deref(),
            Role::User,
            &format!("question {n}"),
        ),
        record(
            &answer,
            Some(&user),
            Role::Assistant,
            &format!("answer {n}"),
        ),
    ]
}

pub(crate) fn store() -> (TempDir, FileSystemJsonlStore) {
    let directory = TempDir::new().unwrap();
    let store = FileSystemJsonlStore::new(directory.path().join("sessions"));
    (directory, store)
}

/// A session of some exchanges, still open.
pub(crate) async fn session(
    store: &FileSystemJsonlStore,
    n: u32,
    exchanges: u32,
) -> Box<dyn Session> {
    let mut session = store.create(header(n)).await.unwrap();
    for exchange_number in 0..exchanges {
        session.append(exchange(exchange_number)).await.unwrap();
    }
    session
}

/// The ids of the current branch.
pub(crate) async fn branch(store: &FileSystemJsonlStore, n: u32) -> String {
    let tree = store.load(id(n)).await.unwrap();
    let ids: Vec<String> = tree.branch().iter().map(|m| m.id.to_string()).collect();
    ids.join(" ")
}

/// The names in a directory, in order.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// An error with its causes.
pub(crate) fn text(error: &dyn std::error::Error, directory: &Path) -> String {
    pantograph::with_causes(error).replace(directory.to_str().unwrap(), "DIR")
}
