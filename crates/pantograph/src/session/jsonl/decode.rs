//! Lines of JSON to records. Written for speed: one pass over a line, one flat struct for all
//! records and one for all blocks. Only a line that does not fit them is looked at again, more
//! leniently.

mod blocks;
mod text;

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::value::RawValue;

use self::blocks::{FlatBlock, Part};
use super::encode::VERSION;
use crate::ids::{MessageId, SessionId};
use crate::message::{Block, Message, Metadata, Origin, Role, StopReason};
use crate::session::{Compaction, Header, Record};
use crate::surrogates;
use crate::usage::Usage;

pub(super) use self::text::{Text, present};

/// Why a line cannot be read.
#[derive(Debug)]
pub(super) struct Fault {
    /// Counted from 1, in bytes.
    pub(super) column: u64,
    /// What is wrong there.
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            column: 1,
            message: message.into(),
        }
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        let column = error.column().max(1) as u64;
        let text = error.to_string();
        let message = match text.rsplit_once(" at line ") {
            Some((message, _)) => message.to_owned(),
            None => text,
        };
        Self { column, message }
    }
}

/// Why a file's first line is not a header.
#[derive(Debug)]
pub(super) enum HeaderFault {
    /// A newer version wrote it.
    Newer(u64),
    /// It cannot be read.
    Bad(Fault),
}

impl From<serde_json::Error> for HeaderFault {
    fn from(error: serde_json::Error) -> Self {
        HeaderFault::Bad(error.into())
    }
}

/// What a line is read against.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// Where attachments lie; `None` if they must be in the text.
    pub(super) files: Option<&'a Path>,
    /// The message or compaction before the line: the parent if the line names none.
    pub(super) previous: Option<&'a MessageId>,
    /// The time of a record that names none.
    pub(super) created: Timestamp,
}

/// Reads the line that a file begins with. The id is the file's, whatever the line says.
pub(super) fn header(line: &[u8], id: SessionId) -> Result<Header, HeaderFault> {
    let line = &*surrogates::mended_bytes(line);
    let Versioned { kind, version } = serde_json::from_slice(line)?;
    let bad = |message: &str| HeaderFault::Bad(Fault::new(message));
    if kind.0 != "session" {
        return Err(bad("expected a record of type `session`"));
    }
    match version {
        None => return Err(bad("missing field `version`")),
        Some(version) if version > VERSION => return Err(HeaderFault::Newer(version)),
        Some(_) => {}
    }
    let parsed: HeaderLine<'_> = serde_json::from_slice(line)?;
    Ok(Header {
        id,
        created: time(&parsed.created.0).map_err(HeaderFault::Bad)?,
        cwd: path(&parsed.cwd.0, parsed.cwd_raw.as_ref()),
        metadata: parsed.metadata.unwrap_or_default(),
    })
}

/// A record that does not know yet what was before it.
pub(super) struct Unchained {
    record: Record,
    names_parent: bool,
}

impl Unchained {
    /// The record behind the message or compaction `previous`.
    pub(super) fn after(self, previous: Option<&MessageId>) -> Record {
        let mut record = self.record;
        if !self.names_parent {
            match &mut record {
                Record::Message(message) => message.parent = previous.cloned(),
                Record::Compaction(compaction) => compaction.parent = previous.cloned(),
                Record::Metadata { .. } | Record::Head { .. } => {}
            }
        }
        record
    }
}

/// Reads any other line; `Ok(None)` for a type of record that is not known.
pub(super) fn record(line: &[u8], context: &Context<'_>) -> Result<Option<Record>, Fault> {
    let unchained = unchained(line, context)?;
    Ok(unchained.map(|unchained| unchained.after(context.previous)))
}

/// As [`record`], whatever was before the line.
pub(super) fn unchained(line: &[u8], context: &Context<'_>) -> Result<Option<Unchained>, Fault> {
    if let Ok(parsed) = serde_json::from_slice::<Line<'_, FlatBlock<'_, Part<'_>>>>(line)
        && parsed.blocks.iter().flatten().all(FlatBlock::is_known)
    {
        return build(parsed, context, |block| {
            block.build(context, |part| part.into_content(context))
        });
    }
    let line = &*surrogates::mended_bytes(line);
    let kind: Kind<'_> = serde_json::from_slice(line)?;
    if !is_known(&kind.kind.0) {
        return Ok(None);
    }
    let parsed: Line<'_, &RawValue> = serde_json::from_slice(line)?;
    build(parsed, context, |raw| blocks::lenient(raw, line, context))
}

