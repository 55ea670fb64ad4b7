//! What Rust and Lua see of the thread that owns a Lua state.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

#[path = "../../../pantograph/tests/sessions/any.rs"]
mod any;
mod cancelling;
mod contention;
mod entries;
mod fairness;
mod interleaving;
mod jobs;
mod lanes;
mod protocols;
mod steps;
mod stores;
mod support;
mod teardown;
mod tools;
mod yields;
