//! What jobs, events and JSON cost: a job from start to its result, many at once, an event into
//! Lua, and a document in both directions.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use mlua::{Function, Lua};
use panto_lua::{Embedding, Module};
use pantograph::protocol::ToolChoice;
use pantograph::{AgentConfig, Model, ModelRef};
use pantograph_scripted::{Script, ScriptedProtocol, Step, Text};
use tokio::runtime::Runtime;

struct Machine {
    lua: Lua,
    module: Module,
    runtime: Runtime,
}

fn machine(step: Step) -> Machine {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let lua = Lua::new();
    let embedding = Embedding::new(runtime.handle().clone());
    let module = panto_lua::open(&lua, embedding).expect("a module");
    let reference = ModelRef::parse("scripted:demo").expect("a valid reference");
    let config = AgentConfig {
        protocol: Arc::new(ScriptedProtocol::new(Script::new().step(step.repeated()))),
        model: Arc::new(Model::new(reference)),
        tool_choice: ToolChoice::Auto,
    };
    let config = module.config(&lua, config).expect("a configuration");
    lua.globals().set("config", config).expect("memory");
    let table = module.table().clone();
    lua.globals().set("panto", table).expect("memory");
    Machine {
        lua,
        module,
        runtime,
    }
}

impl Machine {
    fn function(&self, source: &str) -> Function {
        self.lua.load(source).eval().expect("a function")
    }

    fn settle(&self) {
        self.runtime.block_on(self.module.turns().settled());
    }
}

const START: &str = r#"
return function(count)
  jobs = {}
  for i = 1, count do
    local agent = panto.agent { config = config, store = panto.null_store() }
    jobs[i] = agent:run_async { prompt = "x" }
  end
end
"#;

const DRAIN: &str = r#"
return function()
  local count = 0
  for _, job in ipairs(jobs) do
    for event in job.next_event, job do count = count + 1 end
    job:close()
  end
  return count
end
"#;

fn jobs(c: &mut Criterion) {
    let mut group = c.benchmark_group("jobs");
    group.sample_size(10);
    for count in [1_u64, 1_000] {
        let machine = machine(Step::text("Hello."));
        let start = machine.function(START);
        let drain = machine.function(DRAIN);
        group.throughput(Throughput::Elements(count));
        group.bench_function(format!("{count} from start to result"), |b| {
            b.iter(|| {
                start.call::<()>(count).expect("jobs");
                machine.settle();
                black_box(drain.call::<u64>(()).expect("events"))
            });
        });
    }
    group.finish();
}

fn events(c: &mut Criterion) {
    const BLOCKS: u64 = 1_000;
    // Deltas of different blocks do not merge: three events each.
    let step = (0..BLOCKS).fold(Step::new(), |step, _| step.then(Text::new("some text")));
    let machine = machine(step);
    let start = machine.function(START);
    let drain = machine.function(DRAIN);
    let mut group = c.benchmark_group("events");
    group.sample_size(20);
    group.throughput(Throughput::Elements(3 * BLOCKS));
    group.bench_function("from the buffer into Lua", |b| {
        let begin = || {
            start.call::<()>(1).expect("a job");
            machine.settle();
        };
        b.iter_batched(
            begin,
            |()| black_box(drain.call::<u64>(()).expect("events")),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn json(c: &mut Criterion) {
    let machine = machine(Step::text(""));
    let json = machine.module.json();
    let entry = r#"{"id":"0198c0de","path":"src/main.rs","line":42,"tags":["a","b"],"done":true}"#;
    let text = format!("[{}]", vec![entry; 1_000].join(","));
    let value = json
        .decode(&machine.lua, text.as_bytes())
        .expect("valid JSON");
    let mut group = c.benchmark_group("json");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("decode", |b| {
        b.iter(|| {
            black_box(
                json.decode(&machine.lua, text.as_bytes())
                    .expect("valid JSON"),
            )
        });
    });
    group.bench_function("encode", |b| {
        b.iter(|| black_box(json.encode(&value).expect("valid JSON")));
    });
    group.finish();
}

criterion_group!(benches, jobs, events, json);
criterion_main!(benches);
