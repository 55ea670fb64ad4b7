//! How many streams there are and were, for tests that wait for one.

use std::sync::Arc;

use tokio::sync::watch;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) requests: usize,
    pub(crate) open: usize,
    pub(crate) peak: usize,
    pub(crate) cancelled: usize,
}

/// The counts, and news of them.
pub(crate) type SharedCounts = Arc<watch::Sender<Counts>>;

/// Counts a stream as open for as long as it lives.
pub(crate) struct OpenStream {
    counts: SharedCounts,
}

impl OpenStream {
    pub(crate) fn new(counts: &SharedCounts) -> Self {
        counts.send_modify(|counts| {
            counts.open += 1;
            counts.peak = counts.peak.max(counts.open);
        });
        Self {
            counts: Arc::clone(counts),
        }
    }

    pub(crate) fn cancelled(&self) {
        self.counts.send_modify(|counts| counts.cancelled += 1);
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.counts.send_modify(|counts| counts.open -= 1);
    }
}
