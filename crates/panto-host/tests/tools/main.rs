//! The standard tools of `rocks/agent`, called by a scripted model on real files.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod changing;
mod page;
mod reading;
mod searching;
mod shell;
mod support;
