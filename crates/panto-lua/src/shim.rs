//! The Lua half of every function of the module.
//!
//! An error that Rust raises is a userdata in Lua, and Rust cannot yield. So each function is a
//! Lua function round a Rust one: it raises strings at its caller's level, and waits.

use std::ffi::c_void;
use std::rc::Rc;

use mlua::{AnyUserData, Function, IntoLuaMulti, LightUserData, Lua, MultiValue, Value};

use crate::args::Args;
use crate::fault::{Fault, Reply, error_text, nil_and};
use crate::wait::{Pending, Place, Waiter, Waiting};

/// A sentinel's identity is its address.
static FAIL: u8 = 1;
static WAIT: u8 = 2;

/// Every hop of `many` is a tail call, so that the caller of the public function is always at level 2.
const SOURCE: &str = r#"
local FAIL, WAIT, step, take, yield, isyieldable, error = ...
local answer
local function wait(pending)
  local parked, message = step(pending, isyieldable())
  while parked do
    yield()
    parked, message = step(pending, isyieldable())
  end
  if message then
    return answer(FAIL, message)
  end
  return answer(take(pending))
end
function answer(first, ...)
  if first == FAIL then
    error((...), 2)
  elseif first == WAIT then
    return wait(...)
  end
  return first, ...
end
local function many(native)
  return function(...)
    return answer(native(...))
  end
end
local function one(native)
  return function(object)
    local value, message = native(object)
    if value == FAIL then
      error(message, 2)
    end
    return value
  end
end
return many, one
"#;

/// Makes the public functions of one Lua state.
pub(crate) struct Shim {
    many: Function,
    one: Function,
}

impl Shim {
    pub(crate) fn new(lua: &Lua, waiter: Rc<dyn Waiter>) -> mlua::Result<Self> {
        let step = lua.create_function(move |lua, (pending, can_yield): (AnyUserData, bool)| {
            let place = match can_yield {
                true => Place::CanYield,
                false => Place::CannotYield,
            };
            let waiting = pending.borrow::<Pending>()?.wait(lua, &*waiter, place);
            Ok(match waiting {
                Waiting::Done => (false, None),
                Waiting::Parked => (true, None),
                Waiting::Refused(message) => {
                    // Not when it is collected: what it holds, such as the place of a stream's
                    // reader, is free again.
                    drop(pending.take::<Pending>()?);
                    (false, Some(message))
                }
            })
        })?;
        let take = lua.create_function(|lua, pending: AnyUserData| {
            let reply = pending.borrow::<Pending>()?.take(lua);
            multi(lua, reply)
        })?;
        let coroutines: mlua::Table = lua.globals().get("coroutine")?;
        let yielding: Function = coroutines.get("yield")?;
        let isyieldable: Function = coroutines.get("isyieldable")?;
        let raise: Function = lua.globals().get("error")?;
        let (many, one) = lua.load(SOURCE).set_name("=[panto]").call((
            sentinel(&FAIL),
            sentinel(&WAIT),
            step,
            take,
            yielding,
            isyieldable,
            raise,
        ))?;
        Ok(Self { many, one })
    }

    /// A public function of this name.
    pub(crate) fn function(
        &self,
        lua: &Lua,
        name: &'static str,
        body: impl Fn(&Lua, Args) -> Reply + 'static,
    ) -> mlua::Result<Function> {
        let native = lua.create_function(move |lua, values: MultiValue| {
            multi(lua, body(lua, Args::new(name, values)))
        })?;
        self.many.call(native)
    }

    /// A public method without arguments that gives one value and never waits. It makes no
    /// lists of values, for those that are called once an event.
    pub(crate) fn lean(
        &self,
        lua: &Lua,
        body: impl Fn(&Lua, Value) -> Result<Value, Fault> + 'static,
    ) -> mlua::Result<Function> {
        let native = lua.create_function(move |lua, object: Value| {
            let raised = |message: String| -> mlua::Result<(Value, Value)> {
                Ok((sentinel(&FAIL), Value::String(lua.create_string(message)?)))
            };
            match body(lua, object) {
                Ok(value) => Ok((value, Value::Nil)),
                Err(Fault::Misuse(message) | Fault::Expected { message, .. }) => raised(message),
                Err(Fault::Lua(error)) => raised(error_text(&error)),
            }
        })?;
        self.one.call(native)
    }
}

/// The answer that comes later.
pub(crate) fn later(lua: &Lua, pending: Pending) -> Reply {
    Ok((sentinel(&WAIT), pending).into_lua_multi(lua)?)
}

/// What makes the Lua half raise `message`.
fn raised(lua: &Lua, message: &str) -> mlua::Result<MultiValue> {
    (sentinel(&FAIL), message).into_lua_multi(lua)
}

/// What the Lua half understands.
fn multi(lua: &Lua, reply: Reply) -> mlua::Result<MultiValue> {
    match reply {
        Ok(values) => Ok(values),
        Err(Fault::Expected { message, code }) => nil_and(lua, &message, code),
        Err(Fault::Misuse(message)) => raised(lua, &message),
        Err(Fault::Lua(error)) => raised(lua, &error_text(&error)),
    }
}

fn sentinel(of: &'static u8) -> Value {
    Value::LightUserData(LightUserData(std::ptr::from_ref(of) as *mut c_void))
}
