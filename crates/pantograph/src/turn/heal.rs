//! Making a conversation valid again: after a crash, a turn without dispatch, or a cancel.

use std::sync::Arc;

use super::drive::Drive;
use super::rewrite::copy;
use crate::batch::ToolOutput;
use crate::error::TurnError;
use crate::ids::MessageId;
use crate::message::{Block, Message, Metadata, Role, StopReason, ToolCall, ToolResult};

const INTERRUPTED: &str = "The call was interrupted before its result was recorded. \
    It may have had effects: check before you repeat it.";

const LOST: &str = "(The message that stood here was lost.)";

impl Drive {
    /// Gives every call its one result, right after its message, drops results without a call,
    /// and says where a user message is missing.
    ///
    /// The same conversation heals the same way every time, ids included.
    pub(super) async fn heal(&mut self) -> Result<(), TurnError> {
        let conversation = self.agent.conversation();
        let messages = conversation.messages();
        let Some(start) = first_broken(messages) else {
            return Ok(());
        };
        let salt = conversation.head().map_or("", MessageId::as_str).to_owned();
        let mut keep = start;
        let mut before = last_speaker(&messages[..start]);
        let mut tail: Vec<Message> = Vec::new();
        let mut rest = messages[start..].iter().peekable();
        while let Some(message) = rest.next() {
            match message.role {
                // Its call is not here: those that are take their results below.
                Role::Tool => continue,
                Role::Assistant => {
                    if needs_user_before(before) {
                        tail.push(placeholder(message));
                    }
                    if keep == start && tail.is_empty() && Arc::ptr_eq(message, &messages[start]) {
                        keep += 1;
                    } else {
                        tail.push(copy(message, &salt));
                    }
                    let calls: Vec<&ToolCall> = message.tool_calls().collect();
                    if !calls.is_empty() {
                        let results = rest.next_if(|next| next.role == Role::Tool);
                        let healed = self.healed(message, &calls, results).await;
                        tail.push(healed);
                        before = Some(Role::Tool);
                        continue;
                    }
                }
                Role::System => {
                    tail.push(copy(message, &salt));
                    continue;
                }
                Role::User => tail.push(copy(message, &salt)),
            }
            before = Some(message.role);
        }
        if keep == messages.len() && tail.len() == 1 {
            let mut message = tail.remove(0);
            message.parent = conversation.head().cloned();
            return self.append(message).await;
        }
        self.rewrite(keep, tail).await
    }

    /// The tool message for `calls`: what `results` has, and a stand-in for what it lacks.
    async fn healed(
        &self,
        assistant: &Message,
        calls: &[&ToolCall],
        results: Option<&Arc<Message>>,
    ) -> Message {
        let mut there: Vec<&ToolResult> = results
            .map(|message| message.tool_results().collect())
            .unwrap_or_default();
        let mut blocks = Vec::with_capacity(calls.len());
        for call in calls {
            let found = there.iter().position(|result| result.call == call.id);
            let result = match found {
                Some(position) => there.remove(position).clone(),
                None => {
                    self.result(call, ToolOutput::error(INTERRUPTED), true)
                        .await
                }
            };
            blocks.push(Block::ToolResult(result));
        }
        Message {
            id: assistant.id.derived("results"),
            parent: None,
            at: assistant.at,
            role: Role::Tool,
            blocks,
            metadata: results.map_or_else(Metadata::new, |message| message.metadata.clone()),
            origin: None,
            usage: None,
            stop: None,
        }
    }

    /// Takes back what a cancelled answer left, so that the turn goes on from the last complete
    /// message.
    pub(super) async fn rewind(&mut self) -> Result<(), TurnError> {
        let conversation = self.agent.conversation();
        let messages = conversation.messages();
        let mut spoken = messages
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, message)| message.role != Role::System);
        let Some((last, message)) = spoken.next() else {
            return Err(TurnError::NothingToContinue);
        };
        let answer = match message.role {
            Role::Tool => spoken.next(),
            _ => Some((last, message)),
        };
        if let Some((position, answer)) = answer
            && answer.stop == Some(StopReason::Cancelled)
        {
            let salt = conversation.head().map_or("", MessageId::as_str);
            let after: Vec<Message> = messages[last + 1..]
                .iter()
                .map(|message| copy(message, salt))
                .collect();
            return self.rewrite(position, after).await;
        }
        match message.role {
            Role::User | Role::Tool => Ok(()),
            Role::Assistant | Role::System => Err(TurnError::NothingToContinue),
        }
    }
}

/// The position of the first message that is not as providers want it: an assistant message
/// that no user or tool message comes before, or whose calls are not answered exactly once by
/// the next message; or results without calls.
fn first_broken(messages: &[Arc<Message>]) -> Option<usize> {
    let mut before = None;
    let mut position = 0;
    while position < messages.len() {
        let message = &messages[position];
        match message.role {
            Role::System => {
                position += 1;
                continue;
            }
            Role::Tool => return Some(position),
            Role::Assistant if needs_user_before(before) => return Some(position),
            Role::Assistant if message.tool_calls().next().is_some() => {
                let answered = messages.get(position + 1).is_some_and(|next| {
                    next.role == Role::Tool
                        && next
                            .tool_results()
                            .map(|result| &result.call)
                            .eq(message.tool_calls().map(|call| &call.id))
                });
                if !answered {
                    return Some(position);
                }
                position += 1;
            }
            Role::Assistant | Role::User => {}
        }
        before = Some(messages[position].role);
        position += 1;
    }
    None
}

/// Who spoke last; system messages do not count.
fn last_speaker(messages: &[Arc<Message>]) -> Option<Role> {
    messages
        .iter()
        .rev()
        .map(|message| message.role)
        .find(|role| *role != Role::System)
}

/// Whether providers want a user message between `before` and an assistant message.
fn needs_user_before(before: Option<Role>) -> bool {
    matches!(before, None | Some(Role::Assistant))
}

/// Stands where a user message was lost, as a repaired session may have it.
fn placeholder(answer: &Message) -> Message {
    Message {
        id: answer.id.derived("lost"),
        parent: None,
        at: answer.at,
        role: Role::User,
        blocks: vec![Block::text(LOST)],
        metadata: Metadata::new(),
        origin: None,
        usage: None,
        stop: None,
    }
}
