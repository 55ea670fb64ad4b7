//! The phases of one iteration, in libuv's order: timers, pending, idle, prepare, wait, check, closing.

use std::future::Future;
use std::task::Poll;
use std::time::Duration;

use crate::closing;
use crate::event_loop::Uv;
use crate::steps::Step;
use crate::timer;

impl Uv {
    /// Update time, and run what is due.
    pub(super) fn timers_phase(&self) {
        self.clock().update();
        timer::run_due(self);
    }

    /// Run what waits in the queue.
    pub(super) fn pending_phase(&self) {
        let jobs = self.queue().take();
        let metrics = self.metrics();
        metrics.events.set(metrics.events.get() + jobs.len() as u64);
        for job in jobs {
            job(self);
        }
    }

    pub(super) fn before_wait(&self) {
        let count = &self.metrics().loop_count;
        count.set(count.get() + 1);
        self.pending_phase();
        self.steps().run(self, Step::Idle);
        self.steps().run(self, Step::Prepare);
    }

    /// What the wait brought, and the rest of the iteration.
    pub(super) fn after_wait(&self) {
        self.clock().update();
        self.pending_phase();
        self.steps().run(self, Step::Check);
        closing::run(self);
    }

    /// Whether there is something to do without waiting.
    pub(super) fn must_not_wait(&self) -> bool {
        !self.queue().is_empty()
            || self.0.stopped.get()
            || !self.closing().borrow().is_empty()
            || self.steps().has(Step::Idle)
    }

    /// How long the wait may last: `None` is forever.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        if self.must_not_wait() || !self.is_alive() {
            return Some(Duration::ZERO);
        }
        self.clock().until_due()
    }

    /// Polls for events: at most until `timeout`, or the first event.
    pub(super) async fn wait(&self, timeout: Option<Duration>) {
        let begun = self
            .metrics()
            .measures_idle
            .get()
            .then(crate::clock::hrtime);
        self.poll_tasks().await;
        if timeout.is_some_and(|timeout| timeout.is_zero()) || !self.queue().is_empty() {
            // Lets the runtime look for events; it does so only when this future is pending.
            tokio::task::yield_now().await;
            self.poll_tasks().await;
        } else {
            tokio::select! {
                biased;
                () = self.events() => {}
                () = sleep(timeout) => {}
            }
        }
        if let Some(begun) = begun {
            let idle = &self.metrics().idle_ns;
            idle.set(idle.get() + crate::clock::hrtime().saturating_sub(begun));
        }
    }

    /// Polls each task that can go on, once.
    pub(super) async fn poll_tasks(&self) {
        std::future::poll_fn(|cx| {
            self.tasks().poll(cx);
            Poll::Ready(())
        })
        .await;
    }

    /// Resolves when there is something to do at once.
    async fn events(&self) {
        while !self.must_not_wait() {
            self.stirred().await;
        }
    }

    /// Resolves when something may have changed. Polls the tasks meanwhile.
    pub(super) async fn stirred(&self) {
        let mut rung = std::pin::pin!(self.queue().rung());
        std::future::poll_fn(|cx| {
            self.tasks().poll(cx);
            if self.must_not_wait() {
                return Poll::Ready(());
            }
            rung.as_mut().poll(cx)
        })
        .await;
    }
}

/// Sleeps; forever if there is no bound.
pub(super) async fn sleep(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}
