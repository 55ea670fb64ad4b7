//! Putting a session together, ending it, and going over to another one.
//!
//! A [`Composer`] has what outlives a session: configuration, models, layers, the way to a person.
//! A [`LiveSession`] is one session with its Lua side, on the thread that owns it. `/new`,
//! `/resume` and `/tree` are [`LiveSession::switch`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use panto_kit::themes::Themes;
use pantograph::session::{FileSystemJsonlStore, OpenSession, Session, SessionError, SessionStore};
use pantograph::{
    Agent, AgentBuilder, AgentConfig, AgentOptions, Clock, Conversation, EditError, MessageId,
    Model, Origin, SessionId, SystemClock,
};
use tokio::runtime::Handle;

use crate::config::{Config, Source};
use crate::dirs::{Dirs, NoHome};
use crate::extensions::{
    Diagnostic, LayerName, LayersRequest, ResourceLayer, SkippedLayer, SourceFile, discover, layers,
};
use crate::host::{Asker, Host, HostError, HostOptions, PromptFacts, SessionRecord, git_branch};
use crate::models::{ChoiceRequest, LateProtocols, Models};
use crate::nearest::did_you_mean;
use crate::rocks::{RocksRequest, RocksTree, with_rocks};
use crate::session::SessionHandle;

/// How long what extensions have started may take to settle when a session ends.
pub const GRACE: Duration = Duration::from_secs(2);

/// What sessions of one process are put together from.
pub struct Composer {
    /// Where agents run.
    pub agents: Handle,
    /// The system, such as `linux`.
    pub os: &'static str,
    /// Where things lie.
    pub dirs: Dirs,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The root of the project.
    pub project_root: PathBuf,
    /// Whether the project may bring code.
    pub trusted: bool,
    /// The directory that stands in for all layers.
    pub bundle: Option<PathBuf>,
    /// Where what panto ships was staged.
    pub staged: Option<PathBuf>,
    /// The tree of installed rocks.
    pub rocks: Option<RocksTree>,
    /// No extension is loaded.
    pub no_extensions: bool,
    /// The configuration.
    pub config: Arc<Config>,
    /// The models that there are.
    pub models: Arc<Models>,
    /// The protocols that extensions register.
    pub late: LateProtocols,
    /// The environment of Lua and its children: without keys of providers.
    pub environment: Vec<(OsString, OsString)>,
    /// What each extension is given, by its name.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// Of the tools, those that the session's model is shown; `None` means all.
    pub shown_tools: Option<Vec<String>>,
    /// Tools that the session's model is not shown.
    pub hidden_tools: Vec<String>,
    /// What agents allow themselves.
    pub agent_options: AgentOptions,
    /// Who answers questions.
    pub asker: Arc<dyn Asker>,
    /// How an agent is to work; `None` if its system prompt comes from elsewhere.
    pub base_prompt: Option<String>,
    /// The themes of the process.
    pub themes: Arc<Themes>,
    /// How long an extension may take to activate.
    pub activation_limit: Duration,
    /// Who hears what a person should hear once.
    pub report: Arc<dyn Fn(&Diagnostic)>,
    /// Who gets what Lua prints: text from outside, without the newline at its end.
    pub print: Arc<dyn Fn(&str)>,
}

/// Why a session could not be put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// Lua cannot be started.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The session cannot be had.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Nothing says where sessions lie.
    #[error(transparent)]
    NoHome(#[from] NoHome),
    /// A provider's protocol is neither built in nor registered.
    #[error(
        "there is no protocol `{name}`{place}: none is built in, and no extension has registered one"
    )]
    UnknownProtocol {
        /// What it is called.
        name: String,
        /// Where it is set, in brackets.
        place: String,
    },
    /// The protocol of an extension does not know the reasoning label that was asked for.
    #[error("`{model}` does not know the reasoning label `{label}`; it knows `{known}`{near}")]
    UnknownReasoning {
        /// The model.
        model: String,
        /// What was asked for.
        label: String,
        /// What there is.
        known: String,
        /// What was probably meant: empty, or a clause.
        near: String,
    },
    /// A tool that was asked for is not there.
    #[error("there is no tool `{name}`{near}")]
    UnknownTool {
        /// What was asked for.
        name: String,
        /// What was probably meant: empty, or a clause.
        near: String,
    },
    /// The point to go on from could not be stored.
    #[error("could not go on from there")]
    GoOnFrom(#[from] EditError),
    /// The message to go on from is not in the session.
    #[error("the session has no message `{0}` to go on from")]
    UnknownMessage(String),
    /// Nothing of the session is kept, so there is nothing to go back to.
    #[error("nothing of this session is kept, so there is nothing to go back to")]
    NotKept,
}

