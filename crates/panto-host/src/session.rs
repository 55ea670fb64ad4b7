//! One session of one agent: the handle that headless output, the terminal and any other front
//! end share.
//!
//! A driver task on the caller's tokio runtime owns the turns. Front ends submit, interrupt and
//! command from any thread, and read what happens from streams of their own.

mod driver;
mod events;

use std::collections::VecDeque;
use std::sync::Arc;

use pantograph::{Agent, QueueId, Queued, Sender, Submission};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

pub use events::{SessionEvent, SessionEvents};

use driver::Driver;
use events::Readers;

/// How many commands may wait for the live turn.
const MAX_COMMANDS: usize = 16;

/// One session of one agent. Clones are handles to the same session.
///
/// A turn starts as soon as something is submitted and none is live; when it settles, what is
/// queued starts the next. After an interrupt no turn starts until a person submits something.
/// Dropping the last handle closes the session in the background. [`crate::headless`] has an
/// example.
#[derive(Clone, Debug)]
pub struct SessionHandle {
    owner: Arc<Owner>,
}

/// Something to do between turns.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionCommand {
    /// Replaces everything before the last turns by a summary.
    Compact {
        /// What the summary is to heed.
        instructions: Option<String>,
    },
    /// Goes on from the last complete message, without a new prompt.
    Continue,
}

/// Why a session did not take a submission or a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionRefusal {
    /// The session is closed, or about to be.
    #[error("the session is closed")]
    Closed,
    /// Many commands wait for the live turn already.
    #[error("too many commands are waiting for the live turn")]
    TooManyCommands,
}

impl SessionHandle {
    /// Opens a session with `agent`, and starts what the agent has queued, if anything.
    ///
    /// Must be called inside a tokio runtime, which then drives the session.
    pub fn open(agent: Agent) -> Self {
        let closing = CancellationToken::new();
        let shared = Arc::new(Shared {
            agent,
            state: Mutex::new(State {
                hurry: closing.child_token(),
                ..State::default()
            }),
            wake: Notify::new(),
            readers: Readers::default(),
            interrupts: watch::Sender::new(0),
            closing,
            closed: CancellationToken::new(),
        });
        tokio::spawn(Driver::new(Arc::clone(&shared)).drive());
        Self {
            owner: Arc::new(Owner { shared }),
        }
    }

    /// The agent. What is set on it takes effect with its next request.
    pub fn agent(&self) -> &Agent {
        &self.shared().agent
    }

    /// Gives the agent something to hear, which starts a turn if none is live.
    ///
    /// # Errors
    ///
    /// [`SessionRefusal::Closed`].
    pub fn submit(&self, submission: Submission) -> Result<QueueId, SessionRefusal> {
        let shared = self.shared();
        let mut state = shared.state.lock();
        if state.closing {
            return Err(SessionRefusal::Closed);
        }
        if submission.sender == Sender::Person {
            state.held = false;
        }
        state.announce_idle = true;
        state.asked += 1;
        let id = shared.agent.submit(submission);
        shared.wake.notify_one();
        Ok(id)
    }

    /// Stops the live turn, within the agent's grace period. Idempotent.
    ///
    /// What a person had queued comes back: in the turn's outcome, or, if no turn was live, as
    /// the value of this call. What code had queued waits until a person submits something.
    /// Commands that wait are dropped; they can be given again. A prompt that a person submits
    /// after this call is not taken back, and starts a turn once the live one has settled.
    ///
    /// A reader that reads nothing for a second while the turn settles is dropped, so that it
    /// cannot hold the interrupt up: its stream ends after what is in its buffer.
    pub fn interrupt(&self) -> Vec<Queued> {
        let shared = self.shared();
        let mut state = shared.state.lock();
        state.commands.clear();
        state.held = true;
        if state.live {
            let queued = shared.agent.queued().into_iter();
            let queued = queued.filter(|queued| queued.submission.sender == Sender::Person);
            state.taken_back.extend(queued.map(|queued| queued.id));
            state.hurry.cancel();
            shared.agent.interrupt();
            shared.interrupts.send_modify(|count| *count += 1);
            return Vec::new();
        }
        shared.wake.notify_one();
        shared.withdraw(|queued| queued.submission.sender == Sender::Person)
    }

