//! The ordered messages that a model is shown.

use std::sync::Arc;

use crate::ids::MessageId;
use crate::message::{Message, Role};

/// Ordered messages; a clone is a cheap snapshot.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    messages: Arc<Vec<Arc<Message>>>,
    head: Option<MessageId>,
}

impl Conversation {
    /// An empty conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// A conversation of `messages` whose next message follows `head`.
    pub fn from_parts(messages: Vec<Arc<Message>>, head: Option<MessageId>) -> Self {
        Self {
            messages: Arc::new(messages),
            head,
        }
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// What the next message follows: usually the last message, after a compaction its id.
    pub fn head(&self) -> Option<&MessageId> {
        self.head.as_ref()
    }

    /// The last message.
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.messages.last()
    }

    /// The system messages, in order.
    pub fn system_messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.messages
            .iter()
            .filter(|message| message.role == Role::System)
    }

    /// Adds a message; the next one follows it.
    pub fn push(&mut self, message: Arc<Message>) {
        self.head = Some(message.id.clone());
        Arc::make_mut(&mut self.messages).push(message);
    }

    /// Replaces the message at `position` by one with the same id; no-op past the end.
    pub fn replace(&mut self, position: usize, message: Arc<Message>) {
        if let Some(slot) = Arc::make_mut(&mut self.messages).get_mut(position) {
            *slot = message;
        }
    }

    /// Keeps the first `len` messages; the next one follows the last of them.
    pub fn truncate(&mut self, len: usize) {
        if len < self.messages.len() {
            Arc::make_mut(&mut self.messages).truncate(len);
            self.head = self.messages.last().map(|message| message.id.clone());
        }
    }
}