/// What is found for extensions, before any of them runs.
pub struct Found {
    /// The layers that count, lowest first.
    pub layers: Vec<ResourceLayer>,
    /// Those that are left out because the project is not trusted.
    pub skipped: Vec<SkippedLayer>,
    /// The sources, in order.
    pub sources: Vec<SourceFile>,
}

/// Where a conversation is kept, before it is known who answers.
pub enum Kept {
    /// In no file.
    Nowhere,
    /// In a session that begins with it.
    New(FileSystemJsonlStore),
    /// In a session that is there already, locked.
    Open {
        /// What has it.
        store: FileSystemJsonlStore,
        /// The session.
        session: Box<dyn Session>,
        /// What was said.
        messages: Conversation,
        /// Of its last answer.
        origin: Option<Arc<Origin>>,
    },
}

impl Kept {
    /// Opens a session of `store`, and locks it; gives whether its end was torn, too.
    ///
    /// # Errors
    ///
    /// As [`SessionStore::open`].
    pub async fn open(
        store: FileSystemJsonlStore,
        id: SessionId,
    ) -> Result<(Self, pantograph::session::SessionTree), SessionError> {
        let OpenSession { session, tree } = store.open(id).await?;
        let branch = tree.branch();
        let origin = branch
            .iter()
            .rev()
            .find_map(|message| message.origin.clone());
        let kept = Kept::Open {
            store,
            session,
            messages: tree.conversation(),
            origin,
        };
        Ok((kept, tree))
    }

    /// What answered last in a session that is there already.
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Kept::Open { origin, .. } => origin.as_deref(),
            Kept::Nowhere | Kept::New(_) => None,
        }
    }

    async fn agent(
        self,
        builder: AgentBuilder,
        cwd: PathBuf,
    ) -> Result<(Agent, Option<FileSystemJsonlStore>), SessionError> {
        Ok(match self {
            Kept::Nowhere => (builder.ephemeral(), None),
            Kept::New(store) => (builder.create(&store, cwd).await?, Some(store)),
            Kept::Open {
                store,
                session,
                messages,
                ..
            } => (builder.build(session, messages), Some(store)),
        })
    }
}

impl Composer {
    /// Finds layers and sources, and tells what there is to say about them.
    pub fn find(&self) -> Found {
        let mut found = Found {
            layers: Vec::new(),
            skipped: Vec::new(),
            sources: Vec::new(),
        };
        if self.no_extensions {
            return found;
        }
        if let Some(dir) = &self.bundle {
            found.layers.push(ResourceLayer {
                name: LayerName::Bundle,
                dir: dir.clone(),
            });
        } else {
            let base = self.staged.as_deref().map(|staged| staged.join("agent"));
            let (layers, skipped, diagnostics) = layers(&LayersRequest {
                dirs: &self.dirs,
                project_root: &self.project_root,
                home: self.home.as_deref(),
                base: base.as_deref(),
                trusted: self.trusted,
            });
            diagnostics.iter().for_each(|said| (self.report)(said));
            found.layers = layers;
            found.skipped = skipped;
        }
        let set = &self.config.extensions.paths;
        let layer = match (&self.bundle, &set.source) {
            (Some(_), _) => LayerName::Bundle,
            (None, Source::File { layer, .. }) => LayerName::from(*layer),
            (None, Source::Default) => LayerName::User,
        };
        let paths = set.iter().map(|path| (layer, self.project_root.join(path)));
        let (sources, diagnostics) = discover(&found.layers, &paths.collect::<Vec<_>>());
        diagnostics.iter().for_each(|said| (self.report)(said));
        let request = RocksRequest {
            layers: &found.layers,
            named: &self.config.extensions.rocks,
            tree: self.rocks.as_ref(),
            staged: self.staged.as_deref(),
        };
        let (sources, diagnostics) = with_rocks(&request, sources);
        diagnostics.iter().for_each(|said| (self.report)(said));
        found.sources = sources;
        found
    }

