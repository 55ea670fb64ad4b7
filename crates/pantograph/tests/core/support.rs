//! What every test needs: fixed time and ids, a store whose records can be looked at, a protocol
//! that compares what it is shown with what is stored, and tools that behave badly.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use jiff::Timestamp;
use pantograph::protocol::{Protocol, ProtocolStream, Request};
use pantograph::session::{
    Header, LoadOptions, OpenSession, Record, Session, SessionError, SessionInfo, SessionStore,
    SessionTree,
};
use pantograph::{
    Agent, AgentBuilder, Clock, Event, Message, Model, ModelRef, Outcome, ProviderError, SessionId,
    ToolDeclaration, ToolOutput, ToolRegistry, TurnStream, Usage,
};
use pantograph_scripted::{Script, ScriptedProtocol};
use parking_lot::Mutex;
use serde_json::json;
use uuid::Uuid;

/// Ids and times that count up from zero.
#[derive(Default)]
pub(crate) struct CountingClock(AtomicU64);

impl Clock for CountingClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn fresh_id(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

pub(crate) fn model() -> Model {
    Model::new(ModelRef::parse("test:scripted").unwrap())
}

pub(crate) fn scripted(script: Script) -> Arc<ScriptedProtocol> {
    Arc::new(ScriptedProtocol::new(script))
}

pub(crate) fn builder(protocol: &Arc<ScriptedProtocol>) -> AgentBuilder {
    let protocol: Arc<dyn Protocol> = protocol.clone();
    Agent::builder(protocol, model()).clock(Arc::new(CountingClock::default()))
}

/// Pulls a turn to its end.
pub(crate) async fn finish(turn: TurnStream) -> (Vec<Event>, Arc<Outcome>) {
    finish_and(turn, "settled", |_| {}).await
}

/// Runs a prompt to its end.
pub(crate) async fn run(agent: &Agent, prompt: &str) -> (Vec<Event>, Arc<Outcome>) {
    finish(agent.run(prompt).unwrap()).await
}

pub(crate) fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(Event::name).collect()
}

/// The conversation, a line a block.
pub(crate) fn shown(agent: &Agent) -> String {
    agent
        .conversation()
        .messages()
        .iter()
        .map(|message| line(message))
        .collect()
}

fn line(message: &Message) -> String {
    use pantograph::Block;
    let mut text = String::new();
    for block in &message.blocks {
        let shown = match block {
            Block::Text { text, .. } => text.clone(),
            Block::Thinking { text, .. } => format!("(thinks) {text}"),
            Block::ToolCall(call) => format!("(calls) {} {}", call.name, call.input),
            Block::ToolResult(result) => {
                format!("({:?}) {}", result.status, result.output())
            }
            Block::Attachment(attachment) => format!("(attachment) {}", attachment.media_type),
            Block::Opaque { raw } => format!("(opaque) {}", raw.as_str()),
            Block::Summary { text } => format!("(summary) {text}"),
        };
        let stop = message
            .stop
            .map(|stop| format!(" [{stop}]"))
            .unwrap_or_default();
        text.push_str(&format!("{}{stop}: {shown}\n", message.role));
    }
    text
}

/// A store in memory that shows its records and can be told to fail.
#[derive(Clone, Default)]
pub(crate) struct MemoryStore {
    state: Arc<Mutex<MemoryState>>,
}

#[derive(Default)]
struct MemoryState {
    header: Option<Header>,
    records: Vec<Record>,
    failing: bool,
}

impl MemoryStore {
    pub(crate) fn tree(&self) -> SessionTree {
        let state = self.state.lock();
        let mut tree = SessionTree::new(state.header.clone().unwrap());
        for record in &state.records {
            tree.apply(record.clone());
        }
        tree
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        self.state.lock().records.clone()
    }

    pub(crate) fn add(&self, record: Record) {
        self.state.lock().records.push(record);
    }

    pub(crate) fn set_failing(&self, failing: bool) {
        self.state.lock().failing = failing;
    }

    pub(crate) fn id(&self) -> SessionId {
        self.state.lock().header.as_ref().unwrap().id
    }
}

struct MemorySession {
    store: MemoryStore,
    id: SessionId,
    waiting: Vec<Record>,
}

#[async_trait]
impl Session for MemorySession {
    fn id(&self) -> SessionId {
        self.id
    }

