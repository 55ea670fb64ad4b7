//! Extensions and their session, through the crate's public doors.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may unwrap as tests do"
)]

mod bad_input;
mod commands;
mod events;
mod loading;
mod models;
mod page;
mod prompts;
#[allow(dead_code, reason = "other test binaries and benches need the rest")]
mod support;
mod switching;
mod trust;
