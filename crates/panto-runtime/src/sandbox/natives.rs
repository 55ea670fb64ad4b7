//! The functions of Rust's that the library in Lua stands on. None of them calls Lua, and none
//! raises: what goes wrong is `false` and a message, which the library raises where it belongs.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mlua::{IntoLuaMulti, Lua, LuaString, MultiValue, Table};

use super::border::{all_inward, outward};
use super::budget::Budget;
use super::limits::Reason;
use super::pattern::{self, Capture, Found, Halt, Search};
use super::value::Value;

/// Bytes of source between two looks at the clock: names in deeply nested functions are what the
/// compiler is slow at.
const PIECE: usize = 512;

/// How `find` treats a pattern; `text.lua` has the same numbers.
const FREE: i64 = 1;
const PLAIN: i64 = 2;
const MAYBE_PLAIN: i64 = 3;

/// Asks the host to run an immediate function; `None` if it is gone.
pub(super) type Ask = Box<dyn Fn(usize, Vec<Value>) -> Option<Result<Vec<Value>, String>>>;

/// What passes between the library and the thread that drives it.
pub(super) struct Exchange {
    pub(super) budget: Budget,
    /// The source that is being compiled, and how much of it has been.
    source: RefCell<Vec<u8>>,
    compiled: Cell<usize>,
    /// The call that parks the chunk.
    pub(super) request: RefCell<Option<(usize, Vec<Value>)>>,
    /// What the chunk returned.
    pub(super) results: RefCell<Vec<Value>>,
    ask: Ask,
}

impl Exchange {
    pub(super) fn new(budget: Budget, ask: Ask) -> Self {
        Self {
            budget,
            source: RefCell::default(),
            compiled: Cell::new(0),
            request: RefCell::default(),
            results: RefCell::default(),
            ask,
        }
    }

    /// What the next compilation reads.
    pub(super) fn set_source(&self, source: Vec<u8>) {
        self.source.replace(source);
        self.compiled.set(0);
    }

    fn piece(&self, lua: &Lua) -> mlua::Result<Option<LuaString>> {
        let source = self.source.borrow();
        let rest = &source[self.compiled.get()..];
        // A source that is cut short here is never run: the budget is looked at before.
        if rest.is_empty() || !self.budget.spend(PIECE as u64) {
            return Ok(None);
        }
        let piece = &rest[..rest.len().min(PIECE)];
        self.compiled.set(self.compiled.get() + piece.len());
        lua.create_string(piece).map(Some)
    }

    fn find(
        &self,
        lua: &Lua,
        (text, pattern, from, before, mode): (LuaString, LuaString, i64, i64, i64),
    ) -> mlua::Result<MultiValue> {
        let (bytes, pattern) = (text.as_bytes(), pattern.as_bytes());
        let search = Search {
            from: usize::try_from(from - 1).unwrap_or(0),
            before: usize::try_from(before).ok(),
            anchors: mode != FREE,
        };
        let found = if mode == PLAIN || (mode == MAYBE_PLAIN && pattern::is_plain(&pattern)) {
            pattern::find_plain(&bytes, &pattern, search.from, &self.budget)
        } else {
            pattern::find(&bytes, &pattern, search, &self.budget)
        };
        match found {
            Ok(Some(found)) => found_values(lua, &bytes, &found),
            // The hook ends the chunk before it learns of this.
            Ok(None) | Err(Halt::Exhausted) => Ok(MultiValue::new()),
            Err(Halt::Malformed(message)) => refused(lua, message),
        }
    }

    fn call(&self, lua: &Lua, mut arguments: MultiValue) -> mlua::Result<MultiValue> {
        if !self.budget.spend(1) {
            // The hook has not come by yet.
            return Ok(MultiValue::new());
        }
        let function = taken_id(&mut arguments);
        let arguments = match outward(&arguments, &self.budget) {
            Ok(arguments) => arguments,
            Err(message) => return refused(lua, message),
        };
        match (self.ask)(function, arguments) {
            Some(Ok(values)) => {
                let mut results = all_inward(lua, &values, &self.budget)?;
                results.push_front(mlua::Value::Boolean(true));
                Ok(results)
            }
            Some(Err(message)) => refused(lua, message),
            None => {
                self.budget.end(Reason::Abandoned);
                Ok(MultiValue::new())
            }
        }
    }

    fn request(&self, lua: &Lua, mut arguments: MultiValue) -> mlua::Result<MultiValue> {
        let function = taken_id(&mut arguments);
        match outward(&arguments, &self.budget) {
            Ok(arguments) => {
                self.request.replace(Some((function, arguments)));
                true.into_lua_multi(lua)
            }
            Err(message) => refused(lua, message),
        }
    }

    /// Takes what the chunk returns; answers with a message if it cannot leave.
    fn finish(&self, results: &MultiValue) -> Option<String> {
        match outward(results, &self.budget) {
            Ok(values) => {
                self.results.replace(values);
                None
            }
            Err(message) => Some(format!("cannot return this: {message}")),
        }
    }
}

/// Makes the table of these functions.
pub(super) fn table(lua: &Lua, exchange: &Rc<Exchange>) -> mlua::Result<Table> {
    let natives = lua.create_table()?;
    let shared = || Rc::clone(exchange);
    let this = shared();
    natives.set(
        "piece",
        lua.create_function(move |lua, ()| this.piece(lua))?,
    )?;
    let this = shared();
    natives.set(
        "find",
        lua.create_function(move |lua, arguments| this.find(lua, arguments))?,
    )?;
    let this = shared();
    natives.set(
        "call",
        lua.create_function(move |lua, arguments| this.call(lua, arguments))?,
    )?;
    let this = shared();
    natives.set(
        "request",
        lua.create_function(move |lua, arguments| this.request(lua, arguments))?,
    )?;
    let this = shared();
    natives.set(
        "finish",
        lua.create_function(move |_, results: MultiValue| Ok(this.finish(&results)))?,
    )?;
    let this = shared();
    natives.set(
        "charge",
        lua.create_function(move |_, amount: i64| {
            this.budget.spend(amount.unsigned_abs());
            Ok(())
        })?,
    )?;
    let this = shared();
    natives.set(
        "exhausted",
        lua.create_function(move |_, ()| {
            this.budget.end(Reason::Memory);
            Ok(())
        })?,
    )?;
    natives.set("longest", exchange.budget.limits().memory)?;
    Ok(natives)
}

fn refused(lua: &Lua, message: String) -> mlua::Result<MultiValue> {
    (false, message).into_lua_multi(lua)
}

/// The first argument, which the library puts before those of the chunk.
fn taken_id(arguments: &mut MultiValue) -> usize {
    match arguments.pop_front() {
        Some(mlua::Value::Integer(id)) => usize::try_from(id).unwrap_or(usize::MAX),
        _ => usize::MAX,
    }
}

fn found_values(lua: &Lua, text: &[u8], found: &Found) -> mlua::Result<MultiValue> {
    let mut values = MultiValue::with_capacity(2 + found.captures.len());
    values.push_back(mlua::Value::Integer(found.start as i64 + 1));
    values.push_back(mlua::Value::Integer(found.end as i64));
    for capture in &found.captures {
        values.push_back(match *capture {
            Capture::Text(start, end) => mlua::Value::String(lua.create_string(&text[start..end])?),
            Capture::Position(place) => mlua::Value::Integer(place as i64 + 1),
        });
    }
    Ok(values)
}
