//! `panto session export`: a conversation for other programs.

use std::fs;

use pantograph::session::{FileSystemJsonlStore, SessionTree};
use pantograph::{Block, Message, Role, SessionId, ToolContent};
use serde_json::{Value, json};

use super::load;
use crate::args::ExportFormat;
use crate::failure::{Exit, Failure};
use crate::streams;

pub(super) async fn export(
    store: &FileSystemJsonlStore,
    id: SessionId,
    format: ExportFormat,
) -> Result<(), Failure> {
    match format {
        ExportFormat::Md => streams::print_text(&markdown(&load(store, id).await?)),
        ExportFormat::Json => streams::print_json(&object(&load(store, id).await?)),
        ExportFormat::Jsonl => {
            let path = store.path(id);
            let bytes = fs::read(&path).map_err(|error| {
                Failure::new(Exit::Usage, "session", error)
                    .context(format!("could not read `{}`", path.display()))
            })?;
            streams::print_file(&bytes)
        }
    }
}

/// The current branch as Markdown; tool calls and results are fenced.
fn markdown(tree: &SessionTree) -> String {
    let mut text = format!("# Session {}\n", tree.header().id);
    for message in tree.branch() {
        let heading = match message.role {
            Role::System => "System",
            Role::User => "User",
            Role::Assistant => "Assistant",
            Role::Tool => "Tool results",
        };
        text.push_str(&format!("\n## {heading}\n"));
        for block in &message.blocks {
            push_markdown(block, &mut text);
        }
    }
    text
}

fn push_markdown(block: &Block, text: &mut String) {
    match block {
        Block::Text { text: part, .. } => text.push_str(&format!("\n{}\n", part.trim_end())),
        Block::Summary { text: part } => {
            text.push_str(&format!(
                "\nSummary of what came before:\n\n{}\n",
                part.trim_end()
            ));
        }
        Block::ToolCall(call) => {
            text.push_str(&format!("\nCalls `{}`:\n\n", call.name));
            push_fenced("json", &call.input, text);
        }
        Block::ToolResult(result) => {
            text.push_str(&format!("\nResult ({}):\n\n", result.status.as_str()));
            push_fenced("", &result.output(), text);
        }
        Block::Attachment(attachment) => {
            text.push_str(&format!("\n(attachment: {})\n", attachment.media_type));
        }
        Block::Thinking { .. } | Block::Opaque { .. } => {}
    }
}

/// A code block whose fence is longer than any in what it holds.
fn push_fenced(language: &str, content: &str, text: &mut String) {
    let longest = content
        .lines()
        .map(|line| {
            line.trim_start()
                .bytes()
                .take_while(|byte| *byte == b'`')
                .count()
        })
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    text.push_str(&format!(
        "{fence}{language}\n{}\n{fence}\n",
        content.trim_end()
    ));
}

/// The session and the messages of its current branch as one object.
fn object(tree: &SessionTree) -> Value {
    let header = tree.header();
    let messages: Vec<Value> = tree
        .branch()
        .iter()
        .map(|message| message_object(message))
        .collect();
    json!({
        "id": header.id,
        "created": header.created.to_string(),
        "cwd": header.cwd.to_string_lossy(),
        "metadata": header.metadata,
        "messages": messages,
    })
}

fn message_object(message: &Message) -> Value {
    json!({
        "id": message.id,
        "at": message.at.to_string(),
        "role": message.role,
        "blocks": message.blocks.iter().filter_map(block_object).collect::<Vec<_>>(),
        "metadata": message.metadata,
        "origin": message.origin,
        "usage": message.usage,
        "stop": message.stop,
    })
}

fn block_object(block: &Block) -> Option<Value> {
    Some(match block {
        Block::Text { text, .. } => json!({ "type": "text", "text": text }),
        Block::Summary { text } => json!({ "type": "summary", "text": text }),
        Block::Thinking { text, .. } => json!({ "type": "thinking", "text": text }),
        Block::ToolCall(call) => {
            json!({ "type": "tool_call", "id": call.id, "name": call.name, "input": call.input })
        }
        Block::ToolResult(result) => json!({
            "type": "tool_result",
            "call": result.call,
            "status": result.status,
            "content": result.content.iter().map(content_object).collect::<Vec<_>>(),
        }),
        Block::Attachment(attachment) => {
            json!({ "type": "attachment", "media_type": attachment.media_type })
        }
        // Only its provider understands it.
        Block::Opaque { .. } => return None,
    })
}

fn content_object(content: &ToolContent) -> Value {
    match content {
        ToolContent::Text(text) => json!({ "type": "text", "text": text }),
        ToolContent::Attachment(attachment) => {
            json!({ "type": "attachment", "media_type": attachment.media_type })
        }
    }
}
