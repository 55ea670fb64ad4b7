//! The runtime of one Lua state: made on the thread that owns it, and driven there.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use mlua::state::{GcGenParams, GcMode};
use mlua::{Function, Lua, Table};
use panto_lua::{Embedding, Module};
use panto_luv::{Driver, Uv};
use pantograph::{ToolSource, TurnHooks};
use tokio::runtime::Handle;

use crate::entering::{Closing, Entering};
use crate::entry::{Entry, Later};
use crate::executor::{Executor, Parts};
use crate::failure::Failure;
use crate::handle::LuaHandle;
use crate::hooks::LuaHooks;
use crate::inbox::Inbox;
use crate::options::Options;
use crate::raw::Main;
use crate::store::{Stores, Tables};
use crate::surroundings::Around;
use crate::tools::{OwnTools, Tools};
use crate::waiter::Parking;
use crate::watchdog::Watchdog;

/// Why a runtime could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The state has or had a runtime; nothing is changed.
    #[error("the Lua state has a runtime already, and can have but one")]
    Opened,
    /// Lua has no memory, or lacks a library.
    #[error("could not prepare the Lua state: {0}")]
    Lua(String),
    /// The loop's one driver is somebody else.
    #[error("could not drive the loop of the Lua state")]
    Loop(#[source] panto_luv::AlreadyRunning),
    /// The system gives no thread.
    #[error("could not start the thread that watches the Lua state")]
    Watchdog(#[source] std::io::Error),
}

impl From<mlua::Error> for OpenError {
    fn from(error: mlua::Error) -> Self {
        Self::Lua(Failure::of("", &error).message)
    }
}

/// Marks a state that has or had a runtime.
struct Opened;

/// The runtime of one Lua state. It stays on the thread that made it.
pub struct LuaRuntime {
    lua: Lua,
    /// Dropped behind the state, which is closed under its eyes.
    closing: Option<Closing>,
    driver: Driver,
    executor: Rc<Executor>,
    hooks: Arc<dyn TurnHooks>,
    handle: LuaHandle,
}

impl LuaRuntime {
    /// Makes `require("luv")` and `require("panto")` work in `lua`, which has its libraries, and
    /// makes this thread its owner. Its garbage is collected by generations from then on. Call it inside the tokio runtime that [`run_until`] will run
    /// in; it has I/O and time enabled.
    ///
    /// [`run_until`]: Self::run_until
    ///
    /// # Errors
    ///
    /// [`OpenError`]; but for [`OpenError::Opened`], the state is then of no further use.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn open(lua: Lua, options: Options) -> Result<Self, OpenError> {
        let Options {
            agents,
            agent_options,
            cwd,
            environment,
            step_limit,
            terminal_is_taken,
            around_hooks,
            reports,
        } = options;
        // Before anything is changed: the runtime that is there goes on.
        if lua.app_data_ref::<Opened>().is_some() {
            return Err(OpenError::Opened);
        }
        lua.set_app_data(Opened);
        let later: Later = Rc::new(RefCell::new(Weak::new()));
        // Each call makes a coroutine and tables that are garbage soon. A collection that looks at
        // all that lives holds up one call in a hundred; one of what is new hardly does.
        lua.gc_set_mode(GcMode::Generational(GcGenParams::default()));
        let (main, create) = Main::install(&lua)?;
        let inbox = Arc::<Inbox>::default();
        let tools = Tools::new(&inbox);
        let turn_hooks = Arc::new(LuaHooks::new(&inbox));
        let hooks = around_hooks(Arc::clone(&turn_hooks) as Arc<dyn TurnHooks>);
        let embedding = Embedding::new(agents.clone())
            .waiter(Rc::new(Parking(Rc::clone(&later))))
            .surroundings(Rc::new(Around(Rc::clone(&later))))
            .tools(tools.source())
            .hooks(Arc::clone(&hooks))
            .local_tools(Rc::new(OwnTools(Rc::clone(&later))))
            .table_stores(Rc::new(Tables(Rc::clone(&later))))
            .agent_options(agent_options)
            .cwd(cwd);
        let module = panto_lua::open(&lua, embedding)?;
        lua.register_module("panto", module.table().clone())?;
        let watchdog = step_limit.map(Watchdog::start).transpose();
        let (entry, frame) = Entry::new(&lua, create, &later)?;
        let executor = Rc::new(Executor::new(
            &lua,
            Parts {
                entry,
                frame,
                agents,
                entering: Entering::new(main, watchdog.map_err(OpenError::Watchdog)?),
                reports,
                tools,
                turn_hooks,
                stores: Stores::new(&lua)?,
                module,
                inbox,
            },
        ));
        *later.borrow_mut() = Rc::downgrade(&executor);

        let reporting = Rc::downgrade(&executor);
        let luv = panto_luv::Options::hosted(Handle::current())
            .environment(environment)
            .context(Around(Rc::clone(&later)))
            .terminal_is_taken(terminal_is_taken)
            .on_error(move |error| {
                if let Some(executor) = reporting.upgrade() {
                    let mut failure =
                        Failure::new(format!("a callback of {}", error.origin), &error.message);
                    failure.traceback.clone_from(&error.traceback);
                    executor.reports.error(&failure);
                }
            });
        let uv =
            panto_luv::install(&lua, luv).map_err(|error| OpenError::Lua(error.to_string()))?;
        let loaded: Table = lua.named_registry_value("_LOADED")?;
        let luv: Function = loaded.get::<Table>("luv")?.get("now")?;
        let panto: Function = executor.module.table().get("agent")?;
        executor.entry.exempt(&lua, &[uv.entry(), &luv, &panto])?;
        let driver = uv.driver().map_err(OpenError::Loop)?;

        Ok(Self {
            lua,
            closing: None,
            driver,
            executor,
            hooks,
            handle: LuaHandle::new(later),
        })
    }

    /// The Lua state.
    pub fn lua(&self) -> &Lua {
        &self.lua
    }

    /// The native module, for what a host hands into Lua.
    pub fn module(&self) -> &Module {
        &self.executor.module
    }

    /// The loop.
    pub fn uv(&self) -> &Uv {
        self.driver.uv()
    }

    /// Drives Lua until `future` completes: calls of tools and protocols, waits, and the loop.
    ///
    /// What is left undone then waits for the next call. Dropping the future that this gives
    /// loses nothing.
    pub async fn run_until<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        loop {
            self.driver.update_time();
            self.executor.visit();
            self.driver.pass();
            self.executor.answer();
            let ready = async {
                tokio::select! {
                    biased;
                    () = self.driver.ready() => {}
                    () = self.executor.stirred() => {}
                }
            };
            tokio::select! {
                biased;
                output = future.as_mut() => return output,
                () = ready => {}
            }
        }
    }

    /// The way in for code on this thread.
    pub fn handle(&self) -> &LuaHandle {
        &self.handle
    }

    /// The tools that Lua functions are, for agents of any kind.
    pub fn tool_source(&self) -> Arc<dyn ToolSource> {
        self.executor.tools.source()
    }

    /// The hooks of [`LuaHandle::set_hooks`] and those of [`Options::around_hooks`], for agents of
    /// any kind. Those that Lua makes have them.
    pub fn hooks(&self) -> Arc<dyn TurnHooks> {
        Arc::clone(&self.hooks)
    }

    /// How many handlers run or are parked.
    pub fn live_handlers(&self) -> usize {
        self.executor.live.len()
    }

    /// How many agents have calls under way here.
    pub fn live_lanes(&self) -> usize {
        self.executor.lanes.borrow().len()
    }

    /// How many waits the owner thread keeps: parked coroutines, and deadlines of batches.
    pub fn live_waits(&self) -> usize {
        self.executor.waits.len()
    }

    /// Ends everything that runs in Lua or was started by it, and takes nothing new.
    ///
    /// Turns that Lua started are asked to stop, and so are turns whose calls run here; handlers
    /// get `grace`, then their coroutines are closed. What other threads ask for afterwards fails
    /// at once, in words. The state is closed, which runs its finalizers, when what this gives is
    /// dropped.
    pub async fn shutdown(mut self, grace: Duration) -> Remains {
        let executor = Rc::clone(&self.executor);
        executor.is_ending.set(true);
        executor.cancel_lanes(grace);
        let turns = self.module().turns().clone();
        turns.end_all(grace);
        let clock = executor.agents.clone();
        let forced = async {
            let sleep = {
                let _clock = clock.enter();
                tokio::time::sleep(grace)
            };
            sleep.await;
        };
        let mut settled = pin!(async {
            turns.settled().await;
            executor.live.all_ended().await;
        });
        // Callbacks are served for those who still need them, and for nobody else.
        if settled.as_mut().now_or_never().is_none() {
            self.run_until(async {
                tokio::select! {
                    biased;
                    () = settled => {}
                    () = forced => {}
                }
            })
            .await;
        }
        executor.force_all(&self.lua);
        self.uv().end();
        self.run_until(turns.settled()).await;
        self.end_children(grace).await;
        executor.close_protocols(&self.lua);
        executor.close_inbox(&self.lua);
        Remains { _runtime: self }
    }
}

impl LuaRuntime {
    /// Ends the children that are not detached: they are asked, then killed.
    async fn end_children(&mut self, grace: Duration) {
        let uv = self.uv().clone();
        if !uv.has_children() {
            return;
        }
        uv.stop_children(false);
        let clock = self.executor.agents.clone();
        let ended = poll_fn(|_| match uv.has_children() {
            // It is asked again after each pass of the loop.
            true => Poll::Pending,
            false => Poll::Ready(()),
        });
        let waited = {
            let _clock = clock.enter();
            tokio::time::timeout(grace.min(CHILDREN), ended)
        };
        if self.run_until(waited).await.is_err() {
            uv.stop_children(true);
        }
    }
}

/// How long children may take to end when they are asked.
const CHILDREN: Duration = Duration::from_millis(500);

/// A runtime that has been shut down. Dropping it closes the Lua state.
pub struct Remains {
    _runtime: LuaRuntime,
}

impl Drop for LuaRuntime {
    fn drop(&mut self) {
        self.executor.close_inbox(&self.lua);
        self.driver.uv().end();
        self.driver.uv().stop_children(false);
        self.closing = Some(self.executor.enter_closing(&self.lua));
    }
}
