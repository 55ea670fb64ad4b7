//! The agent core through its public face, on scripted protocols.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod braking;
mod branching;
mod cancelling;
mod compaction;
mod editing;
mod embedding;
mod grace;
mod healing;
mod hooks;
mod invariants;
mod outcomes;
mod protocols;
mod retrying;
mod sizes;
mod steering;
mod stores;
mod summaries;
mod support;
mod tools;
