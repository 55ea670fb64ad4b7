//! What Lua sees of the module, as Lua programs over scripted models.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod agents;
mod arguments;
mod conversations;
mod hosts;
mod jobs;
mod json;
mod page;
mod stores;
mod streams;
mod stub;
mod support;
mod text;
mod wakes;
