//! The Lua half of every entry: `entry.lua`.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use mlua::{Function, Lua, MultiValue, Value};

use crate::executor::Executor;
use crate::failure::Failure;

/// What a yield gets where nobody can wait for it.
pub const MUST_NOT_WAIT: &str =
    "yielded, but this entrypoint must not await; its caller needs the result now";

/// The functions that Lua code is entered through.
pub(crate) struct Entry {
    /// The body of a handler's coroutine: key, handler, arguments.
    pub(crate) enter: Function,
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
    /// Compiles the Lua half. `executor` is filled in before any of it is called.
    pub(crate) fn new(lua: &Lua, create: Function, executor: &Later) -> mlua::Result<Self> {
        let at = |executor: &Later| {
            let executor = Rc::clone(executor);
            move || executor.borrow().upgrade()
        };
        let executor_of = at(executor);
        let report =
            lua.create_function(move |_, (key, ok, values): (u64, bool, MultiValue)| {
                if let Some(executor) = executor_of() {
                    executor.ended(key, ok, values);
                }
                Ok(())
            })?;
        let executor_of = at(executor);
        let abandoned = lua.create_function(move |_, key: u64| {
            if let Some(executor) = executor_of() {
                executor.abandoned(key);
            }
            Ok(())
        })?;
        let executor_of = at(executor);
        let yielded = lua.create_function(move |_, ()| {
            Ok(executor_of().is_some_and(|executor| executor.note_wait()))
        })?;
        let traceback = lua.create_function(|lua, ()| lua.traceback(None, LEVEL_OF_RAISER))?;
        let (enter, call, close) = lua
            .load(include_str!("entry.lua"))
            .set_name("=[panto]")
            .call((report, abandoned, yielded, traceback, create, MUST_NOT_WAIT))?;
        Ok(Self { enter, call, close })
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
