//! `require("luv")` and `require("panto")`, each made when it is first required. Runs on the owner thread.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use mlua::{Function, Lua, Table};
use panto_lua::{Embedding, Module};
use panto_luv::Uv;
use tokio::runtime::Runtime;

use super::Options;
use super::failures::Failures;
use super::raw::Interrupts;
use super::waiting::Serving;

/// What of the modules has been made.
pub(super) struct Modules {
    failures: Rc<Failures>,
    given: Cell<Option<Given>>,
    environment: Cell<Vec<(OsString, OsString)>>,
    uv: OnceCell<Uv>,
    luv: OnceCell<Table>,
    panto: OnceCell<Module>,
    runtime: OnceCell<Runtime>,
    interrupts: RefCell<Option<Interrupts>>,
}

/// What `panto` is made with.
struct Given {
    runtime: Box<dyn FnOnce() -> io::Result<Runtime>>,
    cwd: PathBuf,
}

/// A module, or why there is none.
type Made = Result<Table, String>;

impl Modules {
    /// Lets the state's chunks require them.
    pub(super) fn offer(
        lua: &Lua,
        prelude: &Table,
        failures: &Rc<Failures>,
        options: Options,
    ) -> mlua::Result<Rc<Self>> {
        let modules = Rc::new(Self {
            failures: Rc::clone(failures),
            given: Cell::new(Some(Given {
                runtime: options.runtime,
                cwd: options.cwd,
            })),
            environment: Cell::new(options.environment),
            uv: OnceCell::new(),
            luv: OnceCell::new(),
            panto: OnceCell::new(),
            runtime: OnceCell::new(),
            interrupts: RefCell::default(),
        });
        modules.preload(lua, prelude, "luv", Self::luv)?;
        modules.preload(lua, prelude, "panto", Self::panto)?;
        Ok(modules)
    }

    /// Has `require` make a module the first time, and give the same one if it is asked again.
    fn preload(
        self: &Rc<Self>,
        lua: &Lua,
        prelude: &Table,
        name: &str,
        make: fn(&Self, &Lua, &Table) -> Made,
    ) -> mlua::Result<()> {
        let made = OnceCell::<Table>::new();
        // Weakly: the modules hold Lua values, and Lua holds this.
        let modules = Rc::downgrade(self);
        let helpers = prelude.clone();
        let maker = lua.create_function(move |lua, ()| {
            if let Some(module) = made.get() {
                return Ok((Some(module.clone()), None));
            }
            let Some(modules) = modules.upgrade() else {
                return Ok((None, Some("the Lua state is closing".to_owned())));
            };
            Ok(match make(&modules, lua, &helpers) {
                Ok(module) => (Some(made.get_or_init(|| module).clone()), None),
                Err(message) => (None, Some(message)),
            })
        })?;
        let loader: Function = prelude.raw_get::<Function>("loader")?.call(maker)?;
        let package: Table = lua.globals().raw_get("package")?;
        package.raw_get::<Table>("preload")?.raw_set(name, loader)
    }

    fn luv(&self, lua: &Lua, prelude: &Table) -> Made {
        self.loop_of(lua, prelude).map_err(text)?;
        let module = self.luv.get().cloned();
        module.ok_or_else(|| "the module could not be made when it was first required".to_owned())
    }

    /// The loop, which is made with the first module.
    fn loop_of(&self, lua: &Lua, prelude: &Table) -> mlua::Result<Uv> {
        if let Some(uv) = self.uv.get() {
            return Ok(uv.clone());
        }
        let failures = Rc::clone(&self.failures);
        let options = panto_luv::Options::new()
            .environment(self.environment.take())
            .on_error(move |error| {
                failures.keep(error.message.clone(), error.traceback.clone());
            })
            .stop_on_error();
        let uv = panto_luv::install(lua, options)?;
        let loaded: Table = lua.named_registry_value("_LOADED")?;
        let module: Table = loaded.raw_get("luv")?;
        let guard: Function = prelude.raw_get("guard")?;
        guard.call::<()>(&module)?;
        self.luv.get_or_init(|| module);
        self.listen(&uv);
        Ok(self.uv.get_or_init(|| uv).clone())
    }

    fn panto(&self, lua: &Lua, prelude: &Table) -> Made {
        let uv = self.loop_of(lua, prelude).map_err(text)?;
        let waiter = Serving {
            uv,
            failures: Rc::clone(&self.failures),
            park: prelude.raw_get("park").map_err(text)?,
            wake: prelude.raw_get("wake").map_err(text)?,
        };
        let given = self.given.take();
        let given = given.ok_or("the module could not be made when it was first required")?;
        let runtime = (given.runtime)()
            .map_err(|error| format!("could not start the runtime of the agents: {error}"))?;
        let runtime = self.runtime.get_or_init(|| runtime);
        let embedding = Embedding::new(runtime.handle().clone())
            .waiter(Rc::new(waiter))
            .cwd(given.cwd);
        let module = panto_lua::open(lua, embedding).map_err(text)?;
        Ok(self.panto.get_or_init(|| module).table().clone())
    }

    /// Keeps the interrupts, which then also end the loop's run.
    pub(super) fn set_interrupts(&self, interrupts: Interrupts) {
        self.interrupts.replace(Some(interrupts));
        if let Some(uv) = self.uv.get() {
            self.listen(uv);
        }
    }

    pub(super) fn take_interrupts(&self) {
        self.interrupts.take();
    }

    /// Lets an interrupt end the loop's run.
    fn listen(&self, uv: &Uv) {
        let mut interrupts = self.interrupts.borrow_mut();
        let Some(interrupts) = interrupts.as_mut() else {
            return;
        };
        // Without a pipe only Lua code is interrupted, and a second signal ends a run that waits.
        let Ok((reader, writer)) = io::pipe() else {
            return;
        };
        interrupts.ring(writer.into());
        let rung = async move {
            let reader = tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into())?;
            reader.readable().await
        };
        let failures = Rc::clone(&self.failures);
        uv.when_unreferenced(rung, move |uv, rung| {
            if rung.is_ok() {
                failures.interrupt(uv);
            }
        });
    }

    /// Ends the turns that are live, and serves the loop until they have settled, for a while.
    pub(super) fn settle(&self, grace: Duration) {
        let (Some(uv), Some(panto)) = (self.uv.get(), self.panto.get()) else {
            return;
        };
        let turns = panto.turns();
        if turns.live() == 0 {
            return;
        }
        turns.end_all(grace);
        // Twice: what a turn still does after its tools were forced takes time too. There is nobody left to tell.
        let _ = uv.run_until(async {
            let _ = tokio::time::timeout(2 * grace, turns.settled()).await;
        });
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        // Whatever still blocks a thread of it is not waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn text(error: mlua::Error) -> String {
    error.to_string()
}

#[cfg(test)]
impl Modules {
    /// The module `panto`, once it was required.
    pub(super) fn panto_module(&self) -> &Module {
        self.panto.get().expect("`panto` was required")
    }
}
