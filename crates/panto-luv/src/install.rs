//! Putting luv into a Lua state.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::rc::Rc;

use mlua::{Function, Lua, Table};
use tokio::runtime::Handle;

use crate::api::{self, Api};
use crate::callback::{self, CallbackContext, CallbackError, Door};
use crate::event_loop::{Parts, Runtime, Uv};
use crate::families;

/// What a host decides about the loop of a state.
pub struct Options {
    runtime: Runtime,
    environment: BTreeMap<OsString, OsString>,
    context: Option<Rc<dyn CallbackContext>>,
    on_error: Box<dyn Fn(&CallbackError)>,
    stops_on_error: bool,
    terminal_is_taken: Box<dyn Fn() -> bool>,
}

/// Why luv could not be installed.
#[derive(Debug, thiserror::Error)]
#[error("could not install luv into the Lua state: {0}")]
pub struct InstallError(String);

impl From<mlua::Error> for InstallError {
    fn from(error: mlua::Error) -> Self {
        Self(crate::failure::text_of(&error))
    }
}

impl From<InstallError> for mlua::Error {
    fn from(error: InstallError) -> Self {
        Self::external(error)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// A loop with a runtime of its own, which `uv.run` drives.
    pub fn new() -> Self {
        Self::on(Runtime::own())
    }

    /// A loop on the host's runtime, with I/O and time enabled, which the host drives by a
    /// [`Driver`](crate::Driver). `uv.run` is always refused.
    pub fn hosted(runtime: Handle) -> Self {
        Self::on(Runtime::Host(runtime))
    }

    /// A loop on a thread of another loop's pool.
    pub(crate) fn on_worker() -> Self {
        Self::on(Runtime::on_worker())
    }

    fn on(runtime: Runtime) -> Self {
        Self {
            runtime,
            environment: BTreeMap::new(),
            context: None,
            on_error: Box::new(callback::log_error),
            stops_on_error: false,
            terminal_is_taken: Box::new(|| false),
        }
    }

    /// The environment that Lua sees and that children get; empty unless this is called.
    ///
    /// It is a copy: `uv.os_setenv` changes it for `uv.os_getenv` and `uv.spawn`, and leaves the process's own alone,
    /// which other threads may be reading. A program usually gives `std::env::vars_os()`.
    #[must_use]
    pub fn environment(
        mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        self.environment = variables.into_iter().collect();
        self
    }

    /// Ties callbacks to where they were registered.
    #[must_use]
    pub fn context(mut self, context: impl CallbackContext + 'static) -> Self {
        self.context = Some(Rc::new(context));
        self
    }

    /// Who hears of errors in callbacks. Unless this is called they are logged with `tracing`.
    ///
    /// It runs on the owner thread, and must not call into Lua.
    #[must_use]
    pub fn on_error(mut self, handler: impl Fn(&CallbackError) + 'static) -> Self {
        self.on_error = Box::new(handler);
        self
    }

    /// Has an error in a callback also end the call of `run` that is under way, as by [`Uv::stop`].
    ///
    /// For a program that ends with the first error. Unless this is called the loop goes on.
    #[must_use]
    pub fn stop_on_error(mut self) -> Self {
        self.stops_on_error = true;
        self
    }

    /// Asked before Lua changes the terminal's mode: while it says yes, `uv.tty_set_mode` fails with `EBUSY`.
    ///
    /// For a host that draws on the terminal itself.
    #[must_use]
    pub fn terminal_is_taken(mut self, is_taken: impl Fn() -> bool + 'static) -> Self {
        self.terminal_is_taken = Box::new(is_taken);
        self
    }
}

/// Makes `require("luv")` work in a state, and returns its loop.
///
/// # Errors
///
/// [`InstallError`] if the state is out of memory or has no `package` library. It must have the base library.
pub fn install(lua: &Lua, options: Options) -> Result<Uv, InstallError> {
    let (uv, module) = module(lua, options)?;
    lua.register_module("luv", module)?;
    Ok(uv)
}

/// Makes the loop of a state, and the module that Lua is to get.
pub(crate) fn module(lua: &Lua, options: Options) -> mlua::Result<(Uv, Table)> {
    let traceback = lua.create_function(|lua, ()| lua.traceback(None, LEVEL_OF_RAISER))?;
    let (guarded, enter, callable): (Function, Function, Function) = lua
        .load(include_str!("prelude.lua"))
        .set_name("=luv")
        .call((api::fail_marker(), traceback))?;
    let uv = Uv::new(
        lua,
        Parts {
            door: Door {
                enter,
                context: options.context,
                on_error: options.on_error,
                stops_on_error: options.stops_on_error,
            },
            callable,
            runtime: options.runtime,
            environment: options.environment,
            terminal_is_taken: options.terminal_is_taken,
        },
    );
    let mut api = Api::new(lua, &uv, guarded)?;
    families::register(&mut api)?;
    Ok((uv.clone(), api.into_module()))
}

/// Above the function that makes the traceback, and the handler that calls it.
const LEVEL_OF_RAISER: usize = 2;
