//! What becomes of failed attempts.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use pantograph::protocol::{ProtocolEvent, ProtocolStream, Request};
use pantograph::{
    Agent, ErrorClass, Event, Model, Outcome, Protocol, ProviderError, StopReason, StreamLimits,
    TurnError, with_causes,
};
use pantograph_scripted::{Fault, Script, Step};
use tokio::time::{Instant, Sleep};

use crate::support::{builder, finish, model, names, run, scripted, shown};

fn class(outcome: &Outcome) -> Option<ErrorClass> {
    outcome.error.as_ref()?.provider().map(|error| error.class)
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_repeated_before_and_inside_the_stream() {
    for class in [
        ErrorClass::RateLimit,
        ErrorClass::Overloaded,
        ErrorClass::Server,
        ErrorClass::Transport,
    ] {
        let script = Script::new()
            .step(Step::error(class))
            .step(Step::text("lost").then(class))
            .step("kept");
        let protocol = scripted(script);
        let agent = builder(&protocol).ephemeral();
        let (events, outcome) = run(&agent, "go").await;
        assert_eq!(outcome.text.as_deref(), Some("kept"), "{class:?}");
        assert_eq!(
            names(&events),
            [
                "turn_start",
                "user_message",
                "retry",
                "assistant_text",
                "assistant_text_delta",
                "assistant_text_complete",
                "attempt_discarded",
                "retry",
                "assistant_text",
                "assistant_text_delta",
                "assistant_text_complete",
                "usage",
                "settled",
            ],
            "{class:?}"
        );
        insta::allow_duplicates! {
            insta::assert_snapshot!(shown(&agent), @r"
            user: go
            assistant [end]: kept
            ");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_will_not_pass_fails_at_once() {
    for failure in [
        ErrorClass::Authentication,
        ErrorClass::InvalidRequest,
        ErrorClass::ModelNotFound,
        ErrorClass::Terminal,
    ] {
        let protocol = scripted(Script::new().step(Step::error(failure)).step("never"));
        let agent = builder(&protocol).ephemeral();
        let (_, outcome) = run(&agent, "go").await;
        assert_eq!(outcome.stop, StopReason::Failed);
        assert_eq!(class(&outcome), Some(failure));
        assert_eq!(protocol.requests().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn five_repetitions_and_no_more() {
    let protocol = scripted(Script::new().step(Step::error(ErrorClass::Server).repeated()));
    let agent = builder(&protocol).ephemeral();
    let (events, outcome) = run(&agent, "go").await;
    assert_eq!(protocol.requests().len(), 6);
    assert_eq!(class(&outcome), Some(ErrorClass::Server));
    let delays: Vec<Duration> = events
        .iter()
        .filter_map(|event| match event {
            Event::Retry { delay, .. } => Some(*delay),
            _ => None,
        })
        .collect();
    for (retry, delay) in delays.iter().enumerate() {
        let most = Duration::from_secs(1 << retry);
        assert!((most / 2..=most).contains(delay), "{retry}: {delay:?}");
    }
    // The prompt stays, so that the turn can be continued.
    insta::assert_snapshot!(shown(&agent), @"user: go");
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_its_end_is_a_transport_error() {
    for fault in [Fault::Disconnect, Fault::NoEnd] {
        let protocol = scripted(Script::new().step(Step::text("lost").then(fault).repeated()));
        let agent = builder(&protocol).ephemeral();
        let (_, outcome) = run(&agent, "go").await;
        assert_eq!(class(&outcome), Some(ErrorClass::Transport));
        assert_eq!(outcome.text, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_turn_can_be_continued() {
    let protocol = scripted(
        Script::new()
            .step(Step::error(ErrorClass::Terminal))
            .step("back again"),
    );
    let agent = builder(&protocol).ephemeral();
    run(&agent, "go").await;
    let (_, outcome) = finish(agent.continue_turn().unwrap()).await;
    assert_eq!(outcome.text.as_deref(), Some("back again"));
    insta::assert_snapshot!(shown(&agent), @r"
    user: go
    assistant [end]: back again
    ");
}

fn limited(limits: StreamLimits) -> Model {
    let mut model = model();
    model.limits = limits;
    model.retry.max_retries = 0;
    model
}

#[tokio::test(start_paused = true)]
async fn each_limit_says_which_one_it_is() {
    let seconds = |s| Some(Duration::from_secs(s));
    let limits = StreamLimits {
        connect: seconds(20),
        idle: seconds(300),
        total: seconds(1_000),
    };
    let cases = [
        (Step::new().on_open(Fault::Stall), 20),
        (Step::text("a").then(Fault::Stall), 300),
        // Events keep coming, one a minute, and no end of it.
        (
            Step::new().then(
                pantograph_scripted::Text::new("a")
                    .pace(Duration::from_secs(60))
                    .endless(),
            ),
            1_000,
        ),
    ];
    let mut messages = String::new();
    for (step, after) in cases {
        let protocol = scripted(Script::new().step(step));
        let shared: Arc<dyn pantograph::protocol::Protocol> = protocol.clone();
        let agent = Agent::builder(shared, limited(limits)).ephemeral();
        let start = Instant::now();
        let (_, outcome) = run(&agent, "go").await;
        assert_eq!(start.elapsed().as_secs(), after);
        assert_eq!(protocol.open_streams(), 0);
        let Some(TurnError::Provider(error)) = &outcome.error else {
            panic!("{:?}", outcome.error);
        };
        assert_eq!(error.class, ErrorClass::Transport);
        messages.push_str(&format!("{error}\n"));
    }
    insta::assert_snapshot!(messages, @r"
    no connection within 20 s (the connect limit of this provider)
    no event within 300 s (the idle limit of this provider)
    no complete answer within 1000 s (the request limit of this provider)
    ");
}

/// Says nothing: its own program is busy for five minutes, and then it ends.
struct HeldUp(Option<Pin<Box<Sleep>>>);

#[async_trait]
impl Protocol for HeldUp {
    fn name(&self) -> &str {
        "held-up"
    }

    async fn open(&self, _: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        Ok(Box::new(HeldUp(None)))
    }
}

impl ProtocolStream for HeldUp {
    fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<ProtocolEvent, ProviderError>>> {
        let sleep = self
            .0
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(Duration::from_secs(300))));
        sleep.as_mut().poll(cx).map(|()| None)
    }

    fn is_held_up(&self) -> bool {
        self.0.as_ref().is_some_and(|sleep| !sleep.is_elapsed())
    }
}

#[tokio::test(start_paused = true)]
async fn time_in_which_a_stream_waits_for_its_own_program_is_not_the_providers() {
    let mut model = model();
    model.limits.idle = Some(Duration::from_secs(40));
    model.retry.max_retries = 0;
    let agent = Agent::builder(Arc::new(HeldUp(None)), model).ephemeral();
    let start = Instant::now();
    let outcome = agent.ask("go").await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 300);
    let error = with_causes(outcome.error.as_ref().unwrap());
    assert!(
        error.contains("ended before the answer was complete"),
        "{error}"
    );
}
