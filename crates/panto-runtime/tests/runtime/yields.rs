//! A yield in each entry point that must not wait is refused with the same words, whatever hides it.

use std::time::Duration;

use panto_runtime::{Hooks, MUST_NOT_WAIT};
use pantograph::{Agent, StopReason};
use pantograph_scripted::Script;
use serde_json::json;

use crate::support::{Machine, calling, machine, model, results};

/// What yields, directly and where Lua or an error hides it.
const YIELDS: [(&str, &str); 8] = [
    ("plainly", "coroutine.yield()"),
    ("below pcall", "pcall(pcall, coroutine.yield)"),
    (
        "in a metamethod",
        "local x = setmetatable({}, { __index = function() coroutine.yield() end }).x",
    ),
    (
        "in table.sort",
        "pcall(table.sort, { 3, 2, 1 }, function(a, b) pcall(coroutine.yield) return a < b end)",
    ),
    (
        "in string.gsub",
        "pcall(string.gsub, 'abc', '.', function() pcall(coroutine.yield) end)",
    ),
    (
        "in an iterator",
        "for x in function() coroutine.yield() end do end",
    ),
    (
        "in a __close",
        "do local x <close> = setmetatable({}, { __close = function() coroutine.yield() end }) end",
    ),
    ("by a helper", "pcall(sleep, 1)"),
];

impl Machine {
    /// A protocol that answers, but for the one function that does `body`; and that function's agent.
    fn yielding(&self, place: &str, body: &str) -> Agent {
        self.protocols();
        let at = |name: &str| if place == name { body } else { "" };
        let source = format!(
            r#"
            register_protocol {{
                name = "p",
                open = function(request)
                    local n = 0
                    {open}
                    return {{
                        next = function()
                            n = n + 1
                            {next}
                            if stall then return end
                            return n == 1 and {{ type = "text_delta", text = "x" }} or {{ type = "done" }}
                        end,
                        cancel_turn = own_cancel and function() {cancel_turn} end,
                        close = function() {stream_close} end,
                    }}
                end,
                cancel_turn = function() {registered_cancel} end,
                reset_context = function() {reset_context} end,
                release_context = function() {release_context} end,
                close = function() {close} end,
            }}
            "#,
            open = at("open"),
            next = at("next"),
            cancel_turn = at("cancel_turn"),
            stream_close = at("stream_close"),
            registered_cancel = at("registered_cancel"),
            reset_context = at("reset_context"),
            release_context = at("release_context"),
            close = at("close"),
        );
        self.exec(&source);
        Agent::builder(self.runtime.handle().protocol("p").unwrap(), model())
            .tool_source(self.runtime.tool_source())
            .ephemeral()
    }

    #[track_caller]
    fn refused(&self, what: &str) {
        let failures = self.failures();
        assert!(
            failures
                .iter()
                .any(|failure| failure.ends_with(MUST_NOT_WAIT)),
            "{what}: {failures:?}"
        );
        assert_eq!(self.runtime.live_handlers(), 0, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_function_of_a_protocol_may_wait() {
    let places = [
        "open",
        "next",
        "stream_close",
        "cancel_turn",
        "registered_cancel",
        "reset_context",
        "release_context",
        "close",
    ];
    for place in places {
        for (how, body) in YIELDS {
            let what = format!("`{place}` {how}");
            let mut machine = machine();
            let cancels = place == "cancel_turn" || place == "registered_cancel";
            machine.exec(&format!(
                "stall, own_cancel = {cancels}, {}",
                place == "cancel_turn"
            ));
            let agent = machine.yielding(place, body);
            let turn = agent.run("Go.").unwrap();
            let control = turn.control();
            let outcome = machine.runtime.run_until(async {
                let (outcome, ()) = tokio::join!(turn.outcome(), async {
                    if cancels {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                        control.cancel();
                    }
                });
                outcome
            });
            let outcome = outcome.await;
            match place {
                // What asks needs the answer, and hears why there is none.
                "open" | "next" => {
                    assert_eq!(outcome.stop, StopReason::Failed, "{what}");
                    let error = outcome.error.as_ref().unwrap();
                    let words = pantograph::with_causes(error);
                    assert!(words.ends_with(MUST_NOT_WAIT), "{what}: {words}");
                }
                _ if cancels => assert_eq!(outcome.stop, StopReason::Cancelled, "{what}"),
                _ => assert_eq!(outcome.stop, StopReason::End, "{what}: {outcome:?}"),
            }
            if place == "reset_context" {
                machine.exec("stall = false");
                machine
                    .runtime
                    .run_until(agent.ask("Again."))
                    .await
                    .unwrap();
                let compaction = agent.compact(None).unwrap();
                machine.runtime.run_until(compaction.outcome()).await;
            }
            drop((outcome, agent));
            if place == "close" {
                machine.runtime.handle().unregister_protocol("test", "p");
            }
            for _ in 0..4 {
                machine.runtime.run_until(tokio::task::yield_now()).await;
            }
            machine.refused(&what);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_hook_may_wait() {
    for (how, body) in YIELDS {
        for hook in ["user_message", "tool_input", "tool_result"] {
            let what = format!("`{hook}` {how}");
            let mut machine = machine();
            machine.tool("echo", "ran = true return 'echo'");
            let function = |name: &str| {
                (name == hook).then(|| machine.eval(&format!("return function(e) {body} end")))
            };
            machine.runtime.handle().set_hooks(Hooks {
                user_message: function("user_message"),
                tool_input: function("tool_input"),
                tool_result: function("tool_result"),
            });
            let agent = scripted(&machine, calling("echo", [json!({})]));
            let asked = machine.runtime.run_until(agent.ask("Go.")).await;
            machine.refused(&what);
            if hook == "tool_input" {
                assert!(!machine.eval::<bool>("return ran == true"), "{what}");
                assert_eq!(results(&agent)[0].0, "error", "{what}");
            }
            drop(asked);
        }
    }
}

fn scripted(machine: &Machine, script: Script) -> Agent {
    let protocol = pantograph_scripted::ScriptedProtocol::new(script);
    Agent::builder(std::sync::Arc::new(protocol), model())
        .tool_source(machine.runtime.tool_source())
        .hooks(machine.runtime.hooks())
        .ephemeral()
}

#[tokio::test(start_paused = true)]
async fn no_method_of_a_store_may_wait_whatever_hides_it() {
    for (how, body) in YIELDS {
        for method in ["load", "list", "resolve", "latest"] {
            let what = format!("`{method}` {how}");
            let mut machine = machine();
            machine.exec(include_str!("stores/store.lua"));
            machine.exec(&format!("function store:{method}() {body} end"));
            let store = machine.eval("return store");
            let store = machine.runtime.handle().session_store(store).unwrap();
            let asked = machine.runtime.run_until(async {
                match method {
                    "load" => {
                        let id =
                            pantograph::SessionId::parse("0198c0de-0000-7000-8000-000000000001")
                                .unwrap();
                        store.load(id).await.err()
                    }
                    "list" => store.list().await.err(),
                    "resolve" => store.resolve("0").await.err(),
                    _ => store.latest().await.err(),
                }
            });
            let error = asked.await.unwrap_or_else(|| panic!("{what}: not refused"));
            let words = pantograph::with_causes(&error);
            assert!(words.ends_with(MUST_NOT_WAIT), "{what}: {words}");
        }
    }
}
