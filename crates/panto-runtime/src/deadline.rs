//! What the process does when a state cannot be closed.

use std::sync::OnceLock;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

type Stuck = (Duration, fn());

static STUCK: OnceLock<Stuck> = OnceLock::new();

/// Has `leave` called, on a thread of its own, when closing a Lua state takes longer than `limit`: finalizers in C
/// cannot be stopped, so that a process can only leave the state as it is. Once a process; later calls change nothing.
pub fn when_closing_takes_longer(limit: Duration, leave: fn()) {
    // The first one counts.
    let _ = STUCK.set((limit, leave));
}

/// The time that a state has for being closed. It is closed when this goes.
pub(crate) struct Deadline {
    _closed: Sender<()>,
}

impl Deadline {
    pub(crate) fn start() -> Option<Self> {
        let (limit, leave) = STUCK.get()?;
        let (closed, waiting) = mpsc::channel::<()>();
        let watch = move || {
            if waiting.recv_timeout(*limit) == Err(RecvTimeoutError::Timeout) {
                leave();
            }
        };
        let thread = std::thread::Builder::new().name("lua-closing".to_owned());
        // Without a thread there is no limit.
        thread.spawn(watch).ok()?;
        Some(Self { _closed: closed })
    }
}
