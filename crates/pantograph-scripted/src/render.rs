//! Requests as people read them: in snapshots and in refusals.

use std::fmt::Write;
use std::ops::Range;

use pantograph::protocol::{Request, ToolChoice};
use pantograph::{Attachment, Block, Message, ToolContent, ToolResult};

/// How much of a request is written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Extent {
    /// Every message; texts up to a length that no reader misses.
    Whole,
    /// The first lines of the messages around a place, and of the last ones.
    Compact {
        /// The message that matters.
        near: Option<usize>,
    },
}

/// Characters of one text in [`Extent::Whole`] and in [`Extent::Compact`].
const WHOLE_TEXT: usize = 4_000;
const COMPACT_TEXT: usize = 80;
/// Messages before and after the one that matters, and at the end, in [`Extent::Compact`].
const BEFORE: usize = 6;
const AFTER: usize = 3;
const LAST: usize = 4;

impl Extent {
    fn max_text(self) -> usize {
        match self {
            Extent::Whole => WHOLE_TEXT,
            Extent::Compact { .. } => COMPACT_TEXT,
        }
    }

    /// The two ranges of messages that are shown, of `count`.
    fn ranges(self, count: usize) -> [Range<usize>; 2] {
        let last = count.saturating_sub(LAST);
        match self {
            Extent::Whole => [0..count, count..count],
            Extent::Compact { near: None } => [0..0, last.saturating_sub(BEFORE)..count],
            Extent::Compact { near: Some(near) } => {
                let end = (near + 1 + AFTER).min(count);
                [
                    near.saturating_sub(BEFORE).min(end)..end,
                    last.max(end)..count,
                ]
            }
        }
    }

    /// Positions are part of the text only where it names one.
    fn prefix(self, position: usize) -> String {
        match self {
            Extent::Whole => String::new(),
            Extent::Compact { near } if near == Some(position) => format!("> {position} "),
            Extent::Compact { .. } => format!("  {position} "),
        }
    }
}

/// The whole request.
pub(crate) fn request(request: &Request, extent: Extent) -> String {
    let mut text = format!("{} {}", request.purpose.as_str(), request.model.reference);
    if let Some(reasoning) = &request.model.reasoning {
        let _ = write!(text, ", reasoning {reasoning}");
    }
    if let Some(label) = &request.label {
        let _ = write!(text, ", label {label}");
    }
    text.push('\n');
    if let Some(prompt) = &request.system_prompt {
        let prompt = indented(&capped(prompt, extent.max_text()), 4);
        let _ = writeln!(text, "prompt: {prompt}");
    }
    if !request.tools.is_empty() {
        let names: Vec<&str> = request
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        let _ = writeln!(text, "tools: {}", names.join(", "));
    }
    if let Some(choice) = tool_choice(&request.tool_choice) {
        let _ = writeln!(text, "tool choice: {choice}");
    }
    conversation(&mut text, request, extent);
    text.truncate(text.trim_end().len());
    text
}

fn tool_choice(choice: &ToolChoice) -> Option<&str> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none"),
        ToolChoice::Required => Some("required"),
        ToolChoice::Named(name) => Some(name),
    }
}

fn conversation(text: &mut String, request: &Request, extent: Extent) {
    let messages = request.conversation.messages();
    let mut next = 0;
    for range in extent.ranges(messages.len()) {
        if range.start > next && !range.is_empty() {
            let _ = writeln!(text, "  … {} messages …", range.start - next);
        }
        next = next.max(range.end);
        for position in range {
            let prefix = extent.prefix(position);
            self::message(text, &messages[position], &prefix, extent.max_text());
        }
    }
}

/// A message: the first block on the line of the role, each further one on its own.
fn message(text: &mut String, message: &Message, prefix: &str, max_text: usize) {
    let _ = write!(text, "{prefix}{}:", message.role);
    if let Some(stop) = message.stop.filter(|stop| stop.as_str() == "cancelled") {
        let _ = write!(text, " ({stop})");
    }
    let margin = prefix.len();
    for (position, block) in message.blocks.iter().enumerate() {
        if position > 0 {
            let _ = write!(text, "\n{:margin$} ", "");
        }
        let block = indented(&self::block(block, max_text), margin + 4);
        let _ = write!(text, " {}", block.trim_end());
    }
    if message.blocks.is_empty() {
        text.push_str(" (nothing)");
    }
    text.push('\n');
}

fn block(block: &Block, max_text: usize) -> String {
    match block {
        Block::Text { text, .. } => capped(text, max_text),
        Block::Thinking {
            text, signature, ..
        } => {
            let signed = signature.as_ref().map_or("", |_| " signed");
            format!("(thinking{signed}) {}", capped(text, max_text))
        }
        Block::ToolCall(call) => {
            let input = capped(&call.input, max_text);
            format!("(call {}) {} {input}", call.id, call.name)
        }
        Block::ToolResult(result) => tool_result(result, max_text),
        Block::Attachment(attachment) => self::attachment(attachment),
        Block::Opaque { raw } => format!("(opaque) {}", capped(raw.as_str(), max_text)),
        Block::Summary { text } => format!("(summary) {}", capped(text, max_text)),
    }
}

fn tool_result(result: &ToolResult, max_text: usize) -> String {
    let status = result.status.as_str();
    let mut text = format!("({status} {})", result.call);
    for part in &result.content {
        let part = match part {
            ToolContent::Text(text) => capped(text, max_text),
            ToolContent::Attachment(attachment) => self::attachment(attachment),
        };
        let _ = write!(text, " {part}");
    }
    text
}

/// Without its bytes: they may lie in a file, and nobody reads them.
fn attachment(attachment: &Attachment) -> String {
    format!("(attachment {})", attachment.media_type)
}

/// The text with all lines but the first moved to the right.
fn indented(text: &str, by: usize) -> String {
    text.replace('\n', &format!("\n{:by$}", ""))
}

/// The text, or its beginning and how much more there is.
fn capped(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
    }
}

/// The text as it stands in a message: in backticks, short, in one line.
pub(crate) fn quote(text: &str) -> String {
    format!("`{}`", capped(text, COMPACT_TEXT).replace('\n', "\\n"))
}
