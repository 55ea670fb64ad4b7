//! The task that owns a session's turns.

use std::sync::Arc;

use pantograph::{Agent, Busy, Event, Outcome, TurnStream};

use super::{SessionCommand, SessionEvent, Shared};

pub(super) struct Driver {
    shared: Arc<Shared>,
}

/// What the driver does next.
enum Step {
    Run(Box<TurnStream>),
    SayIdle,
    /// Somebody else drives a turn of the agent.
    WaitForTurn,
    Wait,
    End,
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    pub(super) async fn drive(self) {
        loop {
            match self.next_step() {
                Step::Run(turn) => self.run(*turn).await,
                Step::SayIdle => self.send(SessionEvent::Idle).await,
                Step::WaitForTurn => tokio::select! {
                    () = self.shared.agent.settled() => {}
                    () = self.shared.closing.cancelled() => {}
                },
                Step::Wait => self.shared.wake.notified().await,
                Step::End => return,
            }
        }
    }

    fn next_step(&self) -> Step {
        let mut state = self.shared.state.lock();
        if state.closing {
            return Step::End;
        }
        let agent = &self.shared.agent;
        let started = match state.commands.front() {
            Some(command) => start(agent, command).map(Some),
            None if state.held => Ok(None),
            None => agent.run_queued(),
        };
        match started {
            Ok(Some(turn)) => {
                state.commands.pop_front();
                state.live = true;
                state.taken_back.clear();
                state.hurry = self.shared.closing.child_token();
                state.announce_idle = true;
                Step::Run(Box::new(turn))
            }
            Ok(None) if state.announce_idle => {
                state.announce_idle = false;
                Step::SayIdle
            }
            Ok(None) => Step::Wait,
            Err(Busy) => Step::WaitForTurn,
        }
    }

    async fn run(&self, mut turn: TurnStream) {
        while let Some(event) = turn.next().await {
            let event = match event {
                Event::Settled(outcome) => Event::Settled(self.settle(outcome)),
                other => other,
            };
            self.send(SessionEvent::Turn(event)).await;
        }
        self.shared.state.lock().live = false;
    }

    /// Takes note that the live turn has settled.
    ///
    /// A turn may complete just as it is interrupted. What a person had queued until then comes
    /// back all the same, rather than starting a turn that nobody wants any more.
    fn settle(&self, outcome: Arc<Outcome>) -> Arc<Outcome> {
        tracing::debug!(
            session = %self.shared.agent.session_id(),
            turn = %outcome.turn_id,
            stop = %outcome.stop,
            "the turn has settled"
        );
        let mut state = self.shared.state.lock();
        state.live = false;
        let taken_back = std::mem::take(&mut state.taken_back);
        let late = self
            .shared
            .withdraw(|queued| taken_back.contains(&queued.id));
        if late.is_empty() {
            return outcome;
        }
        let mut outcome = Outcome::clone(&outcome);
        outcome.returned.extend(late);
        Arc::new(outcome)
    }

    async fn send(&self, event: SessionEvent) {
        let hurry = self.shared.state.lock().hurry.clone();
        self.shared.readers.send(event, &hurry).await;
    }
}

impl Drop for Driver {
    /// Also when a panic ends the driver: nobody waits for ever.
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.closing = true;
        state.ended = true;
        state.live = false;
        self.shared.readers.end();
        self.shared.closed.cancel();
    }
}

fn start(agent: &Agent, command: &SessionCommand) -> Result<TurnStream, Busy> {
    match command {
        SessionCommand::Compact { instructions } => agent.compact(instructions.clone()),
        SessionCommand::Continue => agent.continue_turn(),
    }
}
