//! Decoders read what stands around a text once for all events that have the same there. Whatever
//! comes in whatever order, that must not show.

use std::io;

use bytes::Bytes;
use futures_util::{FutureExt, stream};
use pantograph::ErrorClass;
use pantograph::protocol::{ProtocolEvent, ProtocolStream};
use pantograph_providers::{
    AnthropicFlags, AnthropicMessages, GoogleGenerate, GoogleGenerateFlags, OpenAiChat,
    OpenAiChatFlags,
};
use proptest::prelude::*;

use crate::support::conversation::{self, simple};
use crate::support::{Answer, drain, endpoint};

const ANTHROPIC: &[&str] = &[
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b\n\"é\""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"c\u0000"}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"d"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"e"},"usage":{}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"text":"f","thinking":"g"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":null}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"thinking":"h"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"thinking":"i"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"thinking":"j","signature":"k"}}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"1","name":"l"}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"partial_json":"{\"m\":"}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"partial_json":"1}"}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"server","id":"2"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_stop","index":2}"#,
    r#"{"type":"message_delta","delta":{"text":"n"}}"#,
    r#"{"type":"error","index":0,"delta":{"type":"text_delta","text":"o"}}"#,
    r#"{"type":"message_stop"}"#,
];

const CHAT: &[&str] = &[
    r#"{"id":"1","choices":[{"delta":{"content":"a"}}]}"#,
    r#"{"id":"1","choices":[{"delta":{"content":"b\n\"é\""}}]}"#,
    r#"{"id":"1","choices":[{"delta":{"content":""}}]}"#,
    r#"{"id":"1","choices":[{"delta":{"content":null}}]}"#,
    r#"{"id":"1","choices":[{"delta":{"content":[{"type":"text","text":"c"}]}}]}"#,
    r#"{"id":"2","choices":[{"delta":{"content":"d"}}],"usage":null}"#,
    r#"{"id":"2","choices":[{"delta":{"content":"e"}}],"usage":{"prompt_tokens":3}}"#,
    r#"{"id":"1","choices":[{"delta":{"content":"f","reasoning_content":"g"}}]}"#,
    r#"{"id":"1","choices":[{"delta":{"content":"","reasoning_content":"h"}}]}"#,
    r#"{"id":"1","choices":[{"delta":{"reasoning_content":"i"}}]}"#,
    r#"{"id":"1","choices":[{"delta":{"reasoning_content":"j"}}]}"#,
    r#"{"id":"1","choices":[{"delta":{"reasoning":"k","reasoning_details":[{"type":"l"}]}}]}"#,
    r#"{"id":"1","choices":[{"delta":{"content":"m","refusal":"n"}}]}"#,
    r#"{"id":"1","choices":[{"delta":{"content":"o"},"index":1}]}"#,
    r#"{"id":"1","choices":[{"delta":{"content":"p"}},{"delta":{"content":"q"}}]}"#,
    r#"{"id":"1","choices":[{"delta":{"content":"r"},"finish_reason":"stop"}]}"#,
    r#"{"id":"1","choices":[{"delta":{"content":"s"},"finish_reason":""}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"3","function":{"name":"t"}}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#,
    r#"{"object":"error","choices":[{"delta":{"content":"u"}}]}"#,
];

const GOOGLE: &[&str] = &[
    r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":1}}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"b\n\"é\""}]}}],"usageMetadata":{"promptTokenCount":2}}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":""}]}}],"usageMetadata":{"promptTokenCount":-1}}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"c"}]}}],"usageMetadata":"none"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"d"}]}}],"usageMetadata":null}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"e"}]}}],"usageMetadata":{"thoughtsTokenCount":1e999}}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"f"}]}}],"usageMetadata":{"promptTokenCount":1},"error":{}}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"g"}]}}]}"#,
    r#"{"usageMetadata":{"promptTokenCount":4},"candidates":[{"content":{"parts":[{"text":"h"}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"i","thought":true}]}}],"usageMetadata":{}}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"j","thought":true}]}}],"usageMetadata":{"promptTokenCount":1}}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"k","thoughtSignature":"l"}]}}],"usageMetadata":{}}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"m"},{"text":"n"}]}}],"usageMetadata":{}}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"o"}]},"finishReason":"STOP"}],"usageMetadata":{}}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"p"}]},"index":1}],"usageMetadata":{}}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"1","name":"q"}}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":null}]}}],"usageMetadata":{"promptTokenCount":1}}"#,
];

type Chunks = stream::Iter<std::vec::IntoIter<io::Result<Bytes>>>;

/// What a decoder makes of these events of `all`, each as it stands there, or none in a frame
/// that another has.
fn read(
    decode: impl Fn(Chunks) -> Box<dyn ProtocolStream>,
    all: &[&str],
    chosen: &[usize],
    is_framed: bool,
) -> (Vec<ProtocolEvent>, Option<ErrorClass>) {
    let body = chosen.iter().enumerate().map(|(position, &at)| {
        let rest = &all[at][1..];
        // Blanks mean nothing.
        let blanks = " ".repeat(if is_framed { 0 } else { position + 1 });
        Ok(Bytes::from(format!("data: {{{blanks}{rest}\n\n")))
    });
    let chunks = stream::iter(body.collect::<Vec<_>>());
    let answer = drain(decode(chunks)).now_or_never();
    let Answer { events, error } = answer.expect("nothing to wait for");
    // Its words may quote the event, blanks and all.
    (events, error.map(|error| error.class))
}

fn chosen(all: &[&str]) -> impl Strategy<Value = Vec<usize>> {
    // Those that come first in a list are those of which a stream is made.
    prop::collection::vec(prop_oneof![0..all.len(), 0..3_usize], 1..12)
}

proptest! {
    #[test]
    fn no_order_of_events_shows_that_some_were_read_in_a_frame(
        anthropic in chosen(ANTHROPIC),
        chat in chosen(CHAT),
        google in chosen(GOOGLE),
    ) {
        const NOWHERE: &str = "http://127.0.0.1:9";
        let request = simple(conversation::model("p", "m", NOWHERE));
        let messages = AnthropicMessages::new(endpoint(NOWHERE), AnthropicFlags::default());
        let decode = |chunks: Chunks| messages.decode(&request, chunks);
        prop_assert_eq!(
            read(decode, ANTHROPIC, &anthropic, true),
            read(decode, ANTHROPIC, &anthropic, false)
        );
        let completions = OpenAiChat::new(endpoint(NOWHERE), OpenAiChatFlags::default());
        let decode = |chunks: Chunks| completions.decode(&request, chunks);
        prop_assert_eq!(read(decode, CHAT, &chat, true), read(decode, CHAT, &chat, false));
        let generate = GoogleGenerate::new(endpoint(NOWHERE), GoogleGenerateFlags::default());
        let decode = |chunks: Chunks| generate.decode(&request, chunks);
        prop_assert_eq!(read(decode, GOOGLE, &google, true), read(decode, GOOGLE, &google, false));
    }
}
