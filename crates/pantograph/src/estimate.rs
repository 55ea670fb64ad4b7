//! How much of a model's context something takes, on the safe side.
//!
//! There is no tokenizer here: every provider has its own. Estimates say when to compact, so
//! they are rather too high than too low.

use std::io;
use std::sync::Arc;

use serde_json::Value;

use crate::conversation::Conversation;
use crate::message::{Block, Message, Role, StopReason, ToolContent};
use crate::raw_json::RawJson;
use crate::tool::ToolSet;

/// Bytes a token. English prose has about four, code and JSON about three.
const BYTES_PER_TOKEN: u64 = 3;

/// No tokenizer makes fewer tokens than this share of an estimate, which is 18 bytes a token.
const LEAST_SHARE: u64 = 6;

/// What a provider adds to each message and each tool.
const OVERHEAD: u64 = 8;

/// What an attachment counts, whatever its size: providers scale images down to less. A
/// document of many pages takes more.
const ATTACHMENT: u64 = 2_000;

/// The estimated size of a message as a model is shown it.
pub fn message_tokens(message: &Message) -> u64 {
    message.blocks.iter().map(block_tokens).sum::<u64>() + OVERHEAD
}

/// The estimated size of what a model is told of its tools.
pub fn tools_tokens(tools: &ToolSet) -> u64 {
    tools
        .iter()
        .map(|tool| {
            let bytes = bytes(tool.name.as_str()) + bytes(&tool.description);
            tokens(bytes + json_bytes(&tool.schema)) + OVERHEAD
        })
        .sum()
}

/// The estimated size of the next request of a conversation.
///
/// What the provider counted for the last answer and an estimate of what came since; without
/// such a count an estimate of everything. A count from before a compaction does not hold.
pub fn context_tokens(
    conversation: &Conversation,
    system_prompt: Option<&str>,
    tools: &ToolSet,
) -> u64 {
    let messages = conversation.messages();
    let current = &messages[uncompacted_from(messages)..];
    let mut later = 0;
    for (at, message) in current.iter().enumerate().rev() {
        if let Some(counted) = counted_tokens(message) {
            // Servers exist that count nothing, or the last message alone.
            let written = current[..=at].iter().map(|message| message_tokens(message));
            let least = written.sum::<u64>() / LEAST_SHARE;
            return counted.max(least).saturating_add(later);
        }
        later += message_tokens(message);
    }
    let prompt = system_prompt.map_or(0, |prompt| tokens(bytes(prompt)) + OVERHEAD);
    let messages = messages.iter().map(|message| message_tokens(message));
    prompt + tools_tokens(tools) + messages.sum::<u64>()
}

/// What the provider counted for an answer and the request before it.
fn counted_tokens(message: &Message) -> Option<u64> {
    let usage = message.usage.as_ref()?;
    if message.role != Role::Assistant || usage.input.or(usage.cache_read).is_none() {
        return None;
    }
    // The last count of an answer that was cut short is from its beginning.
    let unfinished = message.stop == Some(StopReason::Cancelled) || usage.output.is_none();
    let answer = if unfinished {
        message_tokens(message)
    } else {
        0
    };
    Some(usage.context_tokens()?.saturating_add(answer))
}

/// Where the messages begin that came after the last compaction.
///
/// A summary stands before the messages that its compaction kept, whose counts are those of
/// the longer conversation. The first message after the compaction follows the summary.
fn uncompacted_from(messages: &[Arc<Message>]) -> usize {
    let first = messages
        .iter()
        .position(|message| message.role != Role::System);
    let Some((position, summary)) = first
        .map(|position| (position, &messages[position]))
        .filter(|(_, message)| message.is_summary())
    else {
        return 0;
    };
    messages[position..]
        .iter()
        .position(|message| message.parent.as_ref() == Some(&summary.id))
        .map_or(messages.len(), |offset| position + offset)
}

fn block_tokens(block: &Block) -> u64 {
    match block {
        Block::Text { text, raw } => tokens(bytes(text).max(raw_bytes(raw))),
        Block::Thinking {
            text,
            signature,
            raw,
        } => {
            let readable = bytes(text) + signature.as_deref().map_or(0, bytes);
            tokens(readable.max(raw_bytes(raw)))
        }
        Block::ToolCall(call) => {
            let written = bytes(&call.id) + bytes(&call.name) + bytes(&call.input);
            tokens(written.max(raw_bytes(&call.raw)))
        }
        Block::ToolResult(result) => {
            let content: u64 = result.content.iter().map(content_tokens).sum();
            tokens(bytes(&result.call)) + content
        }
        Block::Attachment(_) => ATTACHMENT,
        Block::Opaque { raw } => tokens(bytes(raw.as_str())),
        Block::Summary { text } => tokens(bytes(text)),
    }
}

fn content_tokens(content: &ToolContent) -> u64 {
    match content {
        ToolContent::Text(text) => tokens(bytes(text)),
        ToolContent::Attachment(_) => ATTACHMENT,
    }
}

fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

fn bytes(text: &str) -> u64 {
    text.len() as u64
}

fn raw_bytes(raw: &Option<RawJson>) -> u64 {
    raw.as_ref().map_or(0, |raw| bytes(raw.as_str()))
}

/// The length of a value as JSON text.
fn json_bytes(value: &Value) -> u64 {
    struct Count(u64);

    impl io::Write for Count {
        fn write(&mut self, part: &[u8]) -> io::Result<usize> {
            self.0 += part.len() as u64;
            Ok(part.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    // Counting cannot fail, and a value has text keys only.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

#[cfg(test)]
mod tests;
