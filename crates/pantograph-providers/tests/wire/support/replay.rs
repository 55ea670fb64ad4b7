//! Recorded answers, cut at every byte.

use std::io;

use bytes::Bytes;
use futures_util::{FutureExt, stream};
use pantograph::protocol::ProtocolStream;

use super::{Answer, drain};

/// The chunks of an answer.
pub(crate) type Chunks = stream::Iter<std::vec::IntoIter<io::Result<Bytes>>>;

/// Reads an answer whole, in two parts for every place at which it can be cut, and byte by byte
/// with every line end; all must give the same.
pub(crate) fn every_split(
    body: &str,
    decode: impl Fn(Chunks) -> Box<dyn ProtocolStream>,
) -> Answer {
    let whole = read(&decode, vec![body.as_bytes()]);
    for at in 0..=body.len() {
        let (head, tail) = body.as_bytes().split_at(at);
        assert_eq!(read(&decode, vec![head, tail]), whole, "cut at {at}");
    }
    for line_end in ["\n", "\r\n", "\r"] {
        let body = body.replace('\n', line_end);
        let bytes = read(&decode, body.as_bytes().chunks(1).collect());
        assert_eq!(bytes, whole, "line end {line_end:?}");
    }
    whole
}

/// Reads every beginning of an answer. None but the whole may look complete, and none may be an
/// error that is not repeated.
pub(crate) fn every_prefix(body: &str, decode: impl Fn(Chunks) -> Box<dyn ProtocolStream>) {
    use pantograph::protocol::ProtocolEvent;
    let last = body.trim_end().len();
    for at in 0..last {
        let answer = read(&decode, vec![&body.as_bytes()[..at]]);
        let complete = |event: &ProtocolEvent| matches!(event, ProtocolEvent::Done { .. });
        assert!(!answer.events.iter().any(complete), "complete at {at}");
        if let Some(error) = answer.error {
            assert!(error.class.is_retryable(), "at {at}: {error:?}");
        }
    }
}

/// Reads an answer that is there at once.
pub(crate) fn read(
    decode: &impl Fn(Chunks) -> Box<dyn ProtocolStream>,
    chunks: Vec<&[u8]>,
) -> Answer {
    let chunks: Vec<io::Result<Bytes>> = chunks
        .into_iter()
        .map(|chunk| Ok(Bytes::copy_from_slice(chunk)))
        .collect();
    let stream = decode(stream::iter(chunks));
    drain(stream).now_or_never().expect("nothing to wait for")
}
