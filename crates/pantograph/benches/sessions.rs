//! How fast sessions are listed, loaded and appended to. The figures and the machine they were
//! taken on are in `docs/performance.md`.
#![allow(clippy::unwrap_used, reason = "benchmarks may unwrap")]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use jiff::Timestamp;
use pantograph::session::{
    FileSystemJsonlStore, Header, LoadOptions, Record, Session, SessionStore,
};
use pantograph::{
    Block, Message, MessageId, Metadata, Origin, Role, SessionId, StopReason, ToolCall, ToolResult,
    ToolStatus, Usage,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use uuid::Uuid;

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_secs(1));
    targets = list, load, append
}
criterion_main!(benches);

/// Ten thousand sessions in one directory, all fields of each.
fn list(criterion: &mut Criterion) {
    let runtime = runtime();
    let directory = TempDir::new().unwrap();
    let store = FileSystemJsonlStore::new(directory.path());
    copies(&runtime, &store, 10_000);
    let mut group = criterion.benchmark_group("list 10,000 sessions");
    group.bench_function("all", |bencher| {
        bencher.iter(|| {
            let infos = runtime.block_on(store.list()).unwrap();
            assert_eq!(infos.len(), 10_000);
            assert_eq!(infos[0].message_count, 12);
            assert!(infos.iter().all(|info| info.model.is_some()));
            infos
        });
    });
    group.bench_function("the latest 20", |bencher| {
        bencher.iter(|| runtime.block_on(store.list_bounded(20)).unwrap());
    });
    group.finish();
}

/// 5,000 messages in 20 MB.
fn load(criterion: &mut Criterion) {
    let runtime = runtime();
    let directory = TempDir::new().unwrap();
    let store = FileSystemJsonlStore::new(directory.path());
    let id = SessionId::new(Uuid::now_v7());
    runtime.block_on(async {
        let mut session = store.create(header(id)).await.unwrap();
        session.append(messages(5_000, 4_000)).await.unwrap();
    });
    let size = std::fs::metadata(store.path(id)).unwrap().len();
    assert!((20_000_000..22_000_000).contains(&size), "{size}");
    let mut group = criterion.benchmark_group("a session of 20 MB and 5,000 messages");
    group.bench_function("load", |bencher| {
        // Dropping what was loaded is not part of loading it.
        bencher.iter_with_large_drop(|| runtime.block_on(store.load(id)).unwrap());
    });
    let last = LoadOptions {
        limit: Some(20),
        from_end: true,
        ..LoadOptions::default()
    };
    group.bench_function("the last 20 messages", |bencher| {
        bencher.iter(|| {
            runtime
                .block_on(store.load_messages(id, black_box(&last)))
                .unwrap()
        });
    });
    group.finish();
}

/// One message: one write and one sync. What this measures is mostly the disk.
fn append(criterion: &mut Criterion) {
    let runtime = runtime();
    let directory = TempDir::new().unwrap();
    let store = FileSystemJsonlStore::new(directory.path());
    let mut session = runtime.block_on(async {
        let id = SessionId::new(Uuid::now_v7());
        let mut session = store.create(header(id)).await.unwrap();
        session.append(messages(4, 100)).await.unwrap();
        session
    });
    let record = messages(1, 1_000).remove(0);
    criterion.bench_function("append a message of 1 kB", |bencher| {
        bencher.iter(|| {
            runtime
                .block_on(session.append(vec![record.clone()]))
                .unwrap();
        });
    });
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
}

fn header(id: SessionId) -> Header {
    Header {
        id,
        created: Timestamp::now(),
        cwd: Path::new("/home/ann/app").to_owned(),
        metadata: Metadata::new(),
    }
}

/// A session as an agent leaves one, many times over.
fn copies(runtime: &Runtime, store: &FileSystemJsonlStore, count: usize) {
    let id = SessionId::new(Uuid::now_v7());
    let session: Box<dyn Session> = runtime.block_on(async {
        let mut session = store.create(header(id)).await.unwrap();
        session.append(messages(12, 2_000)).await.unwrap();
        session
    });
    drop(session);
    for _ in 1..count {
        let copy = store.path(SessionId::new(Uuid::now_v7()));
        std::fs::copy(store.path(id), copy).unwrap();
    }
}

/// Messages of about `size` bytes: a prompt, a call, its result, an answer, and again.
fn messages(count: usize, size: usize) -> Vec<Record> {
    let origin = Arc::new(Origin {
        style: "scripted".into(),
        base_url: Some("http://127.0.0.1:8080/v1".into()),
        model: "small-2026".into(),
        reference: "local:small".into(),
        reasoning: Some("medium".into()),
    });
    let mut text = "    let value = \"as code is\"; // with quotes and lines\n".repeat(size / 50);
    text.truncate(size.saturating_sub(600).max(20));
    let mut parent = None;
    (0..count)
        .map(|n| {
            let id = MessageId::from(Uuid::now_v7());
            let (role, block) = match n % 4 {
                0 => (Role::User, Block::text(text.as_str())),
                1 => {
                    let call = ToolCall {
                        id: format!("call_{n}").into(),
                        name: "read".into(),
                        input: format!("{{\"path\":{:?}}}", text),
                        raw: None,
                    };
                    (Role::Assistant, Block::ToolCall(call))
                }
                2 => {
                    let call = format!("call_{}", n - 1).into();
                    let result = ToolResult::text(call, ToolStatus::Ok, text.as_str());
                    (Role::Tool, Block::ToolResult(result))
                }
                _ => (Role::Assistant, Block::text(text.as_str())),
            };
            let is_answer = role == Role::Assistant;
            Record::Message(Message {
                parent: parent.replace(id.clone()),
                id,
                at: Timestamp::now(),
                role,
                blocks: vec![block],
                metadata: Metadata::new(),
                origin: is_answer.then(|| Arc::clone(&origin)),
                usage: is_answer.then(|| Usage {
                    input: Some(10_000),
                    output: Some(500),
                    ..Usage::default()
                }),
                stop: is_answer.then_some(StopReason::End),
            })
        })
        .collect()
}
