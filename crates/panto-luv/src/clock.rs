//! The loop's time: a cached reading in milliseconds, and the timers that are due by it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

use crate::timer::Timer;

/// When a timer is due, and which of those due at once comes first.
pub(crate) type DueKey = (u64, u64);

/// Time and timers of one loop.
///
/// Time is tokio's, which a host's tests may pause, counted from the monotonic clock's reading at the beginning.
pub(crate) struct Clock {
    origin: (Instant, u64),
    now: Cell<u64>,
    next_sequence: Cell<u64>,
    due: RefCell<BTreeMap<DueKey, Rc<Timer>>>,
}

/// Nanoseconds of the monotonic clock.
pub(crate) fn hrtime() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds * 1_000_000_000 + nanos
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            origin: (Instant::now(), hrtime()),
            now: Cell::default(),
            next_sequence: Cell::default(),
            due: RefCell::default(),
        }
    }
}

impl Clock {
    fn nanoseconds(&self) -> u64 {
        let (instant, nanoseconds) = self.origin;
        let elapsed = u64::try_from(instant.elapsed().as_nanos()).unwrap_or(u64::MAX);
        nanoseconds.saturating_add(elapsed)
    }

    pub(crate) fn now(&self) -> u64 {
        self.now.get()
    }

    pub(crate) fn update(&self) {
        self.now.set(self.nanoseconds() / 1_000_000);
    }

    /// Files a timer, and returns the key under which it can be taken out again.
    pub(crate) fn schedule(&self, after_ms: u64, timer: Rc<Timer>) -> DueKey {
        let sequence = self.next_sequence.get();
        self.next_sequence.set(sequence + 1);
        let key = (self.now.get().saturating_add(after_ms), sequence);
        self.due.borrow_mut().insert(key, timer);
        key
    }

    pub(crate) fn unschedule(&self, key: DueKey) {
        self.due.borrow_mut().remove(&key);
    }

    /// Takes out every timer that is due by the cached time, the earliest first.
    pub(crate) fn take_due(&self) -> Vec<(DueKey, Rc<Timer>)> {
        let mut due = self.due.borrow_mut();
        let later = due.split_off(&(self.now.get().saturating_add(1), 0));
        std::mem::replace(&mut *due, later).into_iter().collect()
    }

    /// How long until a timer is due by the real time: zero if one is, `None` if there is none.
    pub(crate) fn until_due(&self) -> Option<Duration> {
        let due = self.due.borrow();
        let ((due_ms, _), _) = due.first_key_value()?;
        let due_ns = due_ms.saturating_mul(1_000_000);
        Some(Duration::from_nanos(
            due_ns.saturating_sub(self.nanoseconds()),
        ))
    }
}
