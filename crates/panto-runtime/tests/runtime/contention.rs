//! Jobs of both kinds of providers, on threads of their own, in whatever order: each call finds its own agent, each job
//! ends once, and nothing stays behind.

use std::sync::Arc;
use std::time::Duration;

use pantograph::protocol::ToolChoice;
use pantograph::{AgentConfig, Role, StopReason};
use pantograph_scripted::{Call, Fault, Script, Step};
use serde_json::json;

use crate::support::{Machine, calling, machine, model, results};

const LUA: &str = r#"
register_protocol { name = "lua", open = function(request)
    local called = request.messages[#request.messages].role == "tool"
    local script = called and { { type = "text_delta", text = "Done." }, { type = "done" } } or {
        { type = "tool_call", id = "a", name = "who", input_json = '{"n":1}' },
        { type = "tool_call", id = "b", name = "who", input_json = '{"n":2}' },
        { type = "done" } }
    local at = 0
    return { next = function() at = at + 1 return script[at] end, close = function() end }
end }
-- A forced call's coroutine is closed while its timer runs.
function sleep(ms)
    local co, timer = coroutine.running(), uv.new_timer()
    timer:start(ms, 0, function()
        timer:close()
        if coroutine.status(co) == "suspended" then assert(coroutine.resume(co)) end
    end)
    coroutine.yield()
end
"#;

impl Machine {
    /// Gives Lua `configs`, one that is scripted and one on a protocol of Lua's, each of which calls the tool `who`
    /// twice; and `current`, the agent that code runs for.
    fn contending(&self) {
        self.protocols();
        self.exec(LUA);
        let step = [1, 2].iter().fold(Step::new(), |step, n| {
            step.then(Call::new("who", json!({ "n": n })))
        });
        let script = Script::new()
            .step(step.when_last_role(Role::User).repeated())
            .step(Step::text("Done.").repeated());
        self.config("scripted", script);
        let handle = self.runtime.handle();
        let config = AgentConfig {
            protocol: handle.protocol("lua").unwrap(),
            model: Arc::new(model()),
            tool_choice: ToolChoice::Auto,
        };
        let config = self.runtime.module().config(&self.lua, config).unwrap();
        self.lua.globals().set("lua_config", config).unwrap();
        let current = handle.current_agent().unwrap();
        self.lua.globals().set("current", current).unwrap();
        self.exec("configs = { scripted, lua_config }");
        self.tool(
            "who",
            r#"
            local me = current:session_id()
            sleep(input.n)
            assert(current:session_id() == me, "after a pause")
            coroutine.wrap(function() assert(current:session_id() == me, "in a coroutine") end)()
            return me
            "#,
        );
    }

    /// Everything that was started has ended, and nothing of it is kept.
    async fn is_clean(&mut self, what: &str) {
        let turns = self.runtime.module().turns().clone();
        let settled = tokio::time::timeout(Duration::from_secs(30), turns.settled());
        self.runtime.run_until(settled).await.expect(what);
        for _ in 0..200 {
            if self.left() == [0; 3] {
                break;
            }
            let pause = tokio::time::sleep(Duration::from_millis(5));
            self.runtime.run_until(pause).await;
        }
        assert_eq!(self.left(), [0; 3], "{what}: handlers, lanes, waits");
        assert_eq!(self.failures(), [""; 0], "{what}");
    }

    fn left(&self) -> [usize; 3] {
        let runtime = &self.runtime;
        [
            runtime.live_handlers(),
            runtime.live_lanes(),
            runtime.live_waits(),
        ]
    }
}

#[tokio::test(start_paused = true)]
async fn children_on_scripted_and_lua_protocols_run_together_below_one_parked_handler() {
    let mut machine = machine();
    machine.contending();
    machine.tool(
        "delegate",
        r#"
        local me, co, left = current:session_id(), coroutine.running(), 20
        for i = 1, 20 do
            coroutine.wrap(function()
                local agent = new_agent(configs[i % 2 + 1], { "who" })
                local result, events = assert(run_job(agent, { prompt = "Child." }))
                assert(result.status == "completed" and result.text == "Done.", result.status)
                local called = 0
                for _, event in ipairs(events) do
                    if event.type == "tool_result" then
                        called = called + 1
                        assert(event.output == agent:session_id(), event.output)
                    end
                end
                assert(called == 2, called)
                -- What started the job is still of the primary's lane.
                assert(current:session_id() == me)
                left = left - 1
                if left == 0 then assert(coroutine.resume(co)) end
            end)()
        end
        coroutine.yield()
        return current:session_id() == me and me or "another lane"
        "#,
    );
    let agent = machine.agent(calling("delegate", [json!({})]));
    machine.ask(&agent).await;
    let expected = ("ok".to_owned(), agent.session_id().to_string());
    assert_eq!(results(&agent), [expected]);
    machine.is_clean("children").await;
}

const STORM: &str = r#"
-- Every seed gives another order.
local seed = ...
local function below(n)
    seed = (seed * 6364136223846793005 + 1442695040888963407)
    return (seed >> 33) % n
end
local co, left = coroutine.running(), 60
for i = 1, 60 do
    coroutine.wrap(function()
        local agent = new_agent(configs[i % 2 + 1], { "who" })
        local fds = assert(uv.pipe({ nonblock = true }, { nonblock = true }))
        local job = assert(agent:run_async { prompt = "x", wake_fd = fds.write })
        local poll, fate, at = uv.new_poll(fds.read), below(5), below(12)
        local function over()
            poll:close()
            uv.fs_close(fds.read) uv.fs_close(fds.write)
            left = left - 1
            if left == 0 then assert(coroutine.resume(co)) end
        end
        local function hit()
            if fate == 0 then job:request_cancel { grace_ms = below(3) } end
            if fate == 1 then job:close() over() return true end
            if fate == 2 then job = nil collectgarbage() over() return true end
        end
        if at == 0 and hit() then return end
        poll:start("r", function()
            uv.fs_read(fds.read, 4096, -1)
            for event in job.next_event, job do
                at = at - 1
                if at == 0 and hit() then return end
            end
            local result = job:result()
            if not result then return end
            results[result.status] = (results[result.status] or 0) + 1
            job:close()
            over()
        end)
    end)()
end
if left > 0 then coroutine.yield() end
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn storms_of_cancels_closes_and_collections_leave_nothing() {
    let mut machine = machine();
    machine.contending();
    machine.exec("results = {}");
    for seed in 0..10_i64 {
        let storm = machine.lua.load(STORM).set_name("=storm");
        let storm = storm.into_function().unwrap();
        let drive = machine.runtime.handle().drive("the storm", storm, seed);
        let drive = tokio::time::timeout(Duration::from_secs(30), drive.unwrap());
        let driven = machine.runtime.run_until(drive).await;
        driven
            .unwrap_or_else(|_| panic!("seed {seed} hangs: {:?}", machine.left()))
            .unwrap_or_else(|failure| panic!("seed {seed}: {failure}\n{}", failure.traceback));
        machine.is_clean(&format!("seed {seed}")).await;
    }
    let (completed, cancelled, failed): (i64, i64, Option<i64>) =
        machine.eval("return results.completed, results.cancelled, results.failed");
    assert!(completed > 20 && cancelled > 5, "{completed} {cancelled}");
    assert_eq!(failed, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_runtime_dropped_amid_jobs_and_parked_handlers_leaves_nobody_waiting() {
    for pause in [0, 1, 3, 10, 30] {
        let mut machine = machine();
        machine.contending();
        machine.config(
            "stalled",
            Script::new().step(Step::text("x").then(Fault::Stall).repeated()),
        );
        machine.tool(
            "parent",
            r#"
            jobs = {}
            for i = 1, 12 do
                local agent = new_agent(i % 3 == 0 and stalled or configs[i % 3], { "who" })
                jobs[i] = assert(agent:run_async { prompt = "x" })
            end
            coroutine.yield()
            "#,
        );
        let agent = machine.agent(calling("parent", [json!({})]));
        let turns = machine.runtime.module().turns().clone();
        let mut turn = Box::pin(agent.ask("Go."));
        let paused = tokio::time::timeout(Duration::from_millis(pause), &mut turn);
        machine.runtime.run_until(paused).await.unwrap_err();
        drop(machine);
        let all = async { tokio::join!(turn, turns.settled()) };
        let (outcome, ()) = tokio::time::timeout(Duration::from_secs(20), all)
            .await
            .unwrap_or_else(|_| panic!("dropped after {pause} ms: {} live", turns.live()));
        assert_eq!(outcome.unwrap().stop, StopReason::End, "after {pause} ms");
    }
}
