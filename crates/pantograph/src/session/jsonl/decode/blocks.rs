//! Blocks of messages.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{Context, Fault, Kind, Text, need, present};
use crate::attachment::Attachment;
use crate::message::{Block, ToolCall, ToolContent, ToolResult, ToolStatus};
use crate::raw_json::RawJson;
use crate::session::jsonl::attachments;

/// All fields of all blocks. `P` is a part of a tool result's content.
#[derive(serde::Deserialize)]
pub(super) struct FlatBlock<'a, P> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    signature: Option<String>,
    // An item can be `null`, which is not the same as none.
    #[serde(borrow, default, deserialize_with = "present")]
    raw: Option<&'a RawValue>,
    /// The same as text, for those who cannot keep an item byte for byte otherwise.
    #[serde(borrow)]
    raw_json: Option<Text<'a>>,
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

/// A part of a tool result's content: a block without parts of its own.
pub(super) type Part<'a> = FlatBlock<'a, IgnoredAny>;

impl<P> FlatBlock<'_, P> {
    pub(super) fn build(
        self,
        context: &Context<'_>,
        part: impl Fn(P) -> Result<ToolContent, Fault>,
    ) -> Result<Block, Fault> {
        let raw = match (self.raw, self.raw_json) {
            (Some(raw), _) => Some(keep(raw)?),
            (None, Some(text)) => Some(
                RawJson::parse(&text.0)
                    .map_err(|error| Fault::new(format!("`raw_json` is not JSON: {error}")))?,
            ),
            (None, None) => None,
        };
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

impl FlatBlock<'_, Part<'_>> {
    /// Whether its type, and those of its parts, are known.
    pub(super) fn is_known(&self) -> bool {
        let mut parts = self.content.iter().flatten();
        is_known_block(&self.kind.0) && parts.all(|part| is_known_part(&part.kind.0))
    }
}

impl Part<'_> {
    pub(super) fn into_content(self, context: &Context<'_>) -> Result<ToolContent, Fault> {
        match self.build(context, |_| {
            Err(Fault::new("a part of an answer has no parts"))
        })? {
            Block::Attachment(attachment) => Ok(ToolContent::Attachment(attachment)),
            Block::Text { text, .. } => Ok(ToolContent::Text(text)),
            _ => Err(Fault::new("an answer holds texts and attachments alone")),
        }
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
pub(super) fn lenient(raw: &RawValue, line: &[u8], context: &Context<'_>) -> Result<Block, Fault> {
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
    let part: Part<'_> = serde_json::from_str(raw.get()).map_err(|e| locate(e.into()))?;
    part.into_content(context).map_err(locate)
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
        (None, Some(file)) if attachments::is_name(&file.0) => match context.files {
            Some(files) => Ok(Attachment::stored(media_type, files.join(&*file.0))),
            None => Err(Fault::new(
                "an attachment must have its `data`: there is no directory for its `file`",
            )),
        },
        (None, Some(file)) => Err(Fault::new(format!(
            "an attachment's file must be named by its SHA-256, not `{}`",
            file.0
        ))),
        (None, None) => Err(Fault::new("an attachment has neither `data` nor `file`")),
    }
}

fn keep(raw: &RawValue) -> Result<RawJson, Fault> {
    RawJson::parse(raw.get()).map_err(Fault::from)
}
