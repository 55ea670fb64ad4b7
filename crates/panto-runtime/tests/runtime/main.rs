//! What Rust and Lua see of the thread that owns a Lua state.

mod cancelling;
mod entries;
mod protocols;
mod support;
mod tools;
