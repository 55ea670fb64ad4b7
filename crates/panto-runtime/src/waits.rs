//! What the owner thread waits for, one future each. They are polled when they are woken, and
//! only then.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::future::LocalBoxFuture;

use crate::inbox::Inbox;

/// The futures, and what each is for.
pub(crate) struct Waits<T> {
    inbox: Arc<Inbox>,
    last: Cell<u64>,
    waits: RefCell<HashMap<u64, Wait<T>>>,
}

struct Wait<T> {
    future: LocalBoxFuture<'static, ()>,
    waker: Waker,
    then: T,
}

impl<T> Waits<T> {
    pub(crate) fn new(inbox: &Arc<Inbox>) -> Self {
        Self {
            inbox: Arc::clone(inbox),
            last: Cell::new(0),
            waits: RefCell::default(),
        }
    }

    /// Waits for a future. `then` comes back from [`Waits::woken`] with the key that this gives,
    /// or at once if there is nothing to wait for.
    pub(crate) fn add(
        &self,
        future: impl Future<Output = ()> + 'static,
        then: T,
    ) -> Result<u64, T> {
        let key = self.last.get() + 1;
        self.last.set(key);
        let wait = Wait {
            future: Box::pin(future),
            waker: self.inbox.waker(key),
            then,
        };
        self.poll(key, wait).map_or(Ok(key), Err)
    }

    /// Waits no longer.
    pub(crate) fn remove(&self, key: u64) -> Option<T> {
        let wait = self.waits.borrow_mut().remove(&key);
        wait.map(|wait| wait.then)
    }

    /// A wait may be over; gives what it was for if it is.
    pub(crate) fn woken(&self, key: u64) -> Option<T> {
        let wait = self.waits.borrow_mut().remove(&key)?;
        self.poll(key, wait)
    }

    /// Polls a future while nothing is borrowed, and keeps it if it is not ready.
    fn poll(&self, key: u64, mut wait: Wait<T>) -> Option<T> {
        let mut context = Context::from_waker(&wait.waker);
        match wait.future.as_mut().poll(&mut context) {
            Poll::Ready(()) => Some(wait.then),
            Poll::Pending => {
                self.waits.borrow_mut().insert(key, wait);
                None
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.waits.borrow().len()
    }

    /// Takes everything.
    pub(crate) fn clear(&self) {
        let waits = std::mem::take(&mut *self.waits.borrow_mut());
        drop(waits);
    }
}
