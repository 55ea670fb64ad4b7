//! What a compaction gains, keeps, stores and says.

use std::sync::Arc;

use pantograph::protocol::{Protocol, Purpose};
use pantograph::session::{Record, SessionTree};
use pantograph::{Agent, ErrorClass, Event, Metadata, Model, StopReason, context_tokens};
use pantograph_scripted::{Fault, Script, ScriptedProtocol, Step};
use serde_json::json;

use crate::support::{MemoryStore, builder, echo, finish, model, run, scripted};

fn summary(text: &str) -> Step {
    Step::text(text).when_purpose(Purpose::Compaction)
}

/// An agent with two turns behind it.
async fn after_two_turns(summary: Step) -> (Agent, MemoryStore, Arc<ScriptedProtocol>) {
    let script = Script::new().step("one").step("two").step(summary);
    let protocol = scripted(script);
    let store = MemoryStore::default();
    let agent = builder(&protocol).create(&store, "/project").await.unwrap();
    run(&agent, "first").await;
    run(&agent, "second").await;
    (agent, store, protocol)
}

/// An agent whose large second turn overflowed and was compacted.
async fn after_an_overflow() -> (Agent, MemoryStore) {
    let script = Script::new()
        .step("zero")
        .step(Step::call("echo", json!({})))
        .step(Step::error(ErrorClass::ContextOverflow).when_purpose(Purpose::Turn))
        .step(summary("sum"))
        .step("done");
    let protocol = scripted(script);
    let store = MemoryStore::default();
    let agent = builder(&protocol)
        .tool_source(echo("x".repeat(500_000)))
        .create(&store, "/project")
        .await
        .unwrap();
    run(&agent, &"old ".repeat(60_000)).await;
    let (_, outcome) = run(&agent, "the prompt").await;
    assert_eq!(outcome.text.as_deref(), Some("done"), "{:?}", outcome.error);
    (agent, store)
}

fn small(protocol: &Arc<ScriptedProtocol>) -> pantograph::AgentBuilder {
    let mut model: Model = model();
    model.context_window = Some(10_000);
    let protocol: Arc<dyn Protocol> = protocol.clone();
    Agent::builder(protocol, model)
}

fn summaries(protocol: &ScriptedProtocol) -> usize {
    protocol
        .requests()
        .iter()
        .filter(|request| request.request.purpose == Purpose::Compaction)
        .count()
}

#[tokio::test]
async fn a_compaction_says_nothing_as_text() {
    let (agent, ..) = after_two_turns(summary("sum")).await;
    let (_, outcome) = finish(agent.compact(None).unwrap()).await;
    assert_eq!((outcome.stop, &outcome.text), (StopReason::End, &None));
}

#[tokio::test]
async fn a_summary_that_the_limit_cut_is_no_summary() {
    let cut = summary("Goal: half a summ").then(StopReason::Limit);
    let (agent, ..) = after_two_turns(cut).await;
    let before = agent.conversation();
    let (_, outcome) = finish(agent.compact(None).unwrap()).await;
    assert_eq!(outcome.stop, StopReason::Failed);
    assert_eq!(agent.conversation().messages(), before.messages());
}

