//! What is submitted while a turn runs: it lands once, in order, at the right time.

use std::sync::Arc;

use pantograph::{
    Agent, StopReason, Submission, ToolContext, ToolDeclaration, ToolOutput, ToolRegistry,
};
use pantograph_scripted::{Fault, Gate, Script, ScriptedProtocol, Step};
use serde_json::json;

use crate::support::{builder, finish, finish_and, run, scripted, shown};

/// An agent with a tool that submits steering and a follow-up while it runs.
fn submitting(protocol: &Arc<ScriptedProtocol>) -> Agent {
    let declaration = ToolDeclaration::new("tool", "A tool.", json!({"type": "object"})).unwrap();
    let tools = ToolRegistry::new()
        .tool(declaration, async |context: ToolContext| {
            context.agent.submit(Submission::follow_up("and then this"));
            context.agent.submit(Submission::steering("mind the gap"));
            context.agent.submit(Submission::steering("and the step"));
            ToolOutput::text("ran")
        })
        .unwrap();
    builder(protocol).tool_source(Arc::new(tools)).ephemeral()
}

#[tokio::test]
async fn steering_lands_after_the_batch_and_a_follow_up_after_the_turn() {
    let script = Script::new()
        .step(Step::call("tool", json!({})))
        .step("minded")
        .step("followed");
    let protocol = scripted(script);
    let agent = submitting(&protocol);
    run(&agent, "go").await;
    assert_eq!(agent.queued().len(), 1);
    let turn = agent.run_queued().unwrap().unwrap();
    finish(turn).await;
    assert!(agent.run_queued().unwrap().is_none());
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [tool_calls]: (calls) tool {}
    tool: (Ok) ran
    user: mind the gap
    user: and the step
    assistant [end]: minded
    user: and then this
    assistant [end]: followed
    ");
}

#[tokio::test]
async fn steering_that_comes_during_the_last_answer_is_answered_in_the_same_turn() {
    let gate = Gate::new();
    let script = Script::new()
        .step(Step::text("first").then(&gate))
        .step("second");
    let protocol = scripted(script);
    let agent = builder(&protocol).ephemeral();
    let turn = tokio::spawn(finish(agent.run("go").unwrap()));
    gate.reached().await;
    agent.submit(Submission::steering("one more thing"));
    gate.open();
    let (_, outcome) = turn.await.unwrap();
    assert_eq!(outcome.text.as_deref(), Some("second"));
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [end]: first
    user: one more thing
    assistant [end]: second
    ");
}

#[tokio::test]
async fn what_is_withdrawn_does_not_land() {
    let protocol = scripted(Script::new().step("done"));
    let agent = builder(&protocol).ephemeral();
    let id = agent.submit(Submission::steering("never mind"));
    assert!(agent.withdraw(id).is_some());
    assert!(agent.withdraw(id).is_none());
    run(&agent, "go").await;
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [end]: done
    ");
}

#[tokio::test]
async fn an_interrupt_gives_back_what_a_person_queued_and_holds_what_code_queued() {
    let script = Script::new()
        .step(Step::text("busy").then(Fault::Stall))
        .step("heard");
    let protocol = scripted(script);
    let agent = builder(&protocol).ephemeral();
    let mut turn = agent.run("go").unwrap();
    let mut returned = Vec::new();
    while let Some(event) = turn.next().await {
        if event.name() == "assistant_text_delta" {
            agent.submit(Submission::steering("from a person"));
            agent.submit(Submission::steering("from code").by_code());
            agent.submit(Submission::follow_up("a person's next"));
            agent.interrupt();
        }
        if let pantograph::Event::Settled(outcome) = event {
            assert_eq!(outcome.stop, StopReason::Cancelled);
            returned = outcome.returned.clone();
        }
    }
    let texts: Vec<_> = returned
        .iter()
        .map(|queued| format!("{:?}", queued.submission.blocks))
        .collect();
    assert_eq!(texts.len(), 2);
    assert!(texts[0].contains("from a person") && texts[1].contains("a person's next"));

    // Neither what code had queued nor what it queues late starts a turn by itself.
    agent.submit(Submission::follow_up("a late notice").by_code());
    assert!(agent.run_queued().unwrap().is_none());
    // The next turn of a person takes it along, once.
    run(&agent, "next").await;
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [cancelled]: busy
    user: next
    user: from code
    assistant [end]: heard
    ");
    assert_eq!(agent.queued().len(), 1);
    assert!(agent.run_queued().unwrap().is_some());
}

#[tokio::test]
async fn what_a_person_queued_survives_a_dropped_turn() {
    let protocol = scripted(Script::new().step(Step::text("a").then(Fault::Stall)));
    let agent = builder(&protocol).ephemeral();
    let mut turn = agent.run("go").unwrap();
    while let Some(event) = turn.next().await {
        if event.name() == "assistant_text_delta" {
            break;
        }
    }
    agent.submit(Submission::follow_up("a person's words"));
    drop(turn);
    agent.settled().await;
    assert_eq!(agent.queued().len(), 1);
}

#[tokio::test]
async fn an_interrupt_before_the_end_was_seen_holds_what_code_queued() {
    let protocol = scripted(Script::new().step("one").step("two"));
    let agent = builder(&protocol).ephemeral();
    let turn = agent.run("go").unwrap();
    agent.submit(Submission::follow_up("notice").by_code());
    // The answer is complete, but its reader is not there yet.
    finish_and(turn, "assistant_text_delta", |_| agent.interrupt()).await;
    assert!(agent.run_queued().unwrap().is_none());
}
