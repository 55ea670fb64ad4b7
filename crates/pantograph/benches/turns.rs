//! What the turn loop costs: text deltas from a protocol into the conversation.

use std::hint::black_box;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use pantograph::protocol::{Protocol, ProtocolEvent, ProtocolStream, Request};
use pantograph::{Agent, Event, Model, ModelRef, ProviderError, StopReason};

/// Always has the next delta ready.
struct Deltas(u32);

struct DeltaStream(u32);

#[async_trait]
impl Protocol for Deltas {
    fn name(&self) -> &str {
        "deltas"
    }

    async fn open(&self, _request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        Ok(Box::new(DeltaStream(self.0)))
    }
}

impl ProtocolStream for DeltaStream {
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

fn agent(deltas: u32) -> Agent {
    let model = Model::new(ModelRef::parse("bench:deltas").expect("a valid reference"));
    Agent::builder(Arc::new(Deltas(deltas)), model).ephemeral()
}

fn text_deltas(c: &mut Criterion) {
    const DELTAS: u32 = 100_000;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let mut group = c.benchmark_group("turn");
    group.sample_size(20);
    group.throughput(Throughput::Elements(DELTAS.into()));
    group.bench_function("text deltas to conversation", |b| {
        b.iter_batched(
            || agent(DELTAS),
            |agent| {
                runtime.block_on(async {
                    let mut turn = agent.run("go").expect("an idle agent");
                    while let Some(event) = turn.next().await {
                        if let Event::AssistantTextDelta { delta, .. } = event {
                            black_box(delta);
                        }
                    }
                });
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

/// A thousand turns at once on one thread, none with a task or thread of its own.
fn thousand_agents(c: &mut Criterion) {
    const AGENTS: usize = 1_000;
    const DELTAS: u32 = 100;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let mut group = c.benchmark_group("turn");
    group.sample_size(20);
    group.throughput(Throughput::Elements(AGENTS as u64 * u64::from(DELTAS)));
    group.bench_function("deltas of 1,000 agents at once", |b| {
        b.iter_batched(
            || (0..AGENTS).map(|_| agent(DELTAS)).collect::<Vec<_>>(),
            |agents| {
                runtime.block_on(async {
                    let mut turns: Vec<_> = agents
                        .iter()
                        .map(|agent| agent.run("go").expect("an idle agent"))
                        .collect();
                    // One event of each in turn, until all have settled.
                    let mut live = true;
                    while live {
                        live = false;
                        for turn in &mut turns {
                            live |= black_box(turn.next().await).is_some();
                        }
                    }
                });
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, text_deltas, thousand_agents);
criterion_main!(benches);
