//! Records to lines of JSON. The format is described in `docs/sessions.md`.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::attachments::{Attachments, Stored};
use super::marks::Mark;
use crate::message::{Block, Message, Metadata, Origin, ToolContent};
use crate::raw_json::RawJson;
use crate::session::{Header, Record, SessionError};
use crate::usage::Usage;

/// The format that is written, and the newest that is read.
pub(super) const VERSION: u64 = 1;

/// How deep metadata may nest, so that what is written can be read again: the JSON parser stops
/// at 128 levels, some of which the line needs itself.
const MAX_DEPTH: usize = 100;

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

/// Adds a record's line. Its large attachments go to `attachments`.
pub(super) fn record(
    out: &mut Vec<u8>,
    record: &Record,
    mark: Mark,
    attachments: &mut Attachments,
) -> Result<(), SessionError> {
    let line = match record {
        Record::Message(message) => return push(out, &message_line(message, mark, attachments)?),
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
        mark: Mark,
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
        mark: Mark,
        metadata: &'a Metadata,
    },
    Compaction {
        id: &'a str,
        parent: Option<&'a str>,
        at: String,
        #[serde(flatten)]
        mark: Mark,
        summary: &'a str,
        first_kept: &'a str,
        tokens_before: u64,
    },
    Head {
        target: Option<&'a str>,
        at: String,
        #[serde(flatten)]
        mark: Mark,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockLine<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        raw: Option<Verbatim<'a>>,
    },
    Thinking {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        raw: Option<Verbatim<'a>>,
    },
    ToolCall {
        id: &'a str,
        name: &'a str,
        input: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        raw: Option<Verbatim<'a>>,
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
        raw: Verbatim<'a>,
    },
    Summary {
        text: &'a str,
    },
}

/// JSON text that is written as it is, on one line.
struct Verbatim<'a>(Cow<'a, str>);

impl<'a> Verbatim<'a> {
    fn new(raw: &'a RawJson) -> Self {
        let text = raw.as_str();
        // A line break can only be white space between tokens: inside a string it is escaped.
        if text.contains(['\n', '\r']) {
            Self(Cow::Owned(text.replace(['\n', '\r'], " ")))
        } else {
            Self(Cow::Borrowed(text))
        }
    }
}

impl Serialize for Verbatim<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue =
            serde_json::from_str(&self.0).map_err(<S::Error as serde::ser::Error>::custom)?;
        raw.serialize(serializer)
    }
}

fn message_line<'a>(
    message: &'a Message,
    mark: Mark,
    attachments: &mut Attachments,
) -> Result<Line<'a>, SessionError> {
    let mut blocks = Vec::with_capacity(message.blocks.len());
    for block in &message.blocks {
        blocks.push(block_line(block, attachments)?);
    }
    Ok(Line::Message {
        id: message.id.as_str(),
        parent: message.parent.as_ref().map(|id| id.as_str()),
        at: message.at.to_string(),
        mark,
        role: message.role.as_str(),
        blocks,
        metadata: &message.metadata,
        origin: message.origin.as_deref(),
        usage: message.usage.as_ref(),
        stop: message.stop.map(|stop| stop.as_str()),
    })
}

fn block_line<'a>(
    block: &'a Block,
    attachments: &mut Attachments,
) -> Result<BlockLine<'a>, SessionError> {
    Ok(match block {
        Block::Text { text, raw } => BlockLine::Text {
            text,
            raw: raw.as_ref().map(Verbatim::new),
        },
        Block::Thinking {
            text,
            signature,
            raw,
        } => BlockLine::Thinking {
            text,
            signature: signature.as_deref(),
            raw: raw.as_ref().map(Verbatim::new),
        },
        Block::ToolCall(call) => BlockLine::ToolCall {
            id: &call.id,
            name: &call.name,
            input: &call.input,
            raw: call.raw.as_ref().map(Verbatim::new),
        },
        Block::ToolResult(result) => {
            let mut content = Vec::with_capacity(result.content.len());
            for part in &result.content {
                content.push(match part {
                    ToolContent::Text(text) => BlockLine::Text { text, raw: None },
                    ToolContent::Attachment(attachment) => {
                        attachment_line(attachment, attachments)?
                    }
                });
            }
            BlockLine::ToolResult {
                call: &result.call,
                status: result.status,
                content,
            }
        }
        Block::Attachment(attachment) => attachment_line(attachment, attachments)?,
        Block::Opaque { raw } => BlockLine::Opaque {
            raw: Verbatim::new(raw),
        },
        Block::Summary { text } => BlockLine::Summary { text },
    })
}

fn attachment_line<'a>(
    attachment: &'a crate::attachment::Attachment,
    attachments: &mut Attachments,
) -> Result<BlockLine<'a>, SessionError> {
    let (data, file) = match attachments.store(attachment)? {
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
