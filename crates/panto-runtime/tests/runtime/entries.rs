//! How Lua is entered: what may wait, what must not, and what runs too long.

use std::time::Duration;

use panto_runtime::MUST_NOT_WAIT;
use pantograph_scripted::{Script, Step};
use serde_json::json;

use crate::support::{Machine, calling, machine, machine_in, machine_with, results};

#[tokio::test(start_paused = true)]
async fn a_synchronous_entry_that_yields_fails_whatever_hides_the_yield() {
    let machine = machine();
    let bodies = [
        "coroutine.yield()",
        "pcall(coroutine.yield)",
        "return pcall(pcall, coroutine.yield)",
        "xpcall(coroutine.yield, print)",
        "return setmetatable({}, { __index = function() coroutine.yield() end }).x",
        "return setmetatable({}, { __add = function() coroutine.yield() end }) + 1",
        "local t <close> = setmetatable({}, { __close = function() coroutine.yield() end })",
        "table.sort({ 3, 2, 1 }, function() coroutine.yield() end)",
        "pcall(table.sort, { 3, 2, 1 }, function(a, b) pcall(coroutine.yield) return a < b end)",
        "string.gsub('abc', '.', function() coroutine.yield() end)",
        "pcall(string.gsub, 'abc', '.', function() pcall(coroutine.yield) end)",
        "for x in function() coroutine.yield() end do end",
        "load(function() coroutine.yield() end)",
        "tostring(setmetatable({}, { __tostring = function() coroutine.yield() return 'x' end }))",
        "require('luv').walk(function() coroutine.yield() end) error(MUST)",
    ];
    machine.lua.globals().set("MUST", MUST_NOT_WAIT).unwrap();
    for body in bodies {
        let function = machine.lua.load(body).into_function().unwrap();
        let outcome = machine.runtime.handle().call("the handler", &function, ());
        let Err(failure) = outcome else {
            panic!("{body}: not refused")
        };
        assert!(
            failure.message.ends_with(MUST_NOT_WAIT),
            "{body}: {}",
            failure.message
        );
    }
    // What follows is not affected, and a generator of its own is nobody's business.
    let function = machine
        .lua
        .load("local sum = 0 for i in coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) do sum = sum + i end return sum")
        .into_function()
        .unwrap();
    let values = machine
        .runtime
        .handle()
        .call("the handler", &function, ())
        .unwrap();
    assert_eq!(values.front().and_then(mlua::Value::as_i64), Some(6));
}

#[tokio::test(start_paused = true)]
async fn a_synchronous_entry_inside_a_handler_fails_alone() {
    let mut machine = machine();
    let handle = machine.runtime.handle().clone();
    let emit = move |_: &mlua::Lua, handler: mlua::Function| {
        let outcome = handle.call("the `on` handler", &handler, ());
        Ok(outcome.map_err(|failure| failure.message).err())
    };
    let emit = machine.lua.create_function(emit).unwrap();
    machine.lua.globals().set("emit", emit).unwrap();
    machine.tool(
        "emit",
        r#"
        sleep(1)
        local message = emit(function() pcall(sleep, 1) end)
        local nested = emit(function() assert(emit(function() sleep(1) end) == message) end)
        sleep(1)
        return message .. tostring(nested)
        "#,
    );
    let agent = machine.agent(calling("emit", [json!({})]));
    machine.ask(&agent).await;
    let expected = format!("{MUST_NOT_WAIT}nil");
    assert_eq!(results(&agent), [("ok".to_owned(), expected)]);
}

