//! Putting other messages in the place of a conversation's last ones, in memory and on disk.

use std::sync::Arc;

use super::drive::Drive;
use crate::conversation::Conversation;
use crate::error::TurnError;
use crate::estimate::context_tokens;
use crate::ids::MessageId;
use crate::message::{Block, Message, Role};
use crate::session::{Compaction, Record, summary_message};

impl Drive {
    /// Replaces the messages from `keep` on by `tail`, on a branch of its own; the old ones stay
    /// in the session.
    pub(super) async fn rewrite(
        &mut self,
        keep: usize,
        mut tail: Vec<Message>,
    ) -> Result<(), TurnError> {
        let old = self.agent.conversation();
        let messages = old.messages();
        if let Some(at) = messages.iter().position(|message| is_summary(message)) {
            // What the summary's compaction kept may lie before it in the session, where a new
            // branch would not find it. So the summary is repeated, and all that it kept
            // follows it anew.
            let salt = old.head().map_or("", MessageId::as_str);
            let mut following: Vec<Message> = messages[at + 1..keep.max(at + 1)]
                .iter()
                .map(|message| copy(message, salt))
                .collect();
            following.append(&mut tail);
            let id = messages[at].id.derived(salt);
            return self.summarise(id, messages[at].text(), following).await;
        }
        let mut conversation = old.clone();
        conversation.truncate(keep);
        let mut records = Vec::with_capacity(tail.len());
        if tail.is_empty() {
            records.push(Record::Head {
                target: conversation.head().cloned(),
                at: self.agent.shared.clock.now(),
            });
        }
        self.follow(conversation, records, tail).await
    }

    /// Shows the system messages, a summary, and `following` from now on.
    pub(super) async fn summarise(
        &mut self,
        id: MessageId,
        summary: String,
        mut following: Vec<Message>,
    ) -> Result<(), TurnError> {
        // System messages before a summary are always shown.
        following.retain(|message| message.role != Role::System);
        let first_kept = following.first().map_or(&id, |message| &message.id).clone();
        let (conversation, record) = self.summarised(id, summary, first_kept, &[]);
        self.follow(conversation, vec![record], following).await
    }

    /// Shows the system messages, a summary, and the messages from `keep` on from now on.
    pub(super) async fn summarise_before(
        &mut self,
        keep: usize,
        id: MessageId,
        summary: String,
    ) -> Result<(), TurnError> {
        let old = self.agent.conversation();
        let kept = &old.messages()[keep.min(old.len())..];
        let first_kept = kept.first().map_or(&id, |message| &message.id).clone();
        let (conversation, record) = self.summarised(id, summary, first_kept, kept);
        self.follow(conversation, vec![record], Vec::new()).await
    }

    fn summarised(
        &self,
        id: MessageId,
        summary: String,
        first_kept: MessageId,
        kept: &[Arc<Message>],
    ) -> (Conversation, Record) {
        let old = self.agent.conversation();
        let compaction = Compaction {
            id,
            parent: old.head().cloned(),
            at: self.agent.shared.clock.now(),
            summary,
            first_kept,
            tokens_before: self.estimate(&old),
        };
        let before = old.len() - kept.len();
        let mut messages: Vec<Arc<Message>> = old.messages()[..before]
            .iter()
            .filter(|message| message.role == Role::System)
            .cloned()
            .collect();
        messages.push(Arc::new(summary_message(&compaction)));
        messages.extend_from_slice(kept);
        let conversation = Conversation::from_parts(messages, Some(compaction.id.clone()));
        (conversation, Record::Compaction(compaction))
    }

    async fn follow(
        &mut self,
        mut conversation: Conversation,
        mut records: Vec<Record>,
        following: Vec<Message>,
    ) -> Result<(), TurnError> {
        for mut message in following {
            message.parent = conversation.head().cloned();
            records.push(Record::Message(message.clone()));
            conversation.push(Arc::new(message));
        }
        *self.agent.shared.conversation.lock() = conversation;
        self.writer.session.append(records).await?;
        Ok(())
    }

    /// The estimated size of a request with this conversation.
    pub(super) fn estimate(&self, conversation: &Conversation) -> u64 {
        context_tokens(
            conversation,
            self.agent.system_prompt().as_deref(),
            &self.agent.tools(),
        )
    }
}

/// A message under an id that is always the same for one `salt`.
///
/// Its usage stays with the original: what the provider counted does not hold for a changed
/// conversation, and a sum over the session counts every answer once.
pub(super) fn copy(message: &Message, salt: &str) -> Message {
    Message {
        id: message.id.derived(salt),
        usage: None,
        ..message.clone()
    }
}

/// Whether a message stands for a compaction.
pub(super) fn is_summary(message: &Message) -> bool {
    matches!(message.blocks.first(), Some(Block::Summary { .. }))
}