    /// Makes the Lua side of a session, with nothing loaded yet. Call it inside the tokio runtime
    /// of the thread that will drive it.
    ///
    /// # Errors
    ///
    /// Lua cannot be started.
    pub fn host(&self, found: &Found) -> Result<Host, HostError> {
        let (report, print) = (Arc::clone(&self.report), Arc::clone(&self.print));
        let (shown, hidden) = (self.shown_tools.clone(), self.hidden_tools.clone());
        let rocks = self.rocks.iter().map(RocksTree::modules);
        Host::open(HostOptions {
            agents: self.agents.clone(),
            agent_options: self.agent_options,
            environment: self.environment.clone(),
            home: match self.bundle {
                Some(_) => None,
                None => self.home.clone(),
            },
            cwd: self.dirs.cwd().to_owned(),
            sessions: self.dirs.session_directory(self.dirs.cwd()).ok(),
            project_root: self.project_root.clone(),
            layers: found.layers.clone(),
            module_dirs: self.staged.iter().cloned().chain(rocks).collect(),
            native_module_dirs: self.rocks.iter().map(RocksTree::native_modules).collect(),
            settings: self.settings.clone(),
            allow: self.config.extensions.allow.value.clone(),
            deny: self.config.extensions.deny.value.clone(),
            models: Arc::clone(&self.models),
            ask_before: self.config.tools.ask.value.clone(),
            asker: Arc::clone(&self.asker),
            themes: Arc::clone(&self.themes),
            shows_tool: Box::new(move |name| {
                let is = |names: &Vec<String>| names.iter().any(|other| other == name);
                shown.as_ref().is_none_or(is) && !is(&hidden)
            }),
            prompt: self.prompt(),
            activation_limit: self.activation_limit,
            report: Box::new(move |diagnostic| report(diagnostic)),
            print: Box::new(move |text| print(text)),
        })
    }

    fn prompt(&self) -> Option<PromptFacts> {
        let base = self.base_prompt.clone()?;
        let cwd = self.dirs.cwd();
        let now = SystemClock.now().to_string();
        Some(PromptFacts {
            base,
            cwd: cwd.to_owned(),
            os: self.os,
            // An RFC 3339 time begins with its day.
            date: now.get(..10).unwrap_or_default().to_owned(),
            git_branch: git_branch(cwd),
        })
    }

    /// The sessions of the working directory.
    ///
    /// # Errors
    ///
    /// Nothing says where they lie.
    pub fn store(&self) -> Result<FileSystemJsonlStore, NoHome> {
        let directory = self.dirs.session_directory(self.dirs.cwd())?;
        Ok(FileSystemJsonlStore::new(directory))
    }

    /// Opens and locks a session of the working directory.
    async fn open(&self, id: SessionId) -> Result<Kept, ComposeError> {
        let (kept, _) = Kept::open(self.store()?, id).await?;
        Ok(kept)
    }

    /// Makes sure that every protocol that was chosen is there, once extensions are loaded.
    ///
    /// # Errors
    ///
    /// [`ComposeError::UnknownProtocol`].
    pub fn find_protocols(&self, host: &Host) -> Result<(), ComposeError> {
        self.late.find(|name| host.protocol(name));
        let Some(name) = self.late.missing().into_iter().next() else {
            return Ok(());
        };
        let of_provider = self.config.providers.values().find_map(|provider| {
            let protocol = provider.protocol.as_ref()?;
            (protocol.value == name).then(|| format!(" ({})", protocol.source))
        });
        Err(ComposeError::UnknownProtocol {
            name,
            place: of_provider.unwrap_or_default(),
        })
    }

