//! The door for hosts: the module of one Lua state.

use std::future::Future;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use mlua::{AnyUserData, Function, Lua, Table, Value};
use pantograph::{AgentConfig, Block, Message, Metadata, SessionStore, ToolDeclaration};
use tokio::sync::oneshot;

use crate::agent::{self, Lender, LuaAgent};
use crate::args::{Arg, Args};
use crate::class::define;
use crate::config::Config;
use crate::conversation::{self, LuaConversation};
use crate::embedding::{Embedding, Surroundings};
use crate::fault::{Fault, Reply};
use crate::job::{Control, Job, Wakes};
use crate::json::Json;
use crate::message::{blocks_argument, message_table};
use crate::shim::{Shim, later};
use crate::store::{self, Reach, Store};
use crate::stream::Stream;
use crate::text;
use crate::turns::Turns;
use crate::wait::{Pending, WAITS_FOR_ITSELF, block_on, waits_for_itself};

/// Makes the module for `lua`, whose thread this must be. Once a state.
///
/// # Errors
///
/// Lua is out of memory, or has a module already.
pub fn open(lua: &Lua, embedding: Embedding) -> mlua::Result<Module> {
    if lua.app_data_ref::<Opened>().is_some() {
        return Err(mlua::Error::runtime(
            "this Lua state has its `panto` module already",
        ));
    }
    let shim = Shim::new(lua, Rc::clone(&embedding.waiter))?;
    let state = Rc::new(State {
        turns: Turns::default(),
        wakes: Wakes::default(),
        json: Json::new(lua)?,
        shim,
        embedding,
    });
    define::<LuaConversation>(lua, &state)?;
    define::<Store>(lua, &state)?;
    define::<LuaAgent>(lua, &state)?;
    define::<Stream>(lua, &state)?;
    define::<Job>(lua, &state)?;
    define::<Control>(lua, &state)?;

    let json = state.json.module(lua, &state.shim)?;
    let text = text::module(lua, &state)?;
    let table = lua.create_table()?;
    table.raw_set("agent", agent::constructor(lua, &state)?)?;
    table.raw_set("conversation", conversation::constructor(lua, &state)?)?;
    table.raw_set("null_store", store::null(lua, &state)?)?;
    table.raw_set("file_system_jsonl_store", store::files(lua, &state)?)?;
    table.raw_set("json", json)?;
    table.raw_set("text", text)?;
    lua.set_app_data(Opened(Rc::clone(&state)));
    Ok(Module { table, state })
}

/// Keeps the module working for as long as the Lua state is there.
struct Opened(Rc<State>);

/// A JSON object as the module of `lua` has it; nil if there is no module any more.
pub(crate) fn object_to_lua(lua: &Lua, object: &Metadata) -> mlua::Result<Value> {
    let state = lua
        .app_data_ref::<Opened>()
        .map(|opened| Rc::clone(&opened.0));
    let Some(state) = state else {
        return Ok(Value::Nil);
    };
    match state.json.object_to_lua(lua, object) {
        Ok(value) => Ok(value),
        Err(Fault::Lua(error)) => Err(error),
        Err(Fault::Misuse(message) | Fault::Expected { message, .. }) => {
            Err(mlua::Error::runtime(message))
        }
    }
}

/// The module of one Lua state, and its host's way to hand values in. Clones are the same module; functions that Lua
/// holds must not keep one, since it holds Lua values.
#[derive(Clone)]
pub struct Module {
    table: Table,
    state: Rc<State>,
}

impl Module {
    /// The table that `require("panto")` is to give.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// A model configuration for `panto.agent` and `agent:set_config`. Lua sees of it `model`,
    /// `reasoning`, `style` and `wire_model`, and no more.
    ///
    /// # Errors
    ///
    /// Lua is out of memory.
    pub fn config(&self, lua: &Lua, config: AgentConfig) -> mlua::Result<AnyUserData> {
        lua.create_userdata(Config(config))
    }

    /// A handle to the agent that `lender` lends, which is asked at every use.
    ///
    /// # Errors
    ///
    /// Lua is out of memory.
    pub fn borrowed(&self, lua: &Lua, lender: Rc<dyn Lender>) -> mlua::Result<AnyUserData> {
        lua.create_userdata(LuaAgent::borrowed(lender))
    }

    /// A store of the host, as Lua has it.
    ///
    /// # Errors
    ///
    /// Lua is out of memory.
    pub fn store(&self, lua: &Lua, store: Arc<dyn SessionStore>) -> mlua::Result<AnyUserData> {
        lua.create_userdata(Store::new(store, Reach::Host))
    }

