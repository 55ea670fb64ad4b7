//! What Ctrl+C and a request to terminate do while a turn may run.

use std::sync::Arc;

use panto_host::session::SessionHandle;
use parking_lot::Mutex;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Exit, Failure};

/// Listens for signals, for as long as its runtime lives.
///
/// The system's own handling does not come back, so the runtime must live until nothing is left
/// that can block, the last write included.
pub(crate) struct Signals {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    heard: Option<Exit>,
    session: Option<SessionHandle>,
    /// The turn has settled: there is nothing left to interrupt.
    over: bool,
}

impl Signals {
    /// From now on the first signal interrupts the session, or is remembered until there is
    /// one, and the second ends the process at once. Must be called inside a runtime that has
    /// workers of its own.
    ///
    /// # Errors
    ///
    /// The system refuses a handler.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                let error = anyhow::Error::new(error).context("could not listen for signals");
                Failure::new(Exit::TurnFailed, "internal", error)
            })
        };
        let interrupt = listen(SignalKind::interrupt())?;
        let terminate = listen(SignalKind::terminate())?;
        let shared = Arc::default();
        tokio::spawn(answer(interrupt, terminate, Arc::clone(&shared)));
        Ok(Self { shared })
    }

    /// Lets signals interrupt `session`; at once if one was heard before.
    pub(crate) fn watch(&self, session: &SessionHandle) {
        let mut shared = self.shared.lock();
        shared.session = Some(session.clone());
        if shared.heard.is_some() {
            session.interrupt();
        }
    }

    /// The turn has settled: from now on any signal ends the process at once. Gives what the
    /// process ends with because of a signal that was heard before.
    pub(crate) fn turn_is_over(&self) -> Option<Exit> {
        let mut shared = self.shared.lock();
        shared.over = true;
        shared.session = None;
        shared.heard
    }
}

async fn answer(mut interrupt: Signal, mut terminate: Signal, shared: Arc<Mutex<Shared>>) {
    loop {
        let exit = tokio::select! {
            Some(()) = interrupt.recv() => Exit::Interrupted,
            Some(()) = terminate.recv() => Exit::Terminated,
            else => return,
        };
        let mut shared = shared.lock();
        if shared.heard.replace(exit).is_some() || shared.over {
            // The session is safe: whatever was appended to it is on disk.
            std::process::exit(i32::from(exit.code()));
        }
        if let Some(session) = &shared.session {
            session.interrupt();
        }
    }
}
