//! What a slice has left, as the count hook and everything that works for the chunk see it.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::limits::{Limits, Reason};

/// What is left of a slice. Once something is used up it stays so: the sandbox is dead then.
pub(super) struct Budget {
    limits: Limits,
    instructions: Cell<u64>,
    deadline: Cell<Instant>,
    output: Cell<usize>,
    dead: Cell<Option<Reason>>,
    /// Set by whoever waited for a slice and does so no more.
    abandoned: Arc<AtomicBool>,
}

impl Budget {
    pub(super) fn new(limits: Limits, abandoned: Arc<AtomicBool>) -> Self {
        Self {
            // Until the first slice nothing runs but the library.
            instructions: Cell::new(u64::MAX),
            deadline: Cell::new(limits.deadline()),
            output: Cell::new(0),
            dead: Cell::new(None),
            limits,
            abandoned,
        }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A slice begins.
    pub(super) fn refill(&self) {
        self.instructions.set(self.limits.instructions);
        self.deadline.set(self.limits.deadline());
        self.output.set(self.limits.output);
    }

    /// Takes instructions, and looks at the clock. `false` if the chunk is to stop.
    pub(super) fn spend(&self, instructions: u64) -> bool {
        if self.dead.get().is_some() {
            return false;
        }
        match self.instructions.get().checked_sub(instructions) {
            Some(left) => self.instructions.set(left),
            None => self.end(Reason::Instructions),
        }
        if self.abandoned.load(Ordering::Relaxed) {
            self.end(Reason::Abandoned);
        } else if Instant::now() >= self.deadline.get() {
            self.end(Reason::Time);
        }
        self.dead.get().is_none()
    }

    /// Takes bytes of output. `false` if there are not so many.
    pub(super) fn spend_output(&self, bytes: usize) -> bool {
        let left = self.output.get().checked_sub(bytes);
        self.output.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Time that passed while the host worked is not the chunk's.
    pub(super) fn extend(&self, waited: Duration) {
        self.deadline.set(self.deadline.get() + waited);
    }

    /// Ends the sandbox; the first reason stays.
    pub(super) fn end(&self, reason: Reason) {
        if self.dead.get().is_none() {
            self.dead.set(Some(reason));
        }
    }

    pub(super) fn dead(&self) -> Option<Reason> {
        self.dead.get()
    }
}
