//! Conversations that a crash left broken are valid again at their next turn.

use std::sync::Arc;

use async_trait::async_trait;
use pantograph::session::Record;
use pantograph::{
    Block, HookContext, HookedResult, Message, MessageId, Metadata, Role, StopReason, ToolCall,
    ToolResult, ToolStatus, TurnHooks,
};
use pantograph_scripted::Script;

use crate::support::{MemoryStore, builder, run, scripted, shown};

fn message(id: &str, parent: Option<&str>, role: Role, blocks: Vec<Block>) -> Message {
    Message {
        id: MessageId::new(id),
        parent: parent.map(MessageId::new),
        at: jiff::Timestamp::UNIX_EPOCH,
        role,
        blocks,
        metadata: Metadata::new(),
        origin: None,
        usage: None,
        stop: None,
    }
}

fn call(id: &str) -> Block {
    Block::ToolCall(ToolCall {
        id: id.into(),
        name: "deploy".into(),
        input: "{}".to_owned(),
        raw: None,
    })
}

fn result(id: &str) -> Block {
    Block::ToolResult(ToolResult::text(id.into(), ToolStatus::Ok, "deployed"))
}

/// A session of these messages, each the parent of the next.
async fn stored(messages: Vec<(Role, Vec<Block>)>) -> MemoryStore {
    let store = MemoryStore::default();
    let protocol = scripted(Script::new());
    builder(&protocol).create(&store, "/project").await.unwrap();
    let mut parent: Option<String> = None;
    for (position, (role, blocks)) in messages.into_iter().enumerate() {
        let id = format!("m{position}");
        store.add(Record::Message(message(
            &id,
            parent.as_deref(),
            role,
            blocks,
        )));
        parent = Some(id);
    }
    store
}

/// Goes on with a copy of the session; gives the conversation and whether the store agrees.
async fn healed(store: &MemoryStore) -> String {
    let protocol = scripted(Script::new().step("on it goes").allow_removed_tools());
    let agent = builder(&protocol).open(store, store.id()).await.unwrap();
    let (_, outcome) = run(&agent, "go on").await;
    assert_eq!(outcome.stop, StopReason::End, "{:?}", outcome.error);
    assert_eq!(
        store.tree().conversation().messages(),
        agent.conversation().messages()
    );
    shown(&agent)
}

#[tokio::test]
async fn calls_without_results_are_said_to_be_interrupted() {
    let store = stored(vec![
        (Role::User, vec![Block::text("go")]),
        (Role::Assistant, vec![call("a"), call("b")]),
    ])
    .await;
    insta::assert_snapshot!(healed(&store).await, @r"
    user: go
    assistant: (calls) deploy {}
    assistant: (calls) deploy {}
    tool: (Error) The call was interrupted before its result was recorded. It may have had effects: check before you repeat it.
    tool: (Error) The call was interrupted before its result was recorded. It may have had effects: check before you repeat it.
    user: go on
    assistant [end]: on it goes
    ");
}

#[tokio::test]
async fn results_that_are_there_are_kept() {
    let store = stored(vec![
        (Role::User, vec![Block::text("go")]),
        (Role::Assistant, vec![call("a"), call("b")]),
        (Role::Tool, vec![result("b")]),
    ])
    .await;
    insta::assert_snapshot!(healed(&store).await, @r"
    user: go
    assistant: (calls) deploy {}
    assistant: (calls) deploy {}
    tool: (Error) The call was interrupted before its result was recorded. It may have had effects: check before you repeat it.
    tool: (Ok) deployed
    user: go on
    assistant [end]: on it goes
    ");
}

#[tokio::test]
async fn a_break_in_the_middle_is_mended_and_what_follows_stays() {
    let store = stored(vec![
        (Role::System, vec![Block::text("be brief")]),
        (Role::User, vec![Block::text("go")]),
        (Role::Tool, vec![result("nobody's")]),
        (Role::Assistant, vec![call("a")]),
        (Role::User, vec![Block::text("still there?")]),
        (Role::Assistant, vec![Block::text("yes")]),
    ])
    .await;
    insta::assert_snapshot!(healed(&store).await, @r"
    system: be brief
    user: go
    assistant: (calls) deploy {}
    tool: (Error) The call was interrupted before its result was recorded. It may have had effects: check before you repeat it.
    user: still there?
    assistant: yes
    user: go on
    assistant [end]: on it goes
    ");
}

#[tokio::test]
async fn a_user_message_that_is_missing_is_stood_in_for() {
    let store = stored(vec![
        (Role::System, vec![Block::text("be brief")]),
        (Role::Assistant, vec![Block::text("hello to you too")]),
        (Role::User, vec![Block::text("and now?")]),
        (Role::Assistant, vec![Block::text("now this")]),
        (Role::Assistant, vec![call("a")]),
    ])
    .await;
    insta::assert_snapshot!(healed(&store).await, @r"
    system: be brief
    user: (The message that stood here was lost.)
    assistant: hello to you too
    user: and now?
    assistant: now this
    user: (The message that stood here was lost.)
    assistant: (calls) deploy {}
    tool: (Error) The call was interrupted before its result was recorded. It may have had effects: check before you repeat it.
    user: go on
    assistant [end]: on it goes
    ");
}

#[tokio::test]
async fn the_same_session_heals_the_same_way_every_time() {
    let messages = || {
        vec![
            (Role::User, vec![Block::text("go")]),
            (Role::Assistant, vec![call("a")]),
            (Role::User, vec![Block::text("and?")]),
            (Role::Assistant, vec![call("b"), call("c")]),
        ]
    };
    let mut histories = Vec::new();
    for _ in 0..2 {
        let store = stored(messages()).await;
        healed(&store).await;
        let ids: Vec<MessageId> = store
            .tree()
            .conversation()
            .messages()
            .iter()
            .take(6)
            .map(|message| message.id.clone())
            .collect();
        histories.push(ids);
    }
    assert_eq!(histories[0], histories[1]);
    assert_eq!(histories[0].len(), 6);
}

#[tokio::test]
async fn a_hook_can_say_what_became_of_an_interrupted_call() {
    struct Knows;

    #[async_trait]
    impl TurnHooks for Knows {
        async fn tool_result(&self, _: &HookContext, result: HookedResult<'_>) -> Option<String> {
            result
                .interrupted
                .then(|| format!("{} of {}: resumable", result.id, result.tool_name))
        }
    }

    let store = stored(vec![
        (Role::User, vec![Block::text("go")]),
        (Role::Assistant, vec![call("a")]),
    ])
    .await;
    let protocol = scripted(Script::new().step("on it goes"));
    let agent = builder(&protocol)
        .hooks(Arc::new(Knows))
        .open(&store, store.id())
        .await
        .unwrap();
    run(&agent, "go on").await;
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant: (calls) deploy {}
    tool: (Error) a of deploy: resumable
    user: go on
    assistant [end]: on it goes
    ");
}
