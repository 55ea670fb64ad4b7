//! What can happen between two events of an answer: waits and failures.

use std::time::Duration;

use pantograph::{ErrorClass, ProviderError};

use crate::gate::Gate;

/// A wait or a failure, in the place of the next event or of the connection.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing for a while, by tokio's clock, so that a paused one skips it.
    Delay(Duration),
    /// Nothing until the gate is opened.
    Gate(Gate),
    /// Nothing, for ever.
    Stall,
    /// The stream ends without [`pantograph::protocol::ProtocolEvent::Done`]; a block that was
    /// played right before has no end either. While opening, it is a transport error.
    Disconnect,
    /// The stream ends after its last block, without
    /// [`pantograph::protocol::ProtocolEvent::Done`]. While opening, it is a transport error.
    NoEnd,
    /// The provider reports this, and nothing follows.
    Error(ProviderError),
}

impl From<Duration> for Fault {
    fn from(delay: Duration) -> Self {
        Fault::Delay(delay)
    }
}

impl From<Gate> for Fault {
    fn from(gate: Gate) -> Self {
        Fault::Gate(gate)
    }
}

impl From<&Gate> for Fault {
    fn from(gate: &Gate) -> Self {
        Fault::Gate(gate.clone())
    }
}

impl From<ProviderError> for Fault {
    fn from(error: ProviderError) -> Self {
        Fault::Error(error)
    }
}

impl From<ErrorClass> for Fault {
    fn from(class: ErrorClass) -> Self {
        Fault::Error(failure(class))
    }
}

/// An error of a class that says that the script wanted it.
pub fn failure(class: ErrorClass) -> ProviderError {
    ProviderError::new(class, format!("scripted {} error", class.as_str()))
}
