use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use pantograph::{
    AgentOptions, ErrorClass, StopReason, ToolBatch, ToolContext, ToolDeclaration, ToolOutput,
    ToolRegistry, ToolSource,
};
use pantograph_scripted::{Gate, Item, Script, Step, Text};
use parking_lot::Mutex;
use serde_json::json;

use crate::support::{machine, machine_with, talking};

const TOOLS: &str = r#"
tools = { { name = "tool", description = "", schema = { type = "object" } } }
"#;

#[test]
fn a_job_runs_by_itself_and_settles_with_a_result() {
    let machine = talking("Hello.");
    machine.pipe();
    machine.exec(
        r#"
        local agent = new_agent()
        local job, err = agent:run_async {
          prompt = "Say hello.", metadata = { source = "test" }, wake_fd = pipe.fd,
        }
        assert(job and not err)
        local events = drain(job)
        assert(events[1].type == "turn_start" and events[#events].type == "settled")
        local result = job:result()
        assert(result.status == "completed" and result.stop == "end" and result.text == "Hello.")
        assert(result.error == nil and result.error_kind == nil and result.tool_calls == nil)
        assert(agent:conversation():message_metadata(1).source == "test")
        -- A settled job leaves its agent free, closed or not.
        assert(agent:set_tools({}))
        assert(job:close())
        assert(job:close())
        assert(job:result() == nil and job:next_event() == nil)
        assert(job:request_cancel())
        local second = assert(agent:run_async { blocks = { { type = "text", text = "x" } } })
        second:close()
        "#,
    );
    machine.all_settled();
}

#[test]
fn without_dispatch_the_calls_come_with_the_result() {
    let step = Step::new()
        .then("I call.")
        .then(pantograph_scripted::Call::with_raw_input("tool", r#"{"b": 1.0, "a":2}"#).id("c1"));
    let machine = machine(Script::new().step(step));
    machine.pipe();
    machine.exec(TOOLS);
    machine.exec(
        r#"
        local agent = new_agent()
        agent:set_tools(tools)
        local job = agent:run_async { prompt = "x", dispatch_tools = false, wake_fd = pipe.fd }
        drain(job)
        local result = job:result()
        assert(result.status == "completed" and result.stop == "tool_calls")
        assert(#result.tool_calls == 1 and result.tool_calls[1].id == "c1")
        assert(result.tool_calls[1].name == "tool")
        assert(result.tool_calls[1].input == '{"b": 1.0, "a":2}')
        assert(result.text == "I call.")
        "#,
    );
}

#[test]
fn failures_and_limits_are_no_success() {
    let script = Script::new()
        .step(Step::error(ErrorClass::Authentication))
        .step(Step::new().then("Half").then(Item::Stop(StopReason::Limit)));
    let machine = machine(script);
    machine.pipe();
    let text = machine.text(
        r#"
        local agent = new_agent()
        local out = {}
        for _ = 1, 2 do
          local job = assert(agent:run_async { prompt = "x", wake_fd = pipe.fd })
          drain(job)
          local r = job:result()
          out[#out + 1] = table.concat({ r.status, r.stop, r.error_kind, r.error, r.text }, ", ")
          job:close()
        end
        return table.concat(out, "\n")
        "#,
    );
    assert_snapshot!(text, @"
    failed, failed, authentication, the provider failed: scripted authentication error
    failed, limit, limit, a limit cut the turn short, Half
    ");
}

#[test]
fn deltas_merge_while_nobody_reads_and_nothing_else_is_dropped() {
    let gate = Gate::new();
    let step = Step::new()
        .then(Text::new("0123456789").chunks(10))
        .then(&gate)
        .then("!");
    let machine = machine(Script::new().step(step));
    machine.pipe();
    machine.exec(r#"job = new_agent():run_async { prompt = "x", wake_fd = pipe.fd }"#);
    machine.runtime.block_on(gate.reached());
    gate.open();
    machine.all_settled();
    let text = machine.text(
        r#"
        local out = {}
        for event in job.next_event, job do
          out[#out + 1] = event.type .. " " .. (event.delta or "") .. " " .. (event.text or "")
        end
        return table.concat(out, "\n")
        "#,
    );
    assert_snapshot!(text, @"
    turn_start  
    user_message  x
    assistant_text  
    assistant_text_delta 0123456789 0123456789
    assistant_text_complete  0123456789
    assistant_text  
    assistant_text_delta ! !
    assistant_text_complete  !
    usage  
    settled  0123456789
    !
    ");
}

#[test]
fn a_job_and_its_agent_refuse_what_would_break_them() {
    let gate = Gate::new();
    let machine = machine(Script::new().step(Step::new().on_open(&gate).then("Hi.")));
    let text = machine.text(
        r#"
        agent = new_agent { system = "s" }
        job = agent:run_async { prompt = "x" }
        local out = { refused(agent:run_async { prompt = "y" }) }
        for _, call in ipairs {
          function() return agent:run("y") end, function() return agent:set_tools({}) end,
          function() return agent:set_config(config) end, function() return agent:compact() end,
          function() return agent:set_system_prompt("y") end,
          function() return agent:add_system_message("y") end,
          function() return agent:add_user_message("y") end,
          function() return agent:set_message_metadata(1, {}) end,
          function()
            return agent:register_tool { name = "t", description = "", schema = { type = "object" },
              handler = print }
          end,
        } do
          assert(refused(call()) == out[1])
        end
        -- What only reads goes on.
        assert(agent:session_id() and agent:conversation() and agent:tools())
        assert(agent:system_prompt() == "s" and job:result() == nil)
        local function misuse(options)
          out[#out + 1] = raised(function() agent:run_async(options) end)
        end
        misuse({}) misuse({ prompt = "a", blocks = {} }) misuse({ prompt = 1 }) misuse({ blocks = "x" })
        misuse({ prompt = "a", metadata = { 1, 2 } }) misuse({ prompt = "a", metadata = "x" })
        misuse({ prompt = "a", metadata = { f = print } }) misuse({ prompt = "a", wake_fd = "1" })
        misuse({ prompt = "a", wake_fd = 1.5 }) misuse({ prompt = "a", wake_fd = 1 << 40 })
        misuse({ prompt = "a", dispatch_tools = 1 }) misuse({ prompt = "a", promt = 1 }) misuse("a")
        out[#out + 1] = raised(function() job:request_cancel({ grace_ms = -1 }) end)
        out[#out + 1] = raised(function() job.next_event(agent) end)
        out[#out + 1] = raised(function() job.next_event() end)
        return table.concat(out, "\n")
        "#,
    );
    assert_snapshot!(text, @"
    the agent has a live job; wait for job:result(), or end it with job:request_cancel() or job:close()
    test:23: bad argument 'prompt' to 'run_async' (`prompt` or `blocks` expected, got neither)
    test:23: bad argument 'prompt' to 'run_async' (give either `prompt` or `blocks`, not both)
    test:23: bad argument 'prompt' to 'run_async' (string or list of blocks expected, got number)
    test:23: bad argument 'blocks' to 'run_async' (table expected, got string)
    test:23: bad argument 'metadata' to 'run_async' (a JSON object expected, got an array)
    test:23: bad argument 'metadata' to 'run_async' (table expected, got string)
    test:23: bad argument 'metadata' to 'run_async' (f is a function, which JSON cannot say)
    test:23: bad argument 'wake_fd' to 'run_async' (integer expected, got string)
    test:23: bad argument 'wake_fd' to 'run_async' (integer expected, got 1.5)
    test:23: bad argument 'wake_fd' to 'run_async' (1099511627776 is no file descriptor)
    test:23: bad argument 'dispatch_tools' to 'run_async' (boolean expected, got number)
    test:23: bad argument 'options' to 'run_async' (unknown field `promt`; it takes `prompt`, `blocks`, `metadata`, `dispatch_tools`, `wake_fd`)
    test:23: bad argument 'options' to 'run_async' (table expected, got string)
    test:30: bad argument 'grace_ms' to 'request_cancel' (must not be negative, got -1)
    test:31: bad argument 'self' to 'next_event' (panto.Job expected, got panto.Agent); call it as object:next_event(…)
    test:32: bad argument 'self' to 'next_event' (panto.Job expected, got nil); call it as object:next_event(…)
    ");
    gate.open();
    machine.all_settled();
}

/// Keeps every call, and answers none.
#[derive(Default)]
struct Stuck(Mutex<Vec<ToolBatch>>);

impl ToolSource for Stuck {
    fn declarations(&self) -> Vec<ToolDeclaration> {
        Vec::new()
    }

    fn invoke_batch(&self, batch: ToolBatch) {
        self.0.lock().push(batch);
    }
}

#[test]
fn a_cancel_ends_a_job_whose_tool_does_not_listen() {
    let script = Script::new().step(Step::call("tool", json!({})).repeated());
    let stuck = Arc::new(Stuck::default());
    let tools = Arc::clone(&stuck);
    let machine = machine_with(script, |embedding| embedding.tools(tools));
    machine.pipe();
    machine.exec(TOOLS);
    machine.exec(
        r#"
        local agent = new_agent()
        agent:set_tools(tools)
        local job = agent:run_async { prompt = "x", wake_fd = pipe.fd }
        local dispatched
        repeat
          pipe.wait()
          for event in job.next_event, job do
            dispatched = dispatched or event.type == "tool_dispatch_start"
          end
        until dispatched
        assert(job:request_cancel { grace_ms = 0 })
        assert(job:request_cancel())
        drain(job)
        local result = job:result()
        assert(result.status == "cancelled" and result.stop == "cancelled")
        -- Every call has its result.
        local last = agent:conversation():messages()[3]
        assert(last.role == "tool" and last.blocks[1].status == "cancelled")
        "#,
    );
}

#[test]
fn close_never_waits_and_the_agent_says_that_it_is_closing() {
    let script = Script::new()
        .step(Step::call("tool", json!({})))
        .step("Again.");
    let stuck = Arc::new(Stuck::default());
    let tools = Arc::clone(&stuck);
    let grace = Duration::from_secs(3600);
    let machine = machine_with(script, |embedding| {
        let options = AgentOptions {
            grace,
            ..AgentOptions::default()
        };
        embedding.tools(tools).agent_options(options)
    });
    machine.pipe();
    machine.exec(TOOLS);
    machine.exec(
        r#"
        agent = new_agent()
        agent:set_tools(tools)
        job = agent:run_async { prompt = "x", wake_fd = pipe.fd }
        control = job:control()
        local dispatched
        repeat
          pipe.wait()
          for event in job.next_event, job do
            dispatched = dispatched or event.type == "tool_dispatch_start"
          end
        until dispatched
        assert(control:alive())
        job:close()
        assert(not control:alive())
        assert(job:result() == nil and job:next_event() == nil)
        assert(refused(agent:run_async { prompt = "y" })
          == "the agent is still closing its last job; try again when that has settled")
        assert(refused(control:steer("x")):find("has settled", 1, true))
        assert(control:request_cancel())
        pipe.close_writer()
        -- The job's own descriptor is gone too: the reader finds the end, whatever was before.
        while pipe.wait() > 0 do end
        "#,
    );
    assert_eq!(machine.module.turns().live(), 1);
    machine.module.turns().cancel_all(Duration::ZERO);
    machine.all_settled();
    machine.exec(r#"assert(agent:run_async { prompt = "y" }):close()"#);
    machine.all_settled();
}

#[test]
fn a_job_that_nobody_holds_closes_itself() {
    let gate = Gate::new();
    let script = Script::new().step(Step::new().on_open(&gate).then("Hi.").repeated());
    let machine = machine(script);
    machine.exec(
        r#"
        do local job <close> = new_agent():run_async { prompt = "x" } end
        local agent = new_agent()
        agent:run_async { prompt = "x" }
        agent = nil
        collectgarbage() collectgarbage()
        "#,
    );
    machine.all_settled();
    assert_eq!(machine.protocol.open_streams(), 0);
}

#[test]
fn a_control_steers_a_job_while_that_has_its_agent() {
    let gate = Gate::new();
    let declaration = ToolDeclaration::new("tool", "", json!({"type": "object"})).unwrap();
    let tools = ToolRegistry::new()
        .tool(declaration, async |_: ToolContext| ToolOutput::text("ok"))
        .unwrap();
    let script = Script::new()
        .step(Step::call("tool", json!({})).on_open(&gate))
        .step(Step::text("Steered.").when_last("Turn left."));
    let machine = machine_with(script, |embedding| embedding.tools(Arc::new(tools)));
    machine.pipe();
    machine.exec(TOOLS);
    machine.exec(
        r#"
        agent = new_agent()
        agent:set_tools(tools)
        job = agent:run_async { prompt = "x", wake_fd = pipe.fd }
        control = job:control()
        "#,
    );
    machine.runtime.block_on(gate.reached());
    machine.exec(
        r#"
        assert(control:alive() and control:steer("Turn left."))
        assert(raised(function() control:steer() end):find("bad argument 'prompt' to 'steer'"))
        "#,
    );
    gate.open();
    machine.exec(
        r#"
        drain(job)
        assert(job:result().text == "Steered.")
        assert(not control:alive())
        assert(refused(control:steer("x")) == "the job has settled; start another turn instead")
        "#,
    );
}

#[test]
fn many_jobs_run_at_once() {
    let gate = Gate::new();
    let script = Script::new().step(Step::new().on_open(&gate).then("Hi.").repeated());
    let machine = machine(script);
    machine.exec(
        r#"
        jobs = {}
        for i = 1, 256 do jobs[i] = assert(new_agent():run_async { prompt = "x" }) end
        "#,
    );
    machine.runtime.block_on(gate.reached_times(256));
    assert_eq!(machine.module.turns().live(), 256);
    gate.open();
    machine.all_settled();
    machine.exec(
        r#"
        for _, job in ipairs(jobs) do
          assert(job:result().text == "Hi.")
          local last
          for event in job.next_event, job do last = event end
          assert(last.type == "settled")
        end
        "#,
    );
}

#[test]
fn a_runtime_that_ends_settles_its_jobs() {
    let gate = Gate::new();
    let machine = machine(Script::new().step(Step::new().on_open(&gate).then("Hi.")));
    machine.exec(r#"job = new_agent():run_async { prompt = "x" }"#);
    let crate::support::Machine {
        lua,
        module,
        runtime,
        ..
    } = machine;
    runtime.shutdown_background();
    let watcher = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    watcher.block_on(module.turns().settled());
    lua.load("local r = job:result() assert(r.status == 'failed' and r.error_kind == 'internal')")
        .exec()
        .unwrap();
}

/// How many entries a directory of `/proc/self` has.
#[cfg(target_os = "linux")]
fn count(of: &str) -> usize {
    std::fs::read_dir(format!("/proc/self/{of}"))
        .unwrap()
        .count()
}

#[cfg(target_os = "linux")]
#[test]
fn ten_thousand_jobs_leave_nothing_behind() {
    let machine = talking("Hello.");
    machine.pipe();
    let rounds = |jobs: usize| {
        machine.lua.globals().set("jobs", jobs).unwrap();
        machine.exec(
            r#"
            for i = 1, jobs do
              local agent = new_agent()
              local job = assert(agent:run_async { prompt = "x", wake_fd = pipe.fd })
              if i % 2 == 0 then drain(job) end
              if i % 3 == 0 then job:close() end
            end
            "#,
        );
        machine.all_settled();
        machine.lua.gc_collect().unwrap();
        machine.lua.gc_collect().unwrap();
        machine.lua.used_memory()
    };
    let before = rounds(500);
    // Other tests of this process come and go, but by the dozen at most.
    let fds = count("fd");
    let after = rounds(10_000);
    assert!(
        after < before + 64 * 1024,
        "{before} bytes of Lua became {after}"
    );
    assert!(
        count("fd") < fds + 200,
        "{fds} descriptors became {}",
        count("fd")
    );
    assert!(count("task") < 200, "{} threads", count("task"));
    assert_eq!(machine.module.turns().live(), 0);
}

#[test]
fn whoever_hears_that_a_turn_has_settled_can_go_on_with_its_session() {
    let machine = talking("Hello.");
    machine.pipe();
    let directory = tempfile::tempdir().unwrap();
    machine.lua.globals().set("dir", directory.path()).unwrap();
    machine.exec(
        r#"
        local store = panto.file_system_jsonl_store { dir = dir }
        local agent = new_agent { store = store }
        local id = agent:session_id()
        for round = 1, 40 do
          if round % 2 == 0 then
            local stream = agent:run("x")
            repeat until stream:next().type == "settled"
          else
            local job = assert(agent:run_async { prompt = "x", wake_fd = pipe.fd })
            local settled
            repeat
              pipe.wait()
              for event in job.next_event, job do settled = settled or event.type == "settled" end
            until settled
            assert(job:result())
          end
          assert(agent:set_tools({}))
          agent:close()
          agent = assert(panto.agent { config = config, store = store, session_id = id })
        end
        "#,
    );
}

#[test]
fn a_host_can_end_every_turn_also_of_a_stream_that_nobody_reads() {
    let gate = Gate::new();
    let script = Script::new()
        .step(Step::new().then(Text::new("x").endless()))
        .step(Step::new().on_open(&gate).then("Hi."));
    let machine = machine(script);
    machine.exec(
        r#"
        stream = new_agent():run("x")
        while stream:next().type ~= "assistant_text_delta" do end
        job = new_agent():run_async { prompt = "x" }
        "#,
    );
    let turns = machine.module.turns();
    assert_eq!(turns.live(), 2);
    turns.cancel_all(Duration::ZERO);
    machine.all_settled();
    assert_eq!(machine.protocol.open_streams(), 0);
    machine.exec(
        r#"
        assert(job:result().status == "cancelled")
        for _ in stream:events() do end
        "#,
    );
}
