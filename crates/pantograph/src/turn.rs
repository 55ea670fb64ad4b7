//! One turn of an agent, as a stream of events that its reader pulls.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{FutureExt, Stream};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tracing::Instrument;

use crate::agent::{Agent, Prompt, Shared, Writer};
use crate::cancel::Cancel;
use crate::event::{Event, Outcome};
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
/// nothing. With its outcome it lets go of its agent. Dropping a turn that was never polled takes it back, its prompt included. Dropping
/// one that has begun and not settled cancels it: the rest of it, its open tool
/// calls included, settles in the background on the runtime in which it was first polled.
pub struct TurnStream {
    /// Let go with the outcome: a turn that is over keeps no session open.
    agent: Option<Agent>,
    id: TurnId,
    cancel: Cancel,
    events: Arc<EventQueue>,
    work: Option<Work>,
    begun: bool,
    runtime: Option<Handle>,
    settled: Option<Arc<Outcome>>,
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
        let writer = writer.for_turn(&cancel);
        let drive = drive::Drive::new(agent.clone(), writer, id, cancel.clone(), emitter);
        Self {
            agent: Some(agent),
            id,
            cancel,
            events,
            begun: false,
            work: Some(Box::pin(drive.settle(opening).instrument(span))),
            runtime: None,
            settled: None,
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
            agent: self
                .agent
                .as_ref()
                .map_or_else(Weak::new, |agent| Arc::downgrade(&agent.shared)),
            cancel: self.cancel.clone(),
        }
    }

    /// The next event; `None` after [`Event::Settled`].
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| self.poll_event(cx)).await
    }

    /// Runs the turn to its end, for those who want no events; also after its end.
    ///
    /// Dropping the future cancels the turn, as dropping the stream does.
    pub async fn outcome(mut self) -> Arc<Outcome> {
        while self.next().await.is_some() {}
        self.settled
            .take()
            .expect("a turn's last event is its outcome")
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if let Some(event) = self.events.pop() {
                if let Event::Settled(outcome) = &event {
                    self.settled = Some(Arc::clone(outcome));
                    self.agent = None;
                }
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
        let Some(agent) = self.agent.take() else {
            return;
        };
        let Some(mut work) = self.work.take() else {
            // An outcome that nobody read gives nothing back to anybody.
            if let Some(Event::Settled(outcome)) = unread.back() {
                let returned = outcome.returned.clone();
                agent.shared.queue.lock().restore(returned);
            }
            return;
        };
        if !self.begun {
            *agent.shared.live.lock() = None;
            return;
        }
        self.cancel.ask_within(agent.shared.options.grace);
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move {
                if AssertUnwindSafe(&mut work).catch_unwind().await.is_err() {
                    tracing::error!("an abandoned turn panicked while it settled");
                }
            });
        }
    }
}

/// Cancels a turn from anywhere; clones cancel the same one. Keeps no agent alive.
#[derive(Clone)]
pub struct TurnControl {
    agent: Weak<Shared>,
    cancel: Cancel,
}

impl fmt::Debug for TurnControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnControl")
            .field("cancel", &self.cancel)
            .finish_non_exhaustive()
    }
}

impl TurnControl {
    /// Asks the turn to stop, as [`Agent::interrupt`] does. Idempotent; nothing if it has settled.
    ///
    /// A stream from the provider is closed at once; tools get the agent's grace period.
    pub fn cancel(&self) {
        if let Some(agent) = self.agent() {
            agent.interrupt_turn(&self.cancel, agent.shared.options.grace);
        }
    }

    /// Asks the turn to stop, with a grace period of one's own. The earliest deadline holds.
    pub fn cancel_within(&self, grace: Duration) {
        if let Some(agent) = self.agent() {
            agent.interrupt_turn(&self.cancel, grace);
        }
    }

    fn agent(&self) -> Option<Agent> {
        let shared = self.agent.upgrade()?;
        Some(Agent { shared })
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
