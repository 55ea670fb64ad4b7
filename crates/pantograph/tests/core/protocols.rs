//! Protocols that misbehave inside.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use pantograph::protocol::{Protocol, ProtocolEvent, ProtocolStream, Request};
use pantograph::{Agent, Model, ProviderError, StopReason, TurnError, Usage};

use crate::support::{model, names, run};

type Step = Poll<Option<Result<ProtocolEvent, ProviderError>>>;

/// Plays what a function gives for the number of the event.
struct Plays(fn(u32) -> ProtocolEvent);

#[async_trait]
impl Protocol for Plays {
    fn name(&self) -> &str {
        "plays"
    }

    async fn open(&self, _: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        Ok(Box::new(Playing(self.0, 0)))
    }
}

struct Playing(fn(u32) -> ProtocolEvent, u32);

impl ProtocolStream for Playing {
    fn poll_event(&mut self, _: &mut Context<'_>) -> Step {
        self.1 += 1;
        Poll::Ready(Some(Ok((self.0)(self.1))))
    }
}

#[tokio::test]
async fn a_panic_voids_what_was_shown_and_fails_the_turn() {
    let plays = Plays(|number| match number {
        1 => ProtocolEvent::TextDelta {
            index: 0,
            text: "void".to_owned(),
        },
        _ => std::panic::resume_unwind(Box::new("on purpose")),
    });
    let agent = Agent::builder(Arc::new(plays), model()).ephemeral();
    let (events, outcome) = run(&agent, "go").await;
    assert!(matches!(&outcome.error, Some(TurnError::Provider(_))));
    assert_eq!(agent.conversation().len(), 1);
    assert_eq!(
        names(&events),
        [
            "turn_start",
            "user_message",
            "assistant_text",
            "assistant_text_delta",
            "attempt_discarded",
            "settled",
        ]
    );
}

/// Always has an event ready, and gives up long after it should have been stopped.
fn endless(number: u32) -> ProtocolEvent {
    assert!(number < 2_000_000, "nothing stopped the stream");
    ProtocolEvent::Usage(Usage::default())
}

/// Moves the paused clock whenever others may run.
async fn tick() {
    loop {
        tokio::time::advance(Duration::from_secs(1)).await;
    }
}

fn limited(total: Duration) -> Model {
    let mut model = model();
    model.limits.total = Some(total);
    model.retry.max_retries = 0;
    model
}

#[tokio::test(start_paused = true)]
async fn events_without_end_heed_the_total_limit() {
    let model = limited(Duration::from_secs(20));
    let agent = Agent::builder(Arc::new(Plays(endless)), model).ephemeral();
    let ticking = tokio::spawn(tick());
    let (_, outcome) = run(&agent, "go").await;
    ticking.abort();
    let error = outcome.error.as_ref().unwrap().provider().unwrap();
    insta::assert_snapshot!(error, @"no complete answer within 20 s (the request limit of this provider)");
}

#[tokio::test(start_paused = true)]
async fn events_without_end_let_an_interrupt_through() {
    let agent = Agent::builder(Arc::new(Plays(endless)), model()).ephemeral();
    let other = agent.clone();
    let turn = agent.run("go").unwrap();
    let running = tokio::spawn(crate::support::finish(turn));
    tokio::task::yield_now().await;
    other.interrupt();
    let (_, outcome) = running.await.unwrap();
    assert_eq!(outcome.stop, StopReason::Cancelled);
}
