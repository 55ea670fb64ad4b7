//! The way from a running tool call back to the turn that waits for it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::ToolOutput;

/// How much output of one call may wait for a reader. What comes beyond is not shown;
/// the result is not affected.
const MAX_PENDING_OUTPUT: usize = 1024 * 1024;

/// Takes one call's output as it comes and its answer at the end.
///
/// Any thread may use it. Dropping it without an answer makes an error result.
pub struct ToolReply {
    index: usize,
    shared: Arc<Shared>,
    answered: bool,
}

impl fmt::Debug for ToolReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolReply")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

impl ToolReply {
    /// Shows output while the call runs; it is not part of the result.
    ///
    /// Chunks that nobody has read yet are merged. Does not block.
    pub fn output(&self, chunk: &str) {
        self.shared.output(self.index, chunk);
    }

    /// A handle that shows output of the same call and cannot answer it.
    pub(crate) fn output_handle(&self) -> OutputHandle {
        OutputHandle {
            index: self.index,
            shared: Arc::clone(&self.shared),
        }
    }

    /// Ends the call. After the turn has settled it already, the answer is dropped.
    pub fn finish(mut self, output: ToolOutput) {
        self.settle(Ending::Answered(output));
    }

    /// Whether the turn no longer waits for this call.
    pub fn is_closed(&self) -> bool {
        self.shared.state.lock().slots[self.index].closed
    }

    /// Completes when the turn no longer waits for this call: stop working on it.
    pub async fn closed(&self) {
        self.shared.closed.cancelled().await;
    }

    fn settle(&mut self, ending: Ending) {
        self.answered = true;
        let mut state = self.shared.state.lock();
        let slot = &mut state.slots[self.index];
        if slot.closed {
            return;
        }
        slot.ending = Some(ending);
        if !slot.queued {
            slot.queued = true;
            let index = self.index;
            state.ready.push_back(index);
        }
        state.wake();
    }
}

impl Drop for ToolReply {
    fn drop(&mut self) {
        if !self.answered {
            self.settle(Ending::Dropped);
        }
    }
}

/// Shows one call's output for those who do not answer it.
#[derive(Clone)]
pub(crate) struct OutputHandle {
    index: usize,
    shared: Arc<Shared>,
}

impl OutputHandle {
    /// As [`ToolReply::output`]; nothing after the answer.
    pub(crate) fn output(&self, chunk: &str) {
        self.shared.output(self.index, chunk);
    }
}

struct Shared {
    state: Mutex<State>,
    closed: tokio_util::sync::CancellationToken,
}

impl Shared {
    fn output(&self, index: usize, chunk: &str) {
        let mut state = self.state.lock();
        let slot = &mut state.slots[index];
        let room = MAX_PENDING_OUTPUT - slot.pending.len();
        let shown = &chunk[..chunk.floor_char_boundary(room)];
        if slot.closed || slot.ending.is_some() || shown.is_empty() {
            return;
        }
        slot.pending.push_str(shown);
        if !slot.queued {
            slot.queued = true;
            state.ready.push_back(index);
        }
        state.wake();
    }
}

struct State {
    slots: Vec<Slot>,
    ready: VecDeque<usize>,
    waker: Option<Waker>,
}

impl State {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

#[derive(Default)]
struct Slot {
    pending: String,
    ending: Option<Ending>,
    queued: bool,
    closed: bool,
}

enum Ending {
    Answered(ToolOutput),
    Dropped,
}

impl Ending {
    fn into_update(self, index: usize) -> ReplyUpdate {
        match self {
            Ending::Answered(output) => ReplyUpdate::Answered { index, output },
            Ending::Dropped => ReplyUpdate::Dropped { index },
        }
    }
}

/// What a waiting turn hears of one call.
#[derive(Debug, PartialEq)]
pub(crate) enum ReplyUpdate {
    /// Output to show.
    Output { index: usize, chunk: String },
    /// The call's answer.
    Answered { index: usize, output: ToolOutput },
    /// The call's reply was dropped without an answer.
    Dropped { index: usize },
}

/// The turn's end of a batch's replies. Dropping it closes every call that is still open.
pub(crate) struct BatchReplies {
    shared: Arc<Shared>,
}

/// Makes the replies of a batch of `count` calls.
pub(crate) fn replies(count: usize) -> (Vec<ToolReply>, BatchReplies) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            slots: (0..count).map(|_| Slot::default()).collect(),
            ready: VecDeque::new(),
            waker: None,
        }),
        closed: tokio_util::sync::CancellationToken::new(),
    });
    let replies = (0..count)
        .map(|index| ToolReply {
            index,
            shared: Arc::clone(&shared),
            answered: false,
        })
        .collect();
    (replies, BatchReplies { shared })
}

impl BatchReplies {
    /// The next news of any call. Losing the future loses nothing.
    pub(crate) async fn next(&self) -> ReplyUpdate {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The calls that have ended and were not told of yet; their output is left out.
    pub(crate) fn endings(&self) -> Vec<ReplyUpdate> {
        let mut state = self.shared.state.lock();
        let ended = state.slots.iter_mut().enumerate();
        ended
            .filter_map(|(index, slot)| {
                let ending = slot.ending.take()?;
                slot.closed = true;
                slot.pending.clear();
                Some(ending.into_update(index))
            })
            .collect()
    }

    fn poll_next(&self, cx: &mut Context<'_>) -> Poll<ReplyUpdate> {
        let mut state = self.shared.state.lock();
        while let Some(index) = state.ready.pop_front() {
            let slot = &mut state.slots[index];
            slot.queued = false;
            if !slot.pending.is_empty() {
                let chunk = std::mem::take(&mut slot.pending);
                if slot.ending.is_some() {
                    slot.queued = true;
                    state.ready.push_back(index);
                }
                return Poll::Ready(ReplyUpdate::Output { index, chunk });
            }
            if let Some(ending) = slot.ending.take() {
                slot.closed = true;
                return Poll::Ready(ending.into_update(index));
            }
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for BatchReplies {
    fn drop(&mut self) {
        for slot in &mut self.shared.state.lock().slots {
            slot.closed = true;
        }
        self.shared.closed.cancel();
    }
}

#[cfg(test)]
mod tests;
