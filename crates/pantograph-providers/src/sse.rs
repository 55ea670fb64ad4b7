//! Server-sent events out of bytes, however these were split.
//!
//! The format is `sse-stream`'s part (byte order mark, line ends, comments, fields). Here each
//! event gets a bound, and failures become provider errors.

mod tail;

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream};
use pantograph::{ProviderError, surrogates};
use parking_lot::Mutex;
use sse_stream::{Error, Sse, SseByteStream};
use tail::Tail;

use crate::failure::MAX_BODY_BYTES;

/// How large one event may be: far above any image, far below what hurts.
pub(crate) const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

/// The bytes of a body, already with provider errors.
pub(crate) type Body = BoxStream<'static, Result<Bytes, ProviderError>>;

/// The events of one body; after an error or the end there is nothing more.
pub(crate) struct Events {
    events: SseByteStream<Bounded>,
    unread: Arc<Mutex<Unread>>,
}

impl Events {
    pub(crate) fn new(body: Body) -> Self {
        let unread = Arc::new(Mutex::new(Unread::default()));
        Self {
            events: SseByteStream::new(Bounded {
                body,
                unread: Arc::clone(&unread),
            }),
            unread,
        }
    }

    /// The next event that has data.
    pub(crate) fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Event, ProviderError>>> {
        loop {
            let sse = match Pin::new(&mut self.events).poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(self.error_at_end().map(Ok)),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(failure(error)))),
                Poll::Ready(Some(Ok(sse))) => sse,
            };
            self.unread.lock().event();
            if let Sse {
                event,
                data: Some(data),
                ..
            } = sse
            {
                let data = mended(data);
                return Poll::Ready(Some(Ok(Event { name: event, data })));
            }
        }
    }

    /// The beginning of a body that ended without one event, and that was not about to have one.
    pub(crate) fn other_text(&self) -> Option<String> {
        let unread = self.unread.lock();
        let text = String::from_utf8_lossy(&unread.head);
        let first = text
            .trim_start_matches('\u{FEFF}')
            .trim_start()
            .lines()
            .next()?;
        let is_field = |name: &&str| first.starts_with(*name) || name.starts_with(first);
        let is_other = !unread.has_events
            && ![":", "data:", "event:", "id:", "retry:"]
                .iter()
                .any(is_field);
        is_other.then(|| text.into_owned())
    }

    /// An error that the body ended with, and that is no event.
    fn error_at_end(&self) -> Option<Event> {
        let data = self.unread.lock().tail.take_error()?;
        Some(Event { name: None, data })
    }
}

/// The data without escapes of half characters, which servers send that cut text by UTF-16 units.
fn mended(data: String) -> String {
    match surrogates::mended(&data) {
        Cow::Borrowed(_) => data,
        Cow::Owned(mended) => mended,
    }
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: Option<String>,
    /// Lines joined by line feeds.
    pub(crate) data: String,
}

impl Event {
    /// Whether it says that there are no more.
    pub(crate) fn is_done(&self) -> bool {
        // Nearly all events are objects.
        !self.data.starts_with('{') && self.data.trim() == "[DONE]"
    }
}

/// A body that fails once too much came without an event.
struct Bounded {
    body: Body,
    /// Only one task has it; locked, since a stream must be `Send`.
    unread: Arc<Mutex<Unread>>,
}

/// What came since the last event, and before the first.
#[derive(Default)]
struct Unread {
    bytes: usize,
    tail: Tail,
    /// What the body began with, until there was an event.
    head: Vec<u8>,
    has_events: bool,
}

impl Unread {
    fn event(&mut self) {
        self.bytes = 0;
        self.tail.event();
        self.has_events = true;
        self.head = Vec::new();
    }

    fn push(&mut self, chunk: &Bytes) {
        self.bytes += chunk.len();
        self.tail.push(chunk);
        if !self.has_events {
            let room = MAX_BODY_BYTES.saturating_sub(self.head.len());
            self.head.extend_from_slice(&chunk[..room.min(chunk.len())]);
        }
    }
}

impl Stream for Bounded {
    type Item = Result<Bytes, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.body.as_mut().poll_next(cx);
        if let Poll::Ready(Some(Ok(bytes))) = &next {
            let mut unread = self.unread.lock();
            unread.push(bytes);
            if unread.bytes > MAX_EVENT_BYTES {
                return Poll::Ready(Some(Err(ProviderError::transport(format!(
                    "the provider sent {} MiB without an event",
                    MAX_EVENT_BYTES >> 20
                )))));
            }
        }
        next
    }
}

