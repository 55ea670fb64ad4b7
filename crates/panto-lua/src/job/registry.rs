//! The jobs of one Lua state, for the host that has to end them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pantograph::TurnControl;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The jobs of one Lua state that have not settled, closed ones included. Clones share them;
/// any thread may use it.
#[derive(Clone)]
pub struct Jobs {
    inner: Arc<Inner>,
}

struct Inner {
    live: Mutex<Live>,
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct Live {
    next: u64,
    controls: HashMap<u64, TurnControl>,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            inner: Arc::new(Inner {
                live: Mutex::default(),
                count: watch::Sender::new(0),
            }),
        }
    }
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jobs").field("live", &self.live()).finish()
    }
}

impl Jobs {
    /// How many jobs have not settled.
    pub fn live(&self) -> usize {
        *self.inner.count.borrow()
    }

    /// Asks every job to stop, to be forced after `grace`.
    pub fn cancel_all(&self, grace: Duration) {
        let controls: Vec<_> = self.inner.live.lock().controls.values().cloned().collect();
        for control in controls {
            control.cancel_within(grace);
        }
    }

    /// Completes when every job has settled. Jobs may call tools until then: keep serving them.
    pub async fn settled(&self) {
        // The sender lives as long as this handle, so waiting cannot fail.
        let _ = self
            .inner
            .count
            .subscribe()
            .wait_for(|live| *live == 0)
            .await;
    }

    /// Counts a job until the entry goes.
    pub(super) fn enter(&self, control: TurnControl) -> Entry {
        let mut live = self.inner.live.lock();
        let id = live.next;
        live.next += 1;
        live.controls.insert(id, control);
        self.inner.count.send_replace(live.controls.len());
        Entry {
            id,
            jobs: self.clone(),
        }
    }
}

/// A job that counts as live.
pub(super) struct Entry {
    id: u64,
    jobs: Jobs,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let inner = &self.jobs.inner;
        let mut live = inner.live.lock();
        live.controls.remove(&self.id);
        inner.count.send_replace(live.controls.len());
    }
}
