//! The handlers that have begun and not ended, and who waits for each.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use mlua::Thread;
use pantograph::{CallId, ToolReply};
use tokio::sync::Notify;

use crate::driven::Driven;
use crate::handlers::Batch;

/// The handlers that have begun and not ended.
#[derive(Default)]
pub(crate) struct Live {
    last: Cell<u64>,
    running: RefCell<HashMap<u64, Running>>,
    ended: Notify,
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

    /// A key that no other handler has had.
    pub(crate) fn fresh(&self) -> u64 {
        let key = self.last.get() + 1;
        self.last.set(key);
        key
    }

    pub(crate) fn insert(&self, key: u64, running: Running) {
        self.running.borrow_mut().insert(key, running);
    }

    pub(crate) fn take(&self, key: u64) -> Option<Running> {
        let taken = self.running.borrow_mut().remove(&key);
        self.note_end();
        taken
    }

    pub(crate) fn take_where(&self, which: impl Fn(&Running) -> bool) -> Vec<Running> {
        let taken = {
            let mut all = self.running.borrow_mut();
            let taken = all.extract_if(|_, running| which(running));
            taken.map(|(_, running)| running).collect()
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
    pub(crate) fn call<T>(&self, key: u64, look: impl FnOnce(&ToolCall) -> T) -> Option<T> {
        match self.running.borrow().get(&key) {
            Some(Running {
                ending: Ending::Tool(call),
                ..
            }) => Some(look(call)),
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
