//! Work on other threads that a coroutine waits for.

use std::rc::Rc;

use futures_util::FutureExt;
use mlua::Lua;
use panto_lua::{Fault, Module, Reply, Surroundings};
use tokio::runtime::Handle;

use crate::stop::Stop;

const CANCELLED: &str = "cancelled";

/// Starts work for Lua functions; clones are the same.
#[derive(Clone)]
pub(super) struct Work {
    runtime: Handle,
    surroundings: Option<Rc<dyn Surroundings>>,
}

/// Stops the work when it is dropped.
struct Guard(Stop);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.ask();
    }
}

impl Work {
    pub(super) fn new(module: &Module, runtime: Handle) -> Self {
        Self {
            runtime,
            surroundings: module.surroundings(),
        }
    }

    /// Runs `work` elsewhere; `finish` makes Lua values of what it gives. What was asked to stop
    /// gives `nil, message, "cancelled"`.
    pub(super) fn run<T: Send + 'static>(
        &self,
        lua: &Lua,
        work: impl FnOnce(&Stop) -> T + Send + 'static,
        finish: impl FnOnce(&Lua, T) -> Reply + 'static,
    ) -> Reply {
        self.start(lua, work, |lua, is_stopped, output| match is_stopped {
            true => failure(lua, CANCELLED, CANCELLED),
            false => finish(lua, output),
        })
    }

    /// The same for work that is done once it has begun, whatever happens meanwhile.
    pub(super) fn run_whole<T: Send + 'static>(
        &self,
        lua: &Lua,
        work: impl FnOnce() -> T + Send + 'static,
        finish: impl FnOnce(&Lua, T) -> Reply + 'static,
    ) -> Reply {
        self.start(lua, |_| work(), |lua, _, output| finish(lua, output))
    }

    fn start<T: Send + 'static>(
        &self,
        lua: &Lua,
        work: impl FnOnce(&Stop) -> T + Send + 'static,
        finish: impl FnOnce(&Lua, bool, T) -> Reply + 'static,
    ) -> Reply {
        let stop = Stop::default();
        let guard = Guard(stop.clone());
        let turn = self
            .surroundings
            .as_ref()
            .and_then(|surroundings| surroundings.enclosing(lua))
            .map(|enclosing| enclosing.cancel);
        if turn.as_ref().is_some_and(|turn| turn.is_asked()) {
            stop.ask();
        }
        let mut task = self.runtime.spawn_blocking({
            let stop = stop.clone();
            move || work(&stop)
        });
        let future = async move {
            let _guard = guard;
            let asked = async {
                match &turn {
                    Some(turn) => turn.asked().await,
                    None => std::future::pending().await,
                }
            };
            let done = futures_util::select_biased! {
                done = (&mut task).fuse() => Some(done),
                () = asked.fuse() => None,
            };
            let done = match done {
                Some(done) => done,
                None => {
                    stop.ask();
                    task.await
                }
            };
            // Before the guard asks.
            (done, stop.is_asked())
        };
        Module::later(lua, future, move |lua, (done, is_stopped)| match done {
            Ok(output) => finish(lua, is_stopped, output),
            Err(_) => Err(Fault::expected("the work ended without a result")),
        })
    }
}

/// `nil`, what happened in words, and a name that tells it from other failures.
pub(super) fn failure(lua: &Lua, message: &str, code: &str) -> Reply {
    panto_lua::values(lua, (mlua::Nil, message, code))
}

/// The same of an error with all its causes.
pub(super) fn failed(lua: &Lua, error: &dyn std::error::Error, code: &str) -> Reply {
    failure(lua, &pantograph::with_causes(error), code)
}
