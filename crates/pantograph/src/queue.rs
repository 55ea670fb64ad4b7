//! What was submitted to an agent and has not landed yet.

use crate::message::Block;

/// Something for an agent to hear: while a turn runs, or as the next one.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// What is said.
    pub blocks: Vec<Block>,
    /// When it lands.
    pub timing: Timing,
    /// Who said it.
    pub sender: Sender,
}

impl Submission {
    /// Steering of one text by a person.
    pub fn steering(text: impl Into<String>) -> Self {
        Self {
            blocks: vec![Block::text(text)],
            timing: Timing::Steering,
            sender: Sender::Person,
        }
    }

    /// A follow-up of one text by a person.
    pub fn follow_up(text: impl Into<String>) -> Self {
        Self {
            timing: Timing::FollowUp,
            ..Self::steering(text)
        }
    }

    /// The same, said by code.
    pub fn by_code(mut self) -> Self {
        self.sender = Sender::Code;
        self
    }
}

/// When a submission lands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// After the current batch of tools, before the next request.
    Steering,
    /// After the current turn.
    FollowUp,
}

/// Who made a submission; decides what an interrupt does to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// A person: an interrupt gives it back.
    Person,
    /// Code: after an interrupt it waits for a turn that a person starts.
    Code,
}

/// Names a queued submission within its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(pub(crate) u64);

/// A submission in the queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Queued {
    /// Names it, for withdrawing.
    pub id: QueueId,
    /// What was submitted.
    pub submission: Submission,
}

/// What was submitted and has not landed, in order.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    next_id: u64,
    entries: Vec<Queued>,
    /// Since the last interrupt no person has started a turn: what code submits starts none.
    interrupted: bool,
}

impl Queue {
    pub(crate) fn push(&mut self, submission: Submission) -> QueueId {
        let id = QueueId(self.next_id);
        self.next_id += 1;
        self.entries.push(Queued { id, submission });
        id
    }

    pub(crate) fn remove(&mut self, id: QueueId) -> Option<Submission> {
        let position = self.entries.iter().position(|queued| queued.id == id)?;
        Some(self.entries.remove(position).submission)
    }

    pub(crate) fn list(&self) -> Vec<Queued> {
        self.entries.clone()
    }

    /// The steering that lands next, if any; it stays queued until [`Queue::remove`].
    pub(crate) fn next_steering(&self) -> Option<Queued> {
        self.entries
            .iter()
            .find(|queued| queued.submission.timing == Timing::Steering)
            .cloned()
    }

    /// What may start a turn next: steering, else a follow-up.
    pub(crate) fn next_opening(&self) -> Option<Queued> {
        let may_start =
            |queued: &&Queued| !self.interrupted || queued.submission.sender == Sender::Person;
        let mut entries = self.entries.iter().filter(may_start);
        let first = entries.clone().next();
        entries
            .find(|queued| queued.submission.timing == Timing::Steering)
            .or(first)
            .cloned()
    }

    /// After an interrupt: gives a person's submissions back. What code submitted, and submits
    /// from now on, waits for a turn that a person starts.
    pub(crate) fn interrupt(&mut self) -> Vec<Queued> {
        self.interrupted = true;
        self.entries
            .extract_if(.., |queued| queued.submission.sender == Sender::Person)
            .collect()
    }

    /// A person started a turn: what code submitted lands again.
    pub(crate) fn release(&mut self) {
        self.interrupted = false;
    }
}
