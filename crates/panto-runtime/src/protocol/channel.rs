//! The channel of one stream, and its reading half.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use mlua::Lua;
use pantograph::protocol::{ProtocolEvent, ProtocolStream, Request};
use pantograph::{ErrorClass, ProviderError};
use parking_lot::Mutex;

use crate::executor::Executor;
use crate::inbox::Inbox;

type Event = Result<ProtocolEvent, ProviderError>;

/// What a stream says that is cut off by the end of Lua.
pub(super) const OVER: &str = "the session of this protocol is over";

pub(super) fn terminal(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Terminal, message)
}

/// What the two halves of a stream share. Locked for moments, and never while Lua runs.
pub(super) struct Channel {
    pub(super) key: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    /// Of a reader that has nothing left.
    waker: Option<Waker>,
    /// Whether the owner has been asked and has not answered.
    is_asked: bool,
    /// Whether `next` had nothing, and nobody has said since that there is more.
    is_silent: bool,
    /// Whether somebody has said so since `next` was last called.
    is_notified: bool,
    /// Whether no event will follow those that are there.
    is_over: bool,
    /// Whether nobody reads any more.
    is_dropped: bool,
}

impl Channel {
    /// The owner begins to answer; false if nobody reads any more.
    pub(super) fn begin(&self) -> bool {
        let state = self.state.lock();
        !state.is_dropped && !state.is_over
    }

    /// `next` is about to be called.
    pub(super) fn calling(&self) {
        self.state.lock().is_notified = false;
    }

    /// `next` had nothing: whether to call it again, since it was told of more meanwhile.
    pub(super) fn nothing(&self) -> bool {
        let mut state = self.state.lock();
        state.is_silent = !state.is_notified;
        state.is_notified
    }

    pub(super) fn push(&self, events: impl IntoIterator<Item = ProtocolEvent>) {
        self.state.lock().events.extend(events.into_iter().map(Ok));
    }

    /// No event will follow.
    pub(super) fn end(&self, error: Option<ProviderError>) {
        let mut state = self.state.lock();
        if !state.is_over {
            state.events.extend(error.map(Err));
            state.is_over = true;
        }
    }

    /// The owner has answered.
    pub(super) fn answered(&self) {
        let waker = {
            let mut state = self.state.lock();
            state.is_asked = false;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// There is more: `request.notify()`.
    pub(super) fn notify(self: &Arc<Self>, inbox: &Inbox) {
        let is_waited_for = {
            let mut state = self.state.lock();
            state.is_notified = true;
            state.is_silent = false;
            let is_waited_for = state.waker.is_some() && !state.is_asked && !state.is_over;
            state.is_asked |= is_waited_for;
            is_waited_for
        };
        if is_waited_for {
            Asked::new(self).post_next(inbox);
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }
}

/// A question that the owner has not answered. Dropped unanswered, it ends the stream.
struct Asked {
    channel: Arc<Channel>,
    is_answered: bool,
}

impl Asked {
    fn new(channel: &Arc<Channel>) -> Self {
        Self {
            channel: Arc::clone(channel),
            is_answered: false,
        }
    }

    /// Posts the question, which `answer` answers.
    fn post(
        mut self,
        inbox: &Inbox,
        answer: impl FnOnce(&Rc<Executor>, &Lua, &Arc<Channel>) + Send + 'static,
    ) {
        // What is posted to nobody is dropped, which ends the stream.
        let _ = inbox.post(move |executor, lua| {
            answer(executor, lua, &self.channel);
            self.is_answered = true;
            self.channel.answered();
        });
    }

    fn post_next(self, inbox: &Inbox) {
        self.post(inbox, |executor, lua, channel| {
            executor.continue_stream(lua, channel);
        });
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if !self.is_answered {
            self.channel.end(Some(terminal(OVER)));
            self.channel.answered();
        }
    }
}

/// The half that a turn reads.
pub(super) struct Reader {
    channel: Arc<Channel>,
    inbox: Arc<Inbox>,
}

impl Reader {
    pub(super) fn open(name: &str, inbox: &Arc<Inbox>, request: Request) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let channel = Arc::new(Channel {
            key: LAST.fetch_add(1, Ordering::Relaxed),
            state: Mutex::new(State {
                is_asked: true,
                ..State::default()
            }),
        });
        let name = name.to_owned();
        Asked::new(&channel).post(inbox, move |executor, lua, channel| {
            executor.open_stream(lua, &name, request, channel);
        });
        Self {
            channel,
            inbox: Arc::clone(inbox),
        }
    }

    /// Tells the owner that nobody reads any more.
    fn abandon(&self) {
        let was_over = {
            let mut state = self.channel.state.lock();
            state.is_dropped = true;
            state.is_over
        };
        let key = self.channel.key;
        // Without an owner the stream was closed already.
        let _ = self.inbox.post_urgent(move |executor, lua| {
            executor.end_stream(lua, key, !was_over);
        });
    }
}

impl ProtocolStream for Reader {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let asks = {
            let mut state = self.channel.state.lock();
            if let Some(event) = state.events.pop_front() {
                return Poll::Ready(Some(event));
            }
            if state.is_over {
                return Poll::Ready(None);
            }
            match &mut state.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                None => state.waker = Some(cx.waker().clone()),
            }
            let asks = !state.is_asked && !state.is_silent;
            state.is_asked |= asks;
            asks
        };
        if asks {
            Asked::new(&self.channel).post_next(&self.inbox);
        }
        Poll::Pending
    }

    fn is_held_up(&self) -> bool {
        self.channel.state.lock().is_asked
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.abandon();
    }
}