/// Whether records of this type mean something.
pub(super) fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "session" | "message" | "metadata" | "compaction" | "head"
    )
}

/// Reads a time.
pub(super) fn time(text: &str) -> Result<Timestamp, Fault> {
    text.parse()
        .map_err(|_| Fault::new(format!("`{text}` is not a time (RFC 3339)")))
}

/// Reads a role.
pub(super) fn role(text: &str) -> Option<Role> {
    [Role::System, Role::User, Role::Assistant, Role::Tool]
        .into_iter()
        .find(|role| role.as_str() == text)
}

#[derive(serde::Deserialize)]
struct Kind<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
}

#[derive(serde::Deserialize)]
struct Versioned<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    version: Option<u64>,
}

#[derive(serde::Deserialize)]
struct HeaderLine<'a> {
    #[serde(borrow)]
    created: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    cwd_raw: Option<Text<'a>>,
    metadata: Option<Metadata>,
}

/// All fields of all records.
#[derive(serde::Deserialize)]
struct Line<'a, B> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    parent: Option<Option<Text<'a>>>,
    #[serde(borrow)]
    at: Option<Text<'a>>,
    #[serde(borrow)]
    role: Option<Text<'a>>,
    blocks: Option<Vec<B>>,
    metadata: Option<Metadata>,
    origin: Option<Origin>,
    usage: Option<Usage>,
    #[serde(borrow)]
    stop: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    target: Option<Option<Text<'a>>>,
    #[serde(borrow)]
    summary: Option<Text<'a>>,
    #[serde(borrow)]
    first_kept: Option<Text<'a>>,
    tokens_before: Option<u64>,
}

fn build<B>(
    line: Line<'_, B>,
    context: &Context<'_>,
    block: impl Fn(B) -> Result<Block, Fault>,
) -> Result<Option<Unchained>, Fault> {
    let at = match &line.at {
        Some(at) => time(&at.0)?,
        None => context.created,
    };
    let names_parent = line.parent.is_some();
    let parent = line.parent.flatten().map(|parent| parent.id());
    let record = match &*line.kind.0 {
        "message" => {
            let role_text = need(line.role, "role")?.0;
            let role = role(&role_text)
                .ok_or_else(|| Fault::new(format!("unknown role `{role_text}`")))?;
            let blocks = need(line.blocks, "blocks")?;
            Record::Message(Message {
                id: need(line.id, "id")?.id(),
                parent,
                at,
                role,
                blocks: blocks.into_iter().map(block).collect::<Result<_, _>>()?,
                metadata: line.metadata.unwrap_or_default(),
                origin: line.origin.map(Arc::new),
                usage: line.usage,
                stop: line.stop.and_then(|stop| stop_reason(&stop.0)),
            })
        }
        "metadata" => Record::Metadata {
            target: need(line.target.flatten(), "target")?.id(),
            metadata: need(line.metadata, "metadata")?,
            at,
        },
        "compaction" => Record::Compaction(Compaction {
            id: need(line.id, "id")?.id(),
            parent,
            at,
            summary: need(line.summary, "summary")?.0.into_owned(),
            first_kept: need(line.first_kept, "first_kept")?.id(),
            tokens_before: line.tokens_before.unwrap_or(0),
        }),
        "head" => Record::Head {
            target: need(line.target, "target")?.map(|target| target.id()),
            at,
        },
        _ => return Ok(None),
    };
    Ok(Some(Unchained {
        record,
        names_parent,
    }))
}

fn path(text: &str, raw: Option<&Text<'_>>) -> PathBuf {
    match raw.and_then(|raw| STANDARD.decode(raw.0.as_bytes()).ok()) {
        Some(bytes) => PathBuf::from(std::ffi::OsString::from_vec(bytes)),
        None => PathBuf::from(text),
    }
}

/// A reason that is not known, from a later version, is as good as none.
fn stop_reason(text: &str) -> Option<StopReason> {
    [
        StopReason::End,
        StopReason::ToolCalls,
        StopReason::Limit,
        StopReason::Cancelled,
        StopReason::Failed,
    ]
    .into_iter()
    .find(|stop| stop.as_str() == text)
}

fn need<T>(field: Option<T>, name: &str) -> Result<T, Fault> {
    field.ok_or_else(|| Fault::new(format!("missing field `{name}`")))
}
