//! Changes to a conversation outside of turns, and stores that fail.

use std::sync::Arc;

use pantograph::{Block, EditError, Metadata, Prompt, StopReason, TurnError};
use pantograph_scripted::{Fault, Script, Step};
use serde_json::json;

use crate::support::{MemoryStore, builder, finish, run, scripted, shown};

fn metadata(key: &str) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.insert(key.to_owned(), json!({"deep": [1, null]}));
    metadata
}

#[tokio::test]
async fn metadata_is_durable_and_never_text() {
    let protocol = scripted(Script::new().step("one"));
    let store = MemoryStore::default();
    let agent = builder(&protocol).create(&store, "/project").await.unwrap();
    let id = agent
        .add_system_message("role", metadata("manifest"))
        .await
        .unwrap();
    let prompt = Prompt::from("go").with_metadata(metadata("stamp"));
    finish(agent.run(prompt).unwrap()).await;
    agent
        .set_message_metadata(&id, metadata("changed"))
        .await
        .unwrap();
    let conversation = store.tree().conversation();
    let keys: Vec<Vec<&String>> = conversation
        .messages()
        .iter()
        .map(|message| message.metadata.keys().collect())
        .collect();
    assert_eq!(keys, [vec!["changed"], vec!["stamp"], vec![]]);
    assert_eq!(conversation.messages(), agent.conversation().messages());
}

#[tokio::test]
async fn going_on_from_an_earlier_message_makes_a_branch() {
    let protocol = scripted(Script::new().step("one").step("two").step("other two"));
    let store = MemoryStore::default();
    let agent = builder(&protocol).create(&store, "/project").await.unwrap();
    run(&agent, "first").await;
    let fork = agent.conversation();
    run(&agent, "second").await;
    let earlier = store.tree().conversation_at(fork.head().unwrap()).unwrap();
    agent.continue_from(earlier).await.unwrap();
    run(&agent, "second, differently").await;
    insta::assert_snapshot!(shown(&agent), @r"
    user: first
    assistant [end]: one
    user: second, differently
    assistant [end]: other two
    ");
    assert_eq!(store.tree().messages().count(), 6);
    assert_eq!(
        store.tree().conversation().messages(),
        agent.conversation().messages()
    );
}

#[tokio::test]
async fn a_live_turn_refuses_edits_and_shows_what_it_is_at() {
    let protocol = scripted(Script::new().step(Step::text("a").then(Fault::Stall)));
    let agent = builder(&protocol).ephemeral();
    let mut turn = agent.run("go").unwrap();
    while let Some(event) = turn.next().await {
        if event.name() == "assistant_text_delta" {
            break;
        }
    }
    assert!(agent.is_busy());
    assert!(agent.run("again").is_err());
    let refused = agent
        .add_user_message(vec![Block::text("x")], Metadata::new())
        .await;
    assert!(matches!(refused, Err(EditError::Busy(_))));
    assert_eq!(agent.conversation().len(), 1);
}

#[tokio::test]
async fn a_store_that_fails_fails_the_turn_before_the_next_request_and_loses_nothing() {
    let protocol = scripted(Script::new().step("one").step("the answer").step("three"));
    let store = MemoryStore::default();
    let agent = builder(&protocol).create(&store, "/project").await.unwrap();
    run(&agent, "first").await;
    store.set_failing(true);
    let (_, outcome) = run(&agent, "second").await;
    assert_eq!(outcome.stop, StopReason::Failed);
    assert!(matches!(outcome.error, Some(TurnError::Session(_))));
    assert_eq!(protocol.requests().len(), 1);

    store.set_failing(false);
    let (_, outcome) = finish(agent.continue_turn().unwrap()).await;
    assert_eq!(outcome.text.as_deref(), Some("the answer"));
    assert_eq!(
        store.tree().conversation().messages(),
        agent.conversation().messages()
    );
}

#[tokio::test]
async fn the_agent_lets_go_of_its_context() {
    let protocol = scripted(Script::new().step("one"));
    let agent = builder(&protocol).label("reader").ephemeral();
    let copy = agent.clone();
    run(&agent, "go").await;
    drop(agent);
    assert!(protocol.released_contexts().is_empty());
    let id = copy.session_id().to_string();
    drop(copy);
    assert_eq!(protocol.released_contexts(), [id]);
    assert_eq!(
        protocol.requests()[0].request.label,
        Some(Arc::from("reader"))
    );
}