    /// A function as those of the module are: it raises a misuse as a string at its caller, with
    /// the argument's name, and gives an expected failure as `nil, message`.
    ///
    /// ```
    /// # use panto_lua::{Embedding, open, values};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    /// # let lua = mlua::Lua::new();
    /// # let module = open(&lua, Embedding::new(runtime.handle().clone()))?;
    /// let shout = module.function(&lua, "shout", |lua, mut args| {
    ///     values(lua, args.next("text").text()?.to_uppercase())
    /// })?;
    /// lua.globals().set("shout", shout)?;
    /// let message: String = lua.load("return select(2, pcall(shout, 1))").eval()?;
    /// assert_eq!(message, "bad argument 'text' to 'shout' (string expected, got number)");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Lua is out of memory.
    pub fn function(
        &self,
        lua: &Lua,
        name: &'static str,
        body: impl Fn(&Lua, Args) -> Reply + 'static,
    ) -> mlua::Result<Function> {
        self.state.shim.function(lua, name, body)
    }

    /// The answer of such a function that comes later: `future` is waited for as the host's
    /// [`crate::Waiter`] says, polled on this thread, and `finish` makes Lua values of what it
    /// gives.
    ///
    /// # Errors
    ///
    /// Lua is out of memory.
    pub fn later<T: 'static>(
        lua: &Lua,
        future: impl Future<Output = T> + 'static,
        finish: impl FnOnce(&Lua, T) -> Reply + 'static,
    ) -> Reply {
        later(lua, Pending::new(future, finish))
    }

    /// Who knows for whose tool call code of this state runs, if the host told the module: for
    /// functions of a host that end early when the turn does.
    pub fn surroundings(&self) -> Option<Rc<dyn Surroundings>> {
        self.state.embedding.surroundings.clone()
    }

    /// JSON in this state, as `panto.json` has it.
    pub fn json(&self) -> &Json {
        &self.state.json
    }

    /// A copy of a message, as `conversation:messages()` gives it.
    ///
    /// # Errors
    ///
    /// Lua is out of memory.
    pub fn message(&self, lua: &Lua, message: &Message) -> Result<Table, Fault> {
        message_table(lua, &self.state.json, message)
    }

    /// Reads text or blocks, as `agent:run` takes them.
    ///
    /// # Errors
    ///
    /// It is neither.
    pub fn blocks(argument: &Arg) -> Result<Vec<Block>, Fault> {
        blocks_argument(argument)
    }

    /// Reads a tool as `agent:register_tool` takes it: its declaration and its handler.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn tool(&self, argument: Arg) -> Result<(ToolDeclaration, Function), Fault> {
        agent::tool(&self.state.json, argument)
    }

    /// The turns of this state, for a host that ends them before it goes.
    pub fn turns(&self) -> &Turns {
        &self.state.turns
    }
}

/// What every function of the module shares. The functions hold it weakly, since it holds Lua
/// values itself.
pub(crate) struct State {
    pub(crate) embedding: Embedding,
    pub(crate) shim: Shim,
    pub(crate) json: Json,
    pub(crate) turns: Turns,
    pub(crate) wakes: Wakes,
}

impl State {
    /// The state, as long as Lua lives.
    pub(crate) fn alive(state: &Weak<State>) -> Result<Rc<State>, Fault> {
        let gone = || Fault::expected("the Lua state is closing");
        state.upgrade().ok_or_else(gone)
    }

    /// Runs `future` on the runtime and makes Lua values of what it gives.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        lua: &Lua,
        reach: Reach,
        future: impl Future<Output = T> + Send + 'static,
        finish: impl FnOnce(&Lua, T) -> Reply + 'static,
    ) -> Reply {
        let runtime = &self.embedding.runtime;
        if reach == Reach::Files && waits_for_itself(runtime) {
            return Err(Fault::expected(WAITS_FOR_ITSELF));
        }
        let (sender, receiver) = oneshot::channel();
        runtime.spawn(async move {
            // Whoever waited may be gone.
            let _ = sender.send(future.await);
        });
        let finish = move |lua: &Lua, output: Result<T, _>| match output {
            Ok(output) => finish(lua, output),
            Err(_) => Err(Fault::expected("the runtime is shutting down")),
        };
        match reach {
            Reach::Files => finish(lua, block_on(receiver)),
            Reach::Host => later(lua, Pending::new(receiver, finish)),
        }
    }
}
