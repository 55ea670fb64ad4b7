//! The handlers that have begun and not ended, and who waits for each.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::sync::Arc;

use mlua::Thread;
use pantograph::{CallId, ToolReply};
use tokio::sync::Notify;

use crate::driven::Driven;
use crate::frame::ContextId;
use crate::handlers::Batch;

/// The handlers that have begun and not ended.
#[derive(Default)]
pub(crate) struct Live {
    last: Cell<u64>,
    running: RefCell<HashMap<ContextId, (u64, Running)>>,
    ended: Notify,
}

/// Names a handler, also after it has ended: what has its context's address then is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HandlerKey {
    context: ContextId,
    serial: u64,
}

/// A handler that runs, or is parked.
pub(crate) struct Running {
    pub(crate) thread: Thread,
    pub(crate) ending: Ending,
}

/// Who waits for a handler's end.
pub(crate) enum Ending {
    Tool(ToolCall),
    Driven(Driven),
}

/// A tool call that runs.
pub(crate) struct ToolCall {
    pub(crate) id: CallId,
    pub(crate) name: Arc<str>,
    pub(crate) reply: ToolReply,
    pub(crate) batch: Rc<Batch>,
}

impl ToolCall {
    /// How messages name it.
    pub(crate) fn what(&self) -> String {
        format!("the tool `{}`", self.name)
    }
}

impl Live {
    pub(crate) fn len(&self) -> usize {
        self.running.borrow().len()
    }

    pub(crate) fn insert(&self, context: ContextId, running: Running) {
        let serial = self.last.get() + 1;
        self.last.set(serial);
        let before = self.running.borrow_mut().insert(context, (serial, running));
        // With nothing borrowed. There is one if Lua had no memory left to tell of its end.
        drop(before);
    }

    pub(crate) fn take(&self, context: ContextId) -> Option<Running> {
        self.take_if(context, |_| true)
    }

    pub(crate) fn take_if(
        &self,
        context: ContextId,
        which: impl Fn(&Running) -> bool,
    ) -> Option<Running> {
        let taken = {
            let mut all = self.running.borrow_mut();
            match all.entry(context) {
                Entry::Occupied(entry) if which(&entry.get().1) => Some(entry.remove().1),
                _ => None,
            }
        };
        self.note_end();
        taken
    }

    /// The handler that has a context, if it has not ended.
    pub(crate) fn key(&self, context: ContextId) -> Option<HandlerKey> {
        let running = self.running.borrow();
        let (serial, _) = running.get(&context)?;
        Some(HandlerKey {
            context,
            serial: *serial,
        })
    }

    pub(crate) fn take_where(&self, which: impl Fn(&Running) -> bool) -> Vec<Running> {
        let taken = {
            let mut all = self.running.borrow_mut();
            let taken = all.extract_if(|_, (_, running)| which(running));
            taken.map(|(_, (_, running))| running).collect()
        };
        self.note_end();
        taken
    }

    /// Wakes whoever waits for the last to end.
    fn note_end(&self) {
        if self.running.borrow().is_empty() {
            self.ended.notify_waiters();
        }
    }

    /// Completes when no handler runs.
    pub(crate) async fn all_ended(&self) {
        loop {
            let ended = self.ended.notified();
            if self.len() == 0 {
                return;
            }
            ended.await;
        }
    }

    /// Looks at a tool call, if it runs.
    pub(crate) fn call<T>(&self, key: HandlerKey, look: impl FnOnce(&ToolCall) -> T) -> Option<T> {
        match self.running.borrow().get(&key.context) {
            Some((serial, Running { ending, .. })) if *serial == key.serial => match ending {
                Ending::Tool(call) => Some(look(call)),
                Ending::Driven(_) => None,
            },
            _ => None,
        }
    }
}

impl Ending {
    pub(crate) fn what(&self) -> String {
        match self {
            Ending::Tool(call) => call.what(),
            Ending::Driven(driven) => driven.what().to_owned(),
        }
    }
}
