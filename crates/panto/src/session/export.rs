//! `panto session export`: a conversation for other programs.

use std::fs;
use std::path::Path;

use pantograph::session::{FileSystemJsonlStore, SessionTree};
use pantograph::{Block, Message, Role, SessionId, ToolContent};
use serde_json::{Value, json};

use super::load;
use crate::args::ExportFormat;
use crate::failure::{Exit, Failure};
use crate::streams;

pub(super) fn export(
    store: &FileSystemJsonlStore,
    id: SessionId,
    format: ExportFormat,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let bytes = match format {
        ExportFormat::Md => markdown(&load(store, id)?).into_bytes(),
        ExportFormat::Json => json_object(&load(store, id)?)?,
        ExportFormat::Jsonl => {
            let path = store.path(id);
            fs::read(&path).map_err(|error| {
                Failure::new(Exit::Usage, "session", error)
                    .context(format!("could not read `{}`", path.display()))
            })?
        }
    };
    match file {
        None => streams::print(&bytes),
        Some(file) => fs::write(file, bytes).map_err(|error| {
            Failure::new(Exit::Usage, "output", error)
                .context(format!("could not write `{}`", file.display()))
        }),
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
fn json_object(tree: &SessionTree) -> Result<Vec<u8>, Failure> {
    let header = tree.header();
    let messages: Vec<Value> = tree
        .branch()
        .iter()
        .map(|message| object(message))
        .collect();
    let object = json!({
        "id": header.id,
        "created": header.created.to_string(),
        "cwd": header.cwd.to_string_lossy(),
        "metadata": header.metadata,
        "messages": messages,
    });
    let mut bytes = serde_json::to_vec_pretty(&object)
        .map_err(|error| Failure::new(Exit::TurnFailed, "internal", error))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn object(message: &Message) -> Value {
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