    /// Makes sure that the protocol of an extension knows the label that was asked for. One that
    /// the configuration sets holds for all models, and is left out if this one does not know it.
    fn check_reasoning(&self, host: &Host, agent: &Agent) -> Result<(), ComposeError> {
        let mut config = agent.config();
        let model = config.model.reference.clone();
        let Some(label) = config.model.reasoning.clone() else {
            return Ok(());
        };
        // What the model itself lists was checked when it was chosen.
        if self.models.reasoning_labels(&model).is_some() {
            return Ok(());
        }
        let Some(known) = host.effort_labels(model.provider()) else {
            return Ok(());
        };
        if known.contains(&label) {
            return Ok(());
        }
        let error = ComposeError::UnknownReasoning {
            near: did_you_mean(&label, known.iter().map(String::as_str)),
            known: known.join("`, `"),
            model: model.to_string(),
            label: label.clone(),
        };
        match &self.config.reasoning {
            Some(set) if set.value == label => {
                let message = format!("{error}; it is left out ({})", set.source);
                (self.report)(&Diagnostic::warning(message));
                config.model = Arc::new(Model {
                    reasoning: None,
                    ..Model::clone(&config.model)
                });
                agent.set_config(config);
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Says which names in the configuration mean nothing that is there: a list that is to keep
    /// something out does nothing with a wrong name in it. Call it once extensions are loaded.
    pub fn check_names(&self, host: &Host) {
        let extensions = host.extensions();
        let extensions: Vec<_> = extensions.iter().map(|it| it.name.as_str()).collect();
        let declared = host.tool_source().declarations();
        let tools: Vec<_> = declared.iter().map(|tool| tool.name.as_str()).collect();
        if self.no_extensions {
            return;
        }
        let check = |setting: &str, source: &Source, what: &str, name: &str, known: &[&str]| {
            if known.contains(&name) {
                return;
            }
            let near = did_you_mean(name, known.iter().copied());
            let message =
                format!("`{setting}` ({source}) names `{name}`: there is no such {what}{near}");
            // Another project may have it.
            let diagnostic = match near.is_empty() {
                true => Diagnostic::info(message),
                false => Diagnostic::warning(message),
            };
            (self.report)(&diagnostic);
        };
        let config = &self.config;
        for name in config.tools.ask.iter() {
            check("tools.ask", &config.tools.ask.source, "tool", name, &tools);
        }
        for (setting, list) in [
            ("extensions.allow", &config.extensions.allow),
            ("extensions.deny", &config.extensions.deny),
        ] {
            for name in list.iter() {
                check(setting, &list.source, "extension", name, &extensions);
            }
        }
        for (name, value) in &config.extensions.settings {
            let setting = "extensions.settings";
            check(setting, &value.source, "extension", name, &extensions);
        }
    }

    /// Makes sure that the tools are there that are shown or hidden by name.
    fn check_tools(&self, host: &Host) -> Result<(), ComposeError> {
        let declared = host.tool_source().declarations();
        let names = || declared.iter().map(|tool| tool.name.as_str());
        let named = self.shown_tools.iter().flatten().chain(&self.hidden_tools);
        for name in named {
            if !names().any(|other| other == name) {
                return Err(ComposeError::UnknownTool {
                    name: name.clone(),
                    near: did_you_mean(name, names()),
                });
            }
        }
        Ok(())
    }
}

/// Which session to go over to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A new one (`/new`).
    New,
    /// One of the working directory (`/resume`).
    Resume(SessionId),
    /// The same, from this message on (`/tree`).
    Tree(MessageId),
}

/// A session and its Lua side, on the thread that owns it.
pub struct LiveSession {
    /// Lua's side.
    pub host: Host,
    /// The session, for front ends.
    pub handle: SessionHandle,
    /// What keeps its conversation, if anything does.
    pub store: Option<FileSystemJsonlStore>,
}

/// The session that goes on, since another one could not be had.
pub struct Unswitched {
    /// It goes on as it was; `None` if it had ended before the other one failed.
    pub session: Option<LiveSession>,
    /// Why.
    pub error: ComposeError,
}

impl LiveSession {
    /// Makes the session's agent with `builder`, then evaluates and activates extensions.
    ///
    /// # Errors
    ///
    /// [`ComposeError`]; extensions that fail are none.
    pub async fn start(
        composer: &Composer,
        host: Host,
        found: &Found,
        kept: Kept,
        builder: AgentBuilder,
    ) -> Result<Self, ComposeError> {
        Self::start_at(composer, host, found, kept, builder, None).await
    }

    /// The same, going on from `at`, if that is given.
    async fn start_at(
        composer: &Composer,
        mut host: Host,
        found: &Found,
        kept: Kept,
        builder: AgentBuilder,
        at: Option<Conversation>,
    ) -> Result<Self, ComposeError> {
        let builder = builder
            .options(composer.agent_options)
            .tool_source(host.tool_source())
            .hooks(host.hooks());
        let cwd = composer.dirs.cwd().to_owned();
        let (agent, store) = kept.agent(builder, cwd.clone()).await?;
        if let Some(at) = at {
            agent.continue_from(at).await?;
        }
        let record = SessionRecord {
            id: agent.session_id().to_string(),
            directory: match store {
                Some(_) => Some(composer.dirs.session_directory(&cwd)?),
                None => None,
            },
            cwd,
        };
        let handle = {
            let _workers = composer.agents.enter();
            SessionHandle::open(agent)
        };
        host.attach(handle.clone(), record);
        host.load(&found.sources).await;
        composer.find_protocols(&host)?;
        composer.check_tools(&host)?;
        composer.check_reasoning(&host, handle.agent())?;
        composer.check_names(&host);
        host.ready();
        Ok(Self {
            host,
            handle,
            store,
        })
    }

    /// Cancels what is live, and ends everything that extensions have started.
    pub async fn end(mut self) {
        let closing = self.handle.close();
        self.host.run_until(closing).await;
        self.host.end(GRACE).await;
    }

    /// Goes over to another session: that is loaded and locked first, then this one ends with its
    /// Lua state, and extensions are evaluated and activated anew. Call it with no Lua frame live.
    ///
    /// # Errors
    ///
    /// The other session cannot be had: this one goes on.
    pub async fn switch(
        self,
        composer: &Composer,
        target: Target,
    ) -> Result<Self, Box<Unswitched>> {
        let stays = |session, error| {
            Box::new(Unswitched {
                session: Some(session),
                error,
            })
        };
        let config = self.handle.agent().config();
        let own = self.handle.agent().session_id();
        let prepared = match &target {
            Target::New => match &self.store {
                Some(_) => composer.store().map(Kept::New).map_err(ComposeError::from),
                None => Ok(Kept::Nowhere),
            },
            Target::Resume(id) => composer.open(*id).await,
            // Taken over from this session once it has ended, with its lock.
            Target::Tree(message) => self.check_message(message).await.map(|()| Kept::Nowhere),
        };
        let mut kept = match prepared {
            Ok(kept) => kept,
            Err(error) => return Err(stays(self, error)),
        };
        let found = composer.find();
        let host = match composer.host(&found) {
            Ok(host) => host,
            Err(error) => return Err(stays(self, error.into())),
        };
        let (store, agent) = (self.store.clone(), self.handle.agent().clone());
        self.end().await;
        let ended = |error| {
            Box::new(Unswitched {
                session: None,
                error,
            })
        };
        // Whoever still has a handle to the old session holds nothing.
        let session = agent.give_up_session();
        let mut at = None;
        if let (Target::Tree(message), Some(store), Ok(session)) = (&target, store, session) {
            let tree = store.load(own).await.map_err(|error| ended(error.into()))?;
            at = tree.conversation_at(message);
            kept = Kept::Open {
                messages: tree.conversation(),
                origin: None,
                store,
                session,
            };
        }
        let builder = composer.builder(config, kept.origin());
        Self::start_at(composer, host, &found, kept, builder, at)
            .await
            .map_err(ended)
    }

    /// Makes sure that the session has the message.
    async fn check_message(&self, message: &MessageId) -> Result<(), ComposeError> {
        let store = self.store.as_ref().ok_or(ComposeError::NotKept)?;
        let tree = store.load(self.handle.agent().session_id()).await?;
        match tree.conversation_at(message) {
            Some(_) => Ok(()),
            None => Err(ComposeError::UnknownMessage(message.to_string())),
        }
    }
}

impl Composer {
    /// An agent with the model that a session's last answer came from, if it can be asked, else
    /// with that of the session before.
    fn builder(&self, before: AgentConfig, origin: Option<&Origin>) -> AgentBuilder {
        let chosen = origin.and_then(|origin| {
            let request = ChoiceRequest {
                session: Some(origin),
                ..ChoiceRequest::default()
            };
            self.models.choose(&request).ok()
        });
        match chosen {
            Some(chosen) => Agent::builder(chosen.protocol, chosen.model),
            None => Agent::builder(before.protocol, (*before.model).clone()),
        }
    }
}
