//! Lua's side of a session: extensions, what they registered, and the events that they hear.
//!
//! A [`Host`] lives on the thread that owns its Lua state, as long as one session does. It is
//! made in steps: [`Host::open`], then [`Host::attach`] with the session's agent, [`Host::load`]
//! to evaluate and activate extensions, and [`Host::ready`]. While a front end shows the session,
//! [`Host::run_until`] drives Lua.

mod ask;
mod commands;
mod emitting;
mod entry;
mod events;
mod hooks;
mod loader;
mod models;
mod modules;
mod prompt;
mod registering;
mod shared;
mod surface;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mlua::Lua;
pub use panto_kit::themes::Themes;
pub use panto_runtime::Remains;
use panto_runtime::{LuaRuntime, OpenError, Options};
use pantograph::{Agent, AgentOptions, ToolSource, TurnHooks, UsageTotal};
use tokio::runtime::Handle;

use crate::extensions::{Diagnostic, ResourceLayer};
use crate::models::Models;
use crate::session::{SessionHandle, SessionRefusal};

pub use ask::{Asker, NobodyToAsk, Question};
pub use commands::{Call, CommandInfo, CommandOutput, RunCommandError, is_command_name};
pub use entry::{Extension, ExtensionStatus};
pub use models::SessionRecord;
pub use prompt::{PromptFacts, git_branch};

use hooks::HostHooks;
use shared::Shared;
pub use shared::Untold;

/// How long an extension may take to activate, unless said otherwise.
pub const ACTIVATION_LIMIT: Duration = Duration::from_secs(10);

/// What a host is made of.
pub struct HostOptions {
    /// Where agents run.
    pub agents: Handle,
    /// What agents that Lua makes allow themselves.
    pub agent_options: AgentOptions,
    /// The environment that Lua sees and that its children get: without keys of providers.
    pub environment: Vec<(OsString, OsString)>,
    /// The home directory, unless extensions are not to know it.
    pub home: Option<PathBuf>,
    /// The directory that the session works in.
    pub cwd: PathBuf,
    /// Where sessions of that directory lie, if anything says so.
    pub sessions: Option<PathBuf>,
    /// The root of the project.
    pub project_root: PathBuf,
    /// The layers of resources, lowest first.
    pub layers: Vec<ResourceLayer>,
    /// Directories with Lua modules, such as those of rocks: searched in this order.
    pub module_dirs: Vec<PathBuf>,
    /// The same for modules in C.
    pub native_module_dirs: Vec<PathBuf>,
    /// What each extension is given, by its name.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// The names of extensions that alone may load, if there are any.
    pub allow: Vec<String>,
    /// The names of extensions that never load.
    pub deny: Vec<String>,
    /// The models that there are.
    pub models: Arc<Models>,
    /// The tools that ask before each call.
    pub ask_before: Vec<String>,
    /// Who answers questions.
    pub asker: Arc<dyn Asker>,
    /// The themes of the process, which outlive sessions.
    pub themes: Arc<Themes>,
    /// Which of the registered tools the session's agent shows its model.
    pub shows_tool: Box<dyn Fn(&str) -> bool>,
    /// What the system prompt says besides what extensions add. `None` leaves the agent's alone.
    pub prompt: Option<PromptFacts>,
    /// How long an extension may take to activate.
    pub activation_limit: Duration,
    /// Who hears what a person should hear once.
    pub report: Box<dyn Fn(&Diagnostic)>,
    /// Who gets what Lua prints: text from outside, without the newline at its end.
    pub print: Box<dyn Fn(&str)>,
}

/// Why a session's Lua side could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The runtime could not be made.
    #[error("could not start Lua")]
    Runtime(#[from] OpenError),
    /// Lua is out of memory.
    #[error("could not prepare Lua: {0}")]
    Lua(String),
}

impl From<mlua::Error> for HostError {
    fn from(error: mlua::Error) -> Self {
        Self::Lua(error.to_string())
    }
}

