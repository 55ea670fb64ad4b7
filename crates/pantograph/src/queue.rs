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
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    queued: Queued,
    /// Set by an interrupt on what code submitted: lands, but starts no turn.
    held: bool,
}

impl Queue {
    pub(crate) fn push(&mut self, submission: Submission) -> QueueId {
        let id = QueueId(self.next_id);
        self.next_id += 1;
        self.entries.push(Entry {
            queued: Queued { id, submission },
            held: false,
        });
        id
    }

    pub(crate) fn remove(&mut self, id: QueueId) -> Option<Submission> {
        let position = self
            .entries
            .iter()
            .position(|entry| entry.queued.id == id)?;
        Some(self.entries.remove(position).queued.submission)
    }

    pub(crate) fn list(&self) -> Vec<Queued> {
        self.entries
            .iter()
            .map(|entry| entry.queued.clone())
            .collect()
    }

    /// Whether something is queued that may start a turn.
    pub(crate) fn can_start(&self) -> bool {
        self.entries.iter().any(|entry| !entry.held)
    }

    /// The steering that lands next, if any; it stays queued until [`Queue::remove`].
    pub(crate) fn next_steering(&self) -> Option<Queued> {
        self.entries
            .iter()
            .find(|entry| entry.queued.submission.timing == Timing::Steering)
            .map(|entry| entry.queued.clone())
    }

    /// The follow-up that starts a turn next, if any.
    pub(crate) fn next_follow_up(&self) -> Option<Queued> {
        self.entries
            .iter()
            .find(|entry| entry.queued.submission.timing == Timing::FollowUp && !entry.held)
            .map(|entry| entry.queued.clone())
    }

    /// After an interrupt: gives a person's submissions back and holds what code submitted.
    pub(crate) fn interrupt(&mut self) -> Vec<Queued> {
        let mut returned = Vec::new();
        self.entries
            .retain_mut(|entry| match entry.queued.submission.sender {
                Sender::Person => {
                    returned.push(entry.queued.clone());
                    false
                }
                Sender::Code => {
                    entry.held = true;
                    true
                }
            });
        returned
    }

    /// A person started a turn: what was held may land as usual, also as a turn of its own.
    pub(crate) fn release(&mut self) {
        for entry in &mut self.entries {
            entry.held = false;
        }
    }
}
