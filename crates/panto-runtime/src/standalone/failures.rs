//! What stops a loop's run: callbacks that raised, and interrupts. Runs on the owner thread.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;

use panto_luv::Uv;
use tokio::sync::Notify;

use crate::raw::is_interrupted;

/// What has gone wrong in callbacks and was not told yet.
#[derive(Default)]
pub(super) struct Failures {
    untold: RefCell<VecDeque<(String, String)>>,
    bell: Notify,
}

/// What an interrupt raises.
pub(super) const INTERRUPTED: &str = "interrupted!";

impl Failures {
    /// Keeps what a callback has raised, and its traceback.
    pub(super) fn keep(&self, message: String, traceback: String) {
        self.untold.borrow_mut().push_back((message, traceback));
    }

    /// The oldest that was not told yet, which it now is.
    pub(super) fn take(&self) -> Option<(String, String)> {
        self.untold.borrow_mut().pop_front()
    }

    /// Forgets that an interrupt was raised in a callback, which is told otherwise.
    pub(super) fn forget_interrupt(&self) {
        let mut untold = self.untold.borrow_mut();
        untold.retain(|(message, _)| !message.ends_with(INTERRUPTED));
    }

    /// Ends the run of the loop, and all waits, unless the interrupt was raised meanwhile and told: it is raised once.
    pub(super) fn interrupt(&self, uv: &Uv) {
        let is_untold = |(message, _): &(String, String)| message.ends_with(INTERRUPTED);
        if !is_interrupted() && !self.untold.borrow().iter().any(is_untold) {
            return;
        }
        self.bell.notify_waiters();
        uv.stop();
    }

    /// Completes when the interpreter is interrupted after this call.
    pub(super) fn interrupted(&self) -> impl Future<Output = ()> {
        self.bell.notified()
    }
}
