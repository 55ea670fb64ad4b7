//! Sandboxes for tests.

use std::time::Duration;

use panto_runtime::sandbox::{Given, Limits, Outcome, Sandbox, Value};

/// Limits of which time is not the one that is met, however slow the machine is.
pub(crate) fn patient() -> Limits {
    Limits {
        instructions: 1_000_000,
        time: Duration::from_secs(30),
        ..Limits::default()
    }
}

/// A sandbox with nothing given.
pub(crate) fn sandbox(limits: Limits) -> Sandbox {
    Sandbox::new(limits, Given::new()).unwrap()
}

/// What a chunk comes to in a fresh sandbox.
pub(crate) fn outcome(source: &str) -> Outcome {
    sandbox(patient()).run("chunk", source, vec![]).wait()
}

/// What a chunk returns, as JSON in a list.
pub(crate) fn returned(source: &str) -> serde_json::Value {
    match outcome(source) {
        Outcome::Finished(values) => Value::List(values).to_json(),
        other => panic!("{source}\n{other:?}"),
    }
}

/// The message with which a chunk fails.
pub(crate) fn failure(source: &str) -> String {
    match outcome(source) {
        Outcome::Failed(message) => message,
        other => panic!("{source}\n{other:?}"),
    }
}
