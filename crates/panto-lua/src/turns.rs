//! The turns that Lua has started, for the host that has to end them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pantograph::TurnControl;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The turns of one Lua state that have not settled: of jobs, closed ones included, and of
/// streams. Clones share them; any thread may use it.
#[derive(Clone)]
pub struct Turns {
    inner: Arc<Inner>,
}

struct Inner {
    live: Mutex<Live>,
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct Live {
    next: u64,
    turns: HashMap<u64, Turn>,
    /// Whether turns that begin are ended at once.
    is_ending: bool,
}

struct Turn {
    control: TurnControl,
    /// Raised when nobody will read the turn any more.
    unread: Arc<watch::Sender<bool>>,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            inner: Arc::new(Inner {
                live: Mutex::default(),
                count: watch::Sender::new(0),
            }),
        }
    }
}

impl std::fmt::Debug for Turns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turns").field("live", &self.live()).finish()
    }
}

impl Turns {
    /// How many turns have not settled.
    pub fn live(&self) -> usize {
        *self.inner.count.borrow()
    }

    /// Asks every turn to stop, to be forced after `grace`. A stream ends with that, without
    /// its last events, since its reader may be gone.
    pub fn cancel_all(&self, grace: Duration) {
        let live = self.inner.live.lock();
        let turns: Vec<_> = live
            .turns
            .values()
            .map(|turn| (turn.control.clone(), Arc::clone(&turn.unread)))
            .collect();
        drop(live);
        for (control, unread) in turns {
            control.cancel_within(grace);
            unread.send_replace(true);
        }
    }

    /// Ends every turn as [`cancel_all`](Self::cancel_all) does, and from now on every other as it
    /// begins: Lua code may start some while it is being stopped.
    pub fn end_all(&self, grace: Duration) {
        self.inner.live.lock().is_ending = true;
        self.cancel_all(grace);
    }

    /// Completes when every turn has settled. Turns may call tools until then: keep serving them.
    pub async fn settled(&self) {
        // The sender lives as long as this handle, so waiting cannot fail.
        let _ = self
            .inner
            .count
            .subscribe()
            .wait_for(|live| *live == 0)
            .await;
    }

    /// Counts a turn until the entry goes.
    pub(crate) fn enter(&self, control: TurnControl) -> Entry {
        let unread = Arc::new(watch::Sender::new(false));
        let mut live = self.inner.live.lock();
        let id = live.next;
        live.next += 1;
        let is_ending = live.is_ending;
        let turn = Turn {
            control: control.clone(),
            unread: Arc::clone(&unread),
        };
        live.turns.insert(id, turn);
        self.inner.count.send_replace(live.turns.len());
        drop(live);
        if is_ending {
            control.cancel_within(Duration::ZERO);
            unread.send_replace(true);
        }
        Entry {
            id,
            turns: self.clone(),
            unread,
        }
    }
}

/// A turn that counts as live.
pub(crate) struct Entry {
    id: u64,
    turns: Turns,
    unread: Arc<watch::Sender<bool>>,
}

impl Entry {
    /// Completes when the host has ended all turns.
    pub(crate) async fn unread(&self) {
        // The sender lives as long as this entry, so waiting cannot fail.
        let _ = self.unread.subscribe().wait_for(|unread| *unread).await;
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let inner = &self.turns.inner;
        let mut live = inner.live.lock();
        live.turns.remove(&self.id);
        inner.count.send_replace(live.turns.len());
    }
}
