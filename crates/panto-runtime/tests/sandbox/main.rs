//! The restricted environment for Lua that a model wrote: what it offers, what it keeps in, and
//! what ends it.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod attacks;
mod driving;
mod isolation;
mod library;
mod patterns;
mod support;
mod values;
