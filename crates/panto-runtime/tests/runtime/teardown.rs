//! The end of a session: everything settles, and what is left over is inert.

use std::time::Duration;

use pantograph::{StopReason, with_causes};
use pantograph_scripted::{Call, Fault, Script, Step};
use serde_json::json;

use crate::support::{calling, machine, results};

#[tokio::test(start_paused = true)]
async fn shutdown_settles_jobs_handlers_and_queued_calls() {
    let mut machine = machine();
    machine.tool("park", "local x <close> = setmetatable({}, { __close = function() closed = (closed or 0) + 1 end }) sleep(1e6)");
    machine.config(
        "stalled",
        Script::new().step(Step::text("x").then(Fault::Stall).repeated()),
    );
    let calls = (0..10).fold(Step::new(), |step, n| {
        step.then(Call::new("park", json!({ "n": n })))
    });
    machine.config("parking", Script::new().step(calls.repeated()));
    machine
        .drive::<()>(
            r#"
            jobs = {}
            for i = 1, 5 do
                jobs[i] = assert(new_agent(stalled):run_async { prompt = "x" })
                jobs[i + 5] = assert(new_agent(parking, { "park" }):run_async { prompt = "x" })
            end
            sleep(10)
            "#,
        )
        .await;
    let primary = machine.agent(calling("park", [json!({})]));
    let mut turn = Box::pin(primary.ask("Go."));
    machine
        .runtime
        .run_until(tokio::time::timeout(Duration::from_millis(5), &mut turn))
        .await
        .unwrap_err();
    // What is posted while the owner is busy ending is refused.
    let late = machine.agent(calling("park", [json!({})]));
    let lua = machine.lua.clone();
    let start = tokio::time::Instant::now();
    let mut ending = Box::pin(machine.runtime.shutdown(Duration::from_millis(500)));
    let (outcome, late, _) = tokio::join!(turn, late.ask("Go."), &mut ending);
    assert!(
        start.elapsed() < Duration::from_millis(600),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(outcome.unwrap().stop, StopReason::Cancelled);
    assert_eq!(results(&primary)[0].0, "cancelled");
    assert_eq!(late.unwrap().text.as_deref(), Some("Done."));
    let settled: i64 = lua
        .load("local n = 0 for _, job in ipairs(jobs) do if job:result() and job:result().status == 'cancelled' then n = n + 1 end end return n")
        .eval()
        .unwrap();
    assert_eq!(settled, 10);
    assert_eq!(lua.globals().get::<i64>("closed").unwrap(), 51);
}

#[tokio::test(start_paused = true)]
async fn calls_of_the_hosts_own_turns_get_the_grace_too() {
    let mut machine = machine();
    machine.tool(
        "polite",
        "repeat sleep(10) until context.cancelled() sleep(50) return 'stopped by itself'",
    );
    let agent = machine.agent(calling("polite", [json!({})]));
    let mut turn = Box::pin(agent.ask("Go."));
    machine
        .runtime
        .run_until(tokio::time::timeout(Duration::from_millis(5), &mut turn))
        .await
        .unwrap_err();
    let start = tokio::time::Instant::now();
    let ending = machine.runtime.shutdown(Duration::from_secs(5));
    let (outcome, _) = tokio::join!(turn, ending);
    assert_eq!(outcome.unwrap().stop, StopReason::Cancelled);
    assert_eq!(results(&agent)[0].1, "stopped by itself");
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn turns_that_begin_during_the_shutdown_do_not_hold_it_up() {
    let mut machine = machine();
    machine.config(
        "stalled",
        Script::new().step(Step::text("x").then(Fault::Stall).repeated()),
    );
    machine.tool(
        "park",
        r#"
        local x <close> = setmetatable({}, {
            __close = function()
                job = assert(new_agent(stalled):run_async { prompt = "x" })
                stream = assert(new_agent(stalled):run("x"))
            end,
        })
        coroutine.yield()
        "#,
    );
    // Callbacks go on until the end, too.
    machine.exec(
        "uv.new_timer():start(10, 10, function() new_agent(stalled):run_async { prompt = 'x' } end)",
    );
    let agent = machine.agent(calling("park", [json!({})]));
    let lua = machine.lua.clone();
    let mut turn = Box::pin(agent.ask("Go."));
    machine
        .runtime
        .run_until(tokio::time::timeout(Duration::from_millis(5), &mut turn))
        .await
        .unwrap_err();
    let shutdown = machine.runtime.shutdown(Duration::from_millis(50));
    let (_, outcome) = tokio::join!(
        async {
            let ended = tokio::time::timeout(Duration::from_secs(10), shutdown).await;
            ended.expect("the shutdown ends");
        },
        turn
    );
    assert_eq!(outcome.unwrap().stop, StopReason::Cancelled);
    let status: String = lua.load("return job:result().status").eval().unwrap();
    assert_eq!(status, "cancelled");
}

#[tokio::test(start_paused = true)]
async fn what_is_left_over_says_that_the_session_is_over() {
    let machine = machine();
    machine.tool("x", "return 'x'");
    machine.protocols();
    machine.exec("register_protocol { name = 'p', open = function() end, close = function() note('closed') end }");
    let handle = machine.runtime.handle().clone();
    let protocol = handle.protocol("p").unwrap();
    let asking = machine.agent_of(protocol);
    let calling = machine.agent(calling("x", [json!({})]));
    let hooked = pantograph::Agent::builder(
        std::sync::Arc::new(pantograph_scripted::ScriptedProtocol::new(
            Script::new().step("Hi."),
        )),
        crate::support::model(),
    )
    .hooks(machine.runtime.hooks())
    .ephemeral();
    handle.set_hooks(panto_runtime::Hooks {
        tool_input: Some(machine.eval("return function() end")),
        user_message: Some(machine.eval("return function() return 'changed' end")),
        ..Default::default()
    });
    let lua = machine.lua.clone();
    let hooks = machine.runtime.hooks();
    machine.runtime.shutdown(Duration::from_millis(100)).await;

    let outcome = asking.ask("Go.").await.unwrap();
    insta::assert_snapshot!(with_causes(outcome.error.as_ref().unwrap()), @"the provider failed: the session of this protocol is over");
    calling.ask("Go.").await.unwrap();
    insta::assert_debug_snapshot!(results(&calling), @r#"
    [
        (
            "error",
            "The call was not run: the session of `x` is over.",
        ),
    ]
    "#);
    hooked.ask("as it is").await.unwrap();
    assert_eq!(hooked.conversation().messages()[0].text(), "as it is");
    // What was to be checked is not run unchecked.
    let registry = pantograph::ToolRegistry::new()
        .tool(crate::support::declaration("x"), |_| async {
            pantograph::ToolOutput::text("ran")
        })
        .unwrap();
    let checked = pantograph::Agent::builder(
        std::sync::Arc::new(pantograph_scripted::ScriptedProtocol::new(
            crate::support::calling("x", [json!({})]),
        )),
        crate::support::model(),
    )
    .tool_source(std::sync::Arc::new(registry))
    .hooks(hooks)
    .ephemeral();
    checked.ask("Go.").await.unwrap();
    assert_eq!(results(&checked)[0].0, "error");
    let function = lua.load("return 1").into_function().unwrap();
    let failure = handle.call("x", &function, ()).unwrap_err();
    assert_eq!(failure.message, "the Lua state is gone");
    assert!(handle.drive("x", function, ()).is_err());
    assert!(handle.current_agent().is_err());
    assert!(handle.protocol("p").is_none());
    let log: Vec<String> = lua.globals().get("log").unwrap();
    assert_eq!(log, ["closed"]);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_runtime_without_a_shutdown_leaves_nobody_waiting() {
    let mut machine = machine();
    machine.tool("park", "sleep(1e6)");
    machine.protocols();
    machine.exec("register_protocol { name = 'dead', open = function() return { next = function() end } end }");
    let protocol = machine.runtime.handle().protocol("dead").unwrap();
    let asking = machine.agent_of(protocol);
    let parked = machine.agent(calling("park", [json!({})]));
    let mut turns = Box::pin(async { tokio::join!(asking.ask("Go."), parked.ask("Go.")) });
    machine
        .runtime
        .run_until(tokio::time::timeout(Duration::from_millis(5), &mut turns))
        .await
        .unwrap_err();
    drop(machine);
    let start = tokio::time::Instant::now();
    let (asked, called) = turns.await;
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
    insta::assert_snapshot!(with_causes(asked.unwrap().error.as_ref().unwrap()), @"the provider failed: the session of this protocol is over");
    assert_eq!(called.unwrap().text.as_deref(), Some("Done."));
    assert_eq!(results(&parked)[0].0, "cancelled");
}
