//! What a Lua tool call costs through the executor, against the same call made in the thread.

#![allow(clippy::print_stdout, reason = "a bench tells its figures")]

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mlua::{Function, Lua, LuaString};
use panto_lua::Embedding;
use panto_runtime::{LuaRuntime, Options};
use pantograph::{
    Agent, Cancel, Model, ModelRef, RawJson, ToolDeclaration, ToolSource, invoke_tools,
};
use pantograph_scripted::{Script, ScriptedProtocol};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

/// Waits for the loop once.
const PARK: &str = r#"
local uv = require("luv")
return function(input, context)
    local co = coroutine.running()
    local async
    async = uv.new_async(function() async:close() coroutine.resume(co) end)
    async:send()
    coroutine.yield()
    return input.text
end
"#;

const TOOL: &str = r#"
return function(input, context)
    return input.text
end
"#;

/// The input that every call has.
const INPUT: &str = r#"{"text":"The quick brown fox.","count":3,"flags":[true,false]}"#;

/// A Lua state on a thread of its own, and the threads of the agents that call its tools.
struct Machine {
    agents: Runtime,
    source: Arc<dyn ToolSource>,
    agent: Agent,
    stop: Option<oneshot::Sender<()>>,
    owner: Option<JoinHandle<()>>,
}

impl Machine {
    fn new() -> Self {
        let agents = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let (stop, stopped) = oneshot::channel();
        let (ready, made) = std::sync::mpsc::channel();
        let handle = agents.handle().clone();
        let owner = std::thread::spawn(move || {
            let owner = Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            owner.block_on(async move {
                let mut runtime = LuaRuntime::open(Lua::new(), Options::new(handle)).expect("Lua");
                let lua = runtime.lua().clone();
                for (name, source) in [("tool", TOOL), ("park", PARK)] {
                    let handler: Function = lua.load(source).eval().expect("a function");
                    let schema = json!({ "type": "object" });
                    let declaration = ToolDeclaration::new(name, "x", schema).expect("valid");
                    let registered = runtime.handle().register_tool("x", declaration, handler);
                    registered.expect("registered");
                }
                ready.send(runtime.tool_source()).expect("a reader");
                // Ended by an error, too: its sender is gone.
                let _ = runtime.run_until(stopped).await;
            });
        });
        let source = made.recv().expect("a source");
        let model = Model::new(ModelRef::parse("scripted:demo").expect("a reference"));
        let protocol = Arc::new(ScriptedProtocol::new(Script::new()));
        Self {
            agents,
            source,
            agent: Agent::builder(protocol, model).ephemeral(),
            stop: Some(stop),
            owner: Some(owner),
        }
    }

    /// Makes `batches` batches of `size` calls, one after the other, from a worker thread.
    fn batches(&self, tool: &'static str, size: usize, batches: u64) -> Duration {
        let (source, agent) = (Arc::clone(&self.source), self.agent.clone());
        let input = RawJson::parse(INPUT).expect("JSON");
        let calling = self.agents.spawn(async move {
            let start = Instant::now();
            for _ in 0..batches {
                let calls = vec![(tool.into(), input.clone()); size];
                let outputs = invoke_tools(&*source, &agent, calls, Cancel::new()).await;
                assert!(outputs.iter().all(|output| output.status.is_ok()));
            }
            start.elapsed()
        });
        self.agents.block_on(calling).expect("no panic")
    }

    /// The times of single calls, and of bare messages between two such threads: taken in turns,
    /// so that whatever else the machine does meets both.
    fn latencies(&self, rounds: usize, each: usize) -> (Latencies, Latencies) {
        let (source, agent) = (Arc::clone(&self.source), self.agent.clone());
        let input = RawJson::parse(INPUT).expect("JSON");
        let echo = Echo::new();
        let calling = self.agents.spawn(async move {
            let (mut calls, mut messages) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                for _ in 0..each {
                    let call = vec![("tool".into(), input.clone())];
                    let start = Instant::now();
                    invoke_tools(&*source, &agent, call, Cancel::new()).await;
                    calls.push(start.elapsed());
                }
                for _ in 0..each {
                    let start = Instant::now();
                    echo.answer().await;
                    messages.push(start.elapsed());
                }
            }
            (Latencies::new(calls), Latencies::new(messages))
        });
        self.agents.block_on(calling).expect("no panic")
    }
}

