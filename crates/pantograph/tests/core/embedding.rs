//! What programs rely on that embed an agent.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use pantograph::protocol::{ProtocolEvent, ProtocolStream, Request, from_stream};
use pantograph::session::FileSystemJsonlStore;
use pantograph::{
    Agent, Busy, ErrorClass, HookContext, Outcome, Protocol, ProviderError, StopReason, TurnHooks,
    async_trait, with_causes,
};
use pantograph_scripted::{Fault, Script, Step};
use parking_lot::Mutex;

use crate::support::{builder, model, run, scripted, shown};

#[tokio::test]
async fn asking_gives_the_outcome_and_no_events() {
    let script = Script::new()
        .step("hello")
        .step(Step::error(ErrorClass::Terminal));
    let protocol = scripted(script);
    let agent = builder(&protocol).ephemeral();
    let outcome = agent.ask("go").await.unwrap();
    assert_eq!(outcome.text.as_deref(), Some("hello"));
    assert_eq!(agent.ask("go").await.unwrap().stop, StopReason::Failed);
    let _live = agent.run("go").unwrap();
    assert_eq!(agent.ask("go").await.err(), Some(Busy));
}

#[tokio::test]
async fn an_asking_that_is_dropped_is_cancelled() {
    let protocol = scripted(Script::new().step(Step::text("a").then(Fault::Stall)));
    let agent = builder(&protocol).ephemeral();
    tokio::select! {
        _ = agent.ask("go") => panic!("settled"),
        () = protocol.wait_for_open_streams(1) => {}
    }
    agent.settled().await;
    assert_eq!(protocol.open_streams(), 0);
}

#[tokio::test]
async fn the_outcome_can_be_had_after_the_end_too() {
    let protocol = scripted(Script::new().step("hello"));
    let agent = builder(&protocol).ephemeral();
    let mut turn = agent.run("go").unwrap();
    while turn.next().await.is_some() {}
    assert_eq!(turn.outcome().await.text.as_deref(), Some("hello"));
}

#[tokio::test]
async fn a_settled_turn_keeps_no_session_open() {
    let directory = tempfile::tempdir().unwrap();
    let store = FileSystemJsonlStore::new(directory.path());
    let protocol = scripted(Script::new().step("hello"));
    let agent = builder(&protocol).create(&store, "/project").await.unwrap();
    let id = agent.session_id();
    let mut turn = agent.run("go").unwrap();
    let early = turn.control();
    while turn.next().await.is_some() {}
    let late = turn.control();
    drop(agent);
    let again = builder(&protocol).open(&store, id).await.unwrap();
    // Both do nothing now.
    early.cancel();
    late.cancel();
    insta::assert_snapshot!(shown(&again), @r"
    user: go
    assistant [end]: hello
    ");
}

/// The kind of the failure, and whether it says what is missing.
fn failure(outcome: &Outcome) -> String {
    let error = outcome.error.as_ref().unwrap();
    let tokio = with_causes(error).contains("Tokio 1.x");
    let hint = if tokio { "names tokio" } else { "no hint" };
    format!("{}: {hint}", error.kind())
}

#[test]
fn without_a_runtime_a_turn_fails_and_says_why() {
    let protocol = scripted(Script::new().step("hello"));
    let agent = builder(&protocol).ephemeral();
    let asked = pin!(agent.ask("go"));
    let ready = asked.poll(&mut Context::from_waker(Waker::noop()));
    let std::task::Poll::Ready(Ok(outcome)) = ready else {
        panic!("pending");
    };
    assert_eq!(failure(&outcome), "terminal: names tokio");
}

#[test]
fn without_timers_a_turn_fails_and_says_why() {
    let protocol = scripted(Script::new().step("hello"));
    let agent = builder(&protocol).ephemeral();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let outcome = runtime.block_on(agent.ask("go")).unwrap();
    assert_eq!(failure(&outcome), "terminal: names tokio");
}

#[derive(Default)]
struct Labels(Mutex<Vec<Option<Arc<str>>>>);

#[async_trait]
impl TurnHooks for Labels {
    async fn user_message(&self, context: &HookContext, _: &str) -> Option<String> {
        self.0.lock().push(context.label.clone());
        None
    }
}

#[tokio::test]
async fn a_hook_learns_the_label_of_the_agent() {
    let protocol = scripted(Script::new().step("hello"));
    let hooks = Arc::new(Labels::default());
    let agent = builder(&protocol)
        .label("reader")
        .hooks(hooks.clone())
        .ephemeral();
    run(&agent, "go").await;
    assert_eq!(*hooks.0.lock(), [Some(Arc::from("reader"))]);
}

struct Streaming;

#[async_trait]
impl Protocol for Streaming {
    fn name(&self) -> &str {
        "streaming"
    }

    async fn open(&self, _: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        let delta = |index, text: &str| {
            Ok(ProtocolEvent::TextDelta {
                index,
                text: text.to_owned(),
            })
        };
        let done = Ok(ProtocolEvent::Done {
            stop: StopReason::End,
        });
        let events = [delta(0, "first"), delta(1, "second"), done];
        Ok(from_stream(futures_util::stream::iter(events)))
    }
}

#[tokio::test]
async fn a_protocol_may_be_a_stream_that_ends_no_block() {
    let agent = Agent::builder(Arc::new(Streaming), model()).ephemeral();
    let (events, _) = run(&agent, "go").await;
    let complete = |event: &&pantograph::Event| event.name() == "assistant_text_complete";
    assert_eq!(events.iter().filter(complete).count(), 2);
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [end]: first
    assistant [end]: second
    ");
}
