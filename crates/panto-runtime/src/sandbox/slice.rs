//! One slice of a sandbox's work, as a future and as a call that blocks.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::limits::Reason;
use super::state::Ended;
use super::worker::{Command, Link, Report};
use super::{Outcome, Request, Sandbox, Stage};

/// What a sandbox does until it ends or parks, for no longer than the time of its limits.
///
/// It runs whether or not it is polled, but for immediate functions, which run where it is polled.
/// Dropped before its outcome, it ends the sandbox ([`Reason::Abandoned`]). As a future it needs a tokio
/// runtime with a timer.
#[must_use = "a slice that nobody waits for ends its sandbox"]
pub struct Slice<'a> {
    sandbox: &'a mut Sandbox,
    /// The thread, while it works.
    link: Option<Link>,
    /// An outcome for which no thread is needed.
    known: Option<Outcome>,
    deadline: Instant,
    timer: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl<'a> Slice<'a> {
    pub(super) fn begin(sandbox: &'a mut Sandbox, command: Command) -> Self {
        let (link, reason) = match mem::replace(&mut sandbox.stage, Stage::Dead(Reason::Abandoned))
        {
            Stage::Idle(link) | Stage::Parked(link) => {
                link.tell(command);
                (Some(link), Reason::Abandoned)
            }
            Stage::Dead(reason) => (None, reason),
        };
        sandbox.stage = Stage::Dead(reason);
        Self {
            deadline: sandbox.limits.deadline(),
            sandbox,
            link,
            known: Some(Outcome::Killed(reason)),
            timer: None,
        }
    }

    pub(super) fn refused(sandbox: &'a mut Sandbox, message: &str) -> Self {
        Self {
            sandbox,
            link: None,
            known: Some(Outcome::Failed(message.to_owned())),
            deadline: Instant::now(),
            timer: None,
        }
    }

    /// Blocks until the outcome is there.
    pub fn wait(mut self) -> Outcome {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(outcome) = self.poll_thread(&mut context) {
                return outcome;
            }
            match self.left() {
                Some(left) => thread::park_timeout(left),
                None => return self.killed(Reason::Time),
            }
        }
    }

    /// The outcome if it is there. Immediate functions that are called meanwhile are run.
    fn poll_thread(&mut self, context: &mut Context<'_>) -> Poll<Outcome> {
        while let Some(link) = &mut self.link {
            match link.reports.poll_recv(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Report::Call(function, arguments))) => {
                    let asked = Instant::now();
                    let answer = self.sandbox.given.call(function, arguments);
                    link.tell(Command::Answer(answer));
                    self.deadline += asked.elapsed();
                    self.timer = None;
                }
                Poll::Ready(Some(Report::Ended(ended))) => {
                    return Poll::Ready(self.ended(ended));
                }
                Poll::Ready(None) => self.link = None,
            }
        }
        let known = self.known.take();
        Poll::Ready(known.unwrap_or(Outcome::Killed(Reason::Abandoned)))
    }

    fn ended(&mut self, ended: Ended) -> Outcome {
        let (outcome, is_parked) = match ended {
            Ended::Killed(reason) => return self.killed(reason),
            Ended::Finished(values) => (Outcome::Finished(values), false),
            Ended::Failed(message) => (Outcome::Failed(message), false),
            Ended::Parked(function, arguments) => {
                let function = self.sandbox.given.name(function);
                (
                    Outcome::Parked(Request {
                        function,
                        arguments,
                    }),
                    true,
                )
            }
        };
        if let Some(link) = self.link.take() {
            self.sandbox.stage = if is_parked {
                Stage::Parked(link)
            } else {
                Stage::Idle(link)
            };
        }
        outcome
    }

    fn left(&self) -> Option<Duration> {
        self.deadline
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
    }

    /// Leaves the thread to itself: it sees that at its next instruction.
    fn killed(&mut self, reason: Reason) -> Outcome {
        self.link = None;
        self.sandbox.stage = Stage::Dead(reason);
        Outcome::Killed(reason)
    }
}

impl Future for Slice<'_> {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        if let Poll::Ready(outcome) = self.poll_thread(context) {
            return Poll::Ready(outcome);
        }
        let deadline = tokio::time::Instant::from_std(self.deadline);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(self.killed(Reason::Time)),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Wakes a thread that waits for a slice.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
