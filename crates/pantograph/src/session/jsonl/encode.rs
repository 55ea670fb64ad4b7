//! Records to lines of JSON. The format is described in `docs/sessions.md`.

mod raw;

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use self::raw::Raw;
use super::attachments::{self, Attachments, Stored};
use super::marks::Mark;
use crate::attachment::Attachment;
use crate::message::{Block, Message, Metadata, Origin, ToolContent};
use crate::session::{Header, Record, SessionError};
use crate::usage::Usage;

/// The format that is written, and the newest that is read.
pub(super) const VERSION: u64 = 1;

/// How deep metadata may nest, so that what is written can be read again: the JSON parser stops
/// at 128 levels, some of which the line needs itself.
const MAX_DEPTH: usize = 100;

/// How a record is written.
pub(super) enum Form<'a> {
    /// As a line of a session's file, with its mark. Large attachments lie beside the file.
    Line(Mark, &'a mut Attachments),
    /// By itself, for whoever reads it as any other JSON and writes it again: a provider's item is
    /// a string, since such a reader keeps no item byte for byte.
    Alone,
}

impl Form<'_> {
    fn mark(&self) -> Option<Mark> {
        match self {
            Form::Line(mark, _) => Some(*mark),
            Form::Alone => None,
        }
    }

    fn store(&mut self, attachment: &Attachment) -> Result<Stored, SessionError> {
        match self {
            Form::Line(_, attachments) => attachments.store(attachment),
            Form::Alone => attachments::read_now(attachment).map(Stored::Inline),
        }
    }
}

/// Adds the line that a file begins with.
pub(super) fn header(out: &mut Vec<u8>, header: &Header) -> Result<(), SessionError> {
    let cwd = header.cwd.to_string_lossy();
    let line = Line::Session {
        version: VERSION,
        id: header.id.to_string(),
        created: header.created.to_string(),
        cwd_raw: raw_path(&header.cwd),
        cwd,
        metadata: &header.metadata,
    };
    push(out, &line)
}

/// Adds a record's line.
pub(super) fn record(
    out: &mut Vec<u8>,
    record: &Record,
    mut form: Form<'_>,
) -> Result<(), SessionError> {
    let mark = form.mark();
    let line = match record {
        Record::Message(message) => return push(out, &message_line(message, &mut form)?),
        Record::Metadata {
            target,
            metadata,
            at,
        } => Line::Metadata {
            target: target.as_str(),
            at: at.to_string(),
            mark,
            metadata,
        },
        Record::Compaction(compaction) => Line::Compaction {
            id: compaction.id.as_str(),
            parent: compaction.parent.as_ref().map(|id| id.as_str()),
            at: compaction.at.to_string(),
            mark,
            summary: &compaction.summary,
            first_kept: compaction.first_kept.as_str(),
            tokens_before: compaction.tokens_before,
        },
        Record::Head { target, at } => Line::Head {
            target: target.as_ref().map(|id| id.as_str()),
            at: at.to_string(),
            mark,
        },
    };
    push(out, &line)
}

/// Refuses what could be written but not be read again.
///
/// # Errors
///
/// Metadata nests too deep.
pub(super) fn check(record: &Record) -> Result<(), SessionError> {
    match record {
        Record::Message(Message { metadata, .. }) | Record::Metadata { metadata, .. } => {
            check_metadata(metadata)
        }
        Record::Compaction(_) | Record::Head { .. } => Ok(()),
    }
}

/// As [`check`], for a header's metadata.
pub(super) fn check_metadata(metadata: &Metadata) -> Result<(), SessionError> {
    if metadata.values().all(|value| fits(value, MAX_DEPTH)) {
        Ok(())
    } else {
        Err(SessionError::Refused {
            reason: format!("metadata is nested deeper than {MAX_DEPTH} levels"),
        })
    }
}

