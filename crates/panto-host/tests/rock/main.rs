//! The extensions of `rocks/agent` in a Lua state with a `panto.ext` that writes down what it is
//! told: what they make of files, and of what is wrong with these.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod bench;
mod commands;
mod page;
mod places;
mod rules;
mod shapes;
mod skills;
