//! How a function of the API fails: misuse is raised at the caller, all else is `nil, message, name`.

use std::io;

use crate::errno::UvError;

/// Why a function gave no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments are wrong; raised as a plain string at the caller's level.
    Misuse(String),
    /// Lua code that was called raised this; raised again as it was.
    Raised(String),
    /// The system refused; answered as `nil, message, name`.
    System {
        error: UvError,
        /// The path or paths that it was about, which end the message.
        subject: Option<Vec<u8>>,
    },
    /// Answered as `nil, message`, for what has no error number.
    Refused(String),
}

impl Failure {
    pub(crate) fn system(error: impl Into<UvError>) -> Self {
        Self::System {
            error: error.into(),
            subject: None,
        }
    }

    pub(crate) fn misuse(message: impl Into<String>) -> Self {
        Self::Misuse(message.into())
    }
}

impl From<UvError> for Failure {
    fn from(error: UvError) -> Self {
        Self::system(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::system(error)
    }
}

impl From<rustix::io::Errno> for Failure {
    fn from(error: rustix::io::Errno) -> Self {
        Self::system(error)
    }
}

impl From<mlua::Error> for Failure {
    fn from(error: mlua::Error) -> Self {
        let text = text_of(&error);
        match error {
            mlua::Error::RuntimeError(_) | mlua::Error::CallbackError { .. } => Self::Raised(text),
            // A value of the wrong type, in a table of options.
            _ => Self::Misuse(text),
        }
    }
}

/// The text of an error as Lua would have seen it: without mlua's prefix and traceback.
pub(crate) fn text_of(error: &mlua::Error) -> String {
    text_and_traceback(error).0
}

/// The text of an error, and where it was raised if that is known.
pub(crate) fn text_and_traceback(error: &mlua::Error) -> (String, String) {
    match error {
        mlua::Error::CallbackError { cause, traceback } => (text_of(cause), traceback.clone()),
        mlua::Error::RuntimeError(text) => match text.split_once(TRACEBACK) {
            Some((message, traceback)) => (
                message.to_owned(),
                format!("{}{traceback}", TRACEBACK.trim_start()),
            ),
            None => (text.clone(), String::new()),
        },
        other => (other.to_string(), String::new()),
    }
}

/// What mlua, as Lua's own interpreter, puts between a message and where it was raised.
const TRACEBACK: &str = "\nstack traceback:";
