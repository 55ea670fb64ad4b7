//! What was submitted to an agent and has not landed yet.

use crate::message::{Block, Metadata};

/// Something for an agent to hear: while a turn runs, or as the next one.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// What is said.
    pub blocks: Vec<Block>,
    /// On the user message.
    pub metadata: Metadata,
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
            metadata: Metadata::new(),
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
    /// Set by an interrupt until a person starts a turn: what code submits starts none.
    /// Holds what the next id was at the interrupt.
    interrupted: Option<u64>,
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

    pub(crate) fn has_steering(&self) -> bool {
        self.entries
            .iter()
            .any(|queued| queued.submission.timing == Timing::Steering)
    }

    /// The steering that lands next, if any.
    pub(crate) fn take_steering(&mut self) -> Option<Submission> {
        let position = self
            .entries
            .iter()
            .position(|queued| queued.submission.timing == Timing::Steering)?;
        Some(self.entries.remove(position).submission)
    }

    /// Whether something is queued that may start a turn.
    pub(crate) fn can_start(&self) -> bool {
        self.opening().is_some()
    }

    /// What starts a turn: the first steering, else the first follow-up.
    pub(crate) fn take_opening(&mut self) -> Option<Submission> {
        let position = self.opening()?;
        Some(self.entries.remove(position).submission)
    }

    fn opening(&self) -> Option<usize> {
        let may_start = |queued: &Queued| {
            self.interrupted.is_none() || queued.submission.sender == Sender::Person
        };
        let first = |timing| {
            self.entries
                .iter()
                .position(|queued| may_start(queued) && queued.submission.timing == timing)
        };
        first(Timing::Steering).or_else(|| first(Timing::FollowUp))
    }

    /// An interrupt: what code submitted, and submits from now on, starts no turn.
    pub(crate) fn hold(&mut self) {
        self.interrupted = Some(self.next_id);
    }

    /// Takes out what a person had submitted before the interrupt.
    pub(crate) fn take_from_person(&mut self) -> Vec<Queued> {
        let before = self.interrupted.unwrap_or(self.next_id);
        self.entries
            .extract_if(.., |queued| {
                queued.submission.sender == Sender::Person && queued.id.0 < before
            })
            .collect()
    }

    /// Puts back what was taken out and reached nobody, before everything else.
    pub(crate) fn restore(&mut self, queued: Vec<Queued>) {
        self.entries.splice(..0, queued);
    }

    /// A person starts a turn: what code submitted may start one again, too.
    pub(crate) fn release(&mut self) {
        self.interrupted = None;
    }
}
