//! The tools of an agent that Lua made: those that all share, and its own.

use std::collections::HashMap;
use std::sync::Arc;

use pantograph::{ToolBatch, ToolDeclaration, ToolSource};
use parking_lot::Mutex;

/// Runs a call on the agent's own tool of that name, else on the shared source.
pub(super) struct LocalRouter {
    shared: Arc<dyn ToolSource>,
    local: Mutex<HashMap<String, Arc<dyn ToolSource>>>,
}

impl LocalRouter {
    pub(super) fn new(shared: Arc<dyn ToolSource>) -> Self {
        Self {
            shared,
            local: Mutex::default(),
        }
    }

    /// Runs calls of `name` on `source` from now on.
    pub(super) fn insert(&self, name: &str, source: Arc<dyn ToolSource>) {
        self.local.lock().insert(name.to_owned(), source);
    }

    /// Whether the agent has tools of its own.
    pub(super) fn has_local(&self) -> bool {
        !self.local.lock().is_empty()
    }
}

impl ToolSource for LocalRouter {
    fn declarations(&self) -> Vec<ToolDeclaration> {
        self.shared.declarations()
    }

    fn invoke_batch(&self, mut batch: ToolBatch) {
        let mut own = Vec::new();
        {
            let local = self.local.lock();
            if !local.is_empty() {
                let mut rest = Vec::with_capacity(batch.calls.len());
                for call in std::mem::take(&mut batch.calls) {
                    match local.get(&*call.tool_name) {
                        Some(source) => own.push((Arc::clone(source), call)),
                        None => rest.push(call),
                    }
                }
                batch.calls = rest;
            }
        }
        for (source, call) in own {
            source.invoke_batch(ToolBatch {
                id: batch.id,
                turn: batch.turn,
                session: batch.session,
                agent: batch.agent.clone(),
                cancel: batch.cancel.clone(),
                calls: vec![call],
            });
        }
        if !batch.calls.is_empty() {
            self.shared.invoke_batch(batch);
        }
    }
}
