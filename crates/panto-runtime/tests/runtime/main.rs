//! What Rust and Lua see of the thread that owns a Lua state.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod cancelling;
mod entries;
mod fairness;
mod interleaving;
mod jobs;
mod lanes;
mod protocols;
mod support;
mod teardown;
mod tools;
