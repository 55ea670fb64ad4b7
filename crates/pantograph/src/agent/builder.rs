//! Putting an agent together.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use super::{Agent, AgentConfig, AgentOptions, Shared};
use crate::batch::{NoTools, ToolSource};
use crate::clock::{Clock, SystemClock};
use crate::conversation::Conversation;
use crate::hooks::{NoHooks, TurnHooks};
use crate::ids::{AgentId, SessionId};
use crate::message::Metadata;
use crate::model::Model;
use crate::protocol::{Protocol, ToolChoice};
use crate::queue::Queue;
use crate::session::{Header, NullStore, OpenSession, Session, SessionError, SessionStore};
use crate::tool::ToolSet;

/// Collects what an agent is made of.
pub struct AgentBuilder {
    config: AgentConfig,
    label: Option<Arc<str>>,
    clock: Arc<dyn Clock>,
    hooks: Arc<dyn TurnHooks>,
    source: Arc<dyn ToolSource>,
    tools: Option<ToolSet>,
    system_prompt: Option<Arc<str>>,
    options: AgentOptions,
}

impl AgentBuilder {
    /// Begins an agent that asks `model` over `protocol`, with the defaults of everything else.
    pub(super) fn new(protocol: Arc<dyn Protocol>, model: Model) -> Self {
        Self {
            config: AgentConfig {
                protocol,
                model: Arc::new(model),
                tool_choice: ToolChoice::Auto,
            },
            label: None,
            clock: Arc::new(SystemClock),
            hooks: Arc::new(NoHooks),
            source: Arc::new(NoTools),
            tools: None,
            system_prompt: None,
            options: AgentOptions::default(),
        }
    }

    /// Names the agent for logs and scripts; never sent.
    pub fn label(mut self, label: impl Into<Arc<str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Takes time and ids from `clock`.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Lets `hooks` rewrite what enters the conversation.
    pub fn hooks(mut self, hooks: Arc<dyn TurnHooks>) -> Self {
        self.hooks = hooks;
        self
    }

    /// Runs tools on `source`. Without [`AgentBuilder::tools`] the model sees all of them.
    pub fn tool_source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.source = source;
        self
    }

    /// Shows the model these tools.
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Sets the system prompt. It is not part of the session: a resumed agent gets the one of
    /// its day. System messages of the conversation are, and follow it.
    pub fn system_prompt(mut self, text: impl Into<Arc<str>>) -> Self {
        self.system_prompt = Some(text.into());
        self
    }

    /// Sets whether the model must call a tool.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.config.tool_choice = choice;
        self
    }

    /// Sets what the agent allows itself.
    pub fn options(mut self, options: AgentOptions) -> Self {
        self.options = options;
        self
    }

    /// An agent whose conversation ends with it.
    pub fn ephemeral(self) -> Agent {
        let id = SessionId::new(self.clock.fresh_id());
        let session = NullStore.begin(id);
        self.build(session, Conversation::new())
    }

    /// An agent with a new session in `store`. Nothing is on disk before its first assistant
    /// message.
    ///
    /// # Errors
    ///
    /// As [`SessionStore::create`].
    pub async fn create(
        self,
        store: &dyn SessionStore,
        cwd: impl Into<PathBuf>,
    ) -> Result<Agent, SessionError> {
        let header = Header {
            id: SessionId::new(self.clock.fresh_id()),
            created: self.clock.now(),
            cwd: cwd.into(),
            metadata: Metadata::new(),
        };
        let session = store.create(header).await?;
        Ok(self.build(session, Conversation::new()))
    }

    /// An agent that goes on with a session of `store`, which it locks.
    ///
    /// # Errors
    ///
    /// As [`SessionStore::open`].
    pub async fn open(
        self,
        store: &dyn SessionStore,
        id: SessionId,
    ) -> Result<Agent, SessionError> {
        let OpenSession { session, tree } = store.open(id).await?;
        let conversation = tree.conversation();
        Ok(self.build(session, conversation))
    }

    /// An agent that appends to `session`, which holds `conversation`.
    pub fn build(self, session: Box<dyn Session>, conversation: Conversation) -> Agent {
        let session_id = session.id();
        // A source that declares a name twice shows the first; `tools` is the way to choose.
        let tools = self.tools.unwrap_or_else(|| {
            let mut seen = std::collections::HashSet::new();
            let mut declarations = self.source.declarations();
            declarations.retain(|declaration| seen.insert(declaration.name.clone()));
            ToolSet::new(declarations).unwrap_or_default()
        });
        Agent {
            shared: Arc::new(Shared {
                id: AgentId::new(self.clock.fresh_id()),
                session_id,
                context: session_id.to_string().into(),
                label: self.label,
                clock: self.clock,
                hooks: self.hooks,
                source: self.source,
                options: self.options,
                config: RwLock::new(self.config),
                tools: RwLock::new(tools),
                system_prompt: RwLock::new(self.system_prompt),
                conversation: Mutex::new(conversation),
                queue: Mutex::new(Queue::default()),
                live: Mutex::new(None),
                asked: Mutex::new(Vec::new()),
                session: Mutex::new(Some(session)),
                busy: watch::Sender::new(false),
            }),
        }
    }
}
