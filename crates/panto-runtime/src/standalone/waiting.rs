//! How code waits in an interpreter: its loop is served meanwhile. Runs on the owner thread.

use std::rc::Rc;

use mlua::{Function, Lua, Table, Thread};
use panto_lua::{Place, Ready, Waiter, Waiting};
use panto_luv::Uv;

use super::failures::{Failures, INTERRUPTED};
use crate::entry::MUST_NOT_WAIT;

/// Parks what can be parked, and otherwise serves the loop until the wait is over.
pub(super) struct Serving {
    pub(super) uv: Uv,
    pub(super) failures: Rc<Failures>,
    pub(super) park: Function,
    pub(super) wake: Function,
}

impl Waiter for Serving {
    fn wait(&self, lua: &Lua, place: Place, ready: Ready) -> Waiting {
        match place {
            Place::CanYield => match self.park(lua, ready) {
                Ok(()) => Waiting::Parked,
                Err(error) => Waiting::Refused(error.to_string()),
            },
            Place::CannotYield => self.serve(ready),
        }
    }
}

impl Serving {
    /// Has the loop go on with the running coroutine when the wait is over.
    fn park(&self, lua: &Lua, ready: Ready) -> mlua::Result<()> {
        let coroutine = lua.current_thread();
        let ticket: Table = self.park.call(&coroutine)?;
        let wake = self.wake.clone();
        let failures = Rc::clone(&self.failures);
        self.uv.when(ready, move |uv, ()| {
            if let Some((message, traceback)) = wake_up(&wake, coroutine, ticket) {
                failures.keep(message, traceback);
                uv.stop();
            }
        });
        Ok(())
    }

    fn serve(&self, ready: Ready) -> Waiting {
        let interrupted = self.failures.interrupted();
        let over = async {
            tokio::select! {
                biased;
                () = ready => Waiting::Done,
                () = interrupted => {
                    self.failures.forget_interrupt();
                    Waiting::Refused(INTERRUPTED.to_owned())
                }
            }
        };
        match self.uv.run_until(over) {
            Ok(waiting) => waiting,
            Err(panto_luv::AlreadyRunning::Running) => Waiting::Refused(MUST_NOT_WAIT.to_owned()),
            Err(error) => Waiting::Refused(error.to_string()),
        }
    }
}

/// What the coroutine raised, and its traceback.
fn wake_up(wake: &Function, coroutine: Thread, ticket: Table) -> Option<(String, String)> {
    let raised =
        wake.call::<(Option<mlua::LuaString>, Option<mlua::LuaString>)>((coroutine, ticket));
    match raised {
        Ok((message, traceback)) => {
            let text = |text: mlua::LuaString| text.to_string_lossy();
            Some((text(message?), traceback.map(text).unwrap_or_default()))
        }
        Err(error) => Some((error.to_string(), String::new())),
    }
}
