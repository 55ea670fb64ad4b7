//! A conversation as labelled plain text.
//!
//! A label is a line that begins with `[`. Every line of what was said is indented by two
//! blanks below its label, whatever it looks like, so nothing said can pass for a label. All
//! characters that a reader may show as the start of a line count as one. In labels, ids and
//! names with unusual characters are quoted and escaped.

use std::fmt::{self, Display};
use std::sync::Arc;

use crate::attachment::Attachment;
use crate::cap::{cap_content, cap_text};
use crate::conversation::Conversation;
use crate::message::{Block, Message, Role, ToolCall, ToolContent, ToolResult};

const INDENT: &str = "  ";

impl Conversation {
    /// The conversation as labelled plain text; see [`transcript`].
    pub fn transcript(&self) -> String {
        transcript(self.messages())
    }
}

/// Writes messages as labelled plain text, for people and for models that summarise.
///
/// A compaction's summary is labelled as one. System messages, metadata, thinking and items
/// that only a provider understands are left out; attachments are named but not read.
pub fn transcript(messages: &[Arc<Message>]) -> String {
    write(messages, None)
}

/// The same with the middle of each tool input and tool result left out above
/// `max_result_bytes`, as [`cap_text`] does.
pub fn transcript_capped(messages: &[Arc<Message>], max_result_bytes: usize) -> String {
    write(messages, Some(max_result_bytes))
}

fn write(messages: &[Arc<Message>], cap: Option<usize>) -> String {
    let mut writer = Writer {
        out: String::new(),
        cap,
    };
    for message in messages {
        if message.role != Role::System {
            for block in &message.blocks {
                writer.block(message.role, block);
            }
        }
    }
    writer.out
}

struct Writer {
    out: String,
    cap: Option<usize>,
}

impl Writer {
    fn block(&mut self, role: Role, block: &Block) {
        match block {
            Block::Text { text, .. } if text.is_empty() => {}
            Block::Text { text, .. } => self.section(role, text),
            Block::Summary { text } => self.section("summary of earlier messages", text),
            Block::ToolCall(call) => self.call(call),
            Block::ToolResult(result) => self.result(result),
            Block::Attachment(attachment) => self.attachment(attachment),
            Block::Thinking { .. } | Block::Opaque { .. } => {}
        }
    }

    fn call(&mut self, call: &ToolCall) {
        let label = format!("tool call {}: {}", Plain(&call.id), Plain(&call.name));
        match self.cap {
            Some(max_bytes) => self.section(label, &cap_text(&call.input, max_bytes).text),
            None => self.section(label, &call.input),
        }
    }

    fn result(&mut self, result: &ToolResult) {
        let status = result.status.as_str();
        let label = format!("tool result {}: {status}", Plain(&result.call));
        let capped = self
            .cap
            .and_then(|max_bytes| cap_content(&result.content, max_bytes));
        let content = capped.as_deref().unwrap_or(&result.content);
        // Text behind an attachment has the label again; it would seem to be about that.
        let mut labelled = false;
        for part in content {
            match part {
                ToolContent::Text(text) if labelled => self.body(text),
                ToolContent::Text(text) => {
                    self.section(&label, text);
                    labelled = true;
                }
                ToolContent::Attachment(attachment) => {
                    if !labelled {
                        self.label(&label);
                    }
                    self.attachment(attachment);
                    labelled = false;
                }
            }
        }
        if content.is_empty() {
            self.label(&label);
        }
    }

    /// Names an attachment; its size is said if that takes no look at a file.
    fn attachment(&mut self, attachment: &Attachment) {
        let media_type = Plain(&attachment.media_type);
        let data = match attachment.path() {
            None => attachment.bytes().ok(),
            Some(_) => None,
        };
        match data {
            Some(data) => self.label(format_args!(
                "attachment {media_type}, {} bytes",
                data.len()
            )),
            None => self.label(format_args!("attachment {media_type}")),
        }
    }

    fn section(&mut self, label: impl Display, text: &str) {
        self.label(label);
        self.body(text);
    }

    fn label(&mut self, label: impl Display) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(&format!("[{label}]\n"));
    }

    fn body(&mut self, text: &str) {
        for line in lines(text) {
            if !line.is_empty() {
                self.out.push_str(INDENT);
                self.out.push_str(line);
            }
            self.out.push('\n');
        }
    }
}

/// The lines of a text, split wherever a reader may see a new one. The last may lack its end.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (line, behind) = match rest.find(is_line_end) {
            Some(end) => rest.split_at(end),
            None => (rest, ""),
        };
        rest = behind.strip_prefix("\r\n").unwrap_or_else(|| {
            let mut chars = behind.chars();
            chars.next();
            chars.as_str()
        });
        Some(line)
    })
}

fn is_line_end(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// A short text in a label: as it is if it cannot be mistaken, else quoted and escaped.
struct Plain<'a>(&'a str);

impl Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-.+/|".contains(&b);
        if !self.0.is_empty() && self.0.bytes().all(plain) {
            f.write_str(self.0)
        } else {
            write!(f, "{:?}", self.0)
        }
    }
}

#[cfg(test)]
mod tests;