/// A thread that only answers, in a runtime like that of a Lua state's owner: what two wake-ups
/// cost on this machine.
struct Echo {
    asking: mpsc::UnboundedSender<oneshot::Sender<()>>,
}

impl Echo {
    fn new() -> Self {
        let (asking, mut asked) = mpsc::unbounded_channel::<oneshot::Sender<()>>();
        std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                while let Some(reply) = asked.recv().await {
                    reply.send(()).expect("a reader");
                }
            });
        });
        Self { asking }
    }

    async fn answer(&self) {
        let (reply, answer) = oneshot::channel();
        self.asking.send(reply).expect("a thread that answers");
        answer.await.expect("an answer");
    }
}

/// Times, in order.
struct Latencies(Vec<Duration>);

impl Latencies {
    fn new(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self(times)
    }

    fn at(&self, share: f64) -> Duration {
        self.0[(self.0.len() as f64 * share) as usize]
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (half, most, last) = (self.at(0.5), self.at(0.99), self.at(0.999));
        write!(f, "p50 {half:?}, p99 {most:?}, p99.9 {last:?}")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // An owner that is gone has panicked, which the join tells.
            let _ = stop.send(());
        }
        if let Some(owner) = self.owner.take() {
            owner.join().expect("no panic");
        }
    }
}

/// The same work as a call through the executor, without leaving the thread: input from its
/// text, a coroutine with a guard and a protected call, output back to Rust.
fn in_thread(c: &mut Criterion) {
    let agents = Builder::new_multi_thread().build().expect("a runtime");
    let lua = Lua::new();
    let module = panto_lua::open(&lua, Embedding::new(agents.handle().clone())).expect("Lua");
    let handler: Function = lua.load(TOOL).eval().expect("a function");
    let report = lua
        .create_function(|_, (ok, text): (bool, LuaString)| {
            assert!(ok);
            black_box(text.to_string_lossy());
            Ok(())
        })
        .expect("a function");
    let wrapper: Function = lua
        .load(
            r#"
            local report = ...
            local xpcall, setmetatable, guard = xpcall, setmetatable, { __close = function() end }
            local function on_error(e) return e end
            return function(handler, input, context)
                local running <close> = setmetatable({}, guard)
                report(xpcall(handler, on_error, input, context))
            end
            "#,
        )
        .call(report)
        .expect("a function");
    let mut group = c.benchmark_group("call");
    group.throughput(Throughput::Elements(1));
    group.bench_function("in the thread", |b| {
        b.iter(|| {
            let input = module.json().decode(&lua, INPUT.as_bytes()).expect("JSON");
            let context = lua.create_table().expect("memory");
            context.raw_set("tool_call_id", "call_0").expect("memory");
            context.raw_set("tool_name", "tool").expect("memory");
            let thread = lua.create_thread(wrapper.clone()).expect("memory");
            thread
                .resume::<()>((&handler, input, context))
                .expect("no error");
        });
    });
    let input = module.json().decode(&lua, INPUT.as_bytes()).expect("JSON");
    group.bench_function("bare", |b| {
        b.iter(|| handler.call::<LuaString>((&input, true)).expect("no error"));
    });
    group.finish();
}

fn through_the_executor(c: &mut Criterion) {
    let machine = Machine::new();
    let mut group = c.benchmark_group("call");
    for size in [1, 16, 256] {
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(format!("from another thread, batches of {size}"), |b| {
            b.iter_custom(|batches| machine.batches("tool", size, batches));
        });
    }
    group.throughput(Throughput::Elements(16));
    group.bench_function("from another thread, parked once, batches of 16", |b| {
        b.iter_custom(|batches| machine.batches("park", 16, batches));
    });
    group.finish();
    // Criterion knows no percentiles. The quietest of several runs: what else the machine does
    // can only add.
    let runs = (0..5).map(|_| machine.latencies(40, 100));
    let best = runs.min_by_key(|(calls, _)| calls.at(0.99));
    let (calls, messages) = best.expect("a run");
    println!("one at a time: {calls}");
    println!("a bare message and its answer in the same run: {messages}");
}

criterion_group!(benches, in_thread, through_the_executor);
criterion_main!(benches);
