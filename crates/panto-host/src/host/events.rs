//! The events that extensions hear, and how the session's become theirs.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::pin;
use std::rc::Rc;

use mlua::{AnyUserData, Lua, MetaMethod, Table, UserData, UserDataMethods, Value};
use panto_lua::{EventTables, Json};
use pantograph::{CallId, Event as TurnEvent, Outcome, StopReason};
use serde_json::Value as Data;

use super::shared::{Out, Shared};
use crate::session::{SessionEvent, SessionEvents, SessionHandle};

/// The events of panto's own.
pub(super) const NAMES: &[&str] = &[
    "session_ready",
    "session_end",
    "command_start",
    "command_end",
    "turn_start",
    "turn_interrupt",
    "turn_end",
    "user_message",
    "thinking",
    "thinking_delta",
    "thinking_complete",
    "assistant_text",
    "assistant_text_delta",
    "assistant_text_complete",
    "tool",
    "tool_details",
    "tool_delta",
    "tool_call_complete",
    "tool_dispatch_start",
    "tool_output_delta",
    "tool_result",
    "tool_collapse",
    "usage",
    "paused",
    "retry",
    "attempt_discarded",
    "compaction_start",
    "compaction_end",
    "agent_submission",
];

/// An event as a handler gets it.
pub(super) struct Event {
    name: Rc<str>,
    /// What it says. Texts that are still growing are made when they are read.
    fields: Table,
    /// The field that a handler may change, and what the last one made of it.
    writable: Option<&'static str>,
    changed: RefCell<Option<Value>>,
    /// Says whether a table can be the input of a call.
    json: Option<Json>,
}

impl Event {
    /// An event that nobody can change.
    pub(super) fn notification(name: &str, fields: Table) -> Self {
        Self {
            name: name.into(),
            fields,
            writable: None,
            changed: RefCell::default(),
            json: None,
        }
    }

    /// An event of which handlers may change `field`.
    pub(super) fn writable(name: &str, fields: Table, field: &'static str, json: &Json) -> Self {
        Self {
            writable: Some(field),
            json: Some(json.clone()),
            ..Self::notification(name, fields)
        }
    }

    /// An event that an extension made up. Each listener's `data` is a copy.
    pub(super) fn custom(
        lua: &Lua,
        name: &str,
        data: Option<&Data>,
        shared: &Shared,
    ) -> Result<Self, panto_lua::Fault> {
        let fields = lua.create_table()?;
        if let Some(data) = data {
            fields.raw_set("data", shared.module.json().value_to_lua(lua, data)?)?;
        }
        Ok(Self::notification(name, fields))
    }

    fn is_of_a_tool(&self) -> bool {
        self.name.starts_with("tool")
    }

    fn get(&self, lua: &Lua, key: &str) -> mlua::Result<Value> {
        match key {
            "name" => return self.name.to_string().into_lua_value(lua),
            "type" => return Ok(Value::Nil),
            "collapsed" if self.is_of_a_tool() => return Ok(Value::Boolean(false)),
            _ => {}
        }
        if self.writable == Some(key)
            && let Some(changed) = &*self.changed.borrow()
        {
            return Ok(changed.clone());
        }
        // Through the metatable, which makes what grows.
        self.fields.get(key)
    }

    fn set(&self, key: &str, value: Value) -> Result<(), String> {
        let name = &self.name;
        if self.writable != Some(key) {
            return Err(format!("`{key}` of a `{name}` event cannot be assigned"));
        }
        let fits = match key {
            "input" => value.is_table(),
            _ => value.is_string(),
        };
        if !fits {
            let wanted = if key == "input" { "a table" } else { "text" };
            return Err(format!(
                "`{key}` of a `{name}` event takes {wanted}, got {}",
                value.type_name()
            ));
        }
        let is_blank = |text: &mlua::LuaString| text.to_string_lossy().trim().is_empty();
        if &**name == "user_message" && value.as_string().is_some_and(is_blank) {
            return Err(format!("`{key}` of a `{name}` event must not be empty"));
        }
        let written = match &self.json {
            Some(json) if key == "input" => json.encode(&value).map_err(|error| error.to_string()),
            _ => Ok("{}".to_owned()),
        };
        // Kept all the same: a call whose input somebody wanted changed must not run unchanged.
        self.changed.replace(Some(value));
        let why = match written {
            Ok(text) if text.starts_with('{') => return Ok(()),
            Ok(_) => "it is a list".to_owned(),
            Err(error) => error,
        };
        Err(format!(
            "`{key}` of a `{name}` event takes a JSON object: {why}"
        ))
    }
}

/// A message with the line of Lua that called.
fn placed(lua: &Lua, message: &str) -> String {
    let place = lua.inspect_stack(1, |caller| {
        let file = caller.source().short_src?.into_owned();
        Some((file, caller.current_line()?))
    });
    match place.flatten() {
        Some((file, line)) => format!("{file}:{line}: {message}"),
        None => message.to_owned(),
    }
}

trait IntoLuaValue {
    fn into_lua_value(self, lua: &Lua) -> mlua::Result<Value>;
}

