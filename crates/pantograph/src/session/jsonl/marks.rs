//! Where things lie in a session's file, so that a listing needs only its last line.

use std::collections::HashMap;

use serde::Serialize;

use crate::ids::MessageId;
use crate::message::Role;
use crate::session::Record;

/// What a record says of the branch that it ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Mark {
    /// Messages on the branch.
    pub(super) n: u64,
    /// Where the branch's last user message begins in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user_at: Option<u64>,
    /// Where its last assistant message with an origin begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) origin_at: Option<u64>,
}

/// The marks of all messages and compactions, and of where the conversation goes on.
#[derive(Debug, Default)]
pub(super) struct Marks {
    by_id: HashMap<MessageId, Mark>,
    /// The mark of the current branch.
    pub(super) head: Mark,
}

impl Marks {
    /// Takes in a record that begins at `offset`, and gives the mark to write on it.
    ///
    /// The rules are those of [`crate::session::SessionTree::apply`].
    pub(super) fn apply(&mut self, record: &Record, offset: u64) -> Mark {
        match record {
            Record::Message(message) => {
                let mut mark = self.of(message.parent.as_ref());
                mark.n += 1;
                if message.role == Role::User {
                    mark.user_at = Some(offset);
                }
                if message.role == Role::Assistant && message.origin.is_some() {
                    mark.origin_at = Some(offset);
                }
                self.by_id.insert(message.id.clone(), mark);
                self.head = mark;
            }
            Record::Compaction(compaction) => {
                let mark = self.of(compaction.parent.as_ref());
                self.by_id.insert(compaction.id.clone(), mark);
                self.head = mark;
            }
            Record::Head { target: None, .. } => self.head = Mark::default(),
            Record::Head {
                target: Some(target),
                ..
            } => {
                if let Some(&mark) = self.by_id.get(target) {
                    self.head = mark;
                }
            }
            Record::Metadata { .. } => {}
        }
        self.head
    }

    fn of(&self, id: Option<&MessageId>) -> Mark {
        id.and_then(|id| self.by_id.get(id))
            .copied()
            .unwrap_or_default()
    }
}