fn failure(error: Error) -> ProviderError {
    match error {
        Error::Body(cause) => match cause.downcast::<ProviderError>() {
            Ok(error) => *error,
            Err(cause) => ProviderError::transport(cause.to_string()),
        },
        Error::Utf8Parse(_) => ProviderError::transport("the provider sent bytes that are no text"),
        other => ProviderError::transport(format!("the provider's events are broken: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, StreamExt, future, stream};

    fn events(chunks: Vec<Vec<u8>>) -> Vec<Result<(Option<String>, String), String>> {
        let chunks = chunks.into_iter().map(|chunk| Ok(Bytes::from(chunk)));
        let mut events = Events::new(stream::iter(chunks).boxed());
        let mut seen = Vec::new();
        while let Some(event) = future::poll_fn(|cx| events.poll_event(cx))
            .now_or_never()
            .expect("nothing to wait for")
        {
            seen.push(event.map(|e| (e.name, e.data)).map_err(|e| e.message));
        }
        seen
    }

    #[test]
    fn every_split_and_every_line_end_gives_the_same_events() {
        let text = "\u{FEFF}: hello\nevent: a\ndata: {\"x\":\ndata:  \"é\"}\nodd: 1\n\n\
                    id: 7\nretry: 10\n\n:\n\nevent: b\ndata:1\n\ndata: [DONE]\n\n junk";
        let expected = vec![
            Ok((Some("a".to_owned()), "{\"x\":\n \"é\"}".to_owned())),
            Ok((Some("b".to_owned()), "1".to_owned())),
            Ok((None, "[DONE]".to_owned())),
        ];
        for line_end in ["\n", "\r\n", "\r"] {
            let bytes = text.replace('\n', line_end).into_bytes();
            for at in 0..=bytes.len() {
                let (head, tail) = bytes.split_at(at);
                let seen = events(vec![head.to_vec(), tail.to_vec()]);
                assert_eq!(seen, expected, "split at {at}, line end {line_end:?}");
            }
            let single = bytes.iter().map(|&byte| vec![byte]).collect();
            assert_eq!(events(single), expected);
        }
    }

    #[test]
    fn an_error_after_the_last_event_is_one_more() {
        let error = "{\n  \"error\": {\n    \"code\": 503\n  }\n}";
        for line_end in ["\n", "\r\n", "\r"] {
            let body = format!("data: 1\n\ndata: 2\n\n{error}\n").replace('\n', line_end);
            for at in 0..=body.len() {
                let (head, tail) = body.as_bytes().split_at(at);
                let seen = events(vec![head.to_vec(), tail.to_vec()]);
                let data: Vec<String> = seen.into_iter().map(|event| event.unwrap().1).collect();
                assert_eq!(data, ["1", "2", error], "split at {at}");
            }
        }
        let count = |tail: &str| events(vec![format!("data: 1\n\n{tail}").into_bytes()]).len();
        assert_eq!(count("[{\"error\":{}}]"), 2);
        for none in [
            "{\"candidates\":[]}",
            "{\"error\":",
            "junk",
            "",
            "data: {\"error\":1}",
        ] {
            assert_eq!(count(none), 1, "{none}");
        }
        assert_eq!(events(vec![error.as_bytes().to_vec()]).len(), 1);
        // Of a long body only its end is looked at.
        let long = vec![
            vec![b' '; 200 * 1024],
            b"\n\n".to_vec(),
            error.as_bytes().to_vec(),
        ];
        assert_eq!(events(long).len(), 1);
    }

    #[test]
    fn broken_text_is_one_error_and_the_end() {
        let seen = events(vec![b"data: \xFF\n\ndata: later\n\n".to_vec()]);
        assert_eq!(
            seen,
            [Err("the provider sent bytes that are no text".to_owned())]
        );
    }

    #[test]
    fn one_large_event_passes_and_a_boundless_one_does_not() {
        let line = |mebibytes: usize| {
            let mut chunks = vec![b"data: ".to_vec()];
            chunks.extend(std::iter::repeat_n(vec![b'x'; 64 * 1024], mebibytes * 16));
            chunks.push(b"\n\n".to_vec());
            events(chunks)
        };
        assert_eq!(line(8)[0].as_ref().unwrap().1.len(), 8 << 20);
        let error = Err("the provider sent 32 MiB without an event".to_owned());
        assert_eq!(line(33), [error]);
    }
}
