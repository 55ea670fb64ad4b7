//! What waits to be done in the loop's pending phase: jobs of the owner thread's own, and jobs from other threads.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::event_loop::Uv;

/// Something to do on the owner thread, outside any other callback.
pub(crate) type Job = Box<dyn FnOnce(&Uv)>;
type RemoteJob = Box<dyn FnOnce(&Uv) + Send>;

/// Both queues, and the bell that wakes a waiting loop.
#[derive(Default)]
pub(crate) struct Queue {
    local: RefCell<VecDeque<Job>>,
    pub(crate) inbox: Arc<Inbox>,
}

/// The part that other threads see.
#[derive(Default)]
pub(crate) struct Inbox {
    jobs: Mutex<VecDeque<RemoteJob>>,
    bell: Notify,
}

impl Inbox {
    /// Adds a job, and wakes the loop if it waits.
    pub(crate) fn push(&self, job: RemoteJob) {
        self.jobs.lock().push_back(job);
        self.bell.notify_one();
    }

    pub(crate) fn ring(&self) {
        self.bell.notify_one();
    }
}

impl Queue {
    pub(crate) fn push(&self, job: impl FnOnce(&Uv) + 'static) {
        self.local.borrow_mut().push_back(Box::new(job));
        self.inbox.ring();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.local.borrow().is_empty() && self.inbox.jobs.lock().is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.local.borrow().len() + self.inbox.jobs.lock().len()
    }

    /// Resolves when the bell has rung since this was last awaited.
    pub(crate) async fn rung(&self) {
        self.inbox.bell.notified().await;
    }

    /// Takes what is there now. What these jobs add is for the next round, so that a job that queues
    /// itself again cannot keep the loop from its other phases.
    pub(crate) fn take(&self) -> Vec<Job> {
        let mut jobs: Vec<Job> = self.local.borrow_mut().drain(..).collect();
        let remote = std::mem::take(&mut *self.inbox.jobs.lock());
        jobs.extend(remote.into_iter().map(|job| job as Job));
        jobs
    }
}
