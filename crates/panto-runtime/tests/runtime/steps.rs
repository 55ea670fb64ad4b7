//! A turn, and a job inside it, cancelled at every step of theirs in turn.
//!
//! A step is one look of the owner's loop at the future that it drives. Nothing is left to
//! chance: the clock is paused, and everything runs on one thread.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mlua::Table;
use pantograph::protocol::ToolChoice;
use pantograph::{Agent, AgentConfig, Block, Event, Role, StopReason};

use crate::support::{Machine, machine, model};

const LUA: &str = r#"
function stream_of(script)
    return function(request)
        local last = request.messages[#request.messages]
        local called = last.role == "tool"
        local events, at = called and { { type = "text_delta", text = "Done." }, { type = "done" } } or script, 0
        return {
            next = function() at = at + 1 return events[at] end,
            cancel_turn = function() end,
            close = function() end,
        }
    end
end
function call(id, name) return { type = "tool_call", id = id, name = name, input_json = "{}" } end
register_protocol { name = "primary", open = stream_of {
    { type = "text_delta", text = "I call." }, call("a", "park"), call("b", "delegate"), { type = "done" } } }
register_protocol { name = "child", open = stream_of {
    call("c", "echo"), call("d", "echo"), { type = "done" } } }
"#;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Victim {
    Nobody,
    Turn,
    Job,
}

impl Machine {
    fn nested(&self) -> Agent {
        self.protocols();
        self.exec(include_str!("stores/store.lua"));
        self.exec(LUA);
        let handle = self.runtime.handle();
        let config = AgentConfig {
            protocol: handle.protocol("child").unwrap(),
            model: Arc::new(model()),
            tool_choice: ToolChoice::Auto,
        };
        let config = self.runtime.module().config(&self.lua, config).unwrap();
        self.lua.globals().set("child", config).unwrap();
        handle.set_hooks(panto_runtime::Hooks {
            user_message: None,
            tool_input: Some(self.eval("return function(e) hooked = (hooked or 0) + 1 end")),
            tool_result: Some(self.eval("return function(e) return e.output .. '!' end")),
        });
        self.tool("park", "sleep(1) sleep(1) return 'parked'");
        self.tool("echo", "sleep(1) return 'echo'");
        self.tool(
            "delegate",
            r#"
            local agent = assert(panto.agent { config = child, store = new_store() })
            agent:set_tools { { name = "echo", description = "x", schema = { type = "object" } } }
            local result = assert(run_job(agent, { prompt = "Child." }, function(it) job = it end))
            job = nil
            return result.status
            "#,
        );
        Agent::builder(handle.protocol("primary").unwrap(), model())
            .tool_source(self.runtime.tool_source())
            .hooks(self.runtime.hooks())
            .ephemeral()
    }
}

/// The steps of one run, and whether it was in time to cancel anything.
async fn run(victim: Victim, at: usize) -> (usize, bool) {
    let mut machine = machine();
    let agent = machine.nested();
    let mut turn = agent.run("Go.").unwrap();
    let control = turn.control();
    let globals: Table = machine.lua.globals();
    let start = tokio::time::Instant::now();
    let (mut steps, mut hit) = (0, false);
    let mut settled = Vec::new();
    {
        let mut whole = pin!(async {
            while let Some(event) = turn.next().await {
                if let Event::Settled(outcome) = event {
                    settled.push(outcome);
                }
            }
        });
        let counted = poll_fn(|cx| {
            steps += 1;
            if steps > at && !hit {
                match victim {
                    Victim::Nobody => {}
                    Victim::Turn => {
                        control.cancel();
                        hit = true;
                    }
                    Victim::Job => {
                        let asked: bool = machine
                            .lua
                            .load("if job then job:request_cancel() return true end return false")
                            .eval()
                            .unwrap();
                        hit = asked;
                    }
                }
            }
            match whole.as_mut().poll(cx) {
                Poll::Pending => Poll::Pending,
                ready => ready,
            }
        });
        machine.runtime.run_until(counted).await;
    }
    let what = format!("{victim:?} at {at}");
    // The grace of the turn, and what the run takes itself.
    assert!(
        start.elapsed() < Duration::from_secs(4),
        "{what}: {:?}",
        start.elapsed()
    );
    let [outcome] = &settled[..] else {
        panic!("{what}: settled {} times", settled.len())
    };
    let expected = match victim {
        Victim::Turn if hit => [StopReason::Cancelled, StopReason::End],
        _ => [StopReason::End, StopReason::End],
    };
    assert!(expected.contains(&outcome.stop), "{what}: {outcome:?}");
    let mut calls = Vec::new();
    let mut answers = Vec::new();
    for message in agent.conversation().messages() {
        for block in &message.blocks {
            match block {
                Block::ToolCall(call) => calls.push(call.id.to_string()),
                Block::ToolResult(result) => {
                    assert_eq!(message.role, Role::Tool);
                    answers.push(result.call.to_string());
                }
                _ => {}
            }
        }
    }
    assert_eq!(calls, answers, "{what}: one result for each call");
    let turns = machine.runtime.module().turns().clone();
    machine.runtime.run_until(turns.settled()).await;
    for _ in 0..3 {
        machine.runtime.run_until(tokio::task::yield_now()).await;
    }
    assert_eq!(machine.runtime.live_handlers(), 0, "{what}");
    assert_eq!(machine.runtime.live_lanes(), 0, "{what}");
    assert_eq!(machine.runtime.live_waits(), 0, "{what}");
    assert_eq!(machine.failures(), [""; 0], "{what}");
    globals.set("job", mlua::Nil).unwrap();
    let later = machine.ask(&agent).await;
    assert_eq!(later.text.as_deref(), Some("Done."), "{what}: {later:?}");
    assert_eq!(later.stop, StopReason::End, "{what}");
    (steps, hit)
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_cancelled_at_every_step() {
    let (steps, _) = run(Victim::Nobody, 0).await;
    assert!(steps > 10, "{steps} steps are too few to tell anything");
    for at in 0..steps {
        run(Victim::Turn, at).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_inside_a_turn_is_cancelled_at_every_step() {
    let (steps, _) = run(Victim::Nobody, 0).await;
    let mut hits = 0;
    for at in 0..steps {
        hits += usize::from(run(Victim::Job, at).await.1);
    }
    assert!(hits > 5, "{hits} of {steps}");
}
