//! Children in a session that is interrupted again and again, in one process.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may unwrap as tests do"
)]

#[path = "../../crates/panto-host/tests/host/support.rs"]
#[allow(dead_code, reason = "helpers of tests, of which these need some")]
mod support;

mod calls;
mod ends;

use std::os::unix::fs::symlink;
use std::path::Path;

use panto_host::compose::LiveSession;
use panto_host::session::SessionEvent;
use pantograph::{Event, Role, Submission};
use pantograph_scripted::{Call, Fault, Script, Step};
use serde_json::{Value, json};

use support::Desk;

const CHILD: &str = "You are a child agent";

fn calls(prompts: &[&str]) -> Step {
    prompts.iter().fold(Step::new(), |step, prompt| {
        let input = json!({ "agent": "general", "prompt": prompt });
        step.then(Call::new("subagents.run", input))
    })
}

/// A session with the rock and a bound of two, whose children say a word and then stall, or end.
fn desk() -> Desk {
    let script = Script::new()
        .step(
            Step::text("part")
                .then(Fault::Stall)
                .when_system(CHILD)
                .when_last("stall")
                .repeated(),
        )
        .step(Step::text("whole").when_system(CHILD).repeated())
        .step(
            calls(&["stall", "end", "stall", "stall"])
                .when_last("go")
                .when_last_role(Role::User)
                .repeated(),
        )
        .step(
            calls(&["end", "end", "end"])
                .when_last("finish")
                .when_last_role(Role::User),
        )
        .step(Step::text("Done.").repeated());
    with_config(
        script,
        "model = \"test:model\"\n[providers.test]\nprotocol = \"scripted\"\n\
         [providers.test.models.model]\n[extensions.settings.subagents]\nconcurrency = 2\n",
    )
}

/// A session with what panto ships.
fn with_config(script: Script, config: &str) -> Desk {
    let desk = Desk::new(script).file("config/panto/config.toml", config);
    let rocks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rocks");
    symlink(rocks, desk.path("staged")).unwrap();
    desk
}

/// What a turn of the session has told.
#[derive(Default)]
struct Told {
    turns: usize,
    customs: Vec<(String, Value)>,
    results: Vec<String>,
}

impl Told {
    fn count(&self, name: &str) -> usize {
        self.customs.iter().filter(|(it, _)| it == name).count()
    }
}

/// Says `prompt`, interrupts when so many children have spoken, and waits until nothing is to do.
async fn say(live: &mut LiveSession, prompt: &str, interrupt_at: Option<usize>) -> Told {
    let mut events = live.handle.events();
    let handle = live.handle.clone();
    handle.submit(Submission::follow_up(prompt)).unwrap();
    let mut told = Told::default();
    let mut spoken = 0;
    let watched = async {
        while let Some(event) = events.next().await {
            match event {
                SessionEvent::Turn(Event::TurnStart { .. }) => told.turns += 1,
                SessionEvent::Turn(Event::ToolResult { status, .. }) => {
                    told.results.push(status.as_str().to_owned());
                }
                SessionEvent::Custom { name, data } => {
                    if data["event"]["type"] == "assistant_text_delta"
                        && data["event"]["delta"] == "part"
                    {
                        spoken += 1;
                        if Some(spoken) == interrupt_at {
                            drop(handle.interrupt());
                        }
                    }
                    told.customs.push((name.to_string(), data));
                }
                SessionEvent::Idle => break,
                _ => {}
            }
        }
    };
    live.host.run_until(watched).await;
    told
}

/// S0-74, S0-99, E-7: each turn is stopped by itself, the places of what was
/// stopped are free, and nothing that ends late begins a turn.
#[test]
fn a_session_can_be_interrupted_again_and_again() {
    let desk = desk();
    let open = desk.run(async |_, mut live| {
        for round in 0..5 {
            let told = say(&mut live, "go", Some(2)).await;
            assert_eq!(told.turns, 1, "{round}");
            assert_eq!(told.count("subagents.start"), 4, "{round}");
            assert_eq!(told.count("subagents.running"), 3, "{round}");
            assert_eq!(told.count("subagents.end"), 4, "{round}");
            assert_eq!(
                told.results,
                ["ok", "cancelled", "cancelled", "cancelled"],
                "{round}"
            );
        }
        let told = say(&mut live, "finish", None).await;
        assert_eq!(told.results, ["ok", "ok", "ok"]);
        assert_eq!(told.count("subagents.end"), 3);
        let open = desk.protocol.open_streams();
        live.end().await;
        open
    });
    assert_eq!(open, 0);
    assert_eq!(desk.said(), [""; 0]);
}
