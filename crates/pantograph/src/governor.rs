//! One brake a provider, shared by every agent that asks it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::cancel::after;

/// Slows every agent on a provider once one of them is told to slow down.
///
/// After a rate limit or an overload no attempt starts before the time that the provider asked
/// for. Then one attempt goes first; each that gets an answer doubles how many may be under way,
/// until the brake is off. So sixteen agents make one probe and not sixteen retry storms. An
/// attempt that is neither answered nor refused for a while holds nobody up.
#[derive(Debug, Default)]
pub struct Governor {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    not_before: Option<Instant>,
    /// How many attempts may be under way; `None` while the brake is off.
    limit: Option<usize>,
    under_way: usize,
    /// When the limit let an attempt through last.
    admitted: Option<Instant>,
    /// How often the brake was put on; what began before tells nothing of the time after.
    epoch: u64,
}

/// Above this many attempts at once the brake is taken off.
const FREE: usize = 64;

/// Refusals come fast: after so long without one, another attempt may join.
const PATIENCE: Duration = Duration::from_secs(10);

impl Governor {
    /// Waits until an attempt may start.
    ///
    /// Dropping the future, or the permit without [`Permit::answered`], gives the place back.
    pub async fn admit(self: &Arc<Self>) -> Permit {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let admitted = self.state.lock().admit(Instant::now());
            let wait_until = match admitted {
                Ok(epoch) => {
                    return Permit {
                        governor: Arc::clone(self),
                        epoch,
                    };
                }
                Err(time) => time,
            };
            tokio::select! {
                () = tokio::time::sleep_until(wait_until) => {}
                () = changed => {}
            }
        }
    }

    /// The provider asked everyone to wait for `delay`.
    pub fn slow(&self, delay: Duration) {
        let mut state = self.state.lock();
        let until = after(delay);
        state.not_before = Some(state.not_before.map_or(until, |old| old.max(until)));
        state.limit = Some(1);
        state.epoch += 1;
        drop(state);
        self.changed.notify_waiters();
    }

    /// How long an attempt that starts now would wait at least.
    pub fn pause(&self) -> Duration {
        self.state.lock().not_before.map_or(Duration::ZERO, |time| {
            time.saturating_duration_since(Instant::now())
        })
    }
}

impl State {
    /// Lets one attempt through, or says when to ask again.
    fn admit(&mut self, now: Instant) -> Result<u64, Instant> {
        if let Some(time) = self.not_before.filter(|time| *time > now) {
            return Err(time);
        }
        self.not_before = None;
        if let Some(limit) = self.limit {
            let patient_until = self.admitted.map_or(now, |time| time + PATIENCE);
            if self.under_way >= limit && patient_until > now {
                return Err(patient_until);
            }
            self.admitted = Some(now);
        }
        self.under_way += 1;
        Ok(self.epoch)
    }
}

/// The right to one attempt. Dropped when the attempt has begun to answer, or failed.
#[derive(Debug)]
pub struct Permit {
    governor: Arc<Governor>,
    epoch: u64,
}

impl Permit {
    /// The provider has begun to answer: the brake loosens.
    pub fn answered(self) {
        let mut state = self.governor.state.lock();
        if state.epoch == self.epoch {
            state.limit = state
                .limit
                .map(|limit| limit * 2)
                .filter(|&limit| limit <= FREE);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.governor.state.lock().under_way -= 1;
        self.governor.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_probe_goes_first_and_success_opens_the_gate() {
        let governor = Arc::new(Governor::default());
        governor.slow(Duration::from_secs(5));
        let start = Instant::now();
        let first = governor.admit().await;
        assert_eq!(start.elapsed(), Duration::from_secs(5));
        let mut second = std::pin::pin!(governor.admit());
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        first.answered();
        let second = second.await;
        let _third = governor.admit().await;
        let mut fourth = std::pin::pin!(governor.admit());
        assert!(futures_util::poll!(fourth.as_mut()).is_pending());
        drop(second);
        fourth.await.answered();
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_probe_holds_nobody_up_for_long() {
        let governor = Arc::new(Governor::default());
        governor.slow(Duration::from_secs(1));
        let _probe = governor.admit().await;
        let start = Instant::now();
        let _second = governor.admit().await;
        assert_eq!(start.elapsed(), PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_limit_pushes_everyone_back() {
        let governor = Arc::new(Governor::default());
        governor.slow(Duration::from_secs(1));
        let start = Instant::now();
        let waiting = tokio::spawn({
            let governor = Arc::clone(&governor);
            async move { drop(governor.admit().await) }
        });
        tokio::task::yield_now().await;
        governor.slow(Duration::from_secs(10));
        waiting.await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_secs(10));
    }
}
