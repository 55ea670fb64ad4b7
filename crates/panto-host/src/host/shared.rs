//! What all of a host's functions share, on the owner thread.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use mlua::{Function, Lua};
use panto_kit::themes::Themes;
use panto_lua::Module;
use panto_runtime::{Failure, LuaHandle, LuaRuntime, Progress};
use pantograph::{Agent, Submission, ToolSet};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::ask::Asker;
use super::commands::Command;
use super::entry::Extension;
use super::events::Listening;
use super::models::SessionRecord;
use super::modules::Modules;
use super::prompt::{PromptFacts, Section};
use super::{HostError, HostOptions};
use crate::extensions::{Diagnostic, LayerName, ResourceLayer};
use crate::models::Models;
use crate::session::{SessionHandle, SessionRefusal};

/// Who registered something: an extension's name.
pub(super) type Owner = Rc<str>;

/// Whoever calls a function of the module without being a known extension.
pub(super) const NOBODY: &str = "a Lua module";

pub(super) struct Shared {
    pub(super) me: Weak<Self>,
    pub(super) lua: Lua,
    pub(super) handle: LuaHandle,
    pub(super) options: Given,
    /// Of the extension that is being evaluated or activated.
    pub(super) active: RefCell<Option<Owner>>,
    /// By name; of several the last one counts.
    pub(super) commands: RefCell<BTreeMap<String, Vec<Rc<Command>>>>,
    /// Of the extensions that were to be activated.
    pub(super) layers: RefCell<BTreeMap<String, LayerName>>,
    pub(super) tool_owners: RefCell<BTreeMap<String, Owner>>,
    pub(super) protocol_owners: RefCell<BTreeMap<String, Owner>>,
    pub(super) listeners: RefCell<HashMap<String, Vec<Listener>>>,
    pub(super) sections: RefCell<BTreeMap<String, Section>>,
    pub(super) diagnostics: RefCell<Diagnostics>,
    pub(super) extensions: RefCell<Vec<Extension>>,
    pub(super) attached: RefCell<Option<Attached>>,
    outbox: mpsc::UnboundedSender<Out>,
    /// What was given to the outbox and has not been told yet.
    untold: watch::Sender<usize>,
    pub(super) outgoing: RefCell<Option<mpsc::UnboundedReceiver<Out>>>,
    /// Whether the session's agent gets its system prompt from here yet.
    pub(super) prompt_is_live: Cell<bool>,
    pub(super) module: Module,
    pub(super) modules: OnceCell<Rc<Modules>>,
}

/// The part of the options that functions need.
pub(super) struct Given {
    pub(super) home: Option<PathBuf>,
    pub(super) cwd: PathBuf,
    pub(super) sessions: Option<PathBuf>,
    pub(super) project_root: PathBuf,
    pub(super) layers: Vec<ResourceLayer>,
    pub(super) settings: BTreeMap<String, Value>,
    pub(super) allow: Vec<String>,
    pub(super) deny: Vec<String>,
    pub(super) models: Arc<Models>,
    pub(super) asker: Arc<dyn Asker>,
    pub(super) themes: Arc<Themes>,
    pub(super) activation_limit: Duration,
    pub(super) shows_tool: Box<dyn Fn(&str) -> bool>,
    pub(super) prompt: Option<PromptFacts>,
    pub(super) environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    pub(super) module_dirs: Vec<PathBuf>,
    pub(super) native_module_dirs: Vec<PathBuf>,
    pub(super) agents: tokio::runtime::Handle,
    report: Box<dyn Fn(&Diagnostic)>,
    pub(super) print: Box<dyn Fn(&str)>,
}

#[derive(Clone)]
pub(super) struct Listener {
    pub(super) owner: Owner,
    pub(super) function: Function,
}

/// The session that extensions belong to.
pub(super) struct Attached {
    pub(super) handle: SessionHandle,
    pub(super) record: SessionRecord,
    pub(super) listening: Rc<Listening>,
}

/// What is told to the session's readers, or to listeners, when nothing of Lua runs.
pub(super) enum Out {
    Custom { name: Arc<str>, data: Value },
    AgentSubmission,
}

/// What extensions have emitted and the session's readers have not been told yet. It becomes less
/// only while the host is driven and somebody reads.
#[derive(Debug)]
pub struct Untold(Option<watch::Receiver<usize>>);

impl Untold {
    /// Where there are no extensions.
    pub fn nothing() -> Self {
        Self(None)
    }

    /// Whether there is something.
    pub fn is_some(&self) -> bool {
        self.0.as_ref().is_some_and(|untold| *untold.borrow() > 0)
    }

    /// Waits until there is nothing.
    pub async fn none(&mut self) {
        if let Some(untold) = &mut self.0 {
            // The sender goes with the host.
            let _ = untold.wait_for(|untold| *untold == 0).await;
        }
    }
}

#[derive(Default)]
pub(super) struct Diagnostics {
    pub(super) all: Vec<Diagnostic>,
    said: HashSet<Diagnostic>,
}

