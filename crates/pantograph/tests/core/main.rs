//! The agent core through its public face, on scripted protocols.

mod invariants;
mod support;
