//! An agent: a conversation, a model to ask and tools to run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::batch::ToolSource;
use crate::cancel::{Cancel, DEFAULT_GRACE};
use crate::clock::Clock;
use crate::conversation::Conversation;
use crate::event::Outcome;
use crate::hooks::TurnHooks;
use crate::ids::{AgentId, MessageId, SessionId};
use crate::message::{Block, Message, Metadata, Role};
use crate::model::Model;
use crate::protocol::{Protocol, ToolChoice};
use crate::queue::{Queue, QueueId, Queued, Submission};
use crate::session::{Record, Session, SessionError};
use crate::tool::ToolSet;
use crate::turn::{Opening, TurnStream};

mod builder;
mod prompt;
mod writer;

pub use builder::AgentBuilder;
pub use prompt::Prompt;
pub(crate) use writer::Writer;

/// A conversation, a model to ask and tools to run. Clones are handles to the same agent.
///
/// At most one turn runs at a time. While it runs everything can be read, as it is at that
/// moment, and what is set takes effect with the next request; only what changes the
/// conversation is refused.
///
/// Turns need a tokio runtime of any flavour with its time enabled (`enable_time`, as
/// `#[tokio::main]` has it). Without one a turn fails: its error is
/// [`crate::ErrorClass::Terminal`], and says what tokio misses.
///
/// The session stays open, and locked, as long as a handle of the agent or a turn that has not
/// settled is there.
#[derive(Clone)]
pub struct Agent {
    pub(crate) shared: Arc<Shared>,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("id", &self.shared.id)
            .field("session", &self.shared.session_id)
            .finish_non_exhaustive()
    }
}

/// Who answers, and how it must use tools. Cheap to clone.
#[derive(Clone)]
pub struct AgentConfig {
    /// The wire format.
    pub protocol: Arc<dyn Protocol>,
    /// The model.
    pub model: Arc<Model>,
    /// Whether the model must call a tool.
    pub tool_choice: ToolChoice,
}

/// What an agent allows itself.
///
/// ```
/// use pantograph::{AgentOptions, DEFAULT_GRACE};
///
/// let AgentOptions { grace, max_result_bytes, max_rounds, auto_compact } = AgentOptions::default();
/// assert_eq!((grace, max_result_bytes), (DEFAULT_GRACE, 1024 * 1024));
/// assert_eq!((max_rounds, auto_compact), (None, true));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct AgentOptions {
    /// How long a tool may go on after a cancel. By default [`DEFAULT_GRACE`], two seconds.
    pub grace: Duration,
    /// How many bytes of text a tool result may have; more is cut in the middle and marked. By
    /// default a mebibyte.
    pub max_result_bytes: usize,
    /// How many requests one turn may make; more ends it with `limit`. By default without a
    /// bound.
    pub max_rounds: Option<u32>,
    /// Whether a conversation near its context window is compacted without being asked; it never
    /// is if the model's window is not known. By default it is.
    pub auto_compact: bool,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            grace: DEFAULT_GRACE,
            max_result_bytes: 1024 * 1024,
            max_rounds: None,
            auto_compact: true,
        }
    }
}

pub(crate) struct Shared {
    pub(crate) id: AgentId,
    pub(crate) session_id: SessionId,
    pub(crate) context: Arc<str>,
    pub(crate) label: Option<Arc<str>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hooks: Arc<dyn TurnHooks>,
    pub(crate) source: Arc<dyn ToolSource>,
    pub(crate) options: AgentOptions,
    pub(crate) config: RwLock<AgentConfig>,
    pub(crate) tools: RwLock<ToolSet>,
    pub(crate) system_prompt: RwLock<Option<Arc<str>>>,
    pub(crate) conversation: Mutex<Conversation>,
    pub(crate) queue: Mutex<Queue>,
    /// The signal of the live turn.
    pub(crate) live: Mutex<Option<Cancel>>,
    /// The protocols that may keep something for this agent's context.
    asked: Mutex<Vec<Arc<dyn Protocol>>>,
    /// Taken by the live turn, or by an edit.
    session: Mutex<Option<Box<dyn Session>>>,
    busy: watch::Sender<bool>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        for protocol in self.asked.get_mut() {
            protocol.release_context(&self.context);
        }
    }
}

/// The agent has a live turn, which must settle first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the agent has a live turn; wait until it settles, or cancel it")]
pub struct Busy;

/// Why a conversation could not be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// A turn is live.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The conversation has no such message.
    #[error("the conversation has no message `{0}`")]
    NoMessage(MessageId),
    /// The change could not be stored. Unless the store refused it for good
    /// ([`SessionError::Refused`]), it is in memory, and is stored with the next append.
    #[error("could not store the change")]
    Session(#[from] SessionError),
}