impl IntoLuaValue for String {
    fn into_lua_value(self, lua: &Lua) -> mlua::Result<Value> {
        lua.create_string(self).map(Value::String)
    }
}

impl UserData for Event {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        // Without a screen nothing is shown, so there is no component to wrap.
        methods.add_method("get_component", |_, _, ()| Ok(Value::Nil));
        methods.add_method("set_component", |_, _, _: Value| Ok(InertComponent));
        methods.add_meta_method(MetaMethod::Index, |lua, event, key: Value| match &key {
            Value::String(key) => event.get(lua, &key.to_string_lossy()),
            _ => Ok(Value::Nil),
        });
        methods.add_meta_method(
            MetaMethod::NewIndex,
            |lua, event, (key, value): (mlua::LuaString, Value)| {
                let set = event.set(&key.to_string_lossy(), value);
                set.map_err(|why| mlua::Error::runtime(placed(lua, &why)))
            },
        );
    }
}

/// The handle of a component that nobody shows.
struct InertComponent;

impl UserData for InertComponent {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("invalidate", |_, _, ()| Ok(()));
        methods.add_method("set_pinned", |_, _, _: bool| Ok(()));
        methods.add_method("alive", |_, _, ()| Ok(false));
    }
}

/// How a host hears its session.
pub(super) struct Listening {
    events: RefCell<SessionEvents>,
    tables: RefCell<EventTables>,
    interrupts: RefCell<tokio::sync::watch::Receiver<u64>>,
    turn: RefCell<Turn>,
}

/// What is known of the live turn.
#[derive(Default)]
struct Turn {
    id: Option<String>,
    batches: Vec<String>,
    /// Indexes of calls, by id, for events that come without.
    indexes: HashMap<CallId, u32>,
    interrupted: Cell<bool>,
}

impl Listening {
    pub(super) fn to(handle: &SessionHandle) -> Self {
        Self {
            events: RefCell::new(handle.events()),
            tables: RefCell::default(),
            interrupts: RefCell::new(handle.interrupts()),
            turn: RefCell::default(),
        }
    }
}

/// Tells extensions what happens in the session, and the session what extensions emit. Never ends.
pub(super) async fn serve(shared: &Rc<Shared>) -> Infallible {
    let mut outgoing = Outgoing::take(shared);
    loop {
        let out = tokio::select! {
            biased;
            () = hear_next(shared) => continue,
            out = outgoing.next() => out,
        };
        let _told = Told(shared);
        let mut sending = pin!(shared.send_out(out));
        // Extensions read the session, too: who waits for them must let them.
        loop {
            tokio::select! {
                biased;
                () = &mut sending => break,
                () = hear_next(shared) => {}
            }
        }
    }
}

/// Waits for what the session tells next, and lets extensions hear it.
async fn hear_next(shared: &Rc<Shared>) {
    let Some(listening) = shared.listening() else {
        return std::future::pending().await;
    };
    let heard = std::future::poll_fn(|cx| {
        use futures_util::StreamExt;
        listening.events.borrow_mut().poll_next_unpin(cx)
    });
    let interrupted = async {
        let mut interrupts = listening.interrupts.borrow().clone();
        if interrupts.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        // Behind what the session has told before.
        () = interrupted => shared.catch_up(),
        event = heard => match event {
            Some(event) => shared.hear(&listening, event),
            // The session is closed: nothing more comes of it.
            None => shared.detach_if(&listening),
        },
    }
}

/// Counts something as told, also if the session goes first.
struct Told<'a>(&'a Shared);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.was_told();
    }
}

/// What is to be told, taken while a host is driven.
struct Outgoing<'a> {
    shared: &'a Rc<Shared>,
    receiver: Option<tokio::sync::mpsc::UnboundedReceiver<Out>>,
}

impl<'a> Outgoing<'a> {
    fn take(shared: &'a Rc<Shared>) -> Self {
        Self {
            shared,
            receiver: shared.outgoing.take(),
        }
    }

