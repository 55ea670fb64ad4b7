//! Values that may go from one Lua state to another: nil, booleans, numbers, strings, and handles made for it.

use mlua::{IntoLua, IntoLuaMulti, Lua, MultiValue, Value};

use crate::async_handle::{self, AsyncSender};
use crate::call::Call;
use crate::failure::Failure;
use crate::semaphore::Semaphore;

/// A value on its way between threads.
#[derive(Clone)]
pub(crate) enum ThreadValue {
    Nil,
    Boolean(bool),
    Integer(i64),
    Number(f64),
    Bytes(Vec<u8>),
    Async(AsyncSender),
    Semaphore(Semaphore),
}

/// luv's own bound.
const MAX_VALUES: usize = 9;

impl ThreadValue {
    pub(crate) fn is_userdata(&self) -> bool {
        matches!(self, Self::Async(_) | Self::Semaphore(_))
    }

    pub(crate) fn from_lua(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Nil => Self::Nil,
            Value::Boolean(value) => Self::Boolean(*value),
            Value::Integer(value) => Self::Integer(*value),
            Value::Number(value) => Self::Number(*value),
            Value::String(value) => Self::Bytes(value.as_bytes().to_vec()),
            Value::UserData(userdata) => match userdata.borrow::<Semaphore>() {
                Ok(semaphore) => Self::Semaphore(semaphore.clone()),
                Err(_) => Self::Async(async_handle::of_userdata(userdata)?),
            },
            _ => return None,
        })
    }
}

impl IntoLua for ThreadValue {
    fn into_lua(self, lua: &Lua) -> mlua::Result<Value> {
        match self {
            Self::Nil => Ok(Value::Nil),
            Self::Boolean(value) => value.into_lua(lua),
            Self::Integer(value) => value.into_lua(lua),
            Self::Number(value) => value.into_lua(lua),
            Self::Bytes(value) => lua.create_string(value)?.into_lua(lua),
            Self::Async(sender) => lua.create_any_userdata(sender)?.into_lua(lua),
            Self::Semaphore(semaphore) => lua.create_any_userdata(semaphore)?.into_lua(lua),
        }
    }
}

/// A list of them, as arguments or results.
pub(crate) struct Arguments(pub(crate) Vec<ThreadValue>);

impl IntoLuaMulti for Arguments {
    fn into_lua_multi(self, lua: &Lua) -> mlua::Result<MultiValue> {
        self.0
            .into_iter()
            .map(|value| value.into_lua(lua))
            .collect()
    }
}

/// The arguments of a call from `position` on.
pub(crate) fn from_call(call: &Call<'_>, position: usize) -> Result<Vec<ThreadValue>, Failure> {
    if call.count() >= position + MAX_VALUES {
        return Err(Failure::misuse(format!(
            "no more than {MAX_VALUES} values may go to another thread"
        )));
    }
    call.rest(position)
        .enumerate()
        .map(|(index, value)| {
            ThreadValue::from_lua(value).ok_or_else(|| {
                let kind = value.type_name();
                call.bad(
                    position + index,
                    format_args!("a {kind} cannot go to another thread"),
                )
            })
        })
        .collect()
}
