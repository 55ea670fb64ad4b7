//! Putting other messages in the place of a conversation's last ones, in memory and on disk.

use std::sync::Arc;

use super::drive::Drive;
use crate::conversation::Conversation;
use crate::error::TurnError;
use crate::estimate::context_tokens;
use crate::ids::MessageId;
use crate::message::{Message, Role};
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
        if let Some(at) = messages.iter().position(|message| message.is_summary()) {
            // What the summary's compaction kept may lie before it in the session, where a new
            // branch would not find it. So all that it kept is written anew, and the summary
            // repeated after that.
            let salt = old.head().map_or("", MessageId::as_str);
            let mut following: Vec<Message> = messages[at + 1..keep.max(at + 1)]
                .iter()
                .map(|message| copy(message, salt))
                .collect();
            following.append(&mut tail);
            let id = messages[at].id.derived(salt);
            let summary = messages[at].text();
            return self.summarise(id, summary, at + 1, following).await;
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
        for mut message in tail {
            message.parent = conversation.head().cloned();
            records.push(Record::Message(message.clone()));
            conversation.push(Arc::new(message));
        }
        self.replace(conversation, records).await
    }

    /// Shows the system messages before `from`, a summary, and `following` from now on.
    ///
    /// `following` stands in for the messages from `from` on, and branches off before them. The
    /// compaction is the last record, so that a session that is cut in between shows all of
    /// `following`, without the summary.
    pub(super) async fn summarise(
        &mut self,
        id: MessageId,
        summary: String,
        from: usize,
        following: Vec<Message>,
    ) -> Result<(), TurnError> {
        let old = self.agent.conversation();
        let mut parent = match old.messages().get(from) {
            Some(first) => first.parent.clone(),
            None => old.head().cloned(),
        };
        let mut records = Vec::with_capacity(following.len() + 1);
        let mut kept = Vec::with_capacity(following.len());
        for mut message in following {
            message.parent = parent.replace(message.id.clone());
            records.push(Record::Message(message.clone()));
            kept.push(Arc::new(message));
        }
        self.show(from, id, summary, parent, kept, records).await
    }

    /// Shows the system messages, a summary, and the messages from `keep` on from now on.
    pub(super) async fn summarise_before(
        &mut self,
        keep: usize,
        id: MessageId,
        summary: String,
    ) -> Result<(), TurnError> {
        let old = self.agent.conversation();
        let keep = keep.min(old.len());
        let kept = old.messages()[keep..].to_vec();
        let parent = old.head().cloned();
        self.show(keep, id, summary, parent, kept, Vec::new()).await
    }

    async fn show(
        &mut self,
        from: usize,
        id: MessageId,
        summary: String,
        parent: Option<MessageId>,
        kept: Vec<Arc<Message>>,
        mut records: Vec<Record>,
    ) -> Result<(), TurnError> {
        let old = self.agent.conversation();
        let compaction = Compaction {
            first_kept: kept.first().map_or(&id, |message| &message.id).clone(),
            id,
            parent,
            at: self.agent.shared.clock.now(),
            summary,
            tokens_before: self.estimate(&old),
        };
        let mut messages: Vec<Arc<Message>> = old.messages()[..from.min(old.len())]
            .iter()
            .filter(|message| message.role == Role::System)
            .cloned()
            .collect();
        messages.push(Arc::new(summary_message(&compaction)));
        messages.extend(kept);
        let conversation = Conversation::from_parts(messages, Some(compaction.id.clone()));
        records.push(Record::Compaction(compaction));
        self.replace(conversation, records).await
    }

    /// Makes `conversation` the agent's, by records that lead to it.
    async fn replace(
        &mut self,
        conversation: Conversation,
        records: Vec<Record>,
    ) -> Result<(), TurnError> {
        *self.agent.shared.conversation.lock() = conversation;
        self.agent.shared.reset_contexts();
        Ok(self.writer.store(records).await?)
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
