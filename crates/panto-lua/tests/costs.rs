//! What jobs and events cost, counted in a process of its own: allocations, and bytes that live.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]
#![allow(unsafe_code, reason = "a counting allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

use mlua::{Function, Lua};
use panto_lua::{Embedding, Module};
use pantograph::protocol::ToolChoice;
use pantograph::{Agent, AgentConfig, Model, ModelRef};
use pantograph_scripted::{Gate, Script, ScriptedProtocol, Step, Text};

struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

/// Lua's memory comes through the same allocator. It is aligned for anything, as C has it. Of what
/// the module allocates only its few hash tables are, and no event has one.
const LUA_ALIGN: usize = 16;

thread_local! {
    /// Allocations of this thread alone, so that the runtime's do not count, and without Lua's.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is left to the system's allocator; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        if layout.align() < LUA_ALIGN {
            // The thread may be ending.
            let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        }
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Machine {
    lua: Lua,
    module: Module,
    runtime: tokio::runtime::Runtime,
}

fn machine(script: Script) -> Machine {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2);
    machine_in(runtime.enable_all().build().unwrap(), script)
}

fn machine_in(runtime: tokio::runtime::Runtime, script: Script) -> Machine {
    let lua = Lua::new();
    let module = panto_lua::open(&lua, Embedding::new(runtime.handle().clone())).unwrap();
    let config = module.config(
        &lua,
        AgentConfig {
            protocol: Arc::new(ScriptedProtocol::new(script)),
            model: Arc::new(Model::new(ModelRef::parse("scripted:demo").unwrap())),
            tool_choice: ToolChoice::Auto,
        },
    );
    lua.globals().set("config", config.unwrap()).unwrap();
    lua.globals().set("panto", module.table().clone()).unwrap();
    Machine {
        lua,
        module,
        runtime,
    }
}

/// How many allocations this thread makes in a call, beside Lua's own.
fn allocations(function: &Function) -> u64 {
    let before = ALLOCATIONS.get();
    function.call::<()>(()).unwrap();
    ALLOCATIONS.get() - before
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn costs_stay_within_their_bounds() {
    an_event_costs_two_rust_allocations_at_most();
    so_does_its_whole_way_from_the_turn();
    a_live_job_costs_less_than_64_kilobytes();
}

const BLOCKS: u64 = 250;

/// Each block is three events: deltas of different blocks do not merge.
fn blocks() -> Script {
    let step = (0..BLOCKS).fold(Step::new(), |step, _| step.then(Text::new("some text")));
    Script::new().step(step)
}

/// Starts a job, and gives the function that reads all its events, and counts them in `count`.
fn reader(machine: &Machine) -> Function {
    let chunk = machine.lua.load(
        r#"
        job = panto.agent { config = config, store = panto.null_store() }
          :run_async { prompt = "x" }
        count = 0
        return function()
          while true do
            local event = job:next_event()
            if not event then return end
            count = count + 1
            assert(event.type)
          end
        end
        "#,
    );
    chunk.eval().unwrap()
}

fn an_event_costs_two_rust_allocations_at_most() {
    let machine = machine(blocks());
    let read = reader(&machine);
    machine.runtime.block_on(machine.module.turns().settled());
    let rust = allocations(&read);
    let events: u64 = machine.lua.globals().get("count").unwrap();
    assert!(events >= 3 * BLOCKS, "{events} events");
    assert!(
        rust <= 2 * events,
        "{events} events cost {rust} allocations"
    );
}

/// Against the same turn without a job, on one thread, where all allocations count.
fn so_does_its_whole_way_from_the_turn() {
    let runtime = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap()
    };
    let agent = Agent::builder(
        Arc::new(ScriptedProtocol::new(blocks())),
        Model::new(ModelRef::parse("scripted:demo").unwrap()),
    );
    let agent = agent.ephemeral();
    let before = ALLOCATIONS.get();
    runtime().block_on(async {
        let mut turn = agent.run("x").unwrap();
        while turn.next().await.is_some() {}
    });
    let plain = ALLOCATIONS.get() - before;

    let machine = machine_in(runtime(), blocks());
    let before = ALLOCATIONS.get();
    let read = reader(&machine);
    machine.runtime.block_on(machine.module.turns().settled());
    read.call::<()>(()).unwrap();
    let job = ALLOCATIONS.get() - before;
    let events: u64 = machine.lua.globals().get("count").unwrap();
    assert!(events >= 3 * BLOCKS, "{events} events");
    let own = job.saturating_sub(plain);
    assert!(own <= 2 * events, "{events} events cost {own} allocations");
}

fn a_live_job_costs_less_than_64_kilobytes() {
    const JOBS: isize = 1_000;
    let gate = Gate::new();
    let script = Script::new().step(Step::new().on_open(&gate).then("Hi.").repeated());
    let machine = machine(script);
    let start: Function = machine
        .lua
        .load(
            r#"
            jobs = {}
            return function(count)
              for i = 1, count do
                local agent = panto.agent { config = config, store = panto.null_store() }
                jobs[#jobs + 1] = assert(agent:run_async { prompt = "x" })
              end
            end
            "#,
        )
        .eval()
        .unwrap();
    start.call::<()>(100).unwrap();
    machine.runtime.block_on(gate.reached_times(100));
    let before = LIVE.load(Ordering::Relaxed);
    start.call::<()>(JOBS).unwrap();
    let all = usize::try_from(JOBS).unwrap() + 100;
    machine.runtime.block_on(gate.reached_times(all));
    let each = (LIVE.load(Ordering::Relaxed) - before) / JOBS;
    assert!(each < 64 * 1024, "a live job costs {each} bytes");
    gate.open();
    machine.runtime.block_on(machine.module.turns().settled());
}
