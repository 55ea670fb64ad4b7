//! Driven entry points: coroutines that the owner runs to their end, for a future.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use mlua::{Function, MultiValue};
use tokio::sync::oneshot::{self, Receiver, Sender};

use crate::executor::{Executor, Step};
use crate::failure::Failure;
use crate::handlers::Start;
use crate::inbox::Inbox;
use crate::lanes::LaneId;

type Result = std::result::Result<MultiValue, Failure>;

/// A handler that somebody on the owner thread waits for.
pub(crate) struct Driven {
    id: u64,
    what: String,
    start: Option<(Function, MultiValue)>,
    sender: Sender<Result>,
}

impl Driven {
    /// What to run, unless nobody waits any more.
    pub(crate) fn begin(mut self) -> Option<(Self, Function, MultiValue)> {
        let (function, arguments) = self.start.take()?;
        (!self.sender.is_closed()).then_some((self, function, arguments))
    }

    pub(crate) fn finish(self, result: Result) {
        // Whoever waited may have gone.
        let _ = self.sender.send(result);
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn what(&self) -> &str {
        &self.what
    }
}

/// Waits for a driven entry point. Dropping it closes the coroutine, as soon as the owner looks.
#[must_use = "an entry point runs only while somebody waits for it"]
pub struct Drive {
    id: u64,
    inbox: Arc<Inbox>,
    receiver: Receiver<Result>,
    is_over: bool,
}

impl Drive {
    pub(crate) fn start(
        executor: &Rc<Executor>,
        what: &str,
        function: Function,
        arguments: MultiValue,
    ) -> Self {
        thread_local! {
            static LAST: Cell<u64> = const { Cell::new(0) };
        }
        let id = LAST.get() + 1;
        LAST.set(id);
        let (sender, receiver) = oneshot::channel();
        let driven = Driven {
            id,
            what: what.to_owned(),
            start: Some((function, arguments)),
            sender,
        };
        executor.push(LaneId::SESSION, Step::Start(Start::Driven(driven)));
        Self {
            id,
            inbox: Arc::clone(&executor.inbox),
            receiver,
            is_over: false,
        }
    }
}

impl Future for Drive {
    type Output = Result;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result> {
        let polled = self.receiver.poll_unpin(cx);
        polled.map(|result| {
            self.is_over = true;
            result.unwrap_or_else(|_| Err(Failure::gone("a handler")))
        })
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        if !self.is_over {
            let id = self.id;
            // Without an owner there is nothing to close.
            let _ = self
                .inbox
                .post(move |executor, lua| executor.drop_driven(lua, id));
        }
    }
}
