//! Streams: a turn that Lua reads event by event.
//!
//! A task on the runtime drives the turn and hands its events over; it pauses when many are
//! unread. The owner thread takes them, and waits as its host says.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use mlua::{Lua, MetaMethod, UserData, UserDataFields, UserDataMethods, Value};
use pantograph::{Agent, AgentId, ErrorClass, Event, Outcome, StopReason, TurnError, TurnStream};
use tokio::sync::mpsc::{self, Receiver, Sender, error::TryRecvError};

use crate::agent::Owned;
use crate::args::Args;
use crate::class::{self, Class, Methods};
use crate::event::EventTables;
use crate::fault::{Fault, Reply, values};
use crate::module::State;
use crate::shim::later;
use crate::stop::Stop;
use crate::turns::Entry;
use crate::wait::Pending;

/// How many events may be unread before the turn pauses.
const UNREAD: usize = 64;

/// A turn that is read.
pub(crate) struct Stream {
    inner: Rc<Inner>,
}

struct Inner {
    agent: Rc<Owned>,
    id: AgentId,
    turn: RefCell<Turn>,
    /// Whether a `next` waits: a second one would take its event.
    is_read: Cell<bool>,
}

struct Turn {
    events: Receiver<Event>,
    /// What a reader waited for and has not taken: it may have been closed meanwhile.
    arrived: Option<Event>,
    stop: Stop,
    reader: EventTables,
    outcome: Option<Arc<Outcome>>,
}

impl Stream {
    pub(crate) fn new(
        lua: &Lua,
        state: &State,
        owned: Rc<Owned>,
        agent: Agent,
        turn: TurnStream,
    ) -> Self {
        Self {
            inner: Rc::new(Inner {
                id: agent.id(),
                agent: owned,
                turn: RefCell::new(Turn::start(lua, state, agent, turn)),
                is_read: Cell::new(false),
            }),
        }
    }

    fn next(&self, lua: &Lua, state: &State) -> Reply {
        if self.inner.is_read.get() {
            return Err(Fault::expected(
                "the stream is being read already; one reader at a time",
            ));
        }
        let next = self.inner.turn.borrow_mut().try_next();
        match next {
            Ok(event) => return self.inner.give(lua, Some(event)),
            Err(TryRecvError::Disconnected) => return self.inner.give(lua, None),
            Err(TryRecvError::Empty) => {}
        }
        let enclosing = state.embedding.enclosing(lua);
        if enclosing.is_some_and(|turn| turn.agent == self.inner.id) {
            return Err(Fault::expected(
                "the stream's turn waits for the tool call that reads it; read it elsewhere",
            ));
        }
        let reading = Reading::new(&self.inner);
        let inner = Rc::clone(&self.inner);
        let arrival = async move {
            poll_fn(|cx| inner.turn.borrow_mut().poll_arrival(cx)).await;
            reading
        };
        let answer = |lua: &Lua, reading: Reading| {
            let event = reading.0.turn.borrow_mut().arrived.take();
            reading.0.give(lua, event)
        };
        later(lua, Pending::new(arrival, answer))
    }
}

impl Inner {
    fn give(&self, lua: &Lua, event: Option<Event>) -> Reply {
        let Some(event) = event else {
            return values(lua, Value::Nil);
        };
        let mut reader = {
            let mut turn = self.turn.borrow_mut();
            if let Event::Settled(outcome) = &event {
                turn.outcome = Some(Arc::clone(outcome));
            }
            std::mem::take(&mut turn.reader)
        };
        // Whatever Lua allocates may run a finalizer, which may call this again: nothing is
        // borrowed meanwhile.
        let table = reader.table(lua, &event);
        self.turn.borrow_mut().reader = reader;
        values(lua, table?)
    }
}

/// Holds the place of the one reader, until it has its event or is collected.
struct Reading(Rc<Inner>);

impl Reading {
    fn new(inner: &Rc<Inner>) -> Self {
        inner.is_read.set(true);
        Self(Rc::clone(inner))
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.is_read.set(false);
    }
}

impl Turn {
    fn try_next(&mut self) -> Result<Event, TryRecvError> {
        match self.arrived.take() {
            Some(event) => Ok(event),
            None => self.events.try_recv(),
        }
    }

