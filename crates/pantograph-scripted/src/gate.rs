//! A gate that a test opens by hand, so that order is fixed and nothing sleeps.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;

/// Holds a step until a test opens it; clones are the same gate.
///
/// Put it into a step with [`crate::Step::then`], [`crate::Step::at_event`] or
/// [`crate::Step::on_open`]. A gate that was opened stays open.
#[derive(Clone)]
pub struct Gate {
    state: Arc<watch::Sender<State>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    is_open: bool,
    arrivals: usize,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self {
            state: Arc::new(watch::Sender::new(State::default())),
        }
    }

    /// Lets everyone through, now and from now on.
    pub fn open(&self) {
        self.state.send_modify(|state| state.is_open = true);
    }

    /// Whether it was opened.
    pub fn is_open(&self) -> bool {
        self.state.borrow().is_open
    }

    /// How often a step has come to the gate, open or not.
    pub fn arrivals(&self) -> usize {
        self.state.borrow().arrivals
    }

    /// Completes when a step has come to the gate; at once if one was there before.
    ///
    /// Dropping the future loses nothing.
    pub async fn reached(&self) {
        self.reached_times(1).await;
    }

    /// Completes when steps have come to the gate `times` times.
    ///
    /// Dropping the future loses nothing.
    pub async fn reached_times(&self, times: usize) {
        wait_for(&self.state, |state| state.arrivals >= times).await;
    }

    /// Counts an arrival now; the future completes when the gate is open.
    pub(crate) fn arrive(&self) -> impl Future<Output = ()> + Send + use<> {
        self.state.send_modify(|state| state.arrivals += 1);
        let gate = self.clone();
        async move { wait_for(&gate.state, |state| state.is_open).await }
    }
}

/// Completes when `state` satisfies `condition`.
pub(crate) async fn wait_for<T>(state: &watch::Sender<T>, condition: impl FnMut(&T) -> bool) {
    // The sender is borrowed, so the channel cannot close while this waits.
    let _ = state.subscribe().wait_for(condition).await;
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = *self.state.borrow();
        f.debug_struct("Gate")
            .field("is_open", &state.is_open)
            .field("arrivals", &state.arrivals)
            .finish()
    }
}
