//! Lines of JSON to records. Written for speed: one pass over a line, one flat struct for all
//! records and one for all blocks. Only a line that does not fit them is looked at again, more
//! leniently.

use std::borrow::Cow;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::de::{Deserialize, Deserializer, Visitor};
use serde_json::value::RawValue;

use super::attachments;
use super::encode::VERSION;
use super::surrogates;
use crate::attachment::Attachment;
use crate::ids::{MessageId, SessionId};
use crate::message::{
    Block, Message, Metadata, Origin, Role, StopReason, ToolCall, ToolContent, ToolResult,
    ToolStatus,
};
use crate::raw_json::RawJson;
use crate::session::{Compaction, Header, Record};
use crate::usage::Usage;

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
    /// Where attachments lie.
    pub(super) files: &'a Path,
    /// The message or compaction before the line: the parent if the line names none.
    pub(super) previous: Option<&'a MessageId>,
    /// The time of a record that names none.
    pub(super) created: Timestamp,
}

/// Reads the line that a file begins with. The id is the file's, whatever the line says.
pub(super) fn header(line: &[u8], id: SessionId) -> Result<Header, HeaderFault> {
    let line = &*surrogates::replaced(line);
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

/// Reads any other line; `Ok(None)` for a type of record that is not known.
pub(super) fn record(line: &[u8], context: &Context<'_>) -> Result<Option<Record>, Fault> {
    if let Ok(parsed) = serde_json::from_slice::<Line<'_, FlatBlock<'_, FlatPart<'_>>>>(line)
        && parsed.blocks.iter().flatten().all(FlatBlock::is_known)
    {
        return build(parsed, context, |block| {
            block.build(context, |part| part.build(context))
        });
    }
    let line = &*surrogates::replaced(line);
    let kind: Kind<'_> = serde_json::from_slice(line)?;
    if !is_known(&kind.kind.0) {
        return Ok(None);
    }
    let parsed: Line<'_, &RawValue> = serde_json::from_slice(line)?;
    build(parsed, context, |raw| lenient_block(raw, line, context))
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

/// A string that is borrowed from the line unless it has escapes.
#[derive(Debug, Clone)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

impl Text<'_> {
    fn id(&self) -> MessageId {
        MessageId::new(&*self.0)
    }
}

/// Tells a field that is `null` from one that is absent.
pub(super) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
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

/// All fields of all blocks. `P` is a part of a tool result's content.
#[derive(serde::Deserialize)]
struct FlatBlock<'a, P> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    signature: Option<String>,
    // An item can be `null`, which is not the same as none.
    #[serde(borrow, default, deserialize_with = "present")]
    raw: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    input: Option<String>,
    #[serde(borrow)]
    call: Option<Text<'a>>,
    status: Option<ToolStatus>,
    content: Option<Vec<P>>,
    #[serde(borrow)]
    media_type: Option<Text<'a>>,
    #[serde(borrow)]
    data: Option<Text<'a>>,
    #[serde(borrow)]
    file: Option<Text<'a>>,
}

/// A part of a tool result's content.
#[derive(serde::Deserialize)]
struct FlatPart<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    media_type: Option<Text<'a>>,
    #[serde(borrow)]
    data: Option<Text<'a>>,
    #[serde(borrow)]
    file: Option<Text<'a>>,
}

fn build<B>(
    line: Line<'_, B>,
    context: &Context<'_>,
    block: impl Fn(B) -> Result<Block, Fault>,
) -> Result<Option<Record>, Fault> {
    let at = match &line.at {
        Some(at) => time(&at.0)?,
        None => context.created,
    };
    let parent = match line.parent {
        Some(parent) => parent.map(|parent| parent.id()),
        None => context.previous.cloned(),
    };
    Ok(Some(match &*line.kind.0 {
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
    }))
}

impl<P> FlatBlock<'_, P> {
    fn build(
        self,
        context: &Context<'_>,
        part: impl Fn(P) -> Result<ToolContent, Fault>,
    ) -> Result<Block, Fault> {
        let raw = self.raw.map(keep).transpose()?;
        Ok(match &*self.kind.0 {
            "text" => Block::Text {
                text: need(self.text, "text")?.0.into_owned(),
                raw,
            },
            "thinking" => Block::Thinking {
                text: need(self.text, "text")?.0.into_owned(),
                signature: self.signature,
                raw,
            },
            "tool_call" => Block::ToolCall(ToolCall {
                id: Arc::from(&*need(self.id, "id")?.0),
                name: Arc::from(&*need(self.name, "name")?.0),
                input: need(self.input, "input")?,
                raw,
            }),
            "tool_result" => {
                let content = need(self.content, "content")?;
                Block::ToolResult(ToolResult {
                    call: Arc::from(&*need(self.call, "call")?.0),
                    status: need(self.status, "status")?,
                    content: content.into_iter().map(part).collect::<Result<_, _>>()?,
                })
            }
            "attachment" => Block::Attachment(attachment(
                self.media_type,
                self.data.as_ref(),
                self.file.as_ref(),
                context,
            )?),
            "opaque" => Block::Opaque {
                raw: need(raw, "raw")?,
            },
            "summary" => Block::Summary {
                text: need(self.text, "text")?.0.into_owned(),
            },
            other => return Err(Fault::new(format!("unknown block `{other}`"))),
        })
    }
}

