//! The messages that a repaired file has, and what is left of those that it has lost.

use std::collections::HashMap;

use crate::ids::MessageId;
use crate::session::{Compaction, Record};

/// What the lines so far say of the tree.
#[derive(Default)]
pub(super) struct Known {
    nodes: HashMap<MessageId, Node>,
    /// The messages on lines that cannot be read, with what their children can follow instead.
    lost: HashMap<MessageId, Option<MessageId>>,
    /// The first child of each message of which nothing else is left.
    orphans: HashMap<MessageId, MessageId>,
    lost_unnamed: bool,
    previous: Option<MessageId>,
}

struct Node {
    line: u64,
    parent: Option<MessageId>,
    is_message: bool,
}

impl Known {
    /// The message or compaction on the line before.
    pub(super) fn previous(&self) -> Option<&MessageId> {
        self.previous.as_ref()
    }

    /// The line of a message or compaction.
    pub(super) fn line_of(&self, id: &MessageId) -> Option<u64> {
        self.nodes.get(id).map(|node| node.line)
    }

    /// Adds a message or compaction, whose parent may stand in for one that is `missing`.
    pub(super) fn add(&mut self, record: &Record, line: u64, missing: Option<&MessageId>) {
        let (id, parent, is_message) = match record {
            Record::Message(message) => (&message.id, &message.parent, true),
            Record::Compaction(compaction) => (&compaction.id, &compaction.parent, false),
            Record::Metadata { .. } | Record::Head { .. } => return,
        };
        if let Some(missing) = missing {
            let orphans = self.orphans.entry(missing.clone());
            orphans.or_insert_with(|| id.clone());
        }
        let node = Node {
            line,
            // One that names itself has none.
            parent: parent.clone().filter(|parent| parent != id),
            is_message,
        };
        self.nodes.insert(id.clone(), node);
        self.previous = Some(id.clone());
    }

    /// Notes that a message is lost, and whose child it was.
    pub(super) fn lose(&mut self, id: MessageId, parent: Option<MessageId>) {
        let ancestor = match parent {
            Some(parent) if self.nodes.contains_key(&parent) => Some(parent),
            Some(parent) => self.instead_of(&parent),
            None => self.previous.clone(),
        };
        self.lost.insert(id, ancestor);
    }

    /// Notes that a line is lost that may have been any message.
    pub(super) fn lose_unnamed(&mut self) {
        self.lost_unnamed = true;
    }

    /// What a record can name instead of a message that is not there.
    pub(super) fn instead_of(&self, missing: &MessageId) -> Option<MessageId> {
        match self.lost.get(missing) {
            Some(ancestor) => ancestor.clone(),
            None => self.previous.clone(),
        }
    }

    /// What a compaction can keep from on if the message that it names is lost: the one after it
    /// on the branch. `None` if it need not, for naming one that was never before it is a way to
    /// keep none.
    pub(super) fn kept_instead(&self, compaction: &Compaction) -> Option<MessageId> {
        let wanted = &compaction.first_kept;
        if *wanted == compaction.id || self.nodes.contains_key(wanted) {
            return None;
        }
        let path = self.path(compaction.parent.as_ref());
        let start = match (self.lost.get(wanted), self.orphans.get(wanted)) {
            (Some(Some(ancestor)), _) => path.iter().position(|id| *id == ancestor)? + 1,
            (Some(None), _) => 0,
            (None, Some(orphan)) => path.iter().position(|id| *id == orphan)?,
            // It may be any of the lost ones: better too much than what follows it.
            (None, None) if self.lost_unnamed => path
                .iter()
                .rposition(|id| !self.is_message(id))
                .map_or(0, |at| at + 1),
            (None, None) => return None,
        };
        let mut kept = path[start..].iter().filter(|id| self.is_message(id));
        kept.next().map(|&id| id.clone())
    }

    fn is_message(&self, id: &MessageId) -> bool {
        self.nodes.get(id).is_some_and(|node| node.is_message)
    }

    /// The ids from the root to `end`.
    fn path<'k>(&'k self, end: Option<&'k MessageId>) -> Vec<&'k MessageId> {
        let parent = |id: &&MessageId| self.nodes.get(*id).and_then(|node| node.parent.as_ref());
        // Ids that come twice can make loops; no path is longer than all of them.
        let mut path: Vec<_> = std::iter::successors(end, parent)
            .take(self.nodes.len())
            .collect();
        path.reverse();
        path
    }
}
