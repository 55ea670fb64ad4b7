//! What other threads bring to the owner thread, and the bell that wakes it.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Wake, Waker};

use mlua::Lua;
use pantograph::ToolBatch;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use crate::executor::Executor;

/// Something to do on the owner thread.
pub(crate) enum Unit {
    /// Calls of tools: those of everybody, or the one of an agent's own.
    Batch(ToolBatch, Handlers),
    /// A call that runs to its end at once: of a protocol, a store or a hook.
    Call(Call),
    /// The same, before all that waits: it ends something.
    Urgent(Call),
    /// A wait may be over.
    Woken(u64),
}

/// Where the handlers of a batch are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handlers {
    /// By name, in what all agents share.
    Shared,
    /// The one that an agent registered for itself.
    Own(u64),
}

/// A call of Lua that other threads wait for.
pub(crate) type Call = Box<dyn FnOnce(&Rc<Executor>, &Lua) + Send>;

/// The Lua state is gone, or going.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

/// The queue; any thread may push. Locked for moments.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Default)]
struct State {
    units: VecDeque<Unit>,
    is_closed: bool,
}

impl Inbox {
    /// Adds something to do, and wakes the owner; gives it back if that is gone.
    pub(crate) fn push(&self, unit: Unit) -> Result<(), Unit> {
        let is_first = {
            let mut state = self.state.lock();
            if state.is_closed {
                return Err(unit);
            }
            state.units.push_back(unit);
            state.units.len() == 1
        };
        // Who has not been there since an earlier unit was rung for will see this one too.
        if is_first {
            self.bell.notify_one();
        }
        Ok(())
    }

    /// Has `call` run on the owner thread, and gives what it gave.
    ///
    /// When the future is dropped before the call has begun, it does not run.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Rc<Executor>, &Lua) -> T + Send + 'static,
    ) -> Result<T, Gone> {
        let (sender, receiver) = oneshot::channel();
        self.post(move |executor, lua| {
            if !sender.is_closed() {
                // Whoever waited may have gone meanwhile.
                let _ = sender.send(call(executor, lua));
            }
        })?;
        receiver.await.map_err(|_| Gone)
    }

    /// Has `call` run on the owner thread.
    pub(crate) fn post(
        &self,
        call: impl FnOnce(&Rc<Executor>, &Lua) + Send + 'static,
    ) -> Result<(), Gone> {
        self.push(Unit::Call(Box::new(call))).map_err(|_| Gone)
    }

    /// Has `call` run on the owner thread, before all other work there.
    pub(crate) fn post_urgent(
        &self,
        call: impl FnOnce(&Rc<Executor>, &Lua) + Send + 'static,
    ) -> Result<(), Gone> {
        self.push(Unit::Urgent(Box::new(call))).map_err(|_| Gone)
    }

    /// Takes everything.
    pub(crate) fn take(&self) -> VecDeque<Unit> {
        std::mem::take(&mut self.state.lock().units)
    }

    /// Takes nothing more, and gives what was there.
    pub(crate) fn close(&self) -> VecDeque<Unit> {
        let mut state = self.state.lock();
        state.is_closed = true;
        std::mem::take(&mut state.units)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state.lock().units.is_empty()
    }

    /// Wakes the owner for something that it did itself.
    pub(crate) fn ring(&self) {
        self.bell.notify_one();
    }

    /// Completes when the bell has rung since this was last awaited.
    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }

    /// A waker that brings `key` to the owner.
    pub(crate) fn waker(self: &Arc<Self>, key: u64) -> Waker {
        Waker::from(Arc::new(Ring {
            key,
            inbox: Arc::clone(self),
        }))
    }
}

struct Ring {
    key: u64,
    inbox: Arc<Inbox>,
}

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Without an owner nobody waits any more.
        let _ = self.inbox.push(Unit::Woken(self.key));
    }
}
