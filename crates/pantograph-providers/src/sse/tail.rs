//! What a body ends with after its last event.
//!
//! Google ends a stream that fails amid an answer with the JSON of the error, not as an event. As
//! lines of events it means nothing, and would be lost.

use std::collections::VecDeque;

use bytes::Bytes;
use serde_json::Value;

/// How much is kept: far more than an error has.
const MAX_BYTES: usize = 64 * 1024;

/// The last bytes of a body.
#[derive(Default)]
pub(super) struct Tail {
    chunks: VecDeque<Bytes>,
    bytes: usize,
}

impl Tail {
    pub(super) fn push(&mut self, chunk: &Bytes) {
        let kept = chunk.slice(chunk.len().saturating_sub(MAX_BYTES)..);
        self.bytes += kept.len();
        self.chunks.push_back(kept);
        while self.bytes > MAX_BYTES && self.chunks.len() > 1 {
            self.drop_first();
        }
    }

    /// An event came: what is before the last chunk belongs to it or to those before it.
    pub(super) fn event(&mut self) {
        while self.chunks.len() > 1 {
            self.drop_first();
        }
    }

    /// The error that the body ended with, as JSON.
    pub(super) fn take_error(&mut self) -> Option<String> {
        let bytes: Vec<u8> = self.chunks.drain(..).flatten().collect();
        self.bytes = 0;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let tail = text.rsplit("\n\n").find(|tail| !tail.trim().is_empty())?;
        let value: Value = serde_json::from_str(tail.trim()).ok()?;
        let first = value.get(0).unwrap_or(&value);
        first.get("error").map(|_| tail.trim().to_owned())
    }

    fn drop_first(&mut self) {
        if let Some(first) = self.chunks.pop_front() {
            self.bytes -= first.len();
        }
    }
}
