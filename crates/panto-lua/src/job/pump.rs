//! The task that drives a job's turn to its end.

use std::sync::Arc;

use pantograph::{Event, Outcome, StopReason, TurnError, TurnId, TurnStream, UsageTotal};
use tokio::runtime::Handle;

use super::shared::Shared;
use crate::turns::{Entry, Turns};

/// Drives `turn` on `runtime`, whether or not anyone reads its events.
pub(super) fn spawn(runtime: &Handle, turns: &Turns, turn: TurnStream, shared: Arc<Shared>) {
    let pump = Pump {
        entry: Some(turns.enter(turn.control())),
        turn: turn.id(),
        outcome: None,
        shared,
    };
    runtime.spawn(pump.drive(turn));
}

/// Settles the job when it goes, also if the runtime drops its task.
struct Pump {
    entry: Option<Entry>,
    turn: TurnId,
    outcome: Option<Arc<Outcome>>,
    shared: Arc<Shared>,
}

impl Pump {
    async fn drive(mut self, mut turn: TurnStream) {
        while let Some(event) = turn.next().await {
            match event {
                // Told with the result, when the agent is free.
                Event::Settled(outcome) => self.outcome = Some(outcome),
                event => self.shared.push(event),
            }
        }
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        let outcome = self.outcome.take();
        self.shared
            .settle(outcome.unwrap_or_else(|| Arc::new(abandoned(self.turn))));
        // After that, so that whoever waits for all turns finds this one settled.
        self.entry = None;
    }
}

/// How a turn ends whose runtime went away.
fn abandoned(turn_id: TurnId) -> Outcome {
    Outcome {
        turn_id,
        stop: StopReason::Failed,
        error: Some(TurnError::Internal(
            "the runtime ended before the turn did".to_owned(),
        )),
        text: None,
        tool_calls: Vec::new(),
        usage: UsageTotal::default(),
        returned: Vec::new(),
    }
}
