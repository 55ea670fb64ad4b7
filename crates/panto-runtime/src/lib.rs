//! The thread that owns a Lua state: coroutines, batches, lanes, Lua tools and Lua protocols as
//! traits of the agent core.
//!
//! For a Rust program that lets Lua code take part in agents' turns. It knows no extensions, no
//! configuration and no screen.

mod headers;
pub mod standalone;

pub use headers::{LUA_HEADERS, LUA_RELEASE};
