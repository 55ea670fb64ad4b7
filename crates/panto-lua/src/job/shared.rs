//! What a job's task and the owner thread share.

use std::sync::Arc;

use pantograph::{Agent, Event, Outcome};
use parking_lot::Mutex;

use super::buffer::{Buffer, Buffered};
use super::wake::Wake;
use crate::stop::Stop;

/// One job. The lock is held for moments, and over no wait.
pub(crate) struct Shared {
    stop: Stop,
    state: Mutex<State>,
}

struct State {
    /// The agent whose turn it is, until that has settled.
    agent: Option<Agent>,
    buffer: Buffer,
    /// Written under the lock, and gone with `close`: no byte leaves after that has returned.
    wake: Option<Arc<Wake>>,
    outcome: Option<Arc<Outcome>>,
    is_settled: bool,
    is_closed: bool,
}

impl Shared {
    pub(super) fn new(agent: Agent, stop: Stop, wake: Option<Arc<Wake>>) -> Self {
        Self {
            stop,
            state: Mutex::new(State {
                agent: Some(agent),
                buffer: Buffer::default(),
                wake,
                outcome: None,
                is_settled: false,
                is_closed: false,
            }),
        }
    }

    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Asks the turn to stop. No-op once it has settled.
    pub(crate) fn cancel(&self) {
        self.stop.ask(None);
    }

    /// Takes an event of the turn.
    pub(super) fn push(&self, event: Event) {
        let mut state = self.state.lock();
        if !state.is_closed && state.buffer.push(event) {
            state.wake();
        }
    }

    /// The turn has ended, and its agent is free.
    pub(super) fn settle(&self, outcome: Arc<Outcome>) {
        // Before anybody hears of it: then the agent's session is free for others.
        let agent = self.state.lock().agent.take();
        drop(agent);
        let mut state = self.state.lock();
        state.is_settled = true;
        if !state.is_closed {
            state.buffer.push(Event::Settled(Arc::clone(&outcome)));
            state.wake();
            state.outcome = Some(outcome);
            state.wake();
            // Nothing more will be said.
            state.wake = None;
        }
    }

    /// The agent, while the job runs and was not closed.
    pub(super) fn agent(&self) -> Option<Agent> {
        let state = self.state.lock();
        state.agent.clone().filter(|_| !state.is_closed)
    }

    pub(super) fn pop(&self) -> Option<Buffered> {
        self.state.lock().buffer.pop()
    }

    pub(super) fn outcome(&self) -> Option<Arc<Outcome>> {
        self.state.lock().outcome.clone()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.state.lock().is_settled
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().is_closed
    }

    /// Frees what the job holds. A turn that has not settled is cancelled, and goes on alone.
    pub(super) fn close(&self) {
        let is_settled = {
            let mut state = self.state.lock();
            state.is_closed = true;
            state.wake = None;
            state.outcome = None;
            state.buffer.clear();
            state.is_settled
        };
        if !is_settled {
            self.cancel();
        }
    }
}

impl State {
    fn wake(&mut self) {
        // A descriptor that nobody can read from any more is let go.
        if self.wake.as_ref().is_some_and(|wake| !wake.write()) {
            self.wake = None;
        }
    }
}
