//! Jobs: turns that run by themselves, on the runtime, while Lua does something else.
//!
//! A task drives the turn and buffers its events whether or not anyone reads; it never touches
//! Lua. The owner thread takes events and the result out of the buffer under a short lock.

mod buffer;
mod control;
mod pump;
mod shared;
mod wake;

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

use mlua::{Lua, MetaMethod, MultiValue, UserData, UserDataFields, UserDataMethods, Value};
use pantograph::{Agent, Outcome, Prompt, StopReason};

use crate::args::Options;
use crate::class::{self, Class, Methods};
use crate::event::{EventTables, turn_error, usage_total};
use crate::fault::{Fault, Reply, values};
use crate::module::State;
use crate::stop::Stop;
use wake::Wake;

pub(crate) use control::Control;
pub(crate) use shared::Shared;
pub(crate) use wake::Wakes;

/// A turn that runs by itself.
pub(crate) struct Job {
    shared: Arc<Shared>,
    reader: RefCell<EventTables>,
    is_closed: Cell<bool>,
}

impl Job {
    /// Starts a turn of `agent`.
    pub(crate) fn start(
        lua: &Lua,
        state: &State,
        agent: &Agent,
        prompt: Prompt,
        wake: Option<Arc<Wake>>,
    ) -> Result<Self, Fault> {
        let turn = agent.run(prompt).map_err(|error| Fault::of(&error))?;
        let stop = Stop::new(lua, &state.embedding, turn.control());
        let shared = Arc::new(Shared::new(agent.clone(), stop, wake));
        pump::spawn(
            &state.embedding.runtime,
            &state.turns,
            turn,
            Arc::clone(&shared),
        );
        Ok(Self {
            shared,
            reader: RefCell::default(),
            is_closed: Cell::new(false),
        })
    }

    pub(crate) fn downgrade(&self) -> Weak<Shared> {
        Arc::downgrade(&self.shared)
    }

    /// Ends the job without waiting for it: what is left of it settles in the background.
    fn close(&self) {
        if !self.is_closed.replace(true) {
            self.shared.close();
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // From a garbage collection: nothing here may wait, or call Lua.
        self.close();
    }
}

/// Reads `wake_fd`. The outer error is a misuse, the inner one what a descriptor may be like.
pub(crate) fn wake_argument(
    wakes: &Wakes,
    options: &Options,
) -> Result<Result<Option<Arc<Wake>>, Fault>, Fault> {
    let Some(field) = options.given("wake_fd")? else {
        return Ok(Ok(None));
    };
    let number = field.integer()?;
    let Ok(fd) = i32::try_from(number) else {
        return Err(field.wrong(format_args!("{number} is no file descriptor")));
    };
    Ok(wakes.open(fd).map(Some).map_err(Fault::expected))
}

impl UserData for Job {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        class::fields(fields);
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Close, |_, this, _: MultiValue| {
            this.close();
            Ok(())
        });
    }
}

impl Class for Job {
    const NAME: &'static str = "panto.Job";

    fn methods(methods: &Methods<'_, Self>) -> mlua::Result<()> {
        // Events are many.
        methods.add_lean("next_event", next_event)?;
        methods.add("result", |lua, _, this, _| match this.shared.outcome() {
            Some(outcome) => result(lua, &outcome),
            None => values(lua, Value::Nil),
        })?;
        methods.add("request_cancel", |lua, _, this, mut args| {
            this.shared.stop().ask_as(&mut args)?;
            values(lua, true)
        })?;
        methods.add("control", |lua, _, this, _| {
            values(lua, Control::new(&this.shared))
        })?;
        methods.add("close", |lua, _, this, _| {
            this.close();
            values(lua, true)
        })
    }
}

fn next_event(lua: &Lua, job: &Job) -> Result<Value, Fault> {
    let Some(buffered) = job.shared.pop() else {
        return Ok(Value::Nil);
    };
    // Whatever Lua allocates may run a finalizer, which may call this again: nothing is borrowed.
    let mut reader = job.reader.take();
    let table = reader.shortened(lua, &buffered.event, buffered.omitted);
    job.reader.replace(reader);
    let table = table?;
    Ok(Value::Table(table))
}

/// The settled result.
fn result(lua: &Lua, outcome: &Outcome) -> Reply {
    let table = lua.create_table()?;
    let status = match outcome.stop {
        StopReason::End | StopReason::ToolCalls => "completed",
        StopReason::Cancelled => "cancelled",
        // A reply that a limit cut is no success, whatever it says.
        StopReason::Limit | StopReason::Failed => "failed",
    };
    table.raw_set("status", status)?;
    table.raw_set("stop", outcome.stop.as_str())?;
    table.raw_set("text", outcome.text.as_deref())?;
    turn_error(&table, outcome.error.as_ref())?;
    if outcome.stop == StopReason::Limit {
        table.raw_set("error", "a limit cut the turn short")?;
        table.raw_set("error_kind", "limit")?;
    }
    if !outcome.tool_calls.is_empty() {
        let calls = lua.create_table()?;
        for call in &outcome.tool_calls {
            let entry = lua.create_table()?;
            entry.raw_set("id", &*call.id)?;
            entry.raw_set("name", &*call.name)?;
            entry.raw_set("input", call.input.as_str())?;
            calls.raw_push(entry)?;
        }
        table.raw_set("tool_calls", calls)?;
    }
    usage_total(lua, &table, &outcome.usage)?;
    values(lua, table)
}
