//! What an agent costs in memory, counted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "footprint/counting.rs"]
mod counting;

use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use pantograph::protocol::{Protocol, ProtocolEvent, ProtocolStream, Request};
use pantograph::{Agent, Event, Model, ModelRef, ProviderError, StopReason};

/// Always has the next delta ready; allocates one string a delta, as a real protocol must.
struct Deltas(u64);

#[async_trait]
impl Protocol for Deltas {
    fn name(&self) -> &str {
        "deltas"
    }

    async fn open(&self, _request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        Ok(Box::new(Deltas(self.0)))
    }
}

impl ProtocolStream for Deltas {
    fn poll_event(
        &mut self,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<ProtocolEvent, ProviderError>>> {
        let event = match self.0 {
            0 => ProtocolEvent::Done {
                stop: StopReason::End,
            },
            _ => ProtocolEvent::TextDelta {
                index: 0,
                text: String::from("four words of text"),
            },
        };
        self.0 = self.0.saturating_sub(1);
        Poll::Ready(Some(Ok(event)))
    }
}

fn agent(protocol: &Arc<dyn Protocol>, model: &Model) -> Agent {
    Agent::builder(Arc::clone(protocol), model.clone()).ephemeral()
}

fn parts(deltas: u64) -> (Arc<dyn Protocol>, Model) {
    let model = Model::new(ModelRef::parse("test:deltas").unwrap());
    (Arc::new(Deltas(deltas)), model)
}

#[tokio::test]
async fn a_delta_costs_one_allocation_the_delta_itself() {
    const DELTAS: u64 = 100_000;
    let (protocol, model) = parts(DELTAS);
    let agent = agent(&protocol, &model);
    let mut turn = agent.run("go").unwrap();
    let before = counting::counts();
    let mut deltas = 0;
    while let Some(event) = turn.next().await {
        if let Event::AssistantTextDelta { .. } = event {
            deltas += 1;
        }
    }
    let allocations = counting::counts().allocations - before.allocations;
    assert_eq!(deltas, DELTAS);
    // The turn itself, and the text that doubles as it grows, are all that comes on top.
    let beside = allocations - DELTAS;
    println!("{beside} allocations beside those of {DELTAS} deltas");
    assert!(beside < 200, "{beside}");
}

#[tokio::test]
async fn an_idle_agent_weighs_less_than_sixteen_kilobytes() {
    const AGENTS: i64 = 1_000;
    let (protocol, model) = parts(1);
    let before = counting::counts();
    let mut agents = Vec::new();
    for _ in 0..AGENTS {
        let agent = agent(&protocol, &model);
        let mut turn = agent.run("go").unwrap();
        while turn.next().await.is_some() {}
        agents.push(agent);
    }
    let bytes = (counting::counts().live - before.live) / AGENTS;
    println!("{bytes} bytes an idle agent, its conversation of two messages included");
    assert!(bytes < 16 * 1024, "{bytes}");
}
