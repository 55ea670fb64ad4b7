//! Callbacks: what Lua gave to be called later, and the one place where the loop enters Lua. Runs on the owner thread.

use std::fmt;
use std::rc::Rc;

use mlua::{Function, IntoLuaMulti, Lua, LuaString};

use crate::event_loop::Uv;

/// What a [`CallbackContext`] captured, in its own terms.
pub type ContextToken = u64;

/// Ties callbacks to where they were registered.
///
/// The loop calls [`capture`](Self::capture) when a callback is given to a function of luv, and
/// [`enter`](Self::enter) and [`leave`](Self::leave) around each run of it, always in pairs and nested properly.
/// All three run on the owner thread; none of them may call into Lua code.
pub trait CallbackContext {
    /// What is ambient now, as Lua registers a callback. `lua` is in the state of the coroutine that does so.
    fn capture(&self, lua: &Lua) -> ContextToken;

    /// Makes `token` ambient, and returns what was ambient before.
    fn enter(&self, lua: &Lua, token: ContextToken) -> ContextToken;

    /// Makes `previous` ambient again.
    fn leave(&self, lua: &Lua, previous: ContextToken);

    /// Asked before [`leave`](Self::leave): whether the callback was stopped since it took too long. A handle that
    /// would call it again by itself is stopped then, too.
    fn was_stopped(&self) -> bool {
        false
    }
}

/// An error that a callback raised and nobody caught.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallbackError {
    /// The function that the callback was given to, such as `timer_start`.
    pub origin: &'static str,
    /// What was raised, as text.
    pub message: String,
    /// Where it was raised, innermost frame first.
    pub traceback: String,
}

impl fmt::Display for CallbackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "error in a callback of {}: {}",
            self.origin, self.message
        )
    }
}

impl std::error::Error for CallbackError {}

/// A function of Lua's that is to be called later.
#[derive(Clone)]
pub(crate) struct Callback(Rc<Registered>);

struct Registered {
    function: Function,
    token: Option<ContextToken>,
    origin: &'static str,
}

impl Callback {
    pub(crate) fn new(
        function: Function,
        token: Option<ContextToken>,
        origin: &'static str,
    ) -> Self {
        Self(Rc::new(Registered {
            function,
            token,
            origin,
        }))
    }
}

/// An error that was raised on another thread.
pub(crate) struct Raised {
    pub(crate) message: String,
    pub(crate) traceback: String,
}

/// How the loop enters Lua.
pub(crate) struct Door {
    pub(crate) enter: Function,
    pub(crate) context: Option<Rc<dyn CallbackContext>>,
    pub(crate) on_error: Box<dyn Fn(&CallbackError)>,
    pub(crate) stops_on_error: bool,
}

/// Leaves the context again, also when the callback panics.
struct Entered<'a> {
    context: &'a dyn CallbackContext,
    lua: &'a Lua,
    previous: ContextToken,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.context.leave(self.lua, self.previous);
    }
}

impl Uv {
    /// Calls back. Errors go to the host's handler; nothing happens once the Lua state is gone.
    pub(crate) fn invoke(&self, callback: &Callback, arguments: impl IntoLuaMulti) {
        self.invoke_again(callback, arguments);
    }

    /// The same for what is called again and again; gives whether it may be.
    pub(crate) fn invoke_again(&self, callback: &Callback, arguments: impl IntoLuaMulti) -> bool {
        let Some(lua) = self.lua() else { return true };
        let Registered {
            function,
            token,
            origin,
        } = &*callback.0;
        let door = self.door();
        let (outcome, may_go_on) = {
            let _entered = door.context.as_deref().zip(*token).map(|(context, token)| {
                let previous = context.enter(&lua, token);
                Entered {
                    context,
                    lua: &lua,
                    previous,
                }
            });
            let outcome = arguments.into_lua_multi(&lua).and_then(|mut arguments| {
                arguments.push_front(mlua::Value::Function(function.clone()));
                door.enter
                    .call::<(Option<LuaString>, Option<LuaString>)>(arguments)
            });
            let context = door.context.as_deref().filter(|_| token.is_some());
            (outcome, !context.is_some_and(CallbackContext::was_stopped))
        };
        let (message, traceback) = match outcome {
            Ok((None, _)) => return may_go_on,
            Ok((Some(message), traceback)) => (
                message.to_string_lossy(),
                traceback
                    .map(|text| text.to_string_lossy())
                    .unwrap_or_default(),
            ),
            Err(error) => crate::failure::text_and_traceback(&error),
        };
        self.tell(&CallbackError {
            origin,
            message,
            traceback,
        });
        may_go_on
    }

    /// Tells the host of an error on another thread.
    pub(crate) fn report(&self, origin: &'static str, raised: Raised) {
        self.tell(&CallbackError {
            origin,
            message: raised.message,
            traceback: raised.traceback,
        });
    }

    fn tell(&self, error: &CallbackError) {
        (self.door().on_error)(error);
        if self.door().stops_on_error {
            self.stop();
        }
    }
}

/// What happens to an uncaught error if the host says nothing else.
pub(crate) fn log_error(error: &CallbackError) {
    tracing::error!(
        origin = error.origin,
        traceback = error.traceback,
        "uncaught error in a callback: {}",
        error.message
    );
}
