//! The agent core through its public face, on scripted protocols.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cancelling;
mod compaction;
mod editing;
mod healing;
mod hooks;
mod invariants;
mod retrying;
mod sizes;
mod steering;
mod support;
mod tools;