/// Lua's side of a session. It stays on the thread that made it.
pub struct Host {
    shared: Rc<Shared>,
    hooks: Arc<HostHooks>,
    /// Dropped last, with the Lua state: nothing else keeps that.
    runtime: LuaRuntime,
}

impl Host {
    /// Makes the Lua state and what extensions find in it. Call it inside the tokio runtime of
    /// the thread that will drive it.
    ///
    /// # Errors
    ///
    /// [`HostError`].
    pub fn open(options: HostOptions) -> Result<Self, HostError> {
        let lua = new_state();
        lua.load(include_str!("host/text_only.lua"))
            .set_name("=[panto]")
            .exec()?;
        let hooks = Arc::new(HostHooks::new(&options));
        let around = Arc::clone(&hooks);
        let late = shared::Late::default();
        let runtime_options = Options::new(options.agents.clone())
            .agent_options(options.agent_options)
            .cwd(&options.cwd)
            .environment(options.environment.clone())
            .around_hooks(move |inner| around.around(inner))
            .on_error(late.reporting_errors())
            .on_progress(late.passing_progress())
            .on_submit(late.taking_submissions());
        let runtime = LuaRuntime::open(lua, runtime_options)?;
        let shared = Shared::new(&runtime, options)?;
        late.set(&shared);
        surface::install(runtime.lua(), runtime.module(), &shared)?;
        hooks::install(&runtime, &shared)?;
        Ok(Self {
            shared,
            hooks,
            runtime,
        })
    }

    /// The tools that extensions register, for the session's agent.
    pub fn tool_source(&self) -> Arc<dyn ToolSource> {
        self.runtime.tool_source()
    }

    /// What may rewrite what enters a conversation, for the session's agent.
    pub fn hooks(&self) -> Arc<dyn TurnHooks> {
        self.runtime.hooks()
    }

    /// Makes `handle`'s agent that of the session. Extensions hear of its turns from now on.
    pub fn attach(&mut self, handle: SessionHandle, record: SessionRecord) {
        let agent: Agent = handle.agent().clone();
        self.hooks.set_session_agent(agent.id());
        self.runtime.handle().set_session_agent(Some(agent));
        self.shared.attach(handle, record);
    }

    /// What turns of other agents than the session's have used, and how many of these turns there
    /// were.
    pub fn spent_by_others(&self) -> (UsageTotal, u32) {
        self.hooks.spent_by_others()
    }

    /// What has been said of extensions, and what they said.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.shared.diagnostics.borrow().all.clone()
    }

    /// The extensions that were found, in the order in which they were activated.
    pub fn extensions(&self) -> Vec<Extension> {
        self.shared.extensions.borrow().clone()
    }

    /// Drives Lua until `future` completes, and tells extensions what happens meanwhile.
    pub async fn run_until<F: Future>(&mut self, future: F) -> F::Output {
        let shared = Rc::clone(&self.shared);
        let served = async {
            tokio::select! {
                biased;
                output = future => output,
                never = events::serve(&shared) => match never {},
            }
        };
        self.runtime.run_until(served).await
    }

    /// Lets extensions hear everything that the session has told so far.
    pub async fn catch_up(&mut self) {
        let shared = Rc::clone(&self.shared);
        self.runtime
            .run_until(async move { shared.catch_up() })
            .await;
    }

    /// What extensions have emitted and nobody has been told yet.
    pub fn untold(&self) -> Untold {
        self.shared.untold()
    }

    /// Ends the session's Lua side: extensions hear `session_end`, and everything that Lua has
    /// started settles. The Lua state is closed when what this gives is dropped.
    pub async fn end(self, grace: Duration) -> Remains {
        let Self {
            runtime, shared, ..
        } = self;
        shared.fire_named("session_end");
        shared.detach();
        let remains = runtime.shutdown(grace).await;
        drop(shared);
        remains
    }
}

impl From<SessionRefusal> for RunCommandError {
    fn from(refusal: SessionRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A state with all of Lua's libraries, as `panto lua` has: extensions that load are trusted.
fn new_state() -> Lua {
    panto_runtime::standalone::trusting_state()
}
