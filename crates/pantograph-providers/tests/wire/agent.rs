//! A whole agent over each protocol: what the core and a protocol do together.

use std::sync::Arc;
use std::time::Duration;

use pantograph::{
    Agent, Block, Conversation, Event, Model, Outcome, RetryPolicy, Role, StopReason, ToolContext,
    ToolOutput, ToolRegistry,
};

use crate::party::{Party, Step};
use crate::support::conversation::tools;
use crate::support::server::{Script, Server};

/// An agent of a protocol whose provider is the server.
pub(crate) fn agent(party: Party, server: &Server) -> Agent {
    let registry = tools().iter().fold(ToolRegistry::new(), |registry, tool| {
        registry
            .tool(tool.clone(), async |context: ToolContext| {
                ToolOutput::text(format!("ran with {}", context.input.as_str()))
            })
            .unwrap()
    });
    Agent::builder(party.protocol(&server.url()), model(party, server))
        .tool_source(Arc::new(registry))
        .tools(tools())
        .system_prompt("You help.")
        .ephemeral()
}

fn model(party: Party, server: &Server) -> Model {
    let mut model = party.model();
    model.base_url = Some(server.url());
    model.retry = RetryPolicy {
        base_delay: Duration::from_millis(1),
        ..RetryPolicy::default()
    };
    model
}

/// Runs a turn to its end.
pub(crate) async fn run(agent: &Agent) -> (Vec<&'static str>, Arc<Outcome>) {
    let mut turn = agent.run("Read it.").unwrap();
    let mut names = Vec::new();
    while let Some(event) = turn.next().await {
        names.push(event.name());
        if let Event::Settled(outcome) = event {
            return (names, outcome);
        }
    }
    panic!("a turn that did not settle: {names:?}");
}

/// A conversation, one message a line.
pub(crate) fn shown(conversation: &Conversation) -> String {
    let lines: Vec<String> = conversation
        .messages()
        .iter()
        .map(|message| {
            let blocks: Vec<String> = message
                .blocks
                .iter()
                .map(|block| match block {
                    Block::Text { text, .. } => format!("{text:?}"),
                    Block::ToolCall(call) => format!("{} {}({})", call.id, call.name, call.input),
                    Block::ToolResult(result) => format!(
                        "{} {}: {}",
                        result.call,
                        result.status.as_str(),
                        result.output()
                    ),
                    other => format!("{other:?}"),
                })
                .collect();
            format!("{}: {}", message.role, blocks.join(", "))
        })
        .collect();
    lines.join("\n")
}

#[tokio::test]
async fn a_tool_runs_between_two_answers() {
    for party in Party::ALL {
        let server = Server::start([
            Script::events(&party.answer("Reading.", Some("call_1"))),
            Script::events(&party.answer("Done.", None)),
        ])
        .await;
        let agent = agent(party, &server);
        let (_, outcome) = run(&agent).await;
        assert_eq!(outcome.stop, StopReason::End, "{party:?}: {outcome:?}");
        assert_eq!(outcome.text.as_deref(), Some("Done."));
        insta::allow_duplicates! {
            insta::assert_snapshot!(shown(&agent.conversation()), @r#"
            user: "Read it."
            assistant: "Reading.", call_1 files.read({"path": "a.txt"})
            tool: call_1 ok: ran with {"path": "a.txt"}
            assistant: "Done."
            "#);
        }
        // The second request has the pair, on the connection of the first.
        let body = serde_json::from_slice(&server.seen()[1].body).unwrap();
        let steps = party.steps(&body);
        let pair = [Step::Call("call_1".into()), Step::Result("call_1".into())];
        assert!(steps.windows(2).any(|steps| steps == pair), "{steps:?}");
        assert!(body.to_string().contains("ran with"), "{body}");
        assert_eq!(server.connections(), 1, "{party:?}");
    }
}

#[tokio::test]
async fn a_cancel_amid_an_answer_closes_the_connection_and_keeps_the_text() {
    for party in Party::ALL {
        let script = Script::begin().chunk(party.begin("Half a")).stall();
        let again = Script::events(&party.answer("Again.", None));
        let server = Server::start([script, again]).await;
        let agent = agent(party, &server);
        let mut turn = agent.run("Read it.").unwrap();
        loop {
            match turn.next().await.unwrap() {
                Event::AssistantTextDelta { .. } => agent.interrupt(),
                Event::Settled(outcome) => {
                    assert_eq!(outcome.stop, StopReason::Cancelled, "{outcome:?}");
                    break;
                }
                _ => {}
            }
        }
        server.client_gone().await;
        let last = agent.conversation().last().unwrap().clone();
        assert_eq!((last.role, &*last.text()), (Role::Assistant, "Half a"));
        // The conversation goes on at once.
        let (_, outcome) = run(&agent).await;
        assert_eq!(outcome.text.as_deref(), Some("Again."), "{outcome:?}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again_and_leaves_no_text() {
    for party in Party::ALL {
        let begun = || Script::begin().chunk(party.begin("Lost."));
        let called = party.answer("Lost.", Some("call_1"));
        let last = called.trim_end().rfind("data: ").unwrap();
        let broken = [
            begun().reset(),
            begun().close(),
            // Ends well, but amid the answer, and after a whole call.
            begun().end(),
            Script::events(&called[..called[..last].rfind("data: ").unwrap()]),
        ];
        for script in broken {
            let again = Script::events(&party.answer("Kept.", None));
            let server = Server::start([script, again]).await;
            let agent = agent(party, &server);
            let (events, outcome) = run(&agent).await;
            assert_eq!(outcome.text.as_deref(), Some("Kept."), "{outcome:?}");
            assert!(events.contains(&"attempt_discarded") && events.contains(&"retry"));
            assert_eq!(server.seen().len(), 2);
            assert_eq!(server.seen()[0].body, server.seen()[1].body);
            insta::allow_duplicates! {
                insta::assert_snapshot!(shown(&agent.conversation()), @r#"
                user: "Read it."
                assistant: "Kept."
                "#);
            }
        }
    }
}
