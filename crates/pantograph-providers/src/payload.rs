//! The body of a request as bytes, written by several threads where a conversation is long.
//!
//! What a long conversation costs is mostly the memory that it is written into, which is new to
//! the process. Threads share that, each with memory of its own, and nothing is copied after: the
//! body leaves in the parts in which it was written.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bytes::Bytes;
use serde::Serialize;

/// From how much text on another thread is worth its start.
const SHARED_BYTES: usize = 1024 * 1024;

/// More are of no use: the network takes longer.
const MAX_THREADS: usize = 4;

/// How many shares of the work each thread would have if all were as fast. The one whose core has
/// more to do takes fewer.
const SHARES: usize = 16;

/// A request's body, in parts that follow each other; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Payload {
    parts: Vec<Bytes>,
}

/// Who writes a body. Its bytes are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
    /// The thread that asks.
    One,
    /// As many threads as pay.
    Several,
}

/// The list that a body ends with.
pub(crate) struct Last<'a, T> {
    pub(crate) name: &'static str,
    pub(crate) items: &'a [T],
}

impl Writers {
    /// How many write a body with so much text.
    fn threads(self, text: usize) -> usize {
        match self {
            Self::Several if text >= SHARED_BYTES => {
                thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_THREADS))
            }
            Self::One | Self::Several => 1,
        }
    }
}

impl Payload {
    /// `head` as a JSON object with `last` as one more field behind its own. `room` is how much
    /// that may be, of which `text` is text.
    pub(crate) fn write<T: Serialize + Sync>(
        head: &impl Serialize,
        last: &Last<'_, T>,
        writers: Writers,
        (text, room): (usize, usize),
    ) -> Self {
        Self::written(head, last, writers.threads(text), room)
    }

    fn written<T: Serialize + Sync>(
        head: &impl Serialize,
        last: &Last<'_, T>,
        threads: usize,
        room: usize,
    ) -> Self {
        let parts = match threads > 1 && last.items.len() > 1 {
            true => shared(head, last, threads, room),
            false => whole(head, last, room).map(|bytes| vec![bytes]),
        };
        // Writing into memory fails only for maps with keys that are no strings; there are none.
        let parts = parts.unwrap_or_default();
        Self { parts }
    }

    pub(crate) fn parts(&self) -> &[Bytes] {
        &self.parts
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// All of it in one piece.
    pub(crate) fn into_vec(mut self) -> Vec<u8> {
        match &mut *self.parts {
            [whole] => std::mem::take(whole).into(),
            parts => parts.concat(),
        }
    }
}

fn whole<T: Serialize>(
    head: &impl Serialize,
    last: &Last<'_, T>,
    room: usize,
) -> serde_json::Result<Bytes> {
    // Memory that is not written to costs nothing.
    let mut bytes = Vec::with_capacity(room);
    begin(head, last.name, &mut bytes)?;
    add(last.items, true, &mut bytes)?;
    bytes.extend_from_slice(END);
    Ok(bytes.into())
}

fn shared<T: Serialize + Sync>(
    head: &impl Serialize,
    last: &Last<'_, T>,
    threads: usize,
    room: usize,
) -> serde_json::Result<Vec<Bytes>> {
    let mut bytes = Vec::new();
    begin(head, last.name, &mut bytes)?;
    let shares: Vec<&[T]> = last
        .items
        .chunks(last.items.len().div_ceil(threads * SHARES))
        .collect();
    let next = AtomicUsize::new(0);
    let write = || -> serde_json::Result<Vec<(usize, Bytes)>> {
        // It may have to write nearly all. Memory that is not written to costs nothing.
        let mut bytes = Vec::with_capacity(room);
        let mut ends = Vec::with_capacity(shares.len());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(share) = shares.get(at) else {
                break;
            };
            add(share, at == 0, &mut bytes)?;
            ends.push((at, bytes.len()));
        }
        let mut rest = Bytes::from(bytes);
        let mut start = 0;
        let parts = ends.into_iter().map(|(at, end)| {
            let part = rest.split_to(end - start);
            start = end;
            (at, part)
        });
        Ok(parts.collect())
    };
    let mut parts = thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            // What the system has no thread for, those that there are write.
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, write).ok())
            .collect();
        let mut parts = write();
        for other in others {
            let more = other
                .join()
                .unwrap_or_else(|panic| panic::resume_unwind(panic));
            parts = parts.and_then(|mut parts| {
                parts.extend(more?);
                Ok(parts)
            });
        }
        parts
    })?;
    parts.sort_unstable_by_key(|(at, _)| *at);
    let parts = parts.into_iter().map(|(_, part)| part);
    let (begin, end) = (Bytes::from(bytes), Bytes::from_static(END));
    Ok([begin].into_iter().chain(parts).chain([end]).collect())
}

/// What stands behind the items.
const END: &[u8] = b"]}";

/// Writes what stands before the items.
fn begin(head: &impl Serialize, name: &str, bytes: &mut Vec<u8>) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *bytes, head)?;
    // The list is within the same object.
    bytes.pop();
    if bytes.last() != Some(&b'{') {
        bytes.push(b',');
    }
    serde_json::to_writer(&mut *bytes, name)?;
    bytes.extend_from_slice(b":[");
    Ok(())
}

fn add<T: Serialize>(items: &[T], is_first: bool, bytes: &mut Vec<u8>) -> serde_json::Result<()> {
    for (n, item) in items.iter().enumerate() {
        if n > 0 || !is_first {
            bytes.push(b',');
        }
        serde_json::to_writer(&mut *bytes, item)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn written(head: &Value, items: &[Value], threads: usize) -> Payload {
        let last = Last {
            name: "items",
            items,
        };
        Payload::written(head, &last, threads, 0)
    }

    #[test]
    fn the_parts_of_any_number_of_threads_are_the_whole() {
        let mixed = |n: usize| match n % 4 {
            0 => json!({ "text": "a \"line\"\n".repeat(n) }),
            1 => json!(["\u{1}", n, null]),
            2 => json!({}),
            _ => json!("é".repeat(n * n)),
        };
        for head in [json!({}), json!({ "model": "m", "list": [{}] })] {
            for count in [0, 1, 2, 3, 7, 100] {
                let items: Vec<Value> = (0..count).map(mixed).collect();
                let mut expected = head.clone();
                expected["items"] = json!(items);
                let expected = serde_json::to_vec(&expected).unwrap();
                for threads in 1..6 {
                    let payload = written(&head, &items, threads);
                    assert_eq!(payload.len(), expected.len());
                    assert_eq!(payload.parts().concat(), expected, "{count} by {threads}");
                    assert_eq!(payload.into_vec(), expected);
                }
            }
        }
    }

    #[test]
    fn only_much_text_is_shared() {
        let threads = |writers: Writers, text| writers.threads(text);
        assert_eq!(threads(Writers::Several, SHARED_BYTES - 1), 1);
        assert_eq!(threads(Writers::One, usize::MAX), 1);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(
            threads(Writers::Several, SHARED_BYTES),
            cores.min(MAX_THREADS)
        );
    }

    #[test]
    fn what_a_thread_fails_with_leaves_nothing_half() {
        let broken = std::collections::BTreeMap::from([((1, 2), 3)]);
        let items = vec![broken; 100];
        let last = Last {
            name: "items",
            items: &items,
        };
        let payload = Payload::written(&json!({}), &last, 2, 0);
        assert_eq!(payload.into_vec(), b"");
    }
}
