//! Branches, replaced models, and what a protocol is told of them.

use std::sync::Arc;

use pantograph::{Model, ModelRef, Prompt};
use pantograph_scripted::{Gate, Script, Step};
use serde_json::json;

use crate::support::{MemoryStore, builder, echo, finish, finish_and, run, scripted};

#[tokio::test]
async fn going_back_twice_loses_no_branch() {
    let script = Script::new()
        .step(Step::call("echo", json!({})))
        .step(Step::text("on").repeated());
    let protocol = scripted(script);
    let store = MemoryStore::default();
    let agent = builder(&protocol)
        .tool_source(echo("ok"))
        .create(&store, "/project")
        .await
        .unwrap();
    finish(agent.run(Prompt::from("first").without_dispatch()).unwrap()).await;
    let fork = agent.conversation();
    run(&agent, "branch one").await;
    let one = agent.conversation();
    agent.continue_from(fork).await.unwrap();
    run(&agent, "branch two").await;
    let loaded = store.tree().conversation_at(one.head().unwrap()).unwrap();
    assert_eq!(loaded.messages(), one.messages());
}

#[tokio::test]
async fn another_branch_voids_what_the_protocol_keeps() {
    let protocol = scripted(Script::new().step("one").step("two"));
    let agent = builder(&protocol).ephemeral();
    run(&agent, "go").await;
    let fork = agent.conversation();
    run(&agent, "go").await;
    agent.continue_from(fork).await.unwrap();
    assert_eq!(protocol.reset_contexts(), [agent.session_id().to_string()]);
}

#[tokio::test]
async fn a_protocol_that_was_replaced_lets_go_too() {
    let before = scripted(Script::new().step("one"));
    let after = scripted(Script::new().step("two"));
    let agent = builder(&before).ephemeral();
    let context = agent.session_id().to_string();
    run(&agent, "go").await;
    let mut config = agent.config();
    config.protocol = after.clone();
    agent.set_config(config);
    run(&agent, "go").await;
    drop(agent);
    let released = [before.released_contexts(), after.released_contexts()];
    assert_eq!(released, [[context.clone()], [context]]);
}

#[tokio::test]
async fn an_answer_is_of_the_model_that_was_asked() {
    let gate = Gate::new();
    let protocol = scripted(Script::new().step(Step::text("a").then(&gate).then("b")));
    let agent = builder(&protocol).ephemeral();
    finish_and(agent.run("go").unwrap(), "assistant_text_delta", |_| {
        let mut config = agent.config();
        config.model = Arc::new(Model::new(ModelRef::parse("other:model").unwrap()));
        agent.set_config(config);
        gate.open();
    })
    .await;
    let conversation = agent.conversation();
    let origin = conversation.last().unwrap().origin.clone().unwrap();
    assert_eq!(origin.reference, "test:scripted");
}