#[tokio::test(start_paused = true)]
async fn a_blocking_wait_is_refused_where_it_must_not_wait_and_parks_elsewhere() {
    let mut machine = machine();
    machine.config(
        "config",
        Script::new().step(Step::text("Hello.").repeated()),
    );
    machine.exec(
        r#"
        function ask()
            local agent = assert(panto.agent { config = config, store = panto.null_store() })
            local text
            for event in agent:run("x"):events() do
                if event.type == "assistant_text_complete" then text = event.text end
            end
            return text
        end
        "#,
    );
    let function = machine.eval::<mlua::Function>("return ask");
    let failure = machine
        .runtime
        .handle()
        .call("x", &function, ())
        .unwrap_err();
    assert!(failure.message.ends_with(MUST_NOT_WAIT), "{failure}");
    // A coroutine that such an entry starts may wait.
    let values = machine
        .runtime
        .handle()
        .call("x", &machine.eval("return function() coroutine.wrap(function() note(ask()) end)() return 'went on' end"), ())
        .unwrap();
    assert_eq!(values.front().unwrap().to_string().unwrap(), "went on");
    assert_eq!(machine.drive::<String>("return ask()").await, "Hello.");
    assert_eq!(machine.log(), ["Hello."]);
    // On the main coroutine, as in a callback of the loop, nothing can wait.
    machine.exec(
        "uv.new_timer():start(1, 0, function() local ok, message = pcall(ask) note(message) end)",
    );
    machine.drive::<()>("sleep(5)").await;
    assert!(machine.log()[1].ends_with(MUST_NOT_WAIT));
}

