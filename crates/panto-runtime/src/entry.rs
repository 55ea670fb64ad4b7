//! The Lua half of every entry: `entry.lua`.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use mlua::{Function, LightUserData, Lua, MultiValue, Table, Value};

use crate::executor::Executor;
use crate::failure::Failure;
use crate::frame::{Callbacks, ContextId, Frame, yield_function};
use crate::{raw, tool_context};

/// What a yield gets where nobody can wait for it.
pub const MUST_NOT_WAIT: &str =
    "yielded, but this entrypoint must not await; its caller needs the result now";

/// The functions that Lua code is entered through.
pub(crate) struct Entry {
    /// Calls a function that must not wait.
    call: Function,
    /// `coroutine.close`.
    pub(crate) close: Function,
}

/// Above the function that makes the traceback, and the handler that calls it.
const LEVEL_OF_RAISER: usize = 2;

/// Where the executor will be, once it is made.
pub(crate) type Later = Rc<RefCell<Weak<Executor>>>;

impl Entry {
    /// Compiles the Lua half, and makes the frame of handlers. `executor` is filled in before any
    /// of it is called.
    pub(crate) fn new(
        lua: &Lua,
        create: Function,
        executor: &Later,
    ) -> mlua::Result<(Self, Frame)> {
        let traceback = lua.create_function(|lua, ()| lua.traceback(None, LEVEL_OF_RAISER))?;
        let (on_error, call, close) = lua
            .load(include_str!("entry.lua"))
            .set_name("=[panto]")
            .call((traceback, create, MUST_NOT_WAIT))?;
        let callbacks = Callbacks {
            ended: ended(lua, executor)?,
            closed: closed(lua, executor)?,
            on_error,
            index: tool_context::index(lua, executor)?,
        };
        replace_yield(lua, executor)?;
        let frame = Frame::new(lua, callbacks)?;
        Ok((Self { call, close }, frame))
    }

    /// Lets the functions that stand round every step come to their end: this one's, and `others`.
    pub(crate) fn exempt(&self, lua: &Lua, others: &[&Function]) -> mlua::Result<()> {
        raw::exempt(lua, &[&self.call])?;
        raw::exempt(lua, others)
    }

    pub(crate) fn call(
        &self,
        what: &str,
        function: &Function,
        mut arguments: MultiValue,
    ) -> Result<MultiValue, Failure> {
        arguments.push_front(Value::Function(function.clone()));
        let mut values: MultiValue = self
            .call
            .call(arguments)
            .map_err(|error| Failure::of(what, &error))?;
        match values.pop_front() {
            Some(Value::Boolean(true)) => Ok(values),
            _ => {
                let failure = values.pop_front().unwrap_or(Value::Nil);
                Err(Failure::read(what, &failure))
            }
        }
    }
}

fn ended(lua: &Lua, executor: &Later) -> mlua::Result<Function> {
    let later = Rc::clone(executor);
    lua.create_function(
        move |_, (context, ok, values): (LightUserData, bool, MultiValue)| {
            if let Some(executor) = later.borrow().upgrade() {
                executor.ended(ContextId::at(context), ok, values);
            }
            Ok(())
        },
    )
}

fn closed(lua: &Lua, executor: &Later) -> mlua::Result<Function> {
    let later = Rc::clone(executor);
    lua.create_function(move |lua, context: LightUserData| {
        if let Some(executor) = later.borrow().upgrade() {
            executor.closed(ContextId::at(context), &lua.current_thread());
        }
        Ok(())
    })
}

/// Where nothing can be yielded across, such as in a comparison of `table.sort`, Lua's own message
/// says nothing of the entry point. It fails as a whole, even if the error is caught.
fn replace_yield(lua: &Lua, executor: &Later) -> mlua::Result<()> {
    let later = Rc::clone(executor);
    let refused = lua.create_function(move |_, ()| {
        let executor = later.borrow().upgrade();
        Ok(executor.is_some_and(|executor| executor.note_wait()))
    })?;
    let coroutines: Table = lua.globals().get("coroutine")?;
    coroutines.set("yield", yield_function(lua, refused, MUST_NOT_WAIT)?)
}