impl Agent {
    /// Begins an agent that asks `model` over `protocol`.
    pub fn builder(protocol: Arc<dyn Protocol>, model: Model) -> AgentBuilder {
        AgentBuilder::new(protocol, model)
    }

    /// Starts a turn with a prompt.
    ///
    /// Nothing happens before the turn is polled, on a tokio runtime (see [`Agent`]).
    ///
    /// # Errors
    ///
    /// [`Busy`] while another turn is live.
    pub fn run(&self, prompt: impl Into<Prompt>) -> Result<TurnStream, Busy> {
        self.start(Opening::Prompt(prompt.into()))
    }

    /// Runs a prompt to its end, for those who want no events.
    ///
    /// Dropping the future cancels the turn, which settles in the background.
    ///
    /// # Errors
    ///
    /// [`Busy`] while another turn is live. A turn that fails is no error here: see
    /// [`Outcome::error`].
    pub async fn ask(&self, prompt: impl Into<Prompt>) -> Result<Arc<Outcome>, Busy> {
        let turn = self.run(prompt)?;
        Ok(turn.outcome().await)
    }

    /// Starts a turn that goes on from the last complete message, without a new user message:
    /// after a transport error or a cancel. A cancelled answer's partial text stays in the
    /// session, on a branch of its own.
    ///
    /// # Errors
    ///
    /// [`Busy`] while another turn is live.
    pub fn continue_turn(&self) -> Result<TurnStream, Busy> {
        self.start(Opening::Continue)
    }

    /// Starts a turn with what is queued: all steering, else the first follow-up.
    ///
    /// `None` if nothing is queued that may start a turn: after an interrupt what code queued
    /// waits for a turn that a person starts.
    ///
    /// # Errors
    ///
    /// [`Busy`] while another turn is live.
    pub fn run_queued(&self) -> Result<Option<TurnStream>, Busy> {
        if !self.shared.queue.lock().can_start() {
            return Ok(None);
        }
        self.start(Opening::Queue).map(Some)
    }

    /// Starts a turn that compacts the conversation: everything before the last turns is
    /// replaced by a summary, which heeds `instructions`.
    ///
    /// # Errors
    ///
    /// [`Busy`] while another turn is live.
    pub fn compact(&self, instructions: Option<String>) -> Result<TurnStream, Busy> {
        self.start(Opening::Compact(instructions))
    }

    fn start(&self, opening: Opening) -> Result<TurnStream, Busy> {
        let writer = Writer::take(&self.shared)?;
        Ok(TurnStream::new(self.clone(), writer, opening))
    }

    /// Completes when no turn is live.
    pub async fn settled(&self) {
        // The sender lives as long as the agent, so waiting cannot fail.
        let _ = self.shared.busy.subscribe().wait_for(|busy| !busy).await;
    }

    /// Whether a turn is live.
    pub fn is_busy(&self) -> bool {
        *self.shared.busy.borrow()
    }

    /// Asks the live turn to stop, if there is one. From now on nothing that code has submitted
    /// starts a turn, until a person has started one.
    pub fn interrupt(&self) {
        let live = self.shared.live.lock();
        self.shared.queue.lock().hold();
        if let Some(cancel) = &*live {
            cancel.ask_within(self.shared.options.grace);
        }
    }

    /// As [`Agent::interrupt`], if the turn of this signal is still live.
    pub(crate) fn interrupt_turn(&self, turn: &Cancel, grace: Duration) {
        let live = self.shared.live.lock();
        if live.as_ref().is_some_and(|cancel| cancel.is_same(turn)) {
            self.shared.queue.lock().hold();
            turn.ask_within(grace);
        }
    }

    /// Queues something for the agent to hear.
    ///
    /// It lands exactly once. While no turn is live, [`Agent::run_queued`] starts one with it.
    pub fn submit(&self, submission: Submission) -> QueueId {
        self.shared.queue.lock().push(submission)
    }

    /// Takes a submission back; `None` if it has landed.
    pub fn withdraw(&self, id: QueueId) -> Option<Submission> {
        self.shared.queue.lock().remove(id)
    }

    /// What is queued, in order.
    pub fn queued(&self) -> Vec<Queued> {
        self.shared.queue.lock().list()
    }

    /// Names the agent.
    pub fn id(&self) -> AgentId {
        self.shared.id
    }

    /// Names its session.
    pub fn session_id(&self) -> SessionId {
        self.shared.session_id
    }

    /// Its label.
    pub fn label(&self) -> Option<&str> {
        self.shared.label.as_deref()
    }

    /// A snapshot of the conversation.
    pub fn conversation(&self) -> Conversation {
        self.shared.conversation.lock().clone()
    }

    /// Who answers.
    pub fn config(&self) -> AgentConfig {
        self.shared.config.read().clone()
    }

    /// Sets who answers from the next request on.
    pub fn set_config(&self, config: AgentConfig) {
        *self.shared.config.write() = config;
    }

