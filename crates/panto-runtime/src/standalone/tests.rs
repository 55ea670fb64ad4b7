//! Waiting, with a model that answers when it is let. The rest is proved through the program.

use std::sync::Arc;

use pantograph::protocol::ToolChoice;
use pantograph::{AgentConfig, Model, ModelRef};
use pantograph_scripted::{Gate, Script, ScriptedProtocol, Step as Play};

use super::*;

/// An interpreter with the modules, and `config`, whose model says hello after `open()`.
fn interpreter() -> Standalone {
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
    };
    let lua = Standalone::new(Options::new(runtime)).unwrap();
    run(&lua, "uv = require('luv') panto = require('panto')").unwrap();
    let gate = Gate::new();
    let answer = Play::new().then(gate.clone()).then("Hello.").repeated();
    let config = AgentConfig {
        protocol: Arc::new(ScriptedProtocol::new(Script::new().step(answer))),
        model: Arc::new(Model::new(ModelRef::parse("scripted:demo").unwrap())),
        tool_choice: ToolChoice::Auto,
    };
    let config = lua.modules.panto_module().config(&lua.lua, config).unwrap();
    lua.lua.globals().set("config", config).unwrap();
    let open = lua.lua.create_function(move |_, ()| {
        gate.open();
        Ok(())
    });
    lua.lua.globals().set("open", open.unwrap()).unwrap();
    run(&lua, HELPERS).unwrap();
    lua
}

fn run(lua: &Standalone, chunk: &str) -> Result<(), Failure> {
    lua.run(&Step::Chunk(chunk.into()))
}

/// Runs chunks that assert by themselves.
#[track_caller]
fn holds(chunk: &str) {
    let lua = interpreter();
    if let Err(failure) = run(&lua, chunk).and_then(|()| lua.finish()) {
        panic!("{failure}");
    }
}

const HELPERS: &str = r#"
function ask()
  local agent = assert(panto.agent { config = config, store = panto.null_store() })
  return assert(agent:run("Say hello."))
end
function answer(stream)
  for event in stream:events() do
    if event.type == "assistant_text_complete" then return event.text end
  end
end
-- Calls back from the loop.
function later(f)
  local timer = uv.new_timer()
  timer:start(0, 0, function() timer:close() f() end)
end
"#;

#[test]
fn a_wait_on_the_main_thread_blocks_and_serves_the_loop() {
    holds(
        r#"
        -- Without the loop there would be no answer.
        later(open)
        assert(answer(ask()) == "Hello.")
        "#,
    );
}

#[test]
fn a_wait_where_nothing_can_yield_does_too() {
    holds(
        r#"
        local texts = { "b", "a" }
        coroutine.wrap(function()
          table.sort(texts, function(a, b)
            later(open)
            return a < b and answer(ask()) == "Hello."
          end)
        end)()
        assert(table.concat(texts) == "ab")
        "#,
    );
}

