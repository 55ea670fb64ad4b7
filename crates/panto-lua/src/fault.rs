//! How a function of the module fails.

use mlua::{IntoLuaMulti, Lua, MultiValue, Value};

/// Why a function of the module gives no value.
#[derive(Debug)]
pub enum Fault {
    /// The caller broke the rules: raised, as a string, at the caller's level.
    Misuse(String),
    /// What may happen to correct code: returned as `nil, message`.
    Expected(String),
    /// Lua itself failed, such as for lack of memory: raised like a misuse.
    Lua(mlua::Error),
}

/// What a function of the module gives.
pub type Reply = Result<MultiValue, Fault>;

impl Fault {
    /// A misuse.
    pub fn misuse(message: impl Into<String>) -> Self {
        Fault::Misuse(message.into())
    }

    /// An expected failure.
    pub fn expected(message: impl Into<String>) -> Self {
        Fault::Expected(message.into())
    }

    /// An expected failure with all causes of an error.
    pub fn of(error: &dyn std::error::Error) -> Self {
        Fault::Expected(pantograph::with_causes(error))
    }
}

impl From<mlua::Error> for Fault {
    fn from(error: mlua::Error) -> Self {
        Fault::Lua(error)
    }
}

/// The values of a successful call.
///
/// # Errors
///
/// Lua is out of memory.
pub fn values(lua: &Lua, values: impl IntoLuaMulti) -> Reply {
    Ok(values.into_lua_multi(lua)?)
}

/// `nil, message`.
pub(crate) fn nil_and(lua: &Lua, message: &str) -> mlua::Result<MultiValue> {
    (Value::Nil, message).into_lua_multi(lua)
}

/// The text of a Lua error without a traceback and without mlua's own words.
pub(crate) fn error_text(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } => error_text(cause),
        mlua::Error::RuntimeError(text) => text.clone(),
        other => other.to_string(),
    }
}