    async fn append(&mut self, records: Vec<Record>) -> Result<(), SessionError> {
        self.waiting.extend(records);
        let mut state = self.store.state.lock();
        if state.failing {
            return Err(SessionError::Store("the disk is full".to_owned()));
        }
        state.records.append(&mut self.waiting);
        Ok(())
    }
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn create(&self, header: Header) -> Result<Box<dyn Session>, SessionError> {
        let id = header.id;
        self.state.lock().header = Some(header);
        Ok(Box::new(MemorySession {
            store: self.clone(),
            id,
            waiting: Vec::new(),
        }))
    }

    async fn open(&self, id: SessionId) -> Result<OpenSession, SessionError> {
        Ok(OpenSession {
            session: Box::new(MemorySession {
                store: self.clone(),
                id,
                waiting: Vec::new(),
            }),
            tree: self.tree(),
        })
    }

    async fn load(&self, _id: SessionId) -> Result<SessionTree, SessionError> {
        Ok(self.tree())
    }

    async fn load_messages(
        &self,
        _id: SessionId,
        _options: &LoadOptions,
    ) -> Result<Vec<Message>, SessionError> {
        unreachable!("not needed here")
    }

    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        unreachable!("not needed here")
    }

    async fn list_bounded(&self, _limit: usize) -> Result<Vec<SessionInfo>, SessionError> {
        unreachable!("not needed here")
    }

    async fn resolve(&self, _id_or_prefix: &str) -> Result<SessionId, SessionError> {
        unreachable!("not needed here")
    }

    async fn latest(&self) -> Result<Option<SessionId>, SessionError> {
        unreachable!("not needed here")
    }
}

/// Asks the inner protocol, after it has compared the conversation that it is shown with the
/// one that the store would load at this moment.
///
/// A panic inside a protocol fails only its turn, so differences are kept until this is dropped.
pub(crate) struct Durable {
    inner: Arc<ScriptedProtocol>,
    store: MemoryStore,
    difference: Mutex<Option<String>>,
}

impl Durable {
    pub(crate) fn new(inner: &Arc<ScriptedProtocol>, store: &MemoryStore) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            store: store.clone(),
            difference: Mutex::new(None),
        })
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        if let Some(difference) = self.difference.get_mut()
            && !std::thread::panicking()
        {
            panic!("what was asked differs from what was stored: {difference}");
        }
    }
}

#[async_trait]
impl Protocol for Durable {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn open(&self, request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        if request.purpose == pantograph::protocol::Purpose::Turn {
            let (stored, asked) = (self.store.tree().conversation(), &request.conversation);
            if stored.messages() != asked.messages() || stored.head() != asked.head() {
                *self.difference.lock() = Some(format!("{asked:#?}\n{stored:#?}"));
            }
        }
        self.inner.open(request).await
    }

    fn reset_context(&self, context: &str) {
        self.inner.reset_context(context);
    }

    fn release_context(&self, context: &str) {
        self.inner.release_context(context);
    }
}

pub(crate) fn declare(name: &str) -> ToolDeclaration {
    ToolDeclaration::new(name, "A tool.", json!({"type": "object"})).unwrap()
}

/// A tool `echo` that answers this text.
pub(crate) fn echo(text: impl Into<String>) -> Arc<ToolRegistry> {
    let text = text.into();
    let tools = ToolRegistry::new()
        .tool(declare("echo"), move |_| {
            let output = ToolOutput::text(text.clone());
            async move { output }
        })
        .unwrap();
    Arc::new(tools)
}

/// Counts of tokens, as a provider reports them.
pub(crate) fn used(input: u64, output: u64) -> Usage {
    Usage {
        input: Some(input),
        output: Some(output),
        ..Usage::default()
    }
}

/// Pulls a turn to its end, and acts at every event of this name.
pub(crate) async fn finish_and(
    mut turn: TurnStream,
    name: &str,
    mut act: impl FnMut(&TurnStream),
) -> (Vec<Event>, Arc<Outcome>) {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        if event.name() == name {
            act(&turn);
        }
        events.push(event);
    }
    let Some(Event::Settled(outcome)) = events.last() else {
        panic!("the last event is not `settled`: {:?}", events.last());
    };
    let outcome = Arc::clone(outcome);
    (events, outcome)
}