    async fn next(&mut self) -> Out {
        let received = match &mut self.receiver {
            Some(receiver) => receiver.recv().await,
            None => None,
        };
        match received {
            Some(out) => out,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Outgoing<'_> {
    fn drop(&mut self) {
        self.shared.outgoing.replace(self.receiver.take());
    }
}

impl Shared {
    pub(super) fn listening(&self) -> Option<Rc<Listening>> {
        let attached = self.attached.borrow();
        attached
            .as_ref()
            .map(|attached| Rc::clone(&attached.listening))
    }

    fn detach_if(&self, listening: &Rc<Listening>) {
        let is_it = match &*self.attached.borrow() {
            Some(attached) => Rc::ptr_eq(&attached.listening, listening),
            None => false,
        };
        if is_it {
            self.detach();
        }
    }

    async fn send_out(&self, out: Out) {
        match out {
            Out::Custom { name, data } => {
                if let Some(session) = self.session() {
                    session.emit(name, data).await;
                }
            }
            Out::AgentSubmission => self.fire_named("agent_submission"),
        }
    }

    /// Hears everything that the session has told so far, so that what comes next comes after it.
    pub(super) fn catch_up(&self) {
        let Some(listening) = self.listening() else {
            return;
        };
        loop {
            let next = listening.events.borrow_mut().try_next();
            match next {
                Some(event) => self.hear(&listening, event),
                None => break,
            }
        }
        self.hear_interrupt();
    }

    fn hear_interrupt(&self) {
        let Some(listening) = self.listening() else {
            return;
        };
        let is_new = {
            let mut interrupts = listening.interrupts.borrow_mut();
            let is_new = interrupts.has_changed().unwrap_or(false);
            interrupts.mark_unchanged();
            is_new
        };
        if !is_new || listening.turn.borrow().interrupted.replace(true) {
            return;
        }
        let fields = listening.fields(&self.lua, "cancelled");
        if let Ok(fields) = fields {
            self.fire(Event::notification("turn_interrupt", fields));
        }
    }

    fn hear(&self, listening: &Listening, event: SessionEvent) {
        let SessionEvent::Turn(event) = event else {
            return;
        };
        let name = event.name();
        if !NAMES.contains(&name) || !self.is_heard(name) {
            // Texts grow all the same.
            listening.tables.borrow_mut().skip(&event);
            return self.note(listening, &event);
        }
        let table = listening.tables.borrow_mut().table(&self.lua, &event);
        let Ok(table) = table else { return };
        if is_hook(name) {
            return;
        }
        self.note(listening, &event);
        self.fire(Event::notification(name, table));
    }

    /// Keeps what later events say of the live turn.
    fn note(&self, listening: &Listening, event: &TurnEvent) {
        match event {
            TurnEvent::TurnStart { turn_id } => {
                listening.turn.replace(Turn {
                    id: Some(turn_id.to_string()),
                    ..Turn::default()
                });
            }
            TurnEvent::ToolDetails { index, id, .. } => {
                let mut turn = listening.turn.borrow_mut();
                turn.indexes.insert(CallId::clone(id), *index);
            }
            TurnEvent::ToolDispatchStart { batch_id, .. } => {
                let mut turn = listening.turn.borrow_mut();
                let batch = batch_id.to_string();
                if !turn.batches.contains(&batch) {
                    turn.batches.push(batch);
                }
            }
            TurnEvent::Settled(outcome) => self.hear_end(listening, outcome),
            _ => {}
        }
    }

    fn hear_end(&self, listening: &Listening, outcome: &Outcome) {
        self.hear_interrupt();
        let reason = match outcome.stop {
            StopReason::Cancelled => "cancelled",
            StopReason::Failed => "failed",
            StopReason::Limit => "limit",
            StopReason::End | StopReason::ToolCalls => "completed",
        };
        let fields = listening.fields(&self.lua, reason);
        if let Ok(fields) = fields {
            self.fire(Event::notification("turn_end", fields));
        }
        listening.turn.replace(Turn::default());
    }

    pub(super) fn is_heard(&self, name: &str) -> bool {
        let listeners = self.listeners.borrow();
        listeners.get(name).is_some_and(|list| !list.is_empty())
    }

    /// Tells an event that has nothing but its name.
    pub(super) fn fire_named(&self, name: &str) {
        if self.is_heard(name)
            && let Ok(fields) = self.lua.create_table()
        {
            self.fire(Event::notification(name, fields));
        }
    }

    /// Tells listeners, in the order in which they subscribed; gives what they made of the field
    /// that may be changed.
    pub(super) fn fire(&self, event: Event) -> Option<Value> {
        let name = Rc::clone(&event.name);
        // A copy: handlers may subscribe more, which hear of the next one.
        let listeners = self.listeners.borrow().get(&*name)?.clone();
        if listeners.is_empty() {
            return None;
        }
        let event = match self.lua.create_userdata(event) {
            Ok(event) => event,
            Err(error) => {
                tracing::error!(%error, "an event could not be told");
                return None;
            }
        };
        for listener in listeners {
            let what = format!("the `{name}` handler of `{}`", listener.owner);
            let called = self.handle.call(&what, &listener.function, event.clone());
            if let Err(failure) = called {
                self.say_failure(&failure);
            }
        }
        changed(&event)
    }
}

fn changed(event: &AnyUserData) -> Option<Value> {
    let event = event.borrow::<Event>().ok()?;
    event.changed.borrow().clone()
}

/// Whether an event is told by a hook, which may change it, and not when the session tells it.
pub(super) fn is_hook(name: &str) -> bool {
    matches!(name, "user_message" | "tool_call_complete" | "tool_result")
}

impl Listening {
    /// What is said of the live turn, copied: making tables can run finalizers.
    fn fields(&self, lua: &Lua, reason: &str) -> mlua::Result<Table> {
        let (id, batches) = {
            let turn = self.turn.borrow();
            (turn.id.clone(), turn.batches.clone())
        };
        let fields = lua.create_table()?;
        fields.raw_set("turn_id", id)?;
        fields.raw_set("batch_ids", lua.create_sequence_from(batches)?)?;
        fields.raw_set("reason", reason)?;
        Ok(fields)
    }

    /// The block of a call of the live turn.
    pub(super) fn index(&self, call: &str) -> Option<u32> {
        self.turn.borrow().indexes.get(call).copied()
    }
}
