//! What a host decides about the runtime of a Lua state.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pantograph::{Agent, AgentId, AgentOptions, BatchId, CallId, Submission, TurnHooks, TurnId};
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use crate::failure::Failure;
use crate::live::ToolCall;

/// How long one step of Lua may take, unless said otherwise.
pub const DEFAULT_STEP_LIMIT: Duration = Duration::from_secs(2);

/// What a host decides about the runtime of a Lua state.
pub struct Options {
    pub(crate) agents: Handle,
    pub(crate) agent_options: AgentOptions,
    pub(crate) cwd: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) step_limit: Option<Duration>,
    pub(crate) terminal_is_taken: Box<dyn Fn() -> bool>,
    pub(crate) around_hooks: Box<AroundHooks>,
    pub(crate) reports: Reports,
}

type AroundHooks = dyn FnOnce(Arc<dyn TurnHooks>) -> Arc<dyn TurnHooks>;

/// Who hears of what happens. All of it is called on the owner thread, and must not call Lua.
pub(crate) struct Reports {
    error: Box<dyn Fn(&Failure)>,
    pub(crate) progress: Box<dyn Fn(&Progress)>,
    pub(crate) submit: Box<Submit>,
}

impl Reports {
    /// Tells of an error. A host whose report panics must not take the owner thread with it.
    pub(crate) fn error(&self, failure: &Failure) {
        let told = catch_unwind(AssertUnwindSafe(|| (self.error)(failure)));
        if told.is_err() {
            tracing::error!("the report of an error panicked: {failure}");
        }
    }
}

type Submit = dyn Fn(&Agent, Submission);

impl Options {
    /// Agents and jobs that Lua starts run on `agents`, which has its time enabled.
    pub fn new(agents: Handle) -> Self {
        Self {
            agents,
            agent_options: AgentOptions::default(),
            cwd: PathBuf::from("/"),
            environment: Vec::new(),
            step_limit: Some(DEFAULT_STEP_LIMIT),
            terminal_is_taken: Box::new(|| false),
            around_hooks: Box::new(|hooks| hooks),
            reports: Reports {
                error: Box::new(|failure| {
                    tracing::error!(traceback = failure.traceback, "{failure}");
                }),
                progress: Box::new(|_| {}),
                submit: Box::new(|agent, submission| {
                    agent.submit(submission);
                }),
            },
        }
    }

    /// Sets what agents that Lua makes allow themselves.
    #[must_use]
    pub fn agent_options(mut self, options: AgentOptions) -> Self {
        self.agent_options = options;
        self
    }

    /// Sets the directory that new sessions name if Lua gives none.
    #[must_use]
    pub fn cwd(mut self, cwd: impl AsRef<Path>) -> Self {
        cwd.as_ref().clone_into(&mut self.cwd);
        self
    }

    /// The environment that Lua sees and that its children get, as
    /// [`panto_luv::Options::environment`]; empty unless this is called.
    #[must_use]
    pub fn environment(
        mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        self.environment = variables.into_iter().collect();
        self
    }

    /// Sets how long one step of Lua may take before it is made to fail; `None` is forever.
    /// By default [`DEFAULT_STEP_LIMIT`].
    ///
    /// A step is what runs between two pauses: a callback, a handler up to where it waits. C
    /// functions (a hard pattern, a slow module) cannot be interrupted; the step fails when they
    /// are done. Lua runs no hooks in finalizers; they are stopped as long as the build of Lua keeps
    /// its switch for that where 5.4 has it, which is looked for when a state is opened.
    #[must_use]
    pub fn step_limit(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.step_limit = limit.into();
        self
    }

    /// Asked before Lua changes the terminal's mode; see [`panto_luv::Options::terminal_is_taken`].
    #[must_use]
    pub fn terminal_is_taken(mut self, is_taken: impl Fn() -> bool + 'static) -> Self {
        self.terminal_is_taken = Box::new(is_taken);
        self
    }

    /// Puts hooks of the host round those of Lua, for every agent: what `around` makes of Lua's is
    /// what agents get.
    #[must_use]
    pub fn around_hooks(
        mut self,
        around: impl FnOnce(Arc<dyn TurnHooks>) -> Arc<dyn TurnHooks> + 'static,
    ) -> Self {
        self.around_hooks = Box::new(around);
        self
    }

    /// Who hears of errors that Lua code did not catch: of handlers, of callbacks, of coroutines.
    /// Unless this is called they are logged with `tracing`.
    #[must_use]
    pub fn on_error(mut self, report: impl Fn(&Failure) + 'static) -> Self {
        self.reports.error = Box::new(report);
        self
    }

    /// Who hears of what handlers tell by `context.progress`. By default nobody does.
    #[must_use]
    pub fn on_progress(mut self, report: impl Fn(&Progress) + 'static) -> Self {
        self.reports.progress = Box::new(report);
        self
    }

    /// Who takes what Lua submits to an agent that it borrows, and starts a turn if none is live.
    /// By default it is queued with the agent.
    #[must_use]
    pub fn on_submit(mut self, submit: impl Fn(&Agent, Submission) + 'static) -> Self {
        self.reports.submit = Box::new(submit);
        self
    }
}

/// What a tool's handler tells of itself while it runs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The agent that raised the call.
    pub agent: AgentId,
    /// Its turn.
    pub turn: TurnId,
    /// The batch of the call.
    pub batch: BatchId,
    /// The call.
    pub call: CallId,
    /// The canonical name of the tool.
    pub tool_name: Arc<str>,
    /// What the handler says.
    pub data: Map<String, Value>,
}

impl Progress {
    pub(crate) fn new(call: &ToolCall, data: Map<String, Value>) -> Self {
        Self {
            agent: call.batch.agent,
            turn: call.batch.turn,
            batch: call.batch.id,
            call: CallId::clone(&call.id),
            tool_name: Arc::clone(&call.name),
            data,
        }
    }
}
