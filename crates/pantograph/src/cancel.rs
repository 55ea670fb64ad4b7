//! Two-phase cancellation: ask first, force after a grace period.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long work may go on after it was asked to stop, unless said otherwise.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(2);

/// The instant so long from now; for a time past all reckoning, one in the far future.
pub(crate) fn after(time: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + FAR)
}

/// A two-phase cancellation signal; clones share it.
///
/// Asking is idempotent. A later ask can bring the deadline forward, never push it back.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    asked: CancellationToken,
    /// The same as `asked`, without its lock: read once an event.
    flag: AtomicBool,
    deadline: Mutex<Option<Instant>>,
    moved: Notify,
}

impl Cancel {
    /// A signal that nobody has raised yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether both are clones of one signal.
    pub(crate) fn is_same(&self, other: &Cancel) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Asks the work to stop within [`DEFAULT_GRACE`].
    pub fn ask(&self) {
        self.ask_within(DEFAULT_GRACE);
    }

    /// Asks the work to stop, to be forced after `grace`.
    pub fn ask_within(&self, grace: Duration) {
        let wanted = after(grace);
        {
            let mut deadline = self.inner.deadline.lock();
            *deadline = Some(deadline.map_or(wanted, |old| old.min(wanted)));
        }
        self.inner.flag.store(true, Ordering::Release);
        self.inner.asked.cancel();
        self.inner.moved.notify_waiters();
    }

    /// Whether the work was asked to stop.
    pub fn is_asked(&self) -> bool {
        self.inner.flag.load(Ordering::Acquire)
    }

    /// Completes when the work is asked to stop.
    ///
    /// Dropping the future loses nothing.
    pub async fn asked(&self) {
        self.inner.asked.cancelled().await;
    }

    /// The token that is cancelled when the work is asked to stop.
    pub fn token(&self) -> &CancellationToken {
        &self.inner.asked
    }

    /// When the work is forced to stop; `None` as long as nobody asked.
    pub fn deadline(&self) -> Option<Instant> {
        *self.inner.deadline.lock()
    }

    /// Completes when the grace period is over.
    ///
    /// Dropping the future loses nothing.
    pub async fn forced(&self) {
        self.asked().await;
        loop {
            let mut moved = std::pin::pin!(self.inner.moved.notified());
            moved.as_mut().enable();
            let Some(deadline) = self.deadline() else {
                moved.await;
                continue;
            };
            tokio::select! {
                () = tokio::time::sleep_until(deadline) => {
                    if self.deadline().is_some_and(|now| now <= Instant::now()) {
                        return;
                    }
                }
                () = moved => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn forces_after_the_grace_period_and_an_earlier_deadline_wins() {
        let cancel = Cancel::new();
        let start = Instant::now();
        let forced = tokio::spawn({
            let cancel = cancel.clone();
            async move { cancel.forced().await }
        });
        cancel.ask_within(Duration::from_secs(10));
        cancel.ask_within(Duration::from_secs(60));
        tokio::task::yield_now().await;
        cancel.ask_within(Duration::from_secs(1));
        forced.await.unwrap();
        assert_eq!(start.elapsed().as_secs(), 1);
    }
}