#[test]
fn a_wait_in_a_coroutine_parks_it_and_keeps_the_loop_going() {
    holds(
        r#"
        local texts = {}
        for i = 1, 3 do
          coroutine.wrap(function() texts[i] = answer(ask()) end)()
        end
        assert(#texts == 0)
        later(open)
        assert(uv.run() == false)
        assert(table.concat(texts) == "Hello.Hello.Hello.")
        "#,
    );
}

#[test]
fn a_wait_in_a_callback_is_refused_but_not_in_a_coroutine_there() {
    holds(
        r#"
        local stream = ask()
        local ok, message
        -- What has come already is given.
        later(function() repeat ok, message = pcall(stream.next, stream) until not ok end)
        uv.run()
        assert(ok == false)
        local text = "yielded, but this entrypoint must not await; its caller needs the result now"
        assert(message == text, message)

        local said
        later(function() coroutine.wrap(function() said = answer(stream) end)() end)
        later(open)
        uv.run()
        assert(said == "Hello.")
        "#,
    );
}

#[test]
fn what_a_woken_coroutine_raises_is_raised_by_the_run() {
    let lua = interpreter();
    let chunk = "coroutine.wrap(function() answer(ask()) error('then') end)() later(open) uv.run()";
    let failure = run(&lua, chunk).unwrap_err();
    let traceback = "(command line):1: then\nstack traceback:\n\t[C]: in function 'error'\n";
    assert!(failure.message.starts_with(traceback), "{failure}");
    lua.finish().unwrap();
}

#[test]
fn an_error_in_a_callback_that_no_run_raised_is_told_at_the_end() {
    let lua = interpreter();
    // The wait serves the loop, and is not what went wrong.
    run(
        &lua,
        "later(function() open() error('unseen') end) answer(ask())",
    )
    .unwrap();
    let failure = lua.finish().unwrap_err();
    let beginning = "(command line):1: unseen\nstack traceback:\n";
    assert!(failure.message.starts_with(beginning), "{failure}");
}

#[test]
fn an_interrupt_ends_what_runs_or_waits_and_is_raised_once() {
    // One after the other, since it is the process that is interrupted.
    for chunk in [
        "later(interrupt) answer(ask())",
        "interrupt() while true do end",
        "coroutine.wrap(function() interrupt() while true do end end)()",
        "later(interrupt) uv.run() while true do end",
    ] {
        let lua = interpreter();
        let interrupt = lua.lua.create_function(|_, ()| {
            let this = rustix::process::getpid();
            rustix::process::kill_process(this, rustix::process::Signal::INT)
                .map_err(mlua::Error::external)
        });
        lua.lua
            .globals()
            .set("interrupt", interrupt.unwrap())
            .unwrap();
        lua.take_signals();
        let failure = run(&lua, chunk).unwrap_err();
        assert!(failure.interrupted, "{chunk}");
        assert!(failure.message.contains("interrupted!"), "{failure}");
        // What waits after one that was caught is none the worse for it.
        let after = "later(open) assert(answer(ask()) == 'Hello.') uv.run()";
        run(&lua, after).unwrap_or_else(|failure| panic!("{chunk}: {failure}"));
        lua.finish().unwrap();
    }
}

#[test]
fn a_coroutine_that_was_closed_while_it_waited_is_left_alone() {
    holds(
        r#"
        local co = coroutine.create(function() answer(ask()) end)
        coroutine.resume(co)
        assert(coroutine.close(co))
        later(open)
        uv.run()
        "#,
    );
}

#[test]
fn a_coroutine_that_is_resumed_too_early_waits_on_and_is_resumed_once() {
    holds(
        r#"
        local said, spurious
        local co = coroutine.create(function()
          said = answer(ask())
          coroutine.yield()
          spurious = true
        end)
        assert(coroutine.resume(co))
        assert(coroutine.resume(co))
        later(open)
        uv.run()
        assert(said == "Hello." and not spurious)
        "#,
    );
}

#[test]
fn turns_that_a_script_leaves_behind_settle_before_the_end() {
    let lua = interpreter();
    run(
        &lua,
        r#"
        agent = assert(panto.agent { config = config, store = panto.null_store() })
        job = assert(agent:run_async { prompt = "Say hello." })
        "#,
    )
    .unwrap();
    let turns = lua.modules.panto_module().turns().clone();
    assert_eq!(turns.live(), 1);
    lua.finish().unwrap();
    assert_eq!(turns.live(), 0);
}

#[test]
fn modules_are_made_once() {
    holds(
        r#"
        package.loaded.luv, package.loaded.panto = nil, nil
        assert(require("luv") == uv and require("panto") == panto)
        "#,
    );
    let lua = Standalone::new(Options::new(|| Err(io::Error::other("no threads")))).unwrap();
    // What is needed for the other module does not make it a second time.
    let chunk = "
        local ok, message = pcall(require, 'panto')
        assert(not ok and message:find('no threads', 1, true), message)
        package.loaded.luv = nil
        require('luv').run()
    ";
    run(&lua, chunk).unwrap();
    lua.finish().unwrap();
}