    /// Completes when an event has arrived, or none will.
    fn poll_arrival(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.events.poll_recv(cx).map(|event| self.arrived = event)
    }

    fn start(lua: &Lua, state: &State, agent: Agent, turn: TurnStream) -> Self {
        let stop = Stop::new(lua, &state.embedding, turn.control());
        let (sender, events) = mpsc::channel(UNREAD);
        let entry = state.turns.enter(turn.control());
        let pump = pump(agent, turn, sender, entry);
        state.embedding.runtime.spawn(pump);
        Self {
            events,
            arrived: None,
            stop,
            reader: EventTables::default(),
            outcome: None,
        }
    }
}

/// Drives a turn for its reader. Without a reader the turn is dropped, which cancels it.
async fn pump(agent: Agent, turn: TurnStream, sender: Sender<Event>, entry: Entry) {
    let mut agent = Some(agent);
    tokio::select! {
        () = hand_over(turn, &sender, &mut agent) => {}
        () = sender.closed() => {}
        () = entry.unread() => {}
    }
    drop(sender);
    if let Some(agent) = agent {
        // The dropped turn settles in the background.
        agent.settled().await;
    }
    drop(entry);
}

async fn hand_over(mut turn: TurnStream, sender: &Sender<Event>, agent: &mut Option<Agent>) {
    while let Some(event) = turn.next().await {
        if matches!(event, Event::Settled(_)) {
            // Before its reader hears of it: then the session is free for others.
            *agent = None;
        }
        if sender.send(event).await.is_err() {
            return;
        }
    }
}

/// Whether what is left of the turn can be had by going on.
fn may_reopen(outcome: &Outcome) -> bool {
    match (&outcome.stop, &outcome.error) {
        (StopReason::Cancelled, _) => true,
        (StopReason::Failed, Some(TurnError::Provider(error))) => {
            error.class == ErrorClass::Transport
        }
        _ => false,
    }
}

impl UserData for Stream {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        class::fields(fields);
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Close, |_, this, _: mlua::MultiValue| {
            // A turn that settled is not cancelled by this.
            this.inner.turn.borrow().stop.ask(None);
            this.inner.turn.borrow_mut().events.close();
            Ok(())
        });
    }
}

impl Class for Stream {
    const NAME: &'static str = "panto.Stream";

    fn methods(methods: &Methods<'_, Self>) -> mlua::Result<()> {
        methods.add("next", |lua, state, this, _| this.next(lua, state))?;
        methods.add("cancel", |lua, _, this, mut args| {
            let stop = this.inner.turn.borrow().stop.clone();
            stop.ask_as(&mut args)?;
            values(lua, true)
        })?;
        methods.add("reopen", |lua, state, this, args| {
            reopen(lua, state, this, args)
        })?;
        // Its parts are those of a generic `for`: the function is called with the stream.
        let events = methods
            .lua()
            .create_function(|_, this: mlua::AnyUserData| {
                let class = this.metatable()?.get::<mlua::Table>("__index")?;
                Ok((class.raw_get::<mlua::Function>("next")?, this))
            })?;
        methods.add("events", move |lua, _, _, args| {
            values(lua, events.call::<mlua::MultiValue>(args.object())?)
        })
    }
}

/// Goes on with a turn that a connection or a cancel ended. The stream itself is given back.
fn reopen(lua: &Lua, state: &State, this: &Stream, args: Args) -> Reply {
    let inner = &this.inner;
    {
        let turn = inner.turn.borrow();
        let Some(outcome) = &turn.outcome else {
            return Err(Fault::expected(
                "the stream has not settled; read it to its end, or cancel it, before reopen()",
            ));
        };
        if !may_reopen(outcome) {
            return Err(Fault::expected(
                "only a stream that was cancelled or lost its connection can be reopened",
            ));
        }
    }
    let agent = inner.agent.free()?;
    let turn = agent.continue_turn().map_err(|error| Fault::of(&error))?;
    *inner.turn.borrow_mut() = Turn::start(lua, state, agent, turn);
    values(lua, args.object())
}
