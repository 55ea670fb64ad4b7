//! What a parked handler costs: memory, Rust's beside Lua's, and no time. In a process of its own.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]
#![allow(unsafe_code, reason = "a counting allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::Duration;

use mlua::Lua;
use panto_runtime::{LuaRuntime, Options};
use pantograph::{Agent, Cancel, Model, ModelRef, RawJson, ToolDeclaration, invoke_tools};
use pantograph_scripted::{Script, ScriptedProtocol};
use serde_json::json;
use tokio::runtime::{Builder, Handle};

struct Counting;

/// What is allocated, Lua's memory included: that comes through the same allocator.
static LIVE: AtomicIsize = AtomicIsize::new(0);

fn count(size: isize) {
    LIVE.fetch_add(size, Ordering::Relaxed);
}

// SAFETY: everything is left to the system's allocator; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const HANDLERS: usize = 5_000;

/// The bytes that live: Lua's, and Rust's beside them.
fn memory(lua: &Lua) -> (isize, isize) {
    let of_lua = lua.used_memory().cast_signed();
    (of_lua, LIVE.load(Ordering::Relaxed) - of_lua)
}

/// The processor time of this process.
fn worked() -> Duration {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF).unwrap();
    let time = usage.user_time() + usage.system_time();
    Duration::from_micros(u64::try_from(time.tv_sec() * 1_000_000 + time.tv_usec()).unwrap())
}

#[test]
fn a_parked_handler_weighs_less_than_two_kilobytes_and_does_nothing() {
    let owner = Builder::new_current_thread().enable_all().build().unwrap();
    owner.block_on(async {
        let lua = Lua::new();
        let options = Options::new(Handle::current());
        let mut runtime = LuaRuntime::open(lua.clone(), options).unwrap();
        let handler = lua
            .load("return function(input) parked = (parked or 0) + 1 coroutine.yield() return input.n end")
            .eval()
            .unwrap();
        let declaration = ToolDeclaration::new("park", "x", json!({ "type": "object" })).unwrap();
        runtime.handle().register_tool("test", declaration, handler).unwrap();
        let protocol = Arc::new(ScriptedProtocol::new(Script::new()));
        let model = Model::new(ModelRef::parse("scripted:demo").unwrap());
        let agent = Agent::builder(protocol, model).ephemeral();
        let source = runtime.tool_source();

        lua.gc_collect().unwrap();
        let before = memory(&lua);
        let calls = vec![("park".into(), RawJson::parse(r#"{"n":1}"#).unwrap()); HANDLERS];
        let mut parked = Box::pin(invoke_tools(&*source, &agent, calls, Cancel::new()));
        let all = async {
            tokio::select! {
                _ = &mut parked => unreachable!("nobody resumes them"),
                () = async {
                    while lua.globals().get::<Option<usize>>("parked").unwrap() != Some(HANDLERS) {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                } => {}
            }
        };
        runtime.run_until(all).await;
        lua.gc_collect().unwrap();
        let after = memory(&lua);
        let of_lua = (after.0 - before.0) / HANDLERS.cast_signed();
        let of_rust = (after.1 - before.1) / HANDLERS.cast_signed();
        assert!(of_lua < 1536, "{of_lua} bytes of Lua's a handler");
        assert!(of_lua + of_rust < 2048, "{of_rust} bytes of Rust's a handler, {of_lua} of Lua's");

        // The owner sleeps while nobody is resumed: the loop is driven, and hardly works.
        let start = worked();
        runtime.run_until(tokio::time::sleep(Duration::from_millis(300))).await;
        let took = worked() - start;
        assert!(took < Duration::from_millis(100), "{took:?} of work in 300 ms of nothing");
        runtime.shutdown(Duration::ZERO).await;
    });
}
