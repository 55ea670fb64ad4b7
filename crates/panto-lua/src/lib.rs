//! The native `panto` module of Lua, over the agent core.
//!
//! For any Rust program that gives a Lua state agents, conversations, stores, streams and jobs:
//! [`open`] makes the module, an [`Embedding`] says what it needs from its host. All of it runs
//! on the thread that owns the Lua state; agents run on the tokio runtime of the embedding.
//! It knows no event loop, no extensions and no screen. What Lua sees is in `docs/lua.md` and,
//! for language servers, in `lua/panto.lua`.
//!
//! ```
//! use std::sync::Arc;
//!
//! use pantograph::protocol::ToolChoice;
//! use pantograph::{AgentConfig, Model, ModelRef};
//! use pantograph_scripted::{Script, ScriptedProtocol};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
//! let lua = mlua::Lua::new();
//! let module = panto_lua::open(&lua, panto_lua::Embedding::new(runtime.handle().clone()))?;
//! lua.register_module("panto", module.table().clone())?;
//! lua.globals().set("config", module.config(&lua, AgentConfig {
//!     protocol: Arc::new(ScriptedProtocol::new(Script::new().step("Hello."))),
//!     model: Arc::new(Model::new(ModelRef::parse("scripted:demo")?)),
//!     tool_choice: ToolChoice::Auto,
//! })?)?;
//! let text: String = lua.load(r#"
//!     local panto = require("panto")
//!     local agent = assert(panto.agent { config = config, store = panto.null_store() })
//!     for event in assert(agent:run("Say hello.")):events() do
//!         if event.type == "assistant_text_complete" then return event.text end
//!     end
//! "#).eval()?;
//! assert_eq!(text, "Hello.");
//! # Ok(())
//! # }
//! ```

mod agent;
mod args;
mod class;
mod config;
mod conversation;
mod embedding;
mod event;
mod fault;
mod job;
mod json;
mod message;
mod module;
mod shim;
mod stop;
mod store;
mod stream;
mod text;
mod turns;
mod wait;

pub use agent::Lender;
pub use args::{Arg, Args, Options};
pub use embedding::{Embedding, Enclosing, LocalTools, Surroundings, TableStores};
pub use event::EventTables;
pub use fault::{Fault, Reply, values};
pub use json::{Json, JsonError};
pub use module::{Module, open};
pub use turns::Turns;
pub use wait::{Place, Ready, Waiter, Waiting, Wanted};
