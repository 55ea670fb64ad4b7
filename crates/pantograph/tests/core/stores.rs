//! What a store refuses, and what it cannot keep for now.

use pantograph::session::{FileSystemJsonlStore, Record, Session, SessionError, SessionStore};
use pantograph::{
    AgentOptions, Attachment, Block, Cancel, Conversation, ErrorClass, Event, Metadata, Prompt,
    SessionId, StopReason, async_trait,
};
use pantograph_scripted::{Script, Step};
use serde_json::json;

use crate::support::{MemoryStore, builder, echo, finish, run, scripted, shown};

#[tokio::test]
async fn what_the_store_refuses_is_not_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let store = FileSystemJsonlStore::new(directory.path());
    let protocol = scripted(Script::new().step(Step::text("answer").repeated()));
    let agent = builder(&protocol).create(&store, "/project").await.unwrap();
    run(&agent, "first").await;
    let deep = (0..150).fold(json!(1), |deep, _| json!([deep]));
    let metadata = Metadata::from_iter([("deep".to_owned(), deep)]);
    let prompt = Prompt::from("second").with_metadata(metadata);
    let (_, outcome) = finish(agent.run(prompt).unwrap()).await;
    assert_eq!(outcome.stop, StopReason::Failed);
    run(&agent, "third").await;
    let stored = store.load(agent.session_id()).await.unwrap();
    assert_eq!(
        stored.conversation().messages(),
        agent.conversation().messages()
    );
    insta::assert_snapshot!(shown(&agent), @r"
    user: first
    assistant [end]: answer
    user: third
    assistant [end]: answer
    ");
}

#[tokio::test]
async fn a_prompt_is_kept_when_healing_cannot_be_stored() {
    let script = Script::new().step(Step::call("echo", json!({}))).step("x");
    let protocol = scripted(script);
    let store = MemoryStore::default();
    let agent = builder(&protocol)
        .tool_source(echo("ok"))
        .create(&store, "/project")
        .await
        .unwrap();
    finish(agent.run(Prompt::from("first").without_dispatch()).unwrap()).await;
    store.set_failing(true);
    let (_, outcome) = run(&agent, "second").await;
    assert_eq!(outcome.stop, StopReason::Failed);
    insta::assert_snapshot!(shown(&agent), @r"
    user: first
    assistant [tool_calls]: (calls) echo {}
    tool: (Error) The call was interrupted before its result was recorded. It may have had effects: check before you repeat it.
    user: second
    ");
}

#[tokio::test]
async fn a_file_that_is_gone_does_not_poison_the_session() {
    let directory = tempfile::tempdir().unwrap();
    let store = FileSystemJsonlStore::new(directory.path().join("sessions"));
    let protocol = scripted(Script::new().step(Step::text("answer").repeated()));
    let agent = builder(&protocol).create(&store, "/project").await.unwrap();
    run(&agent, "first").await;
    let gone = Attachment::from_file("image/png", directory.path().join("gone.png"));
    let prompt = Prompt::new(vec![Block::text("see"), Block::Attachment(gone)]);
    finish(agent.run(prompt).unwrap()).await;
    let (_, outcome) = run(&agent, "third").await;
    assert_eq!(outcome.stop, StopReason::End, "{:?}", outcome.error);
}

#[tokio::test]
async fn a_failed_turn_goes_on_after_a_system_message() {
    let script = Script::new()
        .step(Step::error(ErrorClass::Terminal))
        .step("back");
    let protocol = scripted(script);
    let agent = builder(&protocol).ephemeral();
    run(&agent, "go").await;
    agent
        .add_system_message("note", Metadata::new())
        .await
        .unwrap();
    let (_, outcome) = finish(agent.continue_turn().unwrap()).await;
    assert_eq!(outcome.text.as_deref(), Some("back"), "{:?}", outcome.error);
}

#[tokio::test]
async fn the_user_message_event_says_what_is_stored() {
    let protocol = scripted(Script::new().step("x"));
    let agent = builder(&protocol).ephemeral();
    let prompt = Prompt::new(vec![Block::text(""), Block::text("b")]);
    let (events, _) = finish(agent.run(prompt).unwrap()).await;
    let said = events.iter().find_map(|event| match event {
        Event::UserMessage { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert_eq!(said, Some(agent.conversation().messages()[0].text()));
}

/// A session whose store answers nobody but a turn that must stop.
struct Stuck;

#[async_trait]
impl Session for Stuck {
    fn id(&self) -> SessionId {
        SessionId::parse("0198c0de-0000-7000-8000-000000000001").unwrap()
    }

    async fn append(&mut self, _records: Vec<Record>) -> Result<(), SessionError> {
        std::future::pending().await
    }

    async fn append_for_turn(
        &mut self,
        _records: Vec<Record>,
        cancel: &Cancel,
    ) -> Result<(), SessionError> {
        cancel.forced().await;
        Err(SessionError::Store("nobody answers".to_owned()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_answers_nobody_holds_no_cancelled_turn_up() {
    let protocol = scripted(Script::new().step("answer"));
    let agent = builder(&protocol).build(Box::new(Stuck), Conversation::new());
    let mut turn = agent.run("x").unwrap();
    let began = tokio::time::Instant::now();
    turn.cancel();
    let mut stop = None;
    while let Some(event) = turn.next().await {
        if let Event::Settled(outcome) = event {
            stop = Some(outcome.stop);
        }
    }
    assert_eq!(stop, Some(StopReason::Failed));
    assert_eq!(began.elapsed(), AgentOptions::default().grace);
}
