//! The thread that owns a Lua state: coroutines, batches, lanes, Lua tools and Lua protocols as
//! traits of the agent core.
//!
//! For a Rust program that lets Lua code take part in agents' turns. One thread has the state, its
//! loop and this runtime; agents run wherever they like and reach Lua through ordinary traits. It
//! knows no extensions, no configuration and no screen. `docs/runtime.md` is the guide.
//!
//! ```
//! use std::sync::Arc;
//!
//! use panto_runtime::{LuaRuntime, Options};
//! use pantograph::{Agent, Model, ModelRef, ToolDeclaration};
//! use pantograph_scripted::{Script, ScriptedProtocol, Step};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = Options::new(tokio::runtime::Handle::current());
//! let mut runtime = LuaRuntime::open(mlua::Lua::new(), options)?;
//! let handler = runtime.lua().load("return 'Hello, ' .. (...).name").into_function()?;
//! let schema = serde_json::json!({ "type": "object", "required": ["name"] });
//! let greet = ToolDeclaration::new("greet", "Greets somebody.", schema)?;
//! runtime.handle().register_tool("example", greet, handler)?;
//!
//! let script = Script::new().step(Step::call("greet", serde_json::json!({ "name": "Ada" })));
//! let protocol = Arc::new(ScriptedProtocol::new(script.step("Done.")));
//! let agent = Agent::builder(protocol, Model::new(ModelRef::parse("scripted:demo")?))
//!     .tool_source(runtime.tool_source())
//!     .ephemeral();
//! runtime.run_until(agent.ask("Greet Ada.")).await?;
//! assert!(agent.conversation().transcript().contains("Hello, Ada"));
//! # Ok(()) }
//! ```

mod deadline;
mod driven;
mod entering;
mod entry;
mod executor;
mod failure;
mod frame;
mod handle;
mod handlers;
mod headers;
mod hooks;
mod inbox;
mod lanes;
mod live;
mod options;
mod protocol;
mod raw;
mod runtime;
pub mod sandbox;
pub mod standalone;
mod store;
mod surroundings;
mod tool_context;
mod tool_output;
mod tools;
mod waiter;
mod waits;
mod watchdog;

pub use deadline::when_closing_takes_longer;
pub use driven::Drive;
pub use entry::MUST_NOT_WAIT;
pub use failure::Failure;
pub use handle::LuaHandle;
pub use headers::{LUA_HEADERS, LUA_RELEASE};
pub use hooks::Hooks;
pub use options::{DEFAULT_STEP_LIMIT, Options, Progress};
pub use panto_luv::kill_children;
pub use protocol::EffortLevel;
pub use runtime::{LuaRuntime, OpenError, Remains};
pub use tools::RegisterError;

/// The guide, so that its examples run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/runtime.md")]
struct Page;
