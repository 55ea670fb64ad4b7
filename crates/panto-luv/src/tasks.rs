//! The loop's own futures: each waits for a descriptor, a child or a signal, and queues a job. They are polled
//! while the loop waits and at no other time, so no executor but the owner's `block_on` is needed.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::task::AtomicWaker;

/// The set of futures.
#[derive(Default)]
pub(crate) struct Tasks {
    /// Added since the last poll. Kept apart, as a future that is being polled may add others.
    added: RefCell<Vec<LocalBoxFuture<'static, ()>>>,
    running: RefCell<FuturesUnordered<LocalBoxFuture<'static, ()>>>,
}

/// Ends its task when it is dropped.
#[must_use]
pub(crate) struct TaskGuard(Rc<Ending>);

#[derive(Default)]
struct Ending {
    over: Cell<bool>,
    waker: AtomicWaker,
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.over.set(true);
        self.0.waker.wake();
    }
}

impl Tasks {
    /// Runs a future until it ends or its guard is dropped. It must not keep the loop itself alive.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + 'static) -> TaskGuard {
        let ending = Rc::new(Ending::default());
        let mut future: LocalBoxFuture<'static, ()> = Box::pin(future);
        let watched = Rc::clone(&ending);
        self.added
            .borrow_mut()
            .push(Box::pin(std::future::poll_fn(move |cx| {
                watched.waker.register(cx.waker());
                if watched.over.get() {
                    return Poll::Ready(());
                }
                future.as_mut().poll(cx)
            })));
        TaskGuard(ending)
    }

    /// Runs a future until it ends.
    pub(crate) fn spawn_detached(&self, future: impl Future<Output = ()> + 'static) {
        self.added.borrow_mut().push(Box::pin(future));
    }

    /// Polls every future that can go on. `cx` is woken when another can.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) {
        loop {
            let added = std::mem::take(&mut *self.added.borrow_mut());
            let mut running = self.running.borrow_mut();
            running.extend(added);
            while let Poll::Ready(Some(())) = running.poll_next_unpin(cx) {}
            drop(running);
            if self.added.borrow().is_empty() {
                return;
            }
        }
    }
}