    /// The tools that the model sees.
    pub fn tools(&self) -> ToolSet {
        self.shared.tools.read().clone()
    }

    /// Sets the tools that the model sees from the next request on.
    pub fn set_tools(&self, tools: ToolSet) {
        *self.shared.tools.write() = tools;
    }

    /// The system prompt.
    pub fn system_prompt(&self) -> Option<Arc<str>> {
        self.shared.system_prompt.read().clone()
    }

    /// Sets the system prompt from the next request on.
    pub fn set_system_prompt(&self, text: Option<Arc<str>>) {
        *self.shared.system_prompt.write() = text;
    }

    /// Adds a system message.
    ///
    /// # Errors
    ///
    /// A turn is live, or the message could not be stored.
    pub async fn add_system_message(
        &self,
        text: impl Into<String>,
        metadata: Metadata,
    ) -> Result<MessageId, EditError> {
        self.add_message(Role::System, vec![Block::text(text)], metadata)
            .await
    }

    /// Adds a user message that no turn answers yet.
    ///
    /// # Errors
    ///
    /// A turn is live, or the message could not be stored.
    pub async fn add_user_message(
        &self,
        blocks: Vec<Block>,
        metadata: Metadata,
    ) -> Result<MessageId, EditError> {
        self.add_message(Role::User, blocks, metadata).await
    }

    async fn add_message(
        &self,
        role: Role,
        blocks: Vec<Block>,
        metadata: Metadata,
    ) -> Result<MessageId, EditError> {
        let mut writer = Writer::take(&self.shared)?;
        let mut message = self.shared.new_message(role, blocks);
        message.metadata = metadata;
        let id = message.id.clone();
        writer.append(message).await?;
        Ok(id)
    }

    /// Replaces a message's metadata, in memory and on disk.
    ///
    /// # Errors
    ///
    /// A turn is live, there is no such message, or the change could not be stored.
    pub async fn set_message_metadata(
        &self,
        id: &MessageId,
        metadata: Metadata,
    ) -> Result<(), EditError> {
        let mut writer = Writer::take(&self.shared)?;
        let found = {
            let conversation = self.shared.conversation.lock();
            conversation
                .messages()
                .iter()
                .position(|message| message.id == *id && !message.is_summary())
        };
        let position = found.ok_or_else(|| EditError::NoMessage(id.clone()))?;
        let record = Record::Metadata {
            target: id.clone(),
            metadata: metadata.clone(),
            at: self.shared.clock.now(),
        };
        let stored = writer.store(vec![record]).await;
        if !matches!(stored, Err(SessionError::Refused { .. })) {
            let mut conversation = self.shared.conversation.lock();
            let mut message = Message::clone(&conversation.messages()[position]);
            message.metadata = metadata;
            conversation.replace(position, Arc::new(message));
        }
        Ok(stored?)
    }

    /// Gives its session up, with what holds it locked, for another agent. From now on this one is
    /// as busy for ever.
    ///
    /// # Errors
    ///
    /// A turn or an edit is live, or the session was given up before.
    pub fn give_up_session(&self) -> Result<Box<dyn Session>, Busy> {
        self.shared.session.lock().take().ok_or(Busy)
    }

    /// Goes on from another point of the session, as
    /// [`crate::session::SessionTree::conversation_at`] gives it. What follows becomes a branch;
    /// nothing is lost.
    ///
    /// # Errors
    ///
    /// A turn is live, or the change could not be stored.
    pub async fn continue_from(&self, conversation: Conversation) -> Result<(), EditError> {
        let mut writer = Writer::take(&self.shared)?;
        let record = Record::Head {
            target: conversation.head().cloned(),
            at: self.shared.clock.now(),
        };
        *self.shared.conversation.lock() = conversation;
        self.shared.reset_contexts();
        writer.store(vec![record]).await?;
        Ok(())
    }
}

impl Shared {
    /// A message that follows the conversation's head.
    pub(crate) fn new_message(&self, role: Role, blocks: Vec<Block>) -> Message {
        Message {
            id: self.clock.fresh_id().into(),
            parent: self.conversation.lock().head().cloned(),
            at: self.clock.now(),
            role,
            blocks,
            metadata: Metadata::new(),
            origin: None,
            usage: None,
            stop: None,
        }
    }

    /// Notes that a protocol is asked, which may keep something for the context.
    pub(crate) fn note_asked(&self, protocol: &Arc<dyn Protocol>) {
        let mut asked = self.asked.lock();
        if !asked.iter().any(|known| Arc::ptr_eq(known, protocol)) {
            asked.push(Arc::clone(protocol));
        }
    }

    /// The conversation changed otherwise than by growing: nothing kept upstream holds.
    pub(crate) fn reset_contexts(&self) {
        for protocol in self.asked.lock().iter() {
            protocol.reset_context(&self.context);
        }
    }
}
