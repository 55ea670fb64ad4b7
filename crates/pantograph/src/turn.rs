//! One turn of an agent, as a stream of events that its reader pulls.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{FutureExt, Stream};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tracing::Instrument;

use crate::agent::{Agent, Prompt, Writer};
use crate::cancel::Cancel;
use crate::event::Event;
use crate::ids::TurnId;

mod attempt;
mod batch;
mod compact;
mod draft;
mod drive;
mod heal;
mod rewrite;

pub(crate) use drive::panic_text;

/// What a turn begins with.
pub(crate) enum Opening {
    Prompt(Prompt),
    Continue,
    Queue,
    Compact(Option<String>),
}

/// A live turn: a stream of events that ends with [`Event::Settled`].
///
/// The turn goes on only while it is polled. A reader that is slow slows the turn; it loses
/// nothing. Dropping a turn that was never polled takes it back, its prompt included. Dropping
/// one that has begun and not settled cancels it: the rest of it, its open tool
/// calls included, settles in the background on the runtime in which it was first polled.
pub struct TurnStream {
    agent: Agent,
    id: TurnId,
    cancel: Cancel,
    events: Arc<EventQueue>,
    work: Option<Work>,
    begun: bool,
    runtime: Option<Handle>,
}

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

impl TurnStream {
    pub(crate) fn new(agent: Agent, writer: Writer, opening: Opening) -> Self {
        let id = TurnId::new(agent.shared.clock.fresh_id());
        let cancel = Cancel::new();
        let events = Arc::new(EventQueue::default());
        *agent.shared.live.lock() = Some(cancel.clone());
        let emitter = Emitter(Arc::clone(&events));
        let span = tracing::debug_span!(
            "turn",
            turn = %id,
            agent = %agent.shared.id,
            session = %agent.shared.session_id,
        );
        let drive = drive::Drive::new(agent.clone(), writer, id, cancel.clone(), emitter);
        Self {
            agent,
            id,
            cancel,
            events,
            begun: false,
            work: Some(Box::pin(drive.settle(opening).instrument(span))),
            runtime: None,
        }
    }

    /// Names the turn.
    pub fn id(&self) -> TurnId {
        self.id
    }

    /// Asks the turn to stop; see [`TurnControl::cancel`].
    pub fn cancel(&self) {
        self.control().cancel();
    }

    /// A handle that cancels the turn from anywhere.
    pub fn control(&self) -> TurnControl {
        TurnControl {
            agent: self.agent.clone(),
            cancel: self.cancel.clone(),
        }
    }

    /// The next event; `None` after [`Event::Settled`].
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| self.poll_event(cx)).await
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if let Some(event) = self.events.pop() {
                return Poll::Ready(Some(event));
            }
            let Some(work) = &mut self.work else {
                return Poll::Ready(None);
            };
            if !std::mem::replace(&mut self.begun, true) {
                self.runtime = Handle::try_current().ok();
            }
            match work.as_mut().poll(cx) {
                Poll::Ready(()) => self.work = None,
                Poll::Pending if self.events.is_empty() => return Poll::Pending,
                Poll::Pending => {}
            }
        }
    }
}

impl Stream for TurnStream {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.poll_event(cx)
    }
}

impl Drop for TurnStream {
    fn drop(&mut self) {
        let unread = self.events.abandon();
        let Some(mut work) = self.work.take() else {
            // An outcome that nobody read gives nothing back to anybody.
            if let Some(Event::Settled(outcome)) = unread.back() {
                let returned = outcome.returned.clone();
                self.agent.shared.queue.lock().restore(returned);
            }
            return;
        };
        if !self.begun {
            *self.agent.shared.live.lock() = None;
            return;
        }
        self.cancel.ask_within(self.agent.shared.options.grace);
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move {
                if AssertUnwindSafe(&mut work).catch_unwind().await.is_err() {
                    tracing::error!("an abandoned turn panicked while it settled");
                }
            });
        }
    }
}

/// Cancels a turn from anywhere; clones cancel the same one.
#[derive(Debug, Clone)]
pub struct TurnControl {
    agent: Agent,
    cancel: Cancel,
}

impl TurnControl {
    /// Asks the turn to stop, as [`Agent::interrupt`] does. Idempotent; nothing if it has settled.
    ///
    /// A stream from the provider is closed at once; tools get the agent's grace period.
    pub fn cancel(&self) {
        self.cancel_within(self.agent.shared.options.grace);
    }

    /// Asks the turn to stop, with a grace period of one's own. The earliest deadline holds.
    pub fn cancel_within(&self, grace: Duration) {
        self.agent.interrupt_turn(&self.cancel, grace);
    }

    /// Whether the turn was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_asked()
    }
}

/// Events between the turn's work and its reader, who share one task.
#[derive(Default)]
struct EventQueue {
    state: Mutex<EventState>,
}

#[derive(Default)]
struct EventState {
    events: VecDeque<Event>,
    abandoned: bool,
}

/// How many events may wait before the work pauses for its reader.
const BATCH: usize = 64;

impl EventQueue {
    fn pop(&self) -> Option<Event> {
        self.state.lock().events.pop_front()
    }

    fn is_empty(&self) -> bool {
        self.state.lock().events.is_empty()
    }

    /// Takes no more events; gives those that were not read.
    fn abandon(&self) -> VecDeque<Event> {
        let mut state = self.state.lock();
        state.abandoned = true;
        std::mem::take(&mut state.events)
    }
}

/// The work's end of the event queue.
pub(crate) struct Emitter(Arc<EventQueue>);

impl Emitter {
    /// Hands an event to the reader.
    pub(crate) fn push(&self, event: Event) {
        let mut state = self.0.state.lock();
        if !state.abandoned {
            state.events.push_back(event);
        }
    }

    /// Whether the reader is gone.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.0.state.lock().abandoned
    }

    /// Waits while many events are unread.
    pub(crate) async fn pause(&self) {
        if self.0.state.lock().events.len() < BATCH {
            return;
        }
        // The reader empties the queue before it polls the work again, so no waker is needed.
        std::future::poll_fn(|_| {
            if self.0.is_empty() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// Hands an event to the reader, and waits while many are unread.
    pub(crate) async fn emit(&self, event: Event) {
        self.push(event);
        self.pause().await;
    }
}
