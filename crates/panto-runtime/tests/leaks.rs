//! Nothing is left after many jobs: no thread, no descriptor, no coroutine, no memory.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

use std::sync::Arc;

use mlua::Lua;
use panto_runtime::{LuaRuntime, Options};
use pantograph::protocol::ToolChoice;
use pantograph::{AgentConfig, Model, ModelRef, Role, ToolDeclaration};
use pantograph_scripted::{Script, ScriptedProtocol, Step};
use serde_json::json;
use tokio::runtime::Builder;

const JOBS: &str = r#"
local uv, panto = require("luv"), require("panto")
coroutines = setmetatable({}, { __mode = "k" })

function tool(input, context)
    local co = coroutine.running()
    coroutines[co] = true
    context.output("working")
    local timer = uv.new_timer()
    timer:start(0, 0, function() timer:close() assert(coroutine.resume(co)) end)
    coroutine.yield()
    return "done"
end

-- Runs so many jobs side by side; some are cancelled, some closed, some forgotten.
function run(count)
    local co, left = coroutine.running(), count
    for i = 1, count do
        coroutine.wrap(function()
            local me = coroutine.running()
            coroutines[me] = true
            local agent = assert(panto.agent { config = config, store = panto.null_store() })
            agent:set_tools { { name = "tool", description = "x", schema = { type = "object" } } }
            local fds = assert(uv.pipe({ nonblock = true }, { nonblock = true }))
            local job = assert(agent:run_async { prompt = "x", wake_fd = fds.write })
            local function finish()
                uv.fs_close(fds.read) uv.fs_close(fds.write)
                left = left - 1
                if left == 0 then assert(coroutine.resume(co)) end
            end
            if i % 10 == 1 then job:close() return finish() end
            if i % 10 == 2 then job = nil return finish() end
            local poll = uv.new_poll(fds.read)
            poll:start("r", function()
                uv.fs_read(fds.read, 4096, -1)
                local event = job:next_event()
                while event do
                    if i % 10 == 3 and event.type == "tool_dispatch_start" then job:request_cancel() end
                    event = job:next_event()
                end
                if job:result() then
                    poll:close()
                    job:close()
                    finish()
                end
            end)
        end)()
    end
    coroutine.yield()
end

function alive()
    collectgarbage() collectgarbage()
    local n = 0
    for _ in pairs(coroutines) do n = n + 1 end
    return n
end
"#;

/// Threads and descriptors of this process.
fn held() -> (usize, usize) {
    let count = |path: &str| std::fs::read_dir(path).unwrap().count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

#[cfg(target_os = "linux")]
#[test]
fn ten_thousand_jobs_leave_nothing() {
    let agents = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let owner = Builder::new_current_thread().enable_all().build().unwrap();
    let before_all = held();
    owner.block_on(async {
        let lua = Lua::new();
        // A loaded machine is no reason to stop a step.
        let options =
            Options::new(agents.handle().clone()).step_limit(std::time::Duration::from_secs(60));
        let mut runtime = LuaRuntime::open(lua.clone(), options).unwrap();
        lua.load(JOBS).set_name("=jobs").exec().unwrap();
        let script = Script::new()
            .step(
                Step::call("tool", json!({}))
                    .when_last_role(Role::User)
                    .repeated(),
            )
            .step(Step::text("Done.").repeated());
        let config = AgentConfig {
            protocol: Arc::new(ScriptedProtocol::new(script)),
            model: Arc::new(Model::new(ModelRef::parse("scripted:demo").unwrap())),
            tool_choice: ToolChoice::Auto,
        };
        let config = runtime.module().config(&lua, config).unwrap();
        lua.globals().set("config", config).unwrap();
        let declaration = ToolDeclaration::new("tool", "x", json!({ "type": "object" })).unwrap();
        let handler = lua.globals().get("tool").unwrap();
        runtime
            .handle()
            .register_tool("test", declaration, handler)
            .unwrap();
        let run: mlua::Function = lua.globals().get("run").unwrap();

        let mut round = async |count: usize| {
            let drive = runtime.handle().drive("jobs", run.clone(), count).unwrap();
            runtime
                .run_until(drive)
                .await
                .unwrap_or_else(|failure| panic!("{failure}"));
            let turns = runtime.module().turns().clone();
            runtime.run_until(turns.settled()).await;
            // What was told to close does so in the loop's next rounds.
            for _ in 0..3 {
                runtime.run_until(tokio::task::yield_now()).await;
            }
            assert_eq!(runtime.live_handlers(), 0);
            let alive: usize = lua.load("return alive()").eval().unwrap();
            let now = held();
            (now, alive, lua.used_memory())
        };
        let first = round(500).await;
        let mut last = first;
        for _ in 0..19 {
            last = round(500).await;
        }
        assert_eq!(last.0, first.0, "threads and descriptors");
        assert!(last.1 <= 1, "{} coroutines", last.1);
        assert!(
            last.2 < first.2 + 256 * 1024,
            "{} bytes became {}",
            first.2,
            last.2
        );
        runtime.shutdown(std::time::Duration::from_secs(1)).await;
    });
    drop(owner);
    let after_all = held();
    assert!(
        after_all.0 <= before_all.0 && after_all.1 <= before_all.1 + 2,
        "{before_all:?} {after_all:?}"
    );
}
