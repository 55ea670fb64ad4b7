//! The tree of messages that a session's records make, and the conversations in it.

use std::collections::HashMap;
use std::sync::Arc;

use super::chosen::Chosen;
use super::{Compaction, Header, LoadOptions, Record, jsonl};
use crate::conversation::Conversation;
use crate::ids::MessageId;
use crate::message::{Block, Message, Metadata, Role};

/// Everything that a session holds: all branches, and where the conversation goes on.
#[derive(Debug, Clone)]
pub struct SessionTree {
    header: Header,
    nodes: Vec<Node>,
    /// For each node the position of its parent, which comes earlier.
    parents: Vec<Option<usize>>,
    index: HashMap<MessageId, usize>,
    head: Option<usize>,
    torn_bytes: u64,
}

#[derive(Debug, Clone)]
enum Node {
    Message(Arc<Message>),
    Compaction(Arc<Compaction>),
}

impl Node {
    fn id(&self) -> &MessageId {
        match self {
            Node::Message(message) => &message.id,
            Node::Compaction(compaction) => &compaction.id,
        }
    }

    fn parent(&self) -> Option<&MessageId> {
        match self {
            Node::Message(message) => message.parent.as_ref(),
            Node::Compaction(compaction) => compaction.parent.as_ref(),
        }
    }
}

impl SessionTree {
    /// A session without records.
    pub fn new(header: Header) -> Self {
        Self {
            header,
            nodes: Vec::new(),
            parents: Vec::new(),
            index: HashMap::new(),
            head: None,
            torn_bytes: 0,
        }
    }

    /// Notes that the last record was cut off and left out.
    pub(crate) fn set_torn_bytes(&mut self, torn_bytes: u64) {
        self.torn_bytes = torn_bytes;
    }

    /// How many bytes of an unfinished last record were left out, as a killed process or a full
    /// disk leaves one; 0 if the session is whole.
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// Applies one record. A record that names a message which is not there changes nothing.
    pub fn apply(&mut self, record: Record) {
        match record {
            Record::Message(message) => {
                let id = message.id.clone();
                self.add(id, Node::Message(Arc::new(message)));
            }
            Record::Compaction(compaction) => {
                let id = compaction.id.clone();
                self.add(id, Node::Compaction(Arc::new(compaction)));
            }
            Record::Metadata {
                target, metadata, ..
            } => self.set_metadata(&target, metadata),
            Record::Head { target, .. } => match target {
                None => self.head = None,
                Some(target) => {
                    if let Some(&position) = self.index.get(&target) {
                        self.head = Some(position);
                    }
                }
            },
        }
    }

    /// The message or compaction that was added last.
    pub(super) fn last(&self) -> Option<&MessageId> {
        self.nodes.last().map(Node::id)
    }

    fn add(&mut self, id: MessageId, node: Node) {
        // Looked up now: a later message of the same id is not the parent of this one.
        let parent = node.parent().and_then(|parent| self.index.get(parent));
        self.parents.push(parent.copied());
        self.head = Some(self.nodes.len());
        self.index.insert(id, self.nodes.len());
        self.nodes.push(node);
    }

    fn set_metadata(&mut self, target: &MessageId, metadata: Metadata) {
        if let Some(&position) = self.index.get(target)
            && let Node::Message(message) = &mut self.nodes[position]
        {
            Arc::make_mut(message).metadata = metadata;
        }
    }

    /// What the session begins with.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where the conversation goes on: a message or a compaction.
    pub fn head(&self) -> Option<&MessageId> {
        self.head.map(|position| self.nodes[position].id())
    }

    /// All messages of all branches, in the order in which they were added.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Message(message) => Some(message),
            Node::Compaction(_) => None,
        })
    }

    /// The conversation that goes on at the head, compactions applied.
    pub fn conversation(&self) -> Conversation {
        self.conversation_from(self.head)
    }

    /// The conversation that ends with `id`, compactions applied; `None` if there is no such
    /// message or compaction.
    pub fn conversation_at(&self, id: &MessageId) -> Option<Conversation> {
        let position = *self.index.get(id)?;
        Some(self.conversation_from(Some(position)))
    }

    /// The messages of the current branch, oldest first, as if nothing had been compacted.
    pub fn branch(&self) -> Vec<Arc<Message>> {
        self.path(self.head)
            .into_iter()
            .filter_map(|position| match &self.nodes[position] {
                Node::Message(message) => Some(Arc::clone(message)),
                Node::Compaction(_) => None,
            })
            .collect()
    }

    /// Some messages of the current branch, as [`super::SessionStore::load_messages`] gives them;
    /// the size of one is that of its JSON text.
    pub fn some_messages(&self, options: &LoadOptions) -> Vec<Message> {
        let mut branch = self.branch();
        if options.from_end {
            branch.reverse();
        }
        let mut chosen = Chosen::new(options);
        for message in branch {
            if chosen.is_full {
                break;
            }
            if chosen.wants_role(Some(message.role.as_str())) {
                let message = Arc::unwrap_or_clone(message);
                let size = match options.max_bytes {
                    Some(_) => jsonl::message_bytes(&message),
                    None => 0,
                };
                chosen.offer(message, size);
            }
        }
        let mut messages = chosen.messages;
        if options.from_end {
            messages.reverse();
        }
        messages
    }

    /// The positions from the root to `end`.
    fn path(&self, end: Option<usize>) -> Vec<usize> {
        let mut path = Vec::new();
        let mut next = end;
        while let Some(position) = next {
            path.push(position);
            next = self.parents[position];
        }
        path.reverse();
        path
    }

    fn conversation_from(&self, end: Option<usize>) -> Conversation {
        let path = self.path(end);
        let last_compaction = path
            .iter()
            .rposition(|&position| matches!(self.nodes[position], Node::Compaction(_)));
        let mut messages: Vec<Arc<Message>> = Vec::with_capacity(path.len());
        let mut kept_from = 0;
        if let Some(at) = last_compaction
            && let Node::Compaction(compaction) = &self.nodes[path[at]]
        {
            kept_from = path[..at]
                .iter()
                .position(|&position| match &self.nodes[position] {
                    Node::Message(message) => message.id == compaction.first_kept,
                    Node::Compaction(_) => false,
                })
                .unwrap_or(at);
            messages.extend(path[..kept_from].iter().filter_map(|&position| {
                match &self.nodes[position] {
                    Node::Message(message) if message.role == Role::System => {
                        Some(Arc::clone(message))
                    }
                    _ => None,
                }
            }));
            messages.push(Arc::new(summary_message(compaction)));
        }
        messages.extend(path[kept_from..].iter().filter_map(|&position| {
            match &self.nodes[position] {
                Node::Message(message) => Some(Arc::clone(message)),
                Node::Compaction(_) => None,
            }
        }));
        let head = end.map(|position| self.nodes[position].id().clone());
        Conversation::from_parts(messages, head)
    }
}

/// The user message that shows a compaction's summary to a model.
pub(crate) fn summary_message(compaction: &Compaction) -> Message {
    Message {
        id: compaction.id.clone(),
        parent: compaction.parent.clone(),
        at: compaction.at,
        role: Role::User,
        blocks: vec![Block::Summary {
            text: compaction.summary.clone(),
        }],
        metadata: Metadata::new(),
        origin: None,
        usage: None,
        stop: None,
    }
}