impl FlatBlock<'_, FlatPart<'_>> {
    fn is_known(&self) -> bool {
        is_known_block(&self.kind.0)
            && self
                .content
                .iter()
                .flatten()
                .all(|part| is_known_part(&part.kind.0))
    }
}

impl FlatPart<'_> {
    fn build(self, context: &Context<'_>) -> Result<ToolContent, Fault> {
        Ok(match &*self.kind.0 {
            "attachment" => ToolContent::Attachment(attachment(
                self.media_type,
                self.data.as_ref(),
                self.file.as_ref(),
                context,
            )?),
            _ => ToolContent::Text(need(self.text, "text")?.0.into_owned()),
        })
    }
}

fn is_known_block(kind: &str) -> bool {
    matches!(
        kind,
        "text" | "thinking" | "tool_call" | "tool_result" | "attachment" | "opaque" | "summary"
    )
}

fn is_known_part(kind: &str) -> bool {
    matches!(kind, "text" | "attachment")
}

/// Reads a block that may be of an unknown type, which is kept as it is.
fn lenient_block(raw: &RawValue, line: &[u8], context: &Context<'_>) -> Result<Block, Fault> {
    let locate = |fault: Fault| located(fault, raw, line);
    let kind: Kind<'_> = serde_json::from_str(raw.get()).map_err(|e| locate(e.into()))?;
    if !is_known_block(&kind.kind.0) {
        return Ok(Block::Opaque { raw: keep(raw)? });
    }
    let block: FlatBlock<'_, &RawValue> =
        serde_json::from_str(raw.get()).map_err(|e| locate(e.into()))?;
    block
        .build(context, |part| lenient_part(part, line, context))
        .map_err(locate)
}

/// Reads a part of a tool's answer. One of an unknown type becomes text: its JSON.
fn lenient_part(raw: &RawValue, line: &[u8], context: &Context<'_>) -> Result<ToolContent, Fault> {
    let locate = |fault: Fault| located(fault, raw, line);
    let kind: Kind<'_> = serde_json::from_str(raw.get()).map_err(|e| locate(e.into()))?;
    if !is_known_part(&kind.kind.0) {
        return Ok(ToolContent::Text(raw.get().to_owned()));
    }
    let part: FlatPart<'_> = serde_json::from_str(raw.get()).map_err(|e| locate(e.into()))?;
    part.build(context).map_err(locate)
}

/// Counts a fault's column from the beginning of the line; a fault that has a place keeps it.
fn located(mut fault: Fault, raw: &RawValue, line: &[u8]) -> Fault {
    let start = (raw.get().as_ptr() as usize).saturating_sub(line.as_ptr() as usize) as u64;
    if fault.column <= start {
        fault.column += start;
    }
    fault
}

fn attachment(
    media_type: Option<Text<'_>>,
    data: Option<&Text<'_>>,
    file: Option<&Text<'_>>,
    context: &Context<'_>,
) -> Result<Attachment, Fault> {
    let media_type = need(media_type, "media_type")?.0.into_owned();
    match (data, file) {
        (Some(data), _) => match STANDARD.decode(data.0.as_bytes()) {
            Ok(bytes) => Ok(Attachment::new(media_type, bytes)),
            Err(error) => Err(Fault::new(format!(
                "an attachment's data is not base64: {error}"
            ))),
        },
        (None, Some(file)) if attachments::is_name(&file.0) => {
            Ok(Attachment::stored(media_type, context.files.join(&*file.0)))
        }
        (None, Some(file)) => Err(Fault::new(format!(
            "an attachment's file must be named by its SHA-256, not `{}`",
            file.0
        ))),
        (None, None) => Err(Fault::new("an attachment has neither `data` nor `file`")),
    }
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

fn keep(raw: &RawValue) -> Result<RawJson, Fault> {
    RawJson::parse(raw.get()).map_err(Fault::from)
}

fn need<T>(field: Option<T>, name: &str) -> Result<T, Fault> {
    field.ok_or_else(|| Fault::new(format!("missing field `{name}`")))
}
