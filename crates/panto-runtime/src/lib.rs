//! The thread that owns a Lua state: coroutines, batches, lanes, Lua tools and Lua protocols as
//! traits of the agent core.
//!
//! For a Rust program that lets Lua code take part in agents' turns. It knows no extensions, no
//! configuration and no screen.

mod driven;
mod entry;
mod executor;
mod failure;
mod handle;
mod handlers;
mod headers;
mod hooks;
mod inbox;
mod lanes;
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

pub use driven::Drive;
pub use entry::MUST_NOT_WAIT;
pub use failure::Failure;
pub use handle::LuaHandle;
pub use headers::{LUA_HEADERS, LUA_RELEASE};
pub use hooks::Hooks;
pub use options::{DEFAULT_STEP_LIMIT, Options, Progress};
pub use protocol::EffortLevel;
pub use runtime::{LuaRuntime, OpenError};
pub use tools::RegisterError;