#[tokio::test]
async fn a_cancelled_compaction_does_not_look_done() {
    let stalls = Step::new()
        .then(Fault::Stall)
        .when_purpose(Purpose::Compaction);
    let (agent, _, protocol) = after_two_turns(stalls).await;
    let turn = agent.compact(None).unwrap();
    let control = turn.control();
    let turn = tokio::spawn(finish(turn));
    protocol.wait_for_requests(3).await;
    control.cancel();
    let (events, outcome) = turn.await.unwrap();
    assert_eq!(outcome.stop, StopReason::Cancelled);
    let ends: Vec<bool> = events
        .iter()
        .filter_map(|event| match event {
            Event::CompactionEnd { cancelled, .. } => Some(*cancelled),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [true]);
}

#[tokio::test]
async fn metadata_of_a_summary_is_kept_or_refused() {
    let (agent, store, _) = after_two_turns(summary("sum")).await;
    finish(agent.compact(None).unwrap()).await;
    let id = agent.conversation().messages()[0].id.clone();
    let metadata = Metadata::from_iter([("key".to_owned(), json!(1))]);
    let refused = agent.set_message_metadata(&id, metadata).await;
    assert!(matches!(refused, Err(pantograph::EditError::NoMessage(_))));
    assert_eq!(
        store.tree().conversation().messages(),
        agent.conversation().messages()
    );
}

#[tokio::test]
async fn a_prompt_that_fills_the_context_alone_is_not_written_anew() {
    let protocol = scripted(Script::new().step("one"));
    let agent = small(&protocol).ephemeral();
    let (events, _) = run(&agent, &"x".repeat(30_000)).await;
    let said = events.iter().find_map(|event| match event {
        Event::UserMessage { id, .. } => Some(id.clone()),
        _ => None,
    });
    assert_eq!(said.as_ref(), Some(&agent.conversation().messages()[0].id));
}

#[tokio::test]
async fn rounds_after_a_large_prompt_ask_for_no_summary_that_gains_nothing() {
    let protocol = scripted(
        Script::new()
            .step(summary("sum").repeated())
            .step(Step::call("echo", json!({})))
            .step(Step::call("echo", json!({})))
            .step(Step::call("echo", json!({})))
            .step("done"),
    );
    let store = MemoryStore::default();
    let agent = small(&protocol)
        .tool_source(echo("ok"))
        .create(&store, "/project")
        .await
        .unwrap();
    let (_, outcome) = run(&agent, &"x".repeat(30_000)).await;
    assert_eq!(outcome.text.as_deref(), Some("done"));
    assert_eq!(summaries(&protocol), 0);
    let tree = store.tree();
    let copies = tree
        .messages()
        .filter(|message| message.text().len() == 30_000)
        .count();
    assert_eq!(copies, 1);
}

#[tokio::test]
async fn the_request_for_a_summary_is_smaller_than_what_overflowed() {
    let script = Script::new()
        .step("one")
        .step("two")
        .step(Step::error(ErrorClass::ContextOverflow).when_purpose(Purpose::Turn))
        .step(summary("sum"))
        .step("three");
    let protocol = scripted(script);
    let agent = builder(&protocol).ephemeral();
    run(&agent, &"x".repeat(300_000)).await;
    run(&agent, &"y".repeat(300_000)).await;
    run(&agent, "third").await;
    let sizes: Vec<u64> = protocol
        .requests()
        .iter()
        .map(|recorded| {
            let request = &recorded.request;
            let system_prompt = request.system_prompt.as_deref();
            context_tokens(&request.conversation, system_prompt, &request.tools)
        })
        .collect();
    assert!(sizes[3] < sizes[2] * 3 / 4, "{sizes:?}");
}

#[tokio::test]
async fn after_an_overflow_the_branch_has_every_message_once() {
    let (_, store) = after_an_overflow().await;
    let tree = store.tree();
    let branch = tree.branch();
    let prompts = branch
        .iter()
        .filter(|message| message.text() == "the prompt")
        .count();
    assert_eq!(prompts, 1);
}

#[tokio::test]
async fn a_kill_between_the_records_of_a_compaction_keeps_the_last_turn() {
    let (_, store) = after_an_overflow().await;
    let mut tree = SessionTree::new(store.tree().header().clone());
    let mut compacted = false;
    for record in store.records() {
        compacted |= matches!(record, Record::Compaction(_));
        tree.apply(record);
        let conversation = tree.conversation();
        let asked = tree
            .messages()
            .any(|message| message.text() == "the prompt");
        let shown = conversation
            .messages()
            .iter()
            .any(|message| message.text() == "the prompt");
        assert!(
            shown || !asked,
            "the prompt is gone after {} messages",
            tree.messages().count()
        );
    }
    assert!(compacted);
}