#[tokio::test(start_paused = true)]
async fn a_parked_coroutine_that_others_resume_waits_again_and_is_woken_once() {
    let mut machine = machine();
    machine.config(
        "config",
        Script::new().step(
            Step::new().then(
                pantograph_scripted::Text::new("slow")
                    .chunks(2)
                    .pace(Duration::from_millis(50)),
            ),
        ),
    );
    let text: String = machine
        .drive(
            r#"
            local co = coroutine.running()
            local timer = uv.new_timer()
            local resumed = 0
            timer:start(1, 1, function() resumed = resumed + 1 coroutine.resume(co) end)
            local agent = assert(panto.agent { config = config, store = panto.null_store() })
            local text
            for event in agent:run("x"):events() do
                if event.type == "assistant_text_complete" then text = event.text end
            end
            timer:close()
            assert(resumed > 10)
            -- What was woken before does not wake this.
            local done
            local last = uv.new_timer()
            last:start(20, 0, function() last:close() done = true coroutine.resume(co) end)
            coroutine.yield()
            assert(done)
            return text
            "#,
        )
        .await;
    assert_eq!(text, "slow");
    assert_eq!(machine.failures(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_driven_entry_gives_what_it_returns_or_raises_and_closes_when_dropped() {
    let mut machine = machine();
    assert_eq!(machine.drive::<i64>("sleep(5) return 1 + 1").await, 2);
    let function = machine.eval::<mlua::Function>("return function(x) sleep(1) error(x) end");
    let drive = machine
        .runtime
        .handle()
        .drive("activation", function, "bad")
        .unwrap();
    let failure = machine.runtime.run_until(drive).await.unwrap_err();
    assert_eq!(failure.to_string(), "activation failed: test:1: bad");
    assert!(failure.traceback.contains("test:1"), "{failure:?}");

    let function = machine.eval::<mlua::Function>(
        "return function() local x <close> = setmetatable({}, { __close = function() note('closed') end }) sleep(1e6) end",
    );
    let drive = machine
        .runtime
        .handle()
        .drive("activation", function, ())
        .unwrap();
    machine
        .runtime
        .run_until(tokio::time::timeout(Duration::from_millis(5), drive))
        .await
        .unwrap_err();
    assert_eq!(machine.log(), [""; 0]);
    machine.runtime.run_until(tokio::task::yield_now()).await;
    machine.runtime.run_until(tokio::task::yield_now()).await;
    assert_eq!(machine.log(), ["closed"]);
    assert_eq!(machine.runtime.live_handlers(), 0);
}

#[tokio::test]
async fn a_step_that_takes_too_long_fails_and_says_where() {
    let mut machine = machine_with(|options| options.step_limit(Duration::from_millis(30)));
    machine.tool("spin", "while true do end");
    machine.tool(
        "hide",
        "while true do pcall(function() while true do end end) end",
    );
    machine.tool(
        "inner",
        "local co = coroutine.wrap(function() while true do end end) co() while true do co() end",
    );
    machine.tool(
        "again",
        "while true do pcall(coroutine.wrap(function() while true do end end)) end",
    );
    machine.tool(
        "close",
        r#"
        local endless = { __close = function() while true do end end }
        local co = coroutine.create(function()
            local x <close> = setmetatable({}, endless)
            coroutine.yield()
        end)
        coroutine.resume(co)
        coroutine.close(co)"#,
    );
    machine.tool(
        "failed",
        r#"
        local endless = { __close = function() while true do end end }
        coroutine.wrap(function()
            local x <close> = setmetatable({}, endless)
            error("x")
        end)()"#,
    );
    machine.tool(
        "callback",
        r#"
        local co = coroutine.running()
        local timer = uv.new_timer()
        timer:start(1, 0, function() timer:close() coroutine.resume(co) end)
        coroutine.yield()
        while true do end"#,
    );
    machine.tool("fine", "sleep(60) for i = 1, 1000 do end return 'fine'");
    for (tool, line) in [
        ("spin", 1),
        ("hide", 1),
        ("inner", 1),
        ("again", 1),
        ("close", 8),
        ("failed", 2),
        ("callback", 6),
    ] {
        let agent = machine.agent(calling(tool, [json!({})]));
        machine.ask(&agent).await;
        let (status, text) = results(&agent).remove(0);
        assert_eq!(status, "error", "{tool}");
        let expected = format!("test:{line}: ran too long");
        assert!(text.contains(&expected), "{tool}: {text}");
    }
    let agent = machine.agent(calling("fine", [json!({})]));
    machine.ask(&agent).await;
    assert_eq!(results(&agent)[0].1, "fine");
    // A call that must not wait and tries to is closed.
    let function = machine.eval(
        r#"
        return function()
            local x <close> = setmetatable({}, { __close = function() while true do end end })
            coroutine.yield()
        end"#,
    );
    let called = machine.runtime.handle().call("x", &function, ());
    assert_eq!(called.unwrap_err().message, panto_runtime::MUST_NOT_WAIT);
    // A callback of the loop, too.
    machine.exec("uv.new_timer():start(1, 0, function() while true do end end)");
    machine.drive::<()>("sleep(3)").await;
    let failures = machine.failures();
    assert!(
        failures
            .iter()
            .any(|text| text.contains("a callback of timer_start failed: test:1: ran too long")),
        "{failures:#?}"
    );
}

/// Runs each tool once, and expects the watchdog to stop it at its line.
async fn are_stopped(machine: &mut Machine, tools: &[(&str, &str)]) {
    for (tool, line) in tools {
        let agent = machine.agent(calling(tool, [json!({})]));
        machine.ask(&agent).await;
        let (status, text) = results(&agent).remove(0);
        assert_eq!(status, "error", "{tool}");
        let expected = format!("{line}: ran too long");
        assert!(text.contains(&expected), "{tool}: {text}");
    }
}

#[tokio::test]
async fn no_name_of_a_chunk_keeps_it_from_being_stopped() {
    let mut machine = machine_with(|options| options.step_limit(Duration::from_millis(30)));
    for (tool, name) in [("panto", "=[panto]"), ("luv", "=luv")] {
        machine.tool(
            tool,
            &format!(
                "load('while true do pcall(function() while true do end end) end', '{name}')()"
            ),
        );
    }
    // What stands between such code and Rust is not what took long.
    machine.tool("in_luv", "while true do uv.now() end");
    machine.tool("in_panto", "while true do panto.text.width('x') end");
    let tools = [
        ("panto", "[panto]:1"),
        ("luv", "luv:1"),
        ("in_luv", "test:1"),
        ("in_panto", "test:1"),
    ];
    are_stopped(&mut machine, &tools).await;
}

#[tokio::test]
async fn hooks_of_the_codes_own_do_not_keep_it_from_being_stopped() {
    let mut machine = machine_in(panto_runtime::standalone::trusting_state(), |options| {
        options.step_limit(Duration::from_millis(30))
    });
    machine.tool("clear", "while true do debug.sethook() end");
    machine.tool(
        "replace",
        "local function f() end while true do pcall(debug.sethook, f, '', 1) end",
    );
    machine.tool(
        "within",
        "debug.sethook(function() while true do debug.sethook() end end, '', 1) while true do end",
    );
    machine.tool(
        "everywhere",
        r#"
        local function again() debug.sethook(again, "clr", 1) end
        while true do pcall(function() again() while true do debug.sethook() end end) end"#,
    );
    let lines = ["clear", "replace", "within", "everywhere"].map(|tool| (tool, ""));
    are_stopped(&mut machine, &lines).await;
    // A hook of its own is gone then, and what runs later has none.
    machine.tool(
        "fine",
        "for i = 1, 1000 do end return tostring(debug.gethook())",
    );
    let agent = machine.agent(calling("fine", [json!({})]));
    machine.ask(&agent).await;
    assert_eq!(results(&agent)[0].1, "nil");
}

#[tokio::test]
async fn what_is_driven_from_inside_the_owners_own_future_goes_on() {
    let mut machine = machine();
    let handle = machine.runtime.handle().clone();
    let function = machine.eval::<mlua::Function>("return function(x) sleep(1) return x end");
    // In a clock that is not paused nothing else would wake the owner.
    let inside = async {
        tokio::task::yield_now().await;
        let drive = handle.drive("a command", function.clone(), 7).unwrap();
        drive.await.unwrap()
    };
    let limit = Duration::from_secs(20);
    let values = machine
        .runtime
        .run_until(tokio::time::timeout(limit, inside))
        .await
        .unwrap();
    assert_eq!(values.front().and_then(mlua::Value::as_i64), Some(7));
}

#[tokio::test]
async fn a_handler_that_the_hosts_own_code_resumes_answers_at_once() {
    let mut machine = machine();
    machine.tool(
        "park",
        "parked = coroutine.running() coroutine.yield() return 'resumed'",
    );
    let agent = machine.agent(calling("park", [json!({})]));
    let lua = machine.lua.clone();
    let resuming = async {
        while lua.globals().get::<mlua::Value>("parked").unwrap().is_nil() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        lua.load("assert(coroutine.resume(parked))").exec().unwrap();
        std::future::pending::<()>().await;
    };
    let all = async {
        tokio::select! {
            outcome = agent.ask("Go.") => outcome.unwrap(),
            () = resuming => unreachable!(),
        }
    };
    let limited = tokio::time::timeout(Duration::from_secs(20), all);
    machine.runtime.run_until(limited).await.unwrap();
    assert_eq!(results(&agent)[0].1, "resumed");
}

#[tokio::test]
async fn closing_a_coroutine_can_be_stopped_and_behaves_as_luas_own() {
    let mut machine = machine_with(|options| options.step_limit(Duration::from_millis(30)));
    machine.tool(
        "endless",
        r#"
        local co = coroutine.create(function()
            local x <close> = setmetatable({}, { __close = function() while true do end end })
            coroutine.yield()
        end)
        coroutine.resume(co)
        coroutine.close(co)
        while true do end
        "#,
    );
    let agent = machine.agent(calling("endless", [json!({})]));
    machine.ask(&agent).await;
    assert!(
        results(&agent)[0].1.contains("ran too long"),
        "{:?}",
        results(&agent)
    );
    machine.exec(
        r#"
        local function refused(f, ...) local ok, m = pcall(f, ...) assert(not ok) return m end
        local close = coroutine.close
        assert(close(coroutine.create(print)) == true)
        local co = coroutine.wrap(function() end) co()
        co = coroutine.create(function() error({ code = 7 }) end)
        coroutine.resume(co)
        local ok, e = close(co)
        assert(ok == false and e.code == 7)
        assert(close(co) == true)
        co = coroutine.create(function()
            local x <close> = setmetatable({}, { __close = function(_, e) error("in close") end })
            coroutine.yield()
        end)
        coroutine.resume(co)
        ok, e = close(co)
        assert(ok == false and e:find("in close"))
        assert(refused(close):find("bad argument #1"))
        assert(refused(close, (coroutine.running())):find("cannot close a running coroutine"))
        local outer
        outer = coroutine.create(function()
            local inner = coroutine.create(function() return refused(close, outer) end)
            return select(2, coroutine.resume(inner))
        end)
        local _, message = coroutine.resume(outer)
        assert(message:find("cannot close a normal coroutine"), message)
        "#,
    );
}

#[tokio::test]
async fn what_lua_runs_without_hooks_is_stopped_too() {
    let mut machine = machine_with(|options| options.step_limit(Duration::from_millis(30)));
    machine.tool(
        "message_handler",
        "xpcall(function() while true do end end, function(m) while true do end end)",
    );
    machine.tool(
        "error_handler",
        "xpcall(error, function(m) while true do end end)",
    );
    machine.tool(
        "close_of_the_killed",
        r#"
        local co = coroutine.create(function()
            local x <close> = setmetatable({}, { __close = function() while true do end end })
            while true do end
        end)
        while true do
            pcall(coroutine.resume, co)
            pcall(coroutine.close, co)
        end"#,
    );
    for tool in ["message_handler", "error_handler", "close_of_the_killed"] {
        let agent = machine.agent(calling(tool, [json!({})]));
        machine.ask(&agent).await;
        let (status, text) = results(&agent).remove(0);
        assert_eq!(status, "error", "{tool}");
        assert!(text.contains("ran too long"), "{tool}: {text}");
    }
    // A finalizer fails by itself, and what collected goes on unless it is stopped, too.
    machine.tool(
        "finalizer",
        r#"
        setmetatable({}, { __gc = function() begun = true while true do end end })
        collectgarbage()
        collectgarbage()
        return "collected""#,
    );
    let agent = machine.agent(calling("finalizer", [json!({})]));
    machine.ask(&agent).await;
    assert!(machine.eval::<bool>("return begun"));
    assert_eq!(results(&agent)[0].0, "error");
}

#[tokio::test(start_paused = true)]
async fn a_report_that_panics_costs_no_other_call_its_answer() {
    let mut machine = machine_with(|options| options.on_error(|_| panic!("the report")));
    machine.tool("raise", "error('no luck')");
    machine.tool("fine", "return 'fine'");
    let step = Step::new()
        .then(pantograph_scripted::Call::new("fine", json!({})))
        .then(pantograph_scripted::Call::new("raise", json!({})))
        .then(pantograph_scripted::Call::new("fine", json!({})));
    let agent = machine.agent(Script::new().step(step).step(Step::text("Done.")));
    let outcome = machine.ask(&agent).await;
    assert_eq!(outcome.text.as_deref(), Some("Done."));
    let statuses: Vec<_> = results(&agent).into_iter().map(|result| result.0).collect();
    assert_eq!(statuses, ["ok", "error", "ok"]);
    assert_eq!(machine.runtime.live_handlers(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_second_runtime_is_refused_and_the_first_goes_on() {
    let mut machine = machine();
    machine.exec("create = coroutine.create");
    let options = panto_runtime::Options::new(tokio::runtime::Handle::current());
    let second = panto_runtime::LuaRuntime::open(machine.lua.clone(), options);
    assert!(matches!(second, Err(panto_runtime::OpenError::Opened)));
    assert!(machine.eval::<bool>("return create == coroutine.create"));
    let text: String = machine.drive("sleep(1) return 'goes on'").await;
    assert_eq!(text, "goes on");
}

#[tokio::test(start_paused = true)]
async fn what_others_resume_and_replace_again_and_again_keeps_nothing() {
    let machine = machine();
    machine.config(
        "config",
        Script::new().step(
            Step::new().then(
                pantograph_scripted::Text::new("slow")
                    .chunks(2)
                    .pace(Duration::from_millis(50)),
            ),
        ),
    );
    machine.exec("co = coroutine.create(function() for event in new_agent(config):run('x'):events() do end end) coroutine.resume(co)");
    let once = machine.runtime.live_waits();
    assert!(once >= 1);
    machine.exec("for i = 1, 1000 do coroutine.resume(co) end");
    assert_eq!(machine.runtime.live_waits(), once);
    // What is replaced is closed when nothing uses it, not at the end.
    machine.protocols();
    machine.exec(
        r#"
        closed = 0
        for i = 1, 100 do
            register_protocol { name = "p", open = function() end, close = function() closed = closed + 1 end }
        end
        assert(closed == 99, closed)
        "#,
    );
    assert!(machine.runtime.handle().unregister_protocol("test", "p"));
    assert_eq!(machine.eval::<i64>("return closed"), 100);
}
