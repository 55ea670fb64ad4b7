//! Where time and identity come from, so that a test can fix both.

use jiff::Timestamp;
use uuid::Uuid;

/// Gives the wall clock and fresh ids.
///
/// Durations (limits, delays, grace periods) are measured with tokio's clock, which
/// tests pause; this trait is for what is written down.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// A UUID that was never given before; sorts by time where it can.
    fn fresh_id(&self) -> Uuid;
}

/// The machine's clock and UUIDv7 ids.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn fresh_id(&self) -> Uuid {
        Uuid::now_v7()
    }
}
