//! Who waits for a store in Lua, and for how long.

use std::sync::Arc;
use std::time::Duration;

use panto_runtime::MUST_NOT_WAIT;
use pantograph::protocol::ToolChoice;
use pantograph::{AgentConfig, AgentOptions, StopReason};
use pantograph_scripted::{Gate, Script, ScriptedProtocol, Step};
use serde_json::json;

use super::{saying, store_of, with_store};
use crate::support::{Machine, calling, model, results};

/// An agent of the host's with the store of Lua.
async fn agent(machine: &mut Machine, script: Script) -> pantograph::Agent {
    let store = store_of(machine, "store");
    let protocol = Arc::new(ScriptedProtocol::new(script));
    let builder =
        pantograph::Agent::builder(protocol, model()).tool_source(machine.runtime.tool_source());
    let agent = machine
        .runtime
        .run_until(builder.create(&*store, "/"))
        .await;
    agent.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_handler_parks_while_its_store_is_asked() {
    let mut machine = saying("Hi.");
    machine.tool(
        "child",
        r#"
        local agent = new_agent()
        assert(agent:add_user_message("first"))
        assert(finish(agent:run("second")).stop == "end")
        assert(agent:set_message_metadata(1, { a = 1 }))
        local id = agent:session_id()
        agent:close()
        local again = new_agent { session_id = id }
        assert(again:conversation():message_metadata(1).a == 1)
        assert(again:add_user_message("third"))
        return tostring(again:conversation():len())
        "#,
    );
    let agent = machine.agent(calling("child", (0..3).map(|n| json!({ "n": n }))));
    machine.ask(&agent).await;
    let fine = ("ok".to_owned(), "4".to_owned());
    assert_eq!(results(&agent), [fine.clone(), fine.clone(), fine]);
    assert_eq!(machine.failures(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn where_nothing_may_wait_a_store_in_lua_is_refused() {
    let mut machine = saying("Hi.");
    machine
        .drive::<()>("agent = new_agent() finish(agent:run('x')) id = agent:session_id()")
        .await;
    for body in [
        "panto.agent { config = config, store = store }",
        "panto.agent { config = config, store = store, session_id = id }",
        "agent:add_user_message('x')",
        "agent:add_system_message('x')",
        "agent:set_message_metadata(1, {})",
        "pcall(agent.add_user_message, agent, 'x')",
    ] {
        let function = machine.lua.load(body).set_name("=test").into_function();
        let outcome = machine
            .runtime
            .handle()
            .call("the handler", &function.unwrap(), ());
        match outcome {
            // Where it was, unless that was hidden.
            Err(failure) => {
                let place = if body.starts_with("pcall") {
                    ""
                } else {
                    "test:1: "
                };
                assert_eq!(failure.message, format!("{place}{MUST_NOT_WAIT}"), "{body}");
            }
            Ok(_) => panic!("not refused: {body}"),
        }
        // Whatever was begun comes to its end.
        machine
            .runtime
            .run_until(tokio::time::sleep(Duration::from_secs(1)))
            .await;
    }
    // So is it where no coroutine runs.
    let ok: bool = machine.eval("return (pcall(panto.agent, { config = config, store = store }))");
    assert!(!ok);
}

#[tokio::test(start_paused = true)]
async fn a_job_appends_while_the_handler_of_the_primary_is_parked() {
    let mut machine = with_store(calling("inner", [json!({}), json!({})]));
    machine.tool("inner", "sleep(5) return 'inner'");
    machine.tool(
        "outer",
        r#"
        local agent = new_agent()
        assert(agent:set_tools { { name = "inner", description = "x", schema = { type = "object" } } })
        local job = assert(agent:run_async { prompt = "Go." })
        repeat sleep(1) until job:result()
        local result = job:result()
        job:close()
        return result.text .. #store:load(agent:session_id()).records
        "#,
    );
    // The store of the primary is in Lua, too.
    let primary = agent(&mut machine, calling("outer", [json!({})])).await;
    let outcome = machine.ask(&primary).await;
    assert_eq!(outcome.stop, StopReason::End, "{:?}", outcome.error);
    assert_eq!(results(&primary), [("ok".to_owned(), "Done.4".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_must_stop_does_not_wait_for_a_thread_that_does_not_come() {
    let mut machine = saying("Hi.");
    let agent = agent(&mut machine, Script::new().step("Hi.")).await;
    // Nobody drives Lua.
    let mut turn = Box::pin(agent.run("x").unwrap().outcome());
    tokio::select! {
        biased;
        _ = &mut turn => panic!("the answer cannot have been stored"),
        () = tokio::time::sleep(Duration::from_secs(3600)) => {}
    }
    let began = tokio::time::Instant::now();
    agent.interrupt();
    let outcome = turn.await;
    assert_eq!(
        began.elapsed(),
        AgentOptions::default().grace + Duration::from_secs(1)
    );
    let error = outcome
        .error
        .as_ref()
        .map(|error| pantograph::with_causes(error));
    insta::assert_snapshot!(error.unwrap_or_default(), @"could not store the conversation: the session store failed: its `append` was not called in time: the Lua thread is busy, and the turn had to stop");
    // Another agent cannot come between, even if this one goes.
    let id = agent.session_id();
    drop((agent, outcome));
    let store = store_of(&machine, "store");
    let error = store.open(id).await.err().unwrap();
    assert!(error.to_string().contains("is in use"), "{error}");
    // When the thread comes, all of it is kept.
    let tree = machine.runtime.run_until(store.load(id)).await.unwrap();
    let texts: Vec<String> = tree.messages().map(|message| message.text()).collect();
    assert_eq!(texts, ["x", "Hi."]);
    machine.runtime.run_until(store.open(id)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_append_ends_in_words_when_the_owner_goes() {
    let mut machine = saying("Hi.");
    let store = store_of(&machine, "store");
    let agent = agent(&mut machine, Script::new().step("Hi.").step("Again.")).await;
    // One is under way when the owner goes, the others come later.
    let turn = tokio::spawn(agent.run("x").unwrap().outcome());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!turn.is_finished());
    drop(machine);
    let outcome = turn.await.unwrap();
    let mut errors = vec![
        outcome
            .error
            .as_ref()
            .map(|error| pantograph::with_causes(error)),
    ];
    let outcome = agent.ask("y").await.unwrap();
    errors.push(
        outcome
            .error
            .as_ref()
            .map(|error| pantograph::with_causes(error)),
    );
    errors.push(
        store
            .load(agent.session_id())
            .await
            .err()
            .map(|error| error.to_string()),
    );
    errors.push(store.latest().await.err().map(|error| error.to_string()));
    let errors: Vec<String> = errors.into_iter().flatten().collect();
    insta::assert_snapshot!(errors.join("\n"), @"
    could not store the conversation: the session store failed: its `append` was not called: the Lua state is gone
    could not store the conversation: the session store failed: its `append` was not called: the Lua state is gone
    the session store failed: its `load` was not called: the Lua state is gone
    the session store failed: its `latest` was not called: the Lua state is gone
    ");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_keeps_what_turns_still_append() {
    let gate = Gate::new();
    let mut machine = with_store(Script::new().step(Step::text("Beginning").then(gate.clone())));
    machine
        .drive::<()>("agent = new_agent() job = assert(agent:run_async { prompt = 'Go.' })")
        .await;
    machine
        .runtime
        .run_until(tokio::time::sleep(Duration::from_millis(10)))
        .await;
    let lua = machine.lua.clone();
    let Machine { runtime, .. } = machine;
    runtime.shutdown(Duration::from_millis(100)).await;
    let kept: String = lua.load("return table.concat(log, ', ')").eval().unwrap();
    insta::assert_snapshot!(kept, @"create session /project, append user assistant");
}

/// Runs a Lua function on an owner thread beside agents that run on threads of their own; gives
/// the log. `block_until_settled` blocks the owner thread until no turn is live.
fn beside_threads(source: &str) -> String {
    let agents = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let owner = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    owner.block_on(async {
        let options = panto_runtime::Options::new(agents.handle().clone());
        let lua = mlua::Lua::new();
        let mut runtime = panto_runtime::LuaRuntime::open(lua.clone(), options).unwrap();
        let config = AgentConfig {
            protocol: Arc::new(ScriptedProtocol::new(
                Script::new().step(Step::text("Hi.").repeated()),
            )),
            model: Arc::new(model()),
            tool_choice: ToolChoice::Auto,
        };
        let config = runtime.module().config(&lua, config).unwrap();
        lua.globals().set("config", config).unwrap();
        let prelude =
            "panto = require('panto') log = {} function note(text) log[#log + 1] = text end\n";
        lua.load(prelude.to_owned() + super::STORE).exec().unwrap();
        let turns = runtime.module().turns().clone();
        let settled = lua.create_function(move |_, ()| {
            block_on(turns.settled());
            Ok(())
        });
        lua.globals()
            .set("block_until_settled", settled.unwrap())
            .unwrap();
        let function = lua.load(source).into_function().unwrap();
        let drive = runtime.handle().drive("the test", function, ()).unwrap();
        let driven = runtime.run_until(drive).await;
        driven.unwrap_or_else(|failure| panic!("{failure}"));
        runtime.shutdown(Duration::from_millis(100)).await;
        lua.load("return table.concat(log, ', ')").eval().unwrap()
    })
}

#[test]
fn a_blocked_owner_holds_up_neither_a_cancelled_turn_nor_a_close() {
    let log = beside_threads(
        r#"
        local agent = new_agent()
        local job = assert(agent:run_async { prompt = "Go." })
        local event
        repeat event = job:next_event() until event and event.type == "assistant_text_complete"
        job:request_cancel { grace_ms = 0 }
        assert(job:close())
        block_until_settled()
        assert(#log == 0)
        "#,
    );
    assert_eq!(log, "create session /project, append user assistant");
}

#[test]
fn many_jobs_keep_their_sessions_in_one_table() {
    let log = beside_threads(
        r#"
        local agents = {}
        for i = 1, 64 do
          agents[i] = new_agent()
        end
        for _ = 1, 2 do
          local streams = {}
          for i, agent in ipairs(agents) do
            streams[i] = assert(agent:run("x" .. i))
          end
          for _, stream in ipairs(streams) do
            assert(finish(stream).stop == "end")
          end
        end
        log = {}
        for i, agent in ipairs(agents) do
          local id, expected = agent:session_id(), agent:conversation():messages()
          agent:close()
          local again = new_agent { session_id = id }
          assert(same(again:conversation():messages(), expected) and #expected == 4)
          assert(expected[1].blocks[1].text == "x" .. i)
          note("fine")
        end
        "#,
    );
    assert_eq!(log.matches("fine").count(), 64);
}

/// Blocks this thread, and with it Lua, until the future is complete.
fn block_on(future: impl Future<Output = ()>) {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    while future.as_mut().poll(&mut context).is_pending() {
        std::thread::park();
    }
}