fn fits(value: &serde_json::Value, depth: usize) -> bool {
    match value {
        serde_json::Value::Array(items) => {
            depth > 0 && items.iter().all(|item| fits(item, depth - 1))
        }
        serde_json::Value::Object(fields) => {
            depth > 0 && fields.values().all(|item| fits(item, depth - 1))
        }
        _ => true,
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
    Session {
        version: u64,
        id: String,
        created: String,
        cwd: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd_raw: Option<String>,
        metadata: &'a Metadata,
    },
    Message {
        id: &'a str,
        parent: Option<&'a str>,
        at: String,
        #[serde(flatten)]
        mark: Option<Mark>,
        role: &'static str,
        blocks: Vec<BlockLine<'a>>,
        metadata: &'a Metadata,
        #[serde(skip_serializing_if = "Option::is_none")]
        origin: Option<&'a Origin>,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<&'a Usage>,
        #[serde(skip_serializing_if = "Option::is_none")]
        stop: Option<&'static str>,
    },
    Metadata {
        target: &'a str,
        at: String,
        #[serde(flatten)]
        mark: Option<Mark>,
        metadata: &'a Metadata,
    },
    Compaction {
        id: &'a str,
        parent: Option<&'a str>,
        at: String,
        #[serde(flatten)]
        mark: Option<Mark>,
        summary: &'a str,
        first_kept: &'a str,
        tokens_before: u64,
    },
    Head {
        target: Option<&'a str>,
        at: String,
        #[serde(flatten)]
        mark: Option<Mark>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockLine<'a> {
    Text {
        text: &'a str,
        #[serde(flatten)]
        raw: Raw<'a>,
    },
    Thinking {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
        #[serde(flatten)]
        raw: Raw<'a>,
    },
    ToolCall {
        id: &'a str,
        name: &'a str,
        input: &'a str,
        #[serde(flatten)]
        raw: Raw<'a>,
    },
    ToolResult {
        call: &'a str,
        status: crate::message::ToolStatus,
        content: Vec<BlockLine<'a>>,
    },
    Attachment {
        media_type: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
    Opaque {
        #[serde(flatten)]
        raw: Raw<'a>,
    },
    Summary {
        text: &'a str,
    },
}

fn message_line<'a>(message: &'a Message, form: &mut Form<'_>) -> Result<Line<'a>, SessionError> {
    let mut blocks = Vec::with_capacity(message.blocks.len());
    for block in &message.blocks {
        blocks.push(block_line(block, form)?);
    }
    Ok(Line::Message {
        id: message.id.as_str(),
        parent: message.parent.as_ref().map(|id| id.as_str()),
        at: message.at.to_string(),
        mark: form.mark(),
        role: message.role.as_str(),
        blocks,
        metadata: &message.metadata,
        origin: message.origin.as_deref(),
        usage: message.usage.as_ref(),
        stop: message.stop.map(|stop| stop.as_str()),
    })
}

fn block_line<'a>(block: &'a Block, form: &mut Form<'_>) -> Result<BlockLine<'a>, SessionError> {
    Ok(match block {
        Block::Text { text, raw } => BlockLine::Text {
            text,
            raw: Raw::new(raw.as_ref(), form),
        },
        Block::Thinking {
            text,
            signature,
            raw,
        } => BlockLine::Thinking {
            text,
            signature: signature.as_deref(),
            raw: Raw::new(raw.as_ref(), form),
        },
        Block::ToolCall(call) => BlockLine::ToolCall {
            id: &call.id,
            name: &call.name,
            input: &call.input,
            raw: Raw::new(call.raw.as_ref(), form),
        },
        Block::ToolResult(result) => {
            let mut content = Vec::with_capacity(result.content.len());
            for part in &result.content {
                content.push(match part {
                    ToolContent::Text(text) => BlockLine::Text {
                        text,
                        raw: Raw::default(),
                    },
                    ToolContent::Attachment(attachment) => attachment_line(attachment, form)?,
                });
            }
            BlockLine::ToolResult {
                call: &result.call,
                status: result.status,
                content,
            }
        }
        Block::Attachment(attachment) => attachment_line(attachment, form)?,
        Block::Opaque { raw } => BlockLine::Opaque {
            raw: Raw::new(Some(raw), form),
        },
        Block::Summary { text } => BlockLine::Summary { text },
    })
}

fn attachment_line<'a>(
    attachment: &'a Attachment,
    form: &mut Form<'_>,
) -> Result<BlockLine<'a>, SessionError> {
    let (data, file) = match form.store(attachment)? {
        Stored::Inline(bytes) => (Some(STANDARD.encode(bytes)), None),
        Stored::File(name) => (None, Some(name)),
    };
    Ok(BlockLine::Attachment {
        media_type: &attachment.media_type,
        data,
        file,
    })
}

/// The bytes of a path that no JSON string can hold.
fn raw_path(path: &Path) -> Option<String> {
    match path.to_str() {
        Some(_) => None,
        None => Some(STANDARD.encode(path.as_os_str().as_bytes())),
    }
}

fn push(out: &mut Vec<u8>, line: &Line<'_>) -> Result<(), SessionError> {
    serde_json::to_writer(&mut *out, line)
        .map_err(|error| SessionError::Store(format!("a record is not JSON: {error}")))?;
    out.push(b'\n');
    Ok(())
}
