//! How a function of the module fails.

use std::error::Error;
use std::sync::Arc;

use mlua::{IntoLuaMulti, Lua, MultiValue, Value};
use pantograph::InvalidSessionId;
use pantograph::session::SessionError;

/// Why a function of the module gives no value.
#[derive(Debug)]
pub enum Fault {
    /// The caller broke the rules: raised, as a string, at the caller's level.
    Misuse(String),
    /// What may happen to correct code: returned as `nil, message, code`.
    Expected {
        /// What happened, in words.
        message: String,
        /// A name that tells it from other failures, where it has one.
        code: Option<&'static str>,
    },
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
        Fault::Expected {
            message: message.into(),
            code: None,
        }
    }

    /// An expected failure with all causes of an error; its code is that of a failed session, if
    /// that is among them.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        Fault::Expected {
            message: pantograph::with_causes(error),
            code: code(error),
        }
    }
}

/// The code of the first cause that has one.
fn code(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let shared = error.downcast_ref::<Arc<SessionError>>();
        let session = shared.map(|error| &**error);
        if let Some(session) = session.or_else(|| error.downcast_ref()) {
            return Some(session.kind());
        }
        if error.is::<InvalidSessionId>() {
            return Some("bad_id");
        }
        cause = error.source();
    }
    None
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

/// `nil, message, code`, or `nil, message` without one.
pub(crate) fn nil_and(lua: &Lua, message: &str, code: Option<&str>) -> mlua::Result<MultiValue> {
    match code {
        Some(code) => (Value::Nil, message, code).into_lua_multi(lua),
        None => (Value::Nil, message).into_lua_multi(lua),
    }
}

/// The text of a Lua error without a traceback and without mlua's own words.
pub(crate) fn error_text(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } => error_text(cause),
        mlua::Error::RuntimeError(text) => text.clone(),
        other => other.to_string(),
    }
}
