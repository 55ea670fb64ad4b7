//! What the wire costs in memory, counted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../benches/wire/answers.rs"]
#[expect(dead_code, reason = "the benches read large events, too")]
mod answers;
#[path = "../benches/wire/conversation.rs"]
mod conversation;
#[path = "../../pantograph/tests/footprint/counting.rs"]
mod counting;

use std::io;
use std::sync::Arc;

use answers::Answer;
use bytes::Bytes;
use futures_util::{FutureExt, future, stream};
use pantograph::protocol::{ProtocolEvent, ProtocolStream, Request};
use pantograph_providers::{
    AnthropicFlags, AnthropicMessages, BaseUrl, Endpoint, GoogleGenerate, GoogleGenerateFlags,
    HttpClient, NoKey, OpenAiChat, OpenAiChatFlags, OpenAiResponses, OpenAiResponsesFlags,
};

/// The chunks of an answer.
type Chunks = stream::Iter<std::vec::IntoIter<io::Result<Bytes>>>;

fn endpoint() -> Endpoint {
    let url = BaseUrl::parse("http://127.0.0.1:1").unwrap();
    Endpoint::new(url, Arc::new(NoKey), HttpClient::without_proxies())
}

/// How many allocations each further delta costs: those of many less those of few.
fn a_delta(answer: Answer, decode: impl Fn(&Request, Chunks) -> Box<dyn ProtocolStream>) -> f64 {
    const MANY: usize = 20_000;
    const FEW: usize = 10_000;
    let request = conversation::of(1, 10);
    let allocations = |count: usize| {
        let chunks: Vec<io::Result<Bytes>> = answer
            .of_deltas(count)
            .into_bytes()
            .chunks(16 * 1024)
            .map(|chunk| Ok(Bytes::copy_from_slice(chunk)))
            .collect();
        let stream = decode(&request, stream::iter(chunks));
        let before = counting::counts().allocations;
        assert_eq!(deltas(stream), count);
        counting::counts().allocations - before
    };
    let more = allocations(MANY) - allocations(FEW);
    more as f64 / (MANY - FEW) as f64
}

/// Reads to the end; gives the number of deltas.
fn deltas(mut stream: Box<dyn ProtocolStream>) -> usize {
    let mut deltas = 0;
    while let Some(event) = future::poll_fn(|cx| stream.poll_event(cx))
        .now_or_never()
        .unwrap()
    {
        let is_delta = |event: &ProtocolEvent| match event {
            ProtocolEvent::TextDelta { text, .. } => !text.is_empty(),
            _ => false,
        };
        deltas += usize::from(is_delta(&event.unwrap()));
    }
    deltas
}

/// One is the delta itself. The decoder of server-sent events takes one for an event's data and
/// one for its name, if it has one. A text with escapes, as some of these are, is put together in
/// one more.
#[test]
fn a_delta_costs_a_few_allocations_and_one_more_for_escapes() {
    const ESCAPED: f64 = 0.15;
    let anthropic = AnthropicMessages::new(endpoint(), AnthropicFlags::default());
    let chat = OpenAiChat::new(endpoint(), OpenAiChatFlags::default());
    let responses = OpenAiResponses::new(endpoint(), OpenAiResponsesFlags::default());
    let google = GoogleGenerate::new(endpoint(), GoogleGenerateFlags::default());
    let costs = [
        a_delta(answers::ANTHROPIC, |request, chunks| {
            anthropic.decode(request, chunks)
        }),
        a_delta(answers::CHAT, |request, chunks| {
            chat.decode(request, chunks)
        }),
        a_delta(answers::RESPONSES, |request, chunks| {
            responses.decode(request, chunks)
        }),
        a_delta(answers::GOOGLE, |request, chunks| {
            google.decode(request, chunks)
        }),
    ];
    println!("allocations a delta: {costs:?}");
    // Events that were cut by the end of a chunk are few.
    let bound = 3.0 + ESCAPED + 0.05;
    // Gemini sends lists of parts, and counts with each.
    let bounds = [bound, bound, bound, bound + 2.0];
    let is_bounded = costs.iter().zip(bounds).all(|(&cost, bound)| cost < bound);
    assert!(is_bounded, "{costs:?}");
}
