//! What the wire costs: events out of bytes, requests out of conversations, streams over loopback.
//! The figures and the machine they were taken on are in `docs/performance.md`.
#![allow(clippy::unwrap_used, reason = "benchmarks may unwrap")]

mod answers;
mod conversation;
mod process;
mod server;

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use answers::Answer;
use bytes::Bytes;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group};
use futures_util::future::{self, FutureExt};
use futures_util::stream;
use pantograph::protocol::{Protocol, ProtocolEvent, ProtocolStream, Request};
use pantograph_providers::{
    AnthropicFlags, AnthropicMessages, BaseUrl, Endpoint, GoogleGenerate, GoogleGenerateFlags,
    HttpClient, NoKey, OpenAiChat, OpenAiChatFlags, OpenAiResponses, OpenAiResponsesFlags,
};
use server::Server;

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(4));
    targets = deltas, large_event, requests, loopback, fresh_process
}

fn main() {
    if let Some(url) = process::is_to_ask() {
        process::ask_once(&WIRES[0], &url);
        return;
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}

/// How many deltas an answer has: far above any real one, so that nothing else counts.
const DELTAS: usize = 200_000;

type Chunks = stream::Iter<std::vec::IntoIter<io::Result<Bytes>>>;

/// A protocol, and answers as its provider would write them.
struct Wire {
    name: &'static str,
    answer: Answer,
    decode: fn(&Request, Chunks) -> Box<dyn ProtocolStream>,
    encode: fn(&Request) -> Vec<u8>,
    connect: fn(&str, HttpClient) -> Box<dyn Protocol>,
}

macro_rules! wire {
    ($name:literal, $protocol:ident, $flags:ident, $answer:ident) => {{
        fn made(url: &str, client: HttpClient) -> $protocol {
            let url = BaseUrl::parse(url).unwrap();
            $protocol::new(
                Endpoint::new(url, Arc::new(NoKey), client),
                $flags::default(),
            )
        }
        fn unasked() -> $protocol {
            made("http://127.0.0.1:1", HttpClient::without_proxies())
        }
        Wire {
            name: $name,
            answer: answers::$answer,
            decode: |request, chunks| unasked().decode(request, chunks),
            encode: |request| unasked().encode(request),
            connect: |url, client| Box::new(made(url, client)),
        }
    }};
}

/// All protocols, a line each.
#[rustfmt::skip]
const WIRES: &[Wire] = &[
    wire!("anthropic-messages", AnthropicMessages, AnthropicFlags, ANTHROPIC),
    wire!("google-generate", GoogleGenerate, GoogleGenerateFlags, GOOGLE),
    wire!("openai-chat", OpenAiChat, OpenAiChatFlags, CHAT),
    wire!("openai-responses", OpenAiResponses, OpenAiResponsesFlags, RESPONSES),
];

/// Bytes to events: small deltas in chunks as a fast network delivers them.
fn deltas(criterion: &mut Criterion) {
    let request = conversation::of(1, 10);
    for wire in WIRES {
        let answer = wire.answer.of_deltas(DELTAS);
        let units = [
            ("deltas", Throughput::Elements(DELTAS as u64)),
            ("bytes", Throughput::Bytes(answer.len() as u64)),
        ];
        for (unit, throughput) in units {
            let mut group = criterion.benchmark_group(format!("{}: {unit}", wire.name));
            group.throughput(throughput);
            for kibibytes in [8, 64] {
                let id = BenchmarkId::new("in chunks of KiB", kibibytes);
                let chunks = cut(&answer, kibibytes * 1024);
                group.bench_function(id, |bencher| {
                    bencher.iter_batched(
                        || stream::iter(chunks.clone().into_iter().map(Ok).collect::<Vec<_>>()),
                        |chunks| assert_eq!(drain((wire.decode)(&request, chunks)), DELTAS),
                        BatchSize::LargeInput,
                    );
                });
            }
        }
    }
}

/// Bytes to events: one event of some megabytes. Twice the bytes should take twice the time.
fn large_event(criterion: &mut Criterion) {
    let request = conversation::of(1, 10);
    for wire in WIRES {
        let mut group = criterion.benchmark_group(format!("{}: one event", wire.name));
        for megabytes in [1, 2, 4, 8] {
            let answer = wire.answer.of_one_delta(megabytes * 1_000_000);
            let chunks = cut(&answer, 16 * 1024);
            group.throughput(Throughput::Bytes(answer.len() as u64));
            group.bench_function(BenchmarkId::new("of MB", megabytes), |bencher| {
                bencher.iter_batched(
                    || stream::iter(chunks.clone().into_iter().map(Ok).collect::<Vec<_>>()),
                    |chunks| assert_eq!(drain((wire.decode)(&request, chunks)), 1),
                    BatchSize::LargeInput,
                );
            });
        }
        group.finish();
    }
}

/// A conversation to the bytes of a request.
fn requests(criterion: &mut Criterion) {
    let request = conversation::of(5_000, 4_000);
    for wire in WIRES {
        let mut group = criterion.benchmark_group(format!("{}: request", wire.name));
        let size = (wire.encode)(&request).len();
        assert!((20_000_000..25_000_000).contains(&size), "{size}");
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function("of 5,000 messages and 20 MB", |bencher| {
            bencher.iter_with_large_drop(|| (wire.encode)(black_box(&request)));
        });
        group.finish();
    }
}

/// Whole answers over HTTP, from a server that has them ready.
fn loopback(criterion: &mut Criterion) {
    const ONE: usize = 20_000;
    const STREAMS: usize = 64;
    const EACH: usize = 1_000;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let request = conversation::of(1, 10);
    for wire in WIRES {
        let mut group = criterion.benchmark_group(format!("{}: loopback", wire.name));
        let server = Server::start(wire.answer.of_deltas(ONE), 1);
        let protocol = (wire.connect)(&server.url(), HttpClient::without_proxies());
        group.bench_function("20,000 deltas in one reply", |bencher| {
            bencher.iter(|| assert_eq!(runtime.block_on(ask(&*protocol, &request)), ONE));
        });
        let server = Server::start(wire.answer.of_deltas(EACH), STREAMS);
        let protocol = (wire.connect)(&server.url(), HttpClient::without_proxies());
        let before = threads();
        group.throughput(Throughput::Elements((STREAMS * EACH) as u64));
        group.bench_function("64 streams of 1,000 deltas at once", |bencher| {
            bencher.iter(|| {
                let all = (0..STREAMS).map(|_| ask(&*protocol, &request));
                let seen = runtime.block_on(future::join_all(all));
                assert_eq!(seen, [EACH; STREAMS]);
            });
        });
        let after = threads();
        report(format_args!(
            "  threads before and after: {before}, {after}"
        ));
        group.finish();
    }
}

/// A process that asks once, from its start to its end.
fn fresh_process(criterion: &mut Criterion) {
    process::fresh(criterion, &WIRES[0]);
}

/// Says what criterion does not measure.
#[expect(clippy::print_stdout, reason = "a bench tells its figures")]
fn report(figures: std::fmt::Arguments<'_>) {
    println!("{figures}");
}

/// Asks and reads to the end; gives the number of deltas.
async fn ask(protocol: &dyn Protocol, request: &Request) -> usize {
    let mut stream = protocol.open(request.clone()).await.unwrap();
    let mut deltas = 0;
    while let Some(event) = future::poll_fn(|cx| stream.poll_event(cx)).await {
        deltas += usize::from(is_delta(&event.unwrap()));
    }
    deltas
}

/// Reads an answer that is there already; gives the number of deltas.
fn drain(mut stream: Box<dyn ProtocolStream>) -> usize {
    let events = future::poll_fn(move |cx| {
        let mut deltas = 0;
        while let std::task::Poll::Ready(Some(event)) = stream.poll_event(cx) {
            deltas += usize::from(is_delta(&black_box(event).unwrap()));
        }
        std::task::Poll::Ready(deltas)
    });
    events.now_or_never().unwrap()
}

fn is_delta(event: &ProtocolEvent) -> bool {
    matches!(event, ProtocolEvent::TextDelta { text, .. } if !text.is_empty())
}

fn cut(answer: &str, bytes: usize) -> Vec<Bytes> {
    answer
        .as_bytes()
        .chunks(bytes)
        .map(Bytes::copy_from_slice)
        .collect()
}

/// How many threads this process has.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}
