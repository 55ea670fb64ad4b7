//! Jobs and streams that Lua code starts while it runs for somebody: they go on side by side,
//! call tools of the same thread, and stop in good time.

use std::sync::Arc;
use std::time::Duration;

use pantograph::{Agent, AgentOptions, StopReason};
use pantograph_scripted::{Fault, Script, ScriptedProtocol, Step, Text};
use serde_json::json;

use crate::support::{Machine, calling, machine, model, results};

/// A script that answers any number of agents: each calls `tool` once.
fn child(tool: &str) -> Script {
    Script::new()
        .step(
            Step::call(tool, json!({ "x": 1 }))
                .when_last_role(pantograph::Role::User)
                .repeated(),
        )
        .step(Step::text("Child done.").repeated())
}

impl Machine {
    /// The tools `echo`, and `delegate`, which runs `count` jobs side by side that call it.
    fn delegating(&self) {
        self.config("child", child("echo"));
        self.tool(
            "echo",
            "sleep(10) echoes = (echoes or 0) + 1 return 'echo ' .. input.x",
        );
        self.tool(
            "delegate",
            r#"
            local co, left, results = coroutine.running(), input.count, {}
            for i = 1, input.count do
                coroutine.wrap(function()
                    local agent = new_agent(child, { "echo" })
                    local result = assert(run_job(agent, { prompt = "Child." }))
                    results[i] = result.status .. ": " .. tostring(result.text)
                    left = left - 1
                    if left == 0 then assert(coroutine.resume(co)) end
                end)()
            end
            coroutine.yield()
            return table.concat(results, "\n")
            "#,
        );
    }
}