    /// Has `command` carried out when no turn is live, before anything that is queued.
    ///
    /// What comes of it is told by events.
    ///
    /// # Errors
    ///
    /// [`SessionRefusal`]; the command is not carried out.
    pub fn command(&self, command: SessionCommand) -> Result<(), SessionRefusal> {
        let shared = self.shared();
        let mut state = shared.state.lock();
        if state.closing {
            return Err(SessionRefusal::Closed);
        }
        if state.commands.len() >= MAX_COMMANDS {
            return Err(SessionRefusal::TooManyCommands);
        }
        state.commands.push_back(command);
        state.announce_idle = true;
        state.asked += 1;
        shared.wake.notify_one();
        Ok(())
    }

    /// What happens from now on, until the session is closed.
    ///
    /// Each call gives a stream of its own. A reader that is slow slows the turn and loses
    /// nothing, unless the turn is interrupted or the session closed: one that then reads
    /// nothing for a second is dropped, and its stream ends. One that is dropped no longer counts.
    pub fn events(&self) -> SessionEvents {
        let shared = self.shared();
        // Under the state's lock, so that no reader joins after the last event.
        let state = shared.state.lock();
        if state.ended {
            return SessionEvents::ended();
        }
        shared.readers.join()
    }

    /// How many submissions and commands were taken so far: if it grows, [`SessionEvent::Idle`]
    /// follows.
    pub fn asked(&self) -> u64 {
        self.shared().state.lock().asked
    }

    /// Whether something was asked of the session and [`SessionEvent::Idle`] has not followed yet.
    /// What it has told by the time it is busy no more can be read without waiting.
    pub fn is_busy(&self) -> bool {
        self.shared().state.lock().announce_idle
    }

    /// How many live turns were interrupted: changes as soon as one is, before it has settled.
    pub fn interrupts(&self) -> watch::Receiver<u64> {
        self.shared().interrupts.subscribe()
    }

    /// Tells every reader something that is not part of a turn, such as an extension's progress.
    ///
    /// Waits while a reader's buffer is full. Dropping the future loses the event for the
    /// readers that do not have it yet.
    pub async fn emit(&self, name: impl Into<Arc<str>>, data: serde_json::Value) {
        let event = SessionEvent::Custom {
            name: name.into(),
            data,
        };
        let shared = self.shared();
        let hurry = shared.state.lock().hurry.clone();
        shared.readers.send(event, &hurry).await;
    }

    /// Cancels what is live and completes when it has settled; every stream has then ended.
    ///
    /// Idempotent. Dropping the future does not stop the closing.
    pub async fn close(&self) {
        let shared = self.shared();
        shared.begin_close();
        shared.closed.cancelled().await;
    }

    fn shared(&self) -> &Shared {
        &self.owner.shared
    }
}

/// What the handles share, so that the last one can close the session.
struct Owner {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shared.agent.fmt(f)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.begin_close();
    }
}

/// What handles and driver share.
struct Shared {
    agent: Agent,
    state: Mutex<State>,
    wake: Notify,
    readers: Readers,
    /// How many live turns were interrupted.
    interrupts: watch::Sender<u64>,
    closing: CancellationToken,
    closed: CancellationToken,
}

#[derive(Default)]
struct State {
    /// A turn is being driven and has not settled.
    live: bool,
    /// What a person had queued when the live turn was interrupted.
    taken_back: Vec<QueueId>,
    /// Cancelled when the live turn is to settle: readers no longer have all the time they want.
    /// A child of the session's `closing`, a new one for each turn.
    hurry: CancellationToken,
    /// No turn starts until a person submits something.
    held: bool,
    /// Something was asked of the session since it was last said to be idle.
    announce_idle: bool,
    /// Submissions and commands that were taken.
    asked: u64,
    closing: bool,
    /// The driver is gone.
    ended: bool,
    commands: VecDeque<SessionCommand>,
}

impl Shared {
    fn begin_close(&self) {
        let mut state = self.state.lock();
        state.closing = true;
        state.commands.clear();
        if state.live {
            self.agent.interrupt();
        }
        self.closing.cancel();
        self.wake.notify_one();
    }

    /// Takes back what is queued and `wanted`.
    fn withdraw(&self, wanted: impl Fn(&Queued) -> bool) -> Vec<Queued> {
        let mut returned = self.agent.queued();
        returned.retain(|queued| wanted(queued) && self.agent.withdraw(queued.id).is_some());
        returned
    }
}

#[cfg(test)]
mod tests;
