//! How fast a script plays text deltas: the reader of a bench must not wait for its script.

use std::future::poll_fn;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pantograph::protocol::{Protocol, Purpose, Request, ToolChoice};
use pantograph::{
    Block, Conversation, Message, MessageId, Metadata, Model, ModelRef, Role, ToolSet,
};
use pantograph_scripted::{Script, ScriptedProtocol, Step, Text};

const DELTAS: u64 = 100_000;

fn request() -> Request {
    let message = Message {
        id: MessageId::new("m"),
        parent: None,
        at: std::time::SystemTime::UNIX_EPOCH
            .try_into()
            .expect("a valid time"),
        role: Role::User,
        blocks: vec![Block::text("go")],
        metadata: Metadata::new(),
        origin: None,
        usage: None,
        stop: None,
    };
    let reference = ModelRef::parse("bench:model").expect("a valid reference");
    Request {
        model: Arc::new(Model::new(reference)),
        purpose: Purpose::Turn,
        context: "bench".into(),
        label: None,
        system_prompt: None,
        conversation: Conversation::from_parts(vec![Arc::new(message)], None),
        tools: ToolSet::default(),
        tool_choice: ToolChoice::Auto,
    }
}

async fn drain(protocol: &ScriptedProtocol) {
    let mut stream = protocol.open(request()).await.expect("a step that repeats");
    while let Some(event) = poll_fn(|cx| stream.poll_event(cx)).await {
        black_box(event.expect("no fault in the script"));
    }
}

fn deltas(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime without drivers");
    let mut group = criterion.benchmark_group("deltas");
    group.throughput(Throughput::Elements(DELTAS));
    let texts = [
        ("repeated", Text::new("hello ").count(DELTAS)),
        (
            "split",
            Text::new("hello ".repeat(DELTAS as usize)).chunks(DELTAS as usize),
        ),
    ];
    for (name, text) in texts {
        let script = Script::new().step(Step::from(text).repeated());
        let protocol = ScriptedProtocol::new(script);
        group.bench_function(name, |bencher| {
            bencher.iter(|| runtime.block_on(drain(&protocol)));
        });
    }
    group.finish();
}

criterion_group!(benches, deltas);
criterion_main!(benches);
