//! Whose agent Lua code finds: that of the call it runs for, wherever the code has got to.

use std::sync::Arc;

use pantograph::{Agent, Sender};
use pantograph_scripted::{Script, ScriptedProtocol, Step};
use serde_json::json;

use crate::support::{Machine, calling, machine, results};

impl Machine {
    /// Gives Lua `current()`, which names the session of the agent that the code runs for.
    fn current(&self) {
        let agent = self.runtime.handle().current_agent().unwrap();
        self.lua.globals().set("session_agent", agent).unwrap();
        self.exec(
            r#"
            function current()
                local id, message = session_agent:session_id()
                return id or message
            end
            "#,
        );
    }
}

fn id(agent: &Agent) -> String {
    agent.session_id().to_string()
}

#[tokio::test(start_paused = true)]
async fn a_lane_reaches_everything_that_a_handler_makes() {
    let mut machine = machine();
    machine.current();
    machine.tool(
        "who",
        r#"
        local me = current()
        assert(me == context.agent:session_id(), "the context's agent")
        local function same(what) assert(current() == me, what .. ": " .. current()) end
        -- Coroutines, made with and without `wrap`, nested, before and after a pause.
        coroutine.wrap(function()
            same("wrapped")
            local inner = coroutine.create(function() same("inner") coroutine.yield() same("inner again") end)
            assert(coroutine.resume(inner))
            assert(coroutine.resume(inner))
        end)()
        local generator = coroutine.wrap(function() while true do same("generator") coroutine.yield() end end)
        generator()
        sleep(10 + input.n % 7)
        same("after a pause")
        generator()
        -- Callbacks, and what they make.
        local co, done = coroutine.running(), 0
        local function finish() done = done + 1 if done == 3 then assert(coroutine.resume(co)) end end
        uv.fs_stat("/", function() same("fs callback") coroutine.wrap(function() same("made in a callback") finish() end)() end)
        local timer = uv.new_timer()
        timer:start(1, 0, function() same("timer") timer:close(function() same("closed") finish() end) end)
        local async async = uv.new_async(function() same("async") async:close() finish() end)
        async:send()
        coroutine.yield()
        same("at the end")
        pcall(error) same("after an error")
        local t <close> = setmetatable({}, { __close = function() same("close") end })
        return me
        "#,
    );
    let agents: Vec<_> = (0..8)
        .map(|n| machine.agent(calling("who", (0..25).map(|k| json!({ "n": n * 25 + k })))))
        .collect();
    let primary = machine.agent(Script::new());
    machine
        .runtime
        .handle()
        .set_session_agent(Some(primary.clone()));
    let all = futures_util::future::join_all(agents.iter().map(|agent| agent.ask("Go.")));
    machine.runtime.run_until(all).await;
    for agent in &agents {
        let expected = ("ok".to_owned(), id(agent));
        assert!(
            results(agent).iter().all(|result| *result == expected),
            "{:#?}",
            results(agent)
        );
    }
    assert_eq!(machine.failures(), [""; 0]);
    assert_eq!(machine.eval::<String>("return current()"), id(&primary));
}

#[tokio::test(start_paused = true)]
async fn a_coroutine_keeps_its_lane_whoever_resumes_it() {
    let mut machine = machine();
    machine.current();
    machine.exec("parked = {}");
    machine.tool(
        "park",
        r#"
        local me = current()
        parked[#parked + 1] = coroutine.running()
        for round = 1, 3 do
            coroutine.yield()
            assert(current() == me)
            coroutine.wrap(function() assert(current() == me, "made after a foreign resume") end)()
        end
        return me
        "#,
    );
    // Resumes what others parked: from its own lane, and from that of nobody.
    machine.tool(
        "resume",
        r#"
        sleep(5)
        local me = current()
        for round = 1, 2 do
            for _, co in ipairs(parked) do assert(coroutine.resume(co)) assert(current() == me) end
        end
        return me
        "#,
    );
    let parking: Vec<_> = (0..4)
        .map(|_| machine.agent(calling("park", (0..5).map(|n| json!({ "n": n })))))
        .collect();
    let resuming = machine.agent(calling("resume", [json!({})]));
    let nobody = machine
        .lua
        .load("sleep(20) for _, co in ipairs(parked) do assert(coroutine.resume(co)) end assert(current():find('no session agent'))")
        .into_function()
        .unwrap();
    let nobody = machine
        .runtime
        .handle()
        .drive("nobody", nobody, ())
        .unwrap();
    let all = async {
        let parked = futures_util::future::join_all(parking.iter().map(|agent| agent.ask("Go.")));
        tokio::join!(parked, resuming.ask("Go."), nobody).2.unwrap();
    };
    machine.runtime.run_until(all).await;
    for agent in parking.iter().chain([&resuming]) {
        assert!(
            results(agent).iter().all(|(_, text)| *text == id(agent)),
            "{:#?}",
            results(agent)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_is_over_is_nobody_elses() {
    let mut machine = machine();
    machine.current();
    machine.tool(
        "later",
        "kept = context.agent uv.new_timer():start(50, 0, function() note(current()) end) return 'x'",
    );
    let primary = machine.agent(Script::new());
    machine
        .runtime
        .handle()
        .set_session_agent(Some(primary.clone()));
    let protocol = ScriptedProtocol::new(calling("later", [json!({})]));
    let agent = machine.agent_of(Arc::new(protocol.clone()));
    machine.ask(&agent).await;
    let other = machine.agent(calling("later", [json!({})]));
    machine.ask(&other).await;
    machine.drive::<()>("sleep(100)").await;
    let log = machine.log();
    assert_eq!(log.len(), 2);
    for line in log {
        assert!(line.contains("no session agent"), "{line}");
    }
    let message: String = machine.eval("return select(2, kept:session_id()) or 'none'");
    assert!(message.contains("no session agent"), "{message}");
    // The runtime keeps no agent from going.
    drop(agent);
    assert_eq!(protocol.released_contexts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_handler_writes_to_its_agent_is_in_the_next_request() {
    let mut machine = machine();
    machine.current();
    machine.tool(
        "change",
        r#"
        assert(#context.agent:conversation():messages() == 2)
        session_agent:set_system_prompt("changed by " .. input.who)
        assert(context.agent:submit("steered"))
        assert(context.agent:submit("later", { followup = true }))
        local stream, message = context.agent:run("nested")
        note(message)
        return "ok"
        "#,
    );
    let protocol = ScriptedProtocol::new(
        Script::new()
            .step(Step::call("change", json!({ "who": "me" })))
            .step("Done."),
    );
    let agent = machine.agent_of(Arc::new(protocol.clone()));
    machine.ask(&agent).await;
    let requests = protocol.requests();
    assert_eq!(
        requests[1].request.system_prompt.as_deref(),
        Some("changed by me")
    );
    assert!(requests[1].last_text().contains("steered"));
    let queued = agent.queued();
    assert_eq!(queued.len(), 1);
    assert_eq!(queued[0].submission.sender, Sender::Code);
    insta::assert_snapshot!(machine.log()[0], @"run is refused: this agent is borrowed, and its host runs its turns; use submit, or make an agent of your own with panto.agent");
}
