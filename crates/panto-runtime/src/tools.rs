//! Lua functions as tools: what is registered, and the sources that bring calls to the owner.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, Lua};
use panto_lua::LocalTools;
use pantograph::{ToolBatch, ToolDeclaration, ToolOutput, ToolSet, ToolSource};
use parking_lot::RwLock;

use crate::entry::Later;
use crate::executor::Executor;
use crate::inbox::{Handlers, Inbox, Unit};

/// The tools of one Lua state: those that all agents share, and those of one agent alone.
pub(crate) struct Tools {
    shared: Arc<SharedTools>,
    by_name: RefCell<HashMap<String, Registered>>,
    own: RefCell<HashMap<u64, Function>>,
    last_own: Cell<u64>,
}

struct Registered {
    owner: String,
    handler: Function,
}

/// Why something was not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Somebody else has the name.
    #[error("the {kind} `{name}` is registered already, by `{by}`")]
    Taken {
        /// What kind of thing it is, such as `tool`.
        kind: &'static str,
        /// The name.
        name: String,
        /// Who has it.
        by: String,
    },
    /// The Lua state is gone.
    #[error("the Lua state is gone")]
    Gone,
}

impl Tools {
    pub(crate) fn new(inbox: &Arc<Inbox>) -> Self {
        Self {
            shared: Arc::new(SharedTools {
                inbox: Arc::clone(inbox),
                declarations: RwLock::default(),
            }),
            by_name: RefCell::default(),
            own: RefCell::default(),
            last_own: Cell::new(0),
        }
    }

    pub(crate) fn source(&self) -> Arc<SharedTools> {
        Arc::clone(&self.shared)
    }

    pub(crate) fn register(
        &self,
        owner: &str,
        declaration: ToolDeclaration,
        handler: Function,
    ) -> Result<(), RegisterError> {
        let name = declaration.name.as_str();
        let mut by_name = self.by_name.borrow_mut();
        if let Some(other) = by_name.get(name).filter(|other| other.owner != owner) {
            return Err(RegisterError::Taken {
                kind: "tool",
                name: name.to_owned(),
                by: other.owner.clone(),
            });
        }
        let registered = Registered {
            owner: owner.to_owned(),
            handler,
        };
        by_name.insert(name.to_owned(), registered);
        let mut declarations = self.shared.declarations.write();
        match declarations
            .iter_mut()
            .find(|other| other.name == declaration.name)
        {
            Some(other) => *other = declaration,
            None => declarations.push(declaration),
        }
        Ok(())
    }

    pub(crate) fn unregister(&self, owner: &str, name: &str) -> bool {
        let mut by_name = self.by_name.borrow_mut();
        if by_name.get(name).is_none_or(|tool| tool.owner != owner) {
            return false;
        }
        by_name.remove(name);
        let mut declarations = self.shared.declarations.write();
        declarations.retain(|other| other.name.as_str() != name);
        true
    }

    /// The function that runs a call.
    pub(crate) fn handler(&self, handlers: Handlers, name: &str) -> Option<Function> {
        match handlers {
            Handlers::Shared => {
                let by_name = self.by_name.borrow();
                by_name.get(name).map(|tool| tool.handler.clone())
            }
            Handlers::Own(key) => self.own.borrow().get(&key).cloned(),
        }
    }

    pub(crate) fn forget_own(&self, key: u64) {
        self.own.borrow_mut().remove(&key);
    }
}

impl Executor {
    pub(crate) fn register_tool(
        &self,
        owner: &str,
        declaration: ToolDeclaration,
        handler: Function,
    ) -> Result<(), RegisterError> {
        self.tools.register(owner, declaration.clone(), handler)?;
        self.change_session_tools(|tools| {
            match tools.iter_mut().find(|tool| tool.name == declaration.name) {
                Some(tool) => *tool = declaration,
                None => tools.push(declaration),
            }
        });
        Ok(())
    }

    pub(crate) fn unregister_tool(&self, owner: &str, name: &str) -> bool {
        let was_there = self.tools.unregister(owner, name);
        if was_there {
            self.change_session_tools(|tools| tools.retain(|tool| tool.name.as_str() != name));
        }
        was_there
    }

    fn change_session_tools(&self, change: impl FnOnce(&mut Vec<ToolDeclaration>)) {
        let session = self.session.borrow();
        let Some(agent) = &*session else { return };
        let mut tools: Vec<_> = agent.tools().iter().cloned().collect();
        change(&mut tools);
        // A set with one change by name has no name twice.
        if let Ok(tools) = ToolSet::new(tools) {
            agent.set_tools(tools);
        }
    }
}

/// Runs calls by name, whichever agent raised them.
pub(crate) struct SharedTools {
    inbox: Arc<Inbox>,
    declarations: RwLock<Vec<ToolDeclaration>>,
}

impl ToolSource for SharedTools {
    fn declarations(&self) -> Vec<ToolDeclaration> {
        self.declarations.read().clone()
    }

    fn invoke_batch(&self, batch: ToolBatch) {
        post(&self.inbox, batch, Handlers::Shared);
    }
}

/// One tool of one agent.
struct OwnTool {
    inbox: Arc<Inbox>,
    key: u64,
    declaration: ToolDeclaration,
}

impl ToolSource for OwnTool {
    fn declarations(&self) -> Vec<ToolDeclaration> {
        vec![self.declaration.clone()]
    }

    fn invoke_batch(&self, batch: ToolBatch) {
        post(&self.inbox, batch, Handlers::Own(self.key));
    }
}

impl Drop for OwnTool {
    fn drop(&mut self) {
        let key = self.key;
        // Without an owner the function is gone already.
        let _ = self
            .inbox
            .post(move |executor, _| executor.tools.forget_own(key));
    }
}

fn post(inbox: &Inbox, batch: ToolBatch, handlers: Handlers) {
    if let Err(Unit::Batch(batch, _)) = inbox.push(Unit::Batch(batch, handlers)) {
        for call in batch.calls {
            let text = format!(
                "The call was not run: the session of `{}` is over.",
                call.tool_name
            );
            call.reply.finish(ToolOutput::error(text));
        }
    }
}

/// Runs the tools that Lua registers with one agent.
pub(crate) struct OwnTools(pub(crate) Later);

impl LocalTools for OwnTools {
    fn adopt(
        &self,
        _lua: &Lua,
        declaration: &ToolDeclaration,
        handler: Function,
    ) -> Result<Arc<dyn ToolSource>, String> {
        let executor = self.0.borrow().upgrade();
        let executor: Rc<_> = executor.ok_or("the Lua state is closing")?;
        let tools = &executor.tools;
        let key = tools.last_own.get() + 1;
        tools.last_own.set(key);
        tools.own.borrow_mut().insert(key, handler);
        Ok(Arc::new(OwnTool {
            inbox: Arc::clone(&executor.inbox),
            key,
            declaration: declaration.clone(),
        }))
    }
}
