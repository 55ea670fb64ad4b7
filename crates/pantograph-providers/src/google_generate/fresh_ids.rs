//! Ids for calls that came without.

use std::collections::HashSet;
use std::sync::Arc;

use pantograph::protocol::Request;
use pantograph::{CallId, Conversation, MessageId};
use sha2::{Digest, Sha256};

/// Gives each call of one answer an id that no other of its conversation has.
///
/// Older models give none, and a core that has to replace an id drops what the provider said of
/// the call, so also its signature. Ids follow from the conversation: the same answer to the
/// same request has the same ids.
pub(super) struct FreshIds {
    context: Arc<str>,
    conversation: Conversation,
    /// Those of the conversation and of this answer; read when the first call comes.
    taken: Option<HashSet<CallId>>,
    made: u64,
}

impl FreshIds {
    pub(super) fn of(request: &Request) -> Self {
        Self {
            context: Arc::clone(&request.context),
            conversation: request.conversation.clone(),
            taken: None,
            made: 0,
        }
    }

    /// The given id if it is one and free, or else another.
    pub(super) fn take(&mut self, given: Option<String>) -> String {
        let taken = self.taken.get_or_insert_with(|| {
            let messages = self.conversation.messages().iter();
            let calls = messages.flat_map(|message| message.tool_calls());
            calls.map(|call| Arc::clone(&call.id)).collect()
        });
        if let Some(id) = given.filter(|id| !id.is_empty())
            && taken.insert(id.as_str().into())
        {
            return id;
        }
        loop {
            let head = self.conversation.head().map_or("", MessageId::as_str);
            let id = made_up(&self.context, head, self.made);
            self.made += 1;
            if taken.insert(id.as_str().into()) {
                return id;
            }
        }
    }
}

fn made_up(context: &str, head: &str, number: u64) -> String {
    let digest = Sha256::new()
        .chain_update((context.len() as u64).to_le_bytes())
        .chain_update(context)
        .chain_update(head)
        .chain_update(number.to_le_bytes())
        .finalize();
    let digits = digest.iter().take(12).map(|byte| format!("{byte:02x}"));
    format!("call_{}", digits.collect::<String>())
}
