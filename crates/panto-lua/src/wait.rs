//! How Lua code waits for what happens on another thread.
//!
//! Runs on the owner thread. A function that has to wait gives the shim a [`Pending`]; the shim,
//! which is Lua and may therefore yield, asks the host's [`Waiter`] what to do.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, Shared};
use mlua::{Lua, UserData};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::fault::{Fault, Reply};

/// Completes when what Lua waits for is there.
///
/// It needs no reactor of its own: any executor may poll it, also a thread that parks between.
pub struct Ready {
    future: Arrival,
    wanted: Wanted,
}

type Arrival = Shared<LocalBoxFuture<'static, ()>>;

impl Ready {
    /// Tells whether the wait that this is for still goes on.
    pub fn wanted(&self) -> Wanted {
        self.wanted.clone()
    }
}

impl Future for Ready {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.future.poll_unpin(cx)
    }
}

/// Whether a coroutine still waits where it was parked. Somebody else may have resumed it since:
/// then it must not be resumed for this wait.
#[derive(Debug, Clone)]
pub struct Wanted {
    round: u64,
    current: Rc<Cell<u64>>,
}

impl Wanted {
    /// Whether the wait goes on.
    pub fn is_wanted(&self) -> bool {
        self.current.get() == self.round
    }
}

/// Decides how the code that runs now may wait. Without one every wait blocks the thread; a host
/// with a loop parks coroutines instead.
pub trait Waiter {
    /// Called on the owner thread, inside a Lua function that cannot go on before `ready` is.
    ///
    /// The coroutine that waits is [`Lua::current_thread`].
    fn wait(&self, lua: &Lua, place: Place, ready: Ready) -> Waiting;
}

/// Whether the code that waits may yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It runs in a coroutine, with nothing but Lua between the two.
    CanYield,
    /// It runs on the main Lua thread, or below a function that cannot be yielded across, such as
    /// `table.sort` or a metamethod that Rust called.
    CannotYield,
}

/// What a [`Waiter`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// It blocked, and `ready` is complete.
    Done,
    /// It will resume the running coroutine, without values, once `ready` is complete and if
    /// that [is still wanted](Wanted::is_wanted). The coroutine yields now, and may be resumed
    /// too early: then it waits again.
    Parked,
    /// The code that runs now must not wait. The message is raised at its caller.
    Refused(String),
}

/// Blocks the owner thread until the wait is over.
pub(crate) struct Blocking {
    /// Where what is waited for happens: on other threads, or not at all.
    pub(crate) runtime: Handle,
}

impl Waiter for Blocking {
    fn wait(&self, _lua: &Lua, _place: Place, ready: Ready) -> Waiting {
        if waits_for_itself(&self.runtime) {
            return Waiting::Refused(WAITS_FOR_ITSELF.to_owned());
        }
        block_on(ready);
        Waiting::Done
    }
}

/// Why a wait would never end.
pub(crate) const WAITS_FOR_ITSELF: &str = "the runtime of the agents is driven by this thread, \
     so nothing can be waited for here; embed the module with a runtime that has threads of its own";

/// Whether the runtime can do nothing while this thread waits.
pub(crate) fn waits_for_itself(runtime: &Handle) -> bool {
    let inside = Handle::try_current().is_ok_and(|current| current.id() == runtime.id());
    inside && runtime.runtime_flavor() == RuntimeFlavor::CurrentThread
}

/// Runs a future to its end on this thread, which sleeps while there is nothing to do. Unlike
/// tokio's own it may be used inside a runtime.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    // A task's budget is only given back when the task returns, which it does not here.
    let mut future = pin!(tokio::task::unconstrained(future));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::park();
    }
}

/// Turns what was waited for into what Lua gets.
type Finish = Box<dyn FnOnce(&Lua) -> Reply>;

/// A function's answer that is not there yet.
pub(crate) struct Pending {
    ready: Arrival,
    answer: Rc<RefCell<Option<Finish>>>,
    /// How often somebody has begun or ended to wait.
    round: Rc<Cell<u64>>,
}

impl UserData for Pending {}

impl Pending {
    /// Waits for `future`; `finish` makes Lua values of what it gives.
    pub(crate) fn new<T: 'static>(
        future: impl Future<Output = T> + 'static,
        finish: impl FnOnce(&Lua, T) -> Reply + 'static,
    ) -> Self {
        let answer: Rc<RefCell<Option<Finish>>> = Rc::default();
        let slot = Rc::clone(&answer);
        let ready: LocalBoxFuture<'static, ()> = Box::pin(async move {
            let output = future.await;
            *slot.borrow_mut() = Some(Box::new(move |lua| finish(lua, output)));
        });
        Self {
            ready: ready.shared(),
            answer,
            round: Rc::default(),
        }
    }

    /// What there is to do before the answer can be taken.
    pub(crate) fn wait(&self, lua: &Lua, waiter: &dyn Waiter, place: Place) -> Waiting {
        let round = self.round.get() + 1;
        self.round.set(round);
        if self.ready.clone().now_or_never().is_some() {
            return Waiting::Done;
        }
        let ready = Ready {
            future: self.ready.clone(),
            wanted: Wanted {
                round,
                current: Rc::clone(&self.round),
            },
        };
        waiter.wait(lua, place, ready)
    }

    /// The answer, which is taken once.
    pub(crate) fn take(&self, lua: &Lua) -> Reply {
        self.round.set(self.round.get() + 1);
        let finish = self.answer.borrow_mut().take();
        match finish {
            Some(finish) => finish(lua),
            None => Err(Fault::expected("the wait ended without an answer")),
        }
    }
}
