//! What Lua sees of luv, one file for each family. All of it runs on loopback, temporary folders and timers of a few
//! milliseconds; what is waited for is an event, never a time.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod support;

mod async_handles;
mod errors;
mod files;
mod handles;
mod hosts;
mod loops;
mod machines;
mod polls;
mod processes;
mod sockets;
mod streams;
mod terminals;
mod threads;
mod timers;
mod watching;