impl Shared {
    pub(super) fn new(runtime: &LuaRuntime, options: HostOptions) -> Result<Rc<Self>, HostError> {
        let (outbox, outgoing) = mpsc::unbounded_channel();
        let shared = Rc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            lua: runtime.lua().clone(),
            handle: runtime.handle().clone(),
            options: Given {
                home: options.home,
                cwd: options.cwd,
                sessions: options.sessions,
                project_root: options.project_root,
                layers: options.layers,
                settings: options.settings,
                allow: options.allow,
                deny: options.deny,
                models: options.models,
                asker: options.asker,
                themes: options.themes,
                activation_limit: options.activation_limit,
                shows_tool: options.shows_tool,
                prompt: options.prompt,
                environment: options.environment,
                module_dirs: options.module_dirs,
                native_module_dirs: options.native_module_dirs,
                agents: options.agents,
                report: options.report,
                print: options.print,
            },
            active: RefCell::default(),
            commands: RefCell::default(),
            layers: RefCell::default(),
            tool_owners: RefCell::default(),
            protocol_owners: RefCell::default(),
            listeners: RefCell::default(),
            sections: RefCell::default(),
            diagnostics: RefCell::default(),
            extensions: RefCell::default(),
            attached: RefCell::default(),
            outbox,
            untold: watch::Sender::new(0),
            outgoing: RefCell::new(Some(outgoing)),
            prompt_is_live: Cell::new(false),
            module: runtime.module().clone(),
            modules: OnceCell::new(),
        });
        // Once a host.
        let _ = shared.modules.set(Modules::new(runtime.lua(), &shared)?);
        Ok(shared)
    }

    pub(super) fn attach(&self, handle: SessionHandle, record: SessionRecord) {
        let listening = Rc::new(Listening::to(&handle));
        let attached = Attached {
            handle,
            record,
            listening,
        };
        let previous = self.attached.replace(Some(attached));
        drop(previous);
    }

    pub(super) fn detach(&self) {
        let previous = self.attached.take();
        drop(previous);
    }

    /// Has something told as soon as nothing of Lua runs.
    pub(super) fn tell(&self, out: Out) {
        self.untold.send_modify(|untold| *untold += 1);
        if self.outbox.send(out).is_err() {
            self.was_told();
        }
    }

    pub(super) fn was_told(&self) {
        self.untold
            .send_modify(|untold| *untold = untold.saturating_sub(1));
    }

    pub(super) fn untold(&self) -> Untold {
        Untold(Some(self.untold.subscribe()))
    }

    /// The session's handle, while there is one.
    pub(super) fn session(&self) -> Option<SessionHandle> {
        let attached = self.attached.borrow();
        attached.as_ref().map(|attached| attached.handle.clone())
    }

    pub(super) fn submit_prompt(&self, text: &str) -> Result<(), SessionRefusal> {
        let session = self.session().ok_or(SessionRefusal::Closed)?;
        session.submit(Submission::follow_up(text)).map(drop)
    }

    /// Tells a person, once, what is new.
    pub(super) fn say(&self, diagnostic: Diagnostic) {
        let is_new = {
            let mut diagnostics = self.diagnostics.borrow_mut();
            let is_new = diagnostics.said.insert(diagnostic.clone());
            if is_new {
                diagnostics.all.push(diagnostic.clone());
            }
            is_new
        };
        if is_new {
            (self.options.report)(&diagnostic);
        }
    }

    /// What Lua code raised and nobody caught.
    pub(super) fn say_failure(&self, failure: &Failure) {
        tracing::debug!(traceback = failure.traceback, "{failure}");
        self.say(Diagnostic::error(format!(
            "{} failed: {}",
            failure.what,
            super::loader::first_line(failure)
        )));
    }

    /// Shows the session's model the tools that it may see, after they changed.
    pub(super) fn refresh_tools(&self) {
        let Some(session) = self.session() else {
            return;
        };
        let agent = session.agent();
        let tools = agent.tools();
        let before = tools.iter().count();
        let shown: Vec<_> = tools
            .iter()
            .filter(|tool| (self.options.shows_tool)(tool.name.as_str()))
            .cloned()
            .collect();
        // A set that lost some has no name twice.
        if shown.len() < before
            && let Ok(shown) = ToolSet::new(shown)
        {
            agent.set_tools(shown);
        }
    }

    fn submit(&self, agent: &Agent, submission: Submission) {
        let session = self.session();
        let session = session.filter(|session| session.agent().id() == agent.id());
        match session {
            Some(session) => {
                // A session that is closed takes nothing more.
                let _ = session.submit(submission);
                self.tell(Out::AgentSubmission);
            }
            None => {
                agent.submit(submission);
            }
        }
    }
}

/// What the runtime's callbacks reach, once it is there.
#[derive(Clone, Default)]
pub(super) struct Late(Rc<OnceCell<Weak<Shared>>>);

impl Late {
    pub(super) fn set(&self, shared: &Rc<Shared>) {
        // Once a host.
        let _ = self.0.set(Rc::downgrade(shared));
    }

    fn get(&self) -> Option<Rc<Shared>> {
        self.0.get()?.upgrade()
    }

    pub(super) fn reporting_errors(&self) -> impl Fn(&Failure) + 'static {
        let late = self.clone();
        move |failure| match late.get() {
            Some(shared) => shared.say_failure(failure),
            None => tracing::error!(traceback = failure.traceback, "{failure}"),
        }
    }

    pub(super) fn passing_progress(&self) -> impl Fn(&Progress) + 'static {
        let late = self.clone();
        move |progress| {
            let Some(shared) = late.get() else { return };
            let data = json!({
                "agent": progress.agent.to_string(),
                "turn_id": progress.turn.to_string(),
                "batch_id": progress.batch.to_string(),
                "id": &*progress.call,
                "tool_name": &*progress.tool_name,
                "data": progress.data,
            });
            let name = Arc::from("tool_progress");
            shared.tell(Out::Custom { name, data });
        }
    }

    pub(super) fn taking_submissions(&self) -> impl Fn(&Agent, Submission) + 'static {
        let late = self.clone();
        move |agent, submission| match late.get() {
            Some(shared) => shared.submit(agent, submission),
            None => {
                agent.submit(submission);
            }
        }
    }
}