#[tokio::test(start_paused = true)]
async fn child_jobs_call_tools_while_the_handler_that_started_them_is_parked() {
    let mut machine = machine();
    machine.delegating();
    let agent = machine.agent(calling("delegate", [json!({ "count": 3 })]));
    let start = tokio::time::Instant::now();
    machine.ask(&agent).await;
    assert_eq!(
        results(&agent)[0].1,
        ["completed: Child done."; 3].join("\n")
    );
    assert!(
        start.elapsed() < Duration::from_millis(25),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(machine.runtime.live_handlers(), 0);
    assert_eq!(machine.runtime.module().turns().live(), 0);
}

#[tokio::test(start_paused = true)]
async fn two_hundred_and_fifty_six_jobs_run_at_once() {
    let mut machine = machine();
    machine.delegating();
    let agent = machine.agent(calling("delegate", [json!({ "count": 256 })]));
    let start = tokio::time::Instant::now();
    machine.ask(&agent).await;
    let text = &results(&agent)[0].1;
    assert_eq!(
        text.lines()
            .filter(|line| *line == "completed: Child done.")
            .count(),
        256
    );
    assert_eq!(machine.eval::<i64>("return echoes"), 256);
    assert!(
        start.elapsed() < Duration::from_millis(100),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(machine.failures(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn one_failed_job_leaves_its_siblings_alone() {
    let mut machine = machine();
    machine.config(
        "good",
        Script::new().step(
            Step::new()
                .then(Text::new("fine").chunks(2).pace(Duration::from_millis(30)))
                .repeated(),
        ),
    );
    machine.config(
        "bad",
        Script::new().step(Step::error(pantograph::ErrorClass::Terminal).repeated()),
    );
    machine.config(
        "torn",
        Script::new().step(Step::text("x").then(Fault::Stall).repeated()),
    );
    let lines: String = machine
        .drive(
            r#"
            local co, left, results = coroutine.running(), 3, {}
            for i, config in ipairs { good, bad, torn } do
                coroutine.wrap(function()
                    local result = assert(run_job(new_agent(config), { prompt = "x" }, function(job)
                        if config == torn then
                            local timer = uv.new_timer()
                            timer:start(10, 0, function() timer:close() job:request_cancel() end)
                        end
                    end))
                    results[i] = result.status .. " " .. tostring(result.text) .. " " .. tostring(result.error_kind)
                    left = left - 1
                    if left == 0 then assert(coroutine.resume(co)) end
                end)()
            end
            coroutine.yield()
            return table.concat(results, "\n")
            "#,
        )
        .await;
    insta::assert_snapshot!(lines, @"
    completed fine nil
    failed nil terminal
    cancelled x nil
    ");
}

// A paused clock moves on before a pipe is heard, so this one is in real time.
#[tokio::test]
async fn what_runs_inside_a_cancelled_turn_is_forced_before_the_turn_is() {
    let mut machine = machine();
    machine.config("child", child("stubborn"));
    machine.tool("stubborn", "sleep(1e6)");
    // As a supervisor does it: the signal reaches the job, whose result is still told.
    machine.tool(
        "outer",
        r#"
        local agent = new_agent(child, { "stubborn" })
        local result = run_job(agent, { prompt = "x" }, function(job)
            local watch = uv.new_timer()
            watch:start(10, 10, function()
                if context.cancelled() then
                    watch:close()
                    asked = uv.now()
                    job:request_cancel(input.grace_ms and { grace_ms = input.grace_ms } or nil)
                end
            end)
        end)
        took = uv.now() - asked
        return "the job was " .. result.status
        "#,
    );
    // Three quarters of what the turn has left, or less if less is asked for.
    for (grace, expected) in [
        (None, 300..390),
        (Some(20), 20..150),
        (Some(60_000), 300..390),
    ] {
        let options = AgentOptions {
            grace: Duration::from_millis(400),
            ..AgentOptions::default()
        };
        let input = match grace {
            Some(grace) => json!({ "grace_ms": grace }),
            None => json!({}),
        };
        let script = calling("outer", [input]);
        let agent = Agent::builder(Arc::new(ScriptedProtocol::new(script)), model())
            .tool_source(machine.runtime.tool_source())
            .options(options)
            .ephemeral();
        let interrupting = agent.clone();
        let ask = async {
            let (outcome, ()) = tokio::join!(agent.ask("Go."), async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                interrupting.interrupt();
            });
            outcome.unwrap()
        };
        let outcome = machine.runtime.run_until(ask).await;
        assert_eq!(outcome.stop, StopReason::Cancelled);
        assert_eq!(
            results(&agent),
            [("ok".to_owned(), "the job was cancelled".to_owned())]
        );
        let took: i64 = machine.eval("return took");
        // It began up to 10 ms after the turn was asked.
        assert!(
            (expected.start - 15..expected.end).contains(&took),
            "{grace:?}: {took} ms"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_cannot_be_read_by_a_tool_call_of_its_own_turn() {
    let mut machine = machine();
    machine.config("config", calling("read_self", [json!({})]));
    machine.tool(
        "read_self",
        "sleep(5) local event, message = stream:next() return tostring(event) .. ' ' .. message",
    );
    let output: String = machine
        .drive(
            r#"
            stream = assert(new_agent(config, { "read_self" }):run("Go."))
            local output
            repeat
                local event = stream:next()
                -- Now the call runs, and nobody else reads.
                if event.type == "tool_dispatch_start" then sleep(20) end
                if event.type == "tool_result" then output = event.output end
            until event.type == "settled"
            return output
            "#,
        )
        .await;
    insta::assert_snapshot!(output, @"nil the stream's turn waits for the tool call that reads it; read it elsewhere");
}

#[tokio::test(start_paused = true)]
async fn jobs_are_closed_and_collected_at_every_stage_of_their_tool_calls() {
    let mut machine = machine();
    machine.config("child", child("stage"));
    machine.exec("stages = 0");
    machine.tool(
        "stage",
        "stages = stages + 1 note('begun') sleep(5) coroutine.yield() note('not reached')",
    );
    // Before the call is posted, while it is queued, while it is parked, after the deadline;
    // by close and by the collector.
    for delay in [0, 1, 2, 3, 6, 50] {
        for way in ["job:close()", "job = nil collectgarbage() collectgarbage()"] {
            let source = format!(
                r#"
                local agent = new_agent(child, {{ "stage" }})
                job = assert(agent:run_async {{ prompt = "x" }})
                if {delay} > 0 then sleep({delay}) end
                {way}
                if job then
                    assert(job:next_event() == nil and job:result() == nil)
                    local _, message = agent:run("x")
                    assert(message:find("still closing"), message)
                end
                "#
            );
            machine.drive::<()>(&source).await;
            let turns = machine.runtime.module().turns().clone();
            machine.runtime.run_until(turns.settled()).await;
            machine.runtime.run_until(tokio::task::yield_now()).await;
            assert_eq!(machine.runtime.live_handlers(), 0, "{delay} {way}");
        }
    }
    assert!(!machine.log().contains(&"not reached".to_owned()));
    assert!(machine.eval::<i64>("return stages") >= 6);
}
