//! What Ctrl+C and a request to terminate do while a turn may run.

use std::sync::Arc;

use panto_host::session::SessionHandle;
use parking_lot::Mutex;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::failure::{Exit, Failure};

/// Listens for signals; stops when dropped.
pub(crate) struct Signals {
    heard: Arc<Mutex<Option<Exit>>>,
    session: Arc<Mutex<Option<SessionHandle>>>,
    task: JoinHandle<()>,
}

impl Signals {
    /// From now on the first signal interrupts the session, or is remembered until there is
    /// one, and the second ends the process at once.
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
        let heard = Arc::new(Mutex::new(None));
        let session = Arc::new(Mutex::new(None));
        let task = tokio::spawn(answer(
            interrupt,
            terminate,
            Arc::clone(&heard),
            Arc::clone(&session),
        ));
        Ok(Self {
            heard,
            session,
            task,
        })
    }

    /// Lets signals interrupt `session`; at once if one was heard before.
    pub(crate) fn watch(&self, session: &SessionHandle) {
        *self.session.lock() = Some(session.clone());
        if self.heard().is_some() {
            session.interrupt();
        }
    }

    /// What the process ends with because of a signal, if one was heard.
    pub(crate) fn heard(&self) -> Option<Exit> {
        *self.heard.lock()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    mut interrupt: Signal,
    mut terminate: Signal,
    heard: Arc<Mutex<Option<Exit>>>,
    session: Arc<Mutex<Option<SessionHandle>>>,
) {
    loop {
        let exit = tokio::select! {
            Some(()) = interrupt.recv() => Exit::Interrupted,
            Some(()) = terminate.recv() => Exit::Terminated,
            else => return,
        };
        if heard.lock().replace(exit).is_some() {
            // The session is safe: whatever was appended to it is on disk.
            std::process::exit(i32::from(exit.code()));
        }
        if let Some(session) = &*session.lock() {
            session.interrupt();
        }
    }
}
