//! A conversation as every wire sees it: speakers that alternate, parts that may be sent.
//!
//! What differs between providers stays with each protocol; what all of them need is done here:
//! names and ids for the wire, provider items only for their own provider, no empty text, no
//! characters that are refused, placeholders for attachments that cannot be sent.

mod files;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use pantograph::protocol::Request;
use pantograph::wire_name::WireNames;
use pantograph::{Attachment, Block, Message, Origin, RawJson, Role, ToolContent, ToolStatus};
use serde::Serialize;

use crate::attachment::{self, File, FileLimits, FileRule};
use crate::call_ids::{CallIds, IdRule};
use crate::harmless;
use crate::payload::{Last, Payload, Writers};
pub(crate) use files::reads_files;

/// What a request has around its conversation, roughly.
const ROOM_BYTES: usize = 4 * 1024;

/// What a block has around its text, roughly.
const BLOCK_BYTES: usize = 100;

/// What a protocol wants of its history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WireRules {
    /// The protocol's name, as an [`Origin`] has it.
    pub(crate) style: &'static str,
    pub(crate) ids: IdRule,
    pub(crate) files: FileRule,
    pub(crate) results: Results,
}

/// Who says the results of tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Results {
    /// The user, in the same turn as what the user says next.
    WithUser,
    /// A speaker of their own.
    Apart,
}

/// One request's conversation, ready to be written.
pub(crate) struct History<'a> {
    request: &'a Request,
    rules: WireRules,
    limits: FileLimits,
    /// What an answer from where this request goes has.
    own: Origin,
    names: Arc<WireNames>,
    ids: CallIds,
}

/// What one speaker says before another does. Never without parts.
#[derive(Debug, PartialEq)]
pub(crate) struct Turn<'a> {
    pub(crate) speaker: Speaker,
    pub(crate) parts: Vec<Part<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    User,
    Assistant,
    /// Only with [`Results::Apart`].
    Tool,
}

/// A part of a turn. `raw` is the provider's own item, and there only if it may be replayed.
#[derive(Debug, PartialEq)]
pub(crate) enum Part<'a> {
    /// Never blank, unless there is `raw`.
    Text {
        text: Cow<'a, str>,
        raw: Option<&'a RawJson>,
    },
    /// There only if it may be replayed; never changed.
    Thinking {
        text: &'a str,
        signature: Option<&'a str>,
        raw: Option<&'a RawJson>,
    },
    Call(Call<'a>),
    Result(ResultPart<'a>),
    File(File),
    /// There only if it may be replayed.
    Opaque(&'a RawJson),
}

#[derive(Debug, PartialEq)]
pub(crate) struct Call<'a> {
    /// For the wire.
    pub(crate) id: &'a str,
    /// For the wire.
    pub(crate) name: Cow<'a, str>,
    /// An object, as the model wrote it if it wrote one.
    pub(crate) input: RawJson,
    pub(crate) raw: Option<&'a RawJson>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct ResultPart<'a> {
    /// The call's id, for the wire.
    pub(crate) call: &'a str,
    /// The called tool, for the wire.
    pub(crate) name: Cow<'a, str>,
    pub(crate) status: ToolStatus,
    /// Never empty.
    pub(crate) content: Vec<Content<'a>>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Content<'a> {
    Text(Cow<'a, str>),
    File(File),
}

impl<'a> History<'a> {
    pub(crate) fn new(request: &'a Request, rules: WireRules) -> Self {
        let calls = || {
            request
                .conversation
                .messages()
                .iter()
                .flat_map(|m| m.tool_calls())
        };
        Self {
            request,
            rules,
            limits: FileLimits::NONE,
            own: request.model.origin(rules.style),
            names: Arc::new(wire_names(request)),
            ids: CallIds::new(rules.ids, calls().map(|call| &call.id)),
        }
    }

    /// The same with limits on what attachments may be together.
    pub(crate) fn with_limits(mut self, limits: FileLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The names on the wire, both ways.
    pub(crate) fn names(&self) -> &Arc<WireNames> {
        &self.names
    }

    /// The system prompt and the system messages, in order; none is blank.
    pub(crate) fn system(&self) -> Vec<Cow<'a, str>> {
        let prompt = self.request.system_prompt.as_deref().map(Cow::Borrowed);
        let messages = self.request.conversation.system_messages();
        prompt
            .into_iter()
            .chain(messages.map(|message| Cow::Owned(message.text())))
            .filter(|text| !harmless::is_blank(text))
            .map(harmless::cow)
            .collect()
    }

    /// The names of the tools that were called so far, each once, in order.
    pub(crate) fn called_tools(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for message in self.request.conversation.messages() {
            for call in message.tool_calls() {
                if !names.contains(&&*call.name) {
                    names.push(&call.name);
                }
            }
        }
        names
    }

    /// The turns. Speakers alternate, but that the user may follow results that are apart.
    ///
    /// Reads attachments, so it may block.
    pub(crate) fn turns(&self) -> Vec<Turn<'_>> {
        let mut turns: Vec<Turn<'_>> = Vec::new();
        let max_side = self.limits.max_side(files::all(self.request).count());
        let mut called: HashMap<&str, &str> = HashMap::new();
        for message in self.request.conversation.messages() {
            let speaker = match (message.role, self.rules.results) {
                (Role::System, _) => continue,
                (Role::Assistant, _) => Speaker::Assistant,
                (Role::Tool, Results::Apart) => Speaker::Tool,
                (Role::Tool, Results::WithUser) | (Role::User, _) => Speaker::User,
            };
            for call in message.tool_calls() {
                called.insert(&call.id, &call.name);
            }
            let parts = self.parts(message, &called, max_side);
            match turns.last_mut() {
                Some(last) if last.speaker == speaker => last.parts.extend(parts),
                // An answer of which nothing may be sent is left out.
                _ if parts.is_empty() && speaker == Speaker::Assistant => {}
                _ => turns.push(Turn { speaker, parts }),
            }
        }
        for turn in turns.iter_mut().filter(|turn| turn.parts.is_empty()) {
            turn.parts.push(text_part("(This message has no text.)"));
        }
        files::leave_out_oldest(&mut turns, self.limits);
        turns
    }

    /// The bytes of a request that ends with this conversation.
    pub(crate) fn written<T: Serialize + Sync>(
        &self,
        head: &impl Serialize,
        last: &Last<'_, T>,
        writers: Writers,
    ) -> Payload {
        let text = text_bytes(self.request.conversation.messages());
        // Room for escapes, so that a long conversation is not moved while it is written.
        let room = text + text / 4 + ROOM_BYTES;
        Payload::write(head, last, writers, (text, room))
    }

    fn parts<'b>(
        &'b self,
        message: &'b Message,
        called: &HashMap<&str, &'b str>,
        max_side: u32,
    ) -> Vec<Part<'b>> {
        let is_own = message
            .origin
            .as_deref()
            .is_some_and(|origin| self.is_own(origin));
        let own = |raw: &'b Option<RawJson>| raw.as_ref().filter(|_| is_own);
        let mut parts = Vec::with_capacity(message.blocks.len());
        for block in &message.blocks {
            match block {
                Block::Text { text, raw } => {
                    // Its own item has what the text has, and would be sent as it is.
                    let raw = own(raw).filter(|_| !text.contains('\0'));
                    if raw.is_some() || !harmless::is_blank(text) {
                        let text = harmless::text(text);
                        parts.push(Part::Text { text, raw });
                    }
                }
                Block::Thinking {
                    text,
                    signature,
                    raw,
                } if is_own => parts.push(Part::Thinking {
                    text,
                    signature: signature.as_deref(),
                    raw: raw.as_ref(),
                }),
                Block::Opaque { raw } if is_own => parts.push(Part::Opaque(raw)),
                Block::Thinking { .. } | Block::Opaque { .. } => {}
                Block::ToolCall(call) => parts.push(Part::Call(Call {
                    id: self.ids.get(&call.id),
                    name: self.names.encode(&call.name),
                    input: harmless::object(&call.input),
                    raw: own(&call.raw),
                })),
                Block::ToolResult(result) => parts.push(Part::Result(ResultPart {
                    call: self.ids.get(&result.call),
                    name: self
                        .names
                        .encode(called.get(&*result.call).copied().unwrap_or("unknown")),
                    status: result.status,
                    content: self.content(&result.content, result.status, max_side),
                })),
                Block::Attachment(attachment) => {
                    parts.push(match self.file(attachment, max_side) {
                        Content::File(file) => Part::File(file),
                        Content::Text(text) => Part::Text { text, raw: None },
                    })
                }
                Block::Summary { text } => {
                    let text = harmless::text(text);
                    let text = format!(
                        "The conversation so far, summarised:\n\n<summary>\n{text}\n</summary>"
                    );
                    parts.push(text_part(text));
                }
            }
        }
        parts
    }

    fn content<'b>(
        &'b self,
        content: &'b [ToolContent],
        status: ToolStatus,
        max_side: u32,
    ) -> Vec<Content<'b>> {
        let mut parts: Vec<Content<'b>> = content
            .iter()
            .filter_map(|part| match part {
                ToolContent::Text(text) if harmless::is_blank(text) => None,
                ToolContent::Text(text) => Some(Content::Text(harmless::text(text))),
                ToolContent::Attachment(attachment) => Some(self.file(attachment, max_side)),
            })
            .collect();
        if parts.is_empty() {
            parts.push(Content::Text(Cow::Borrowed(match status {
                ToolStatus::Ok => "(no output)",
                ToolStatus::Error => "(the tool failed without saying why)",
                ToolStatus::Cancelled => "(the call was cancelled)",
            })));
        }
        parts
    }

    fn file<'b>(&self, attachment: &Attachment, max_side: u32) -> Content<'b> {
        let takes = self.request.model.attachments;
        match attachment::encode(attachment, self.rules.files, max_side, takes) {
            Ok(file) if file.is_image() && file.data.len() > self.limits.max_image => {
                let text = attachment::left_out(&file.media_type, attachment::TOO_LARGE);
                Content::Text(Cow::Owned(text))
            }
            Ok(file) => Content::File(file),
            Err(text) => Content::Text(Cow::Owned(harmless::text(&text).into_owned())),
        }
    }

    /// Whether an answer came from where this request goes, so that its items mean something.
    fn is_own(&self, origin: &Origin) -> bool {
        origin.style == self.own.style
            && origin.base_url == self.own.base_url
            && origin.model == self.own.model
    }
}

/// The bytes of all text, before any is escaped.
fn text_bytes(messages: &[Arc<Message>]) -> usize {
    let blocks = messages.iter().flat_map(|message| &message.blocks);
    let bytes = blocks.map(|block| match block {
        Block::Text { text, .. } | Block::Thinking { text, .. } | Block::Summary { text } => {
            text.len()
        }
        Block::ToolCall(call) => call.input.len(),
        Block::ToolResult(result) => result
            .content
            .iter()
            .map(|part| match part {
                ToolContent::Text(text) => text.len(),
                ToolContent::Attachment(_) => 0,
            })
            .sum(),
        Block::Opaque { raw } => raw.as_str().len(),
        Block::Attachment(_) => 0,
    });
    // What stands around a block.
    bytes.map(|bytes| bytes + BLOCK_BYTES).sum()
}

/// The names of a request's tools and of all that its conversation called.
pub(crate) fn wire_names(request: &Request) -> WireNames {
    let messages = request.conversation.messages().iter();
    let called = messages.flat_map(|message| message.tool_calls());
    WireNames::new(request.tools.iter().map(|tool| tool.name.as_str()))
        .with_history(called.map(|call| &*call.name))
}

fn text_part<'a>(text: impl Into<Cow<'a, str>>) -> Part<'a> {
    Part::Text {
        text: text.into(),
        raw: None,
    }
}
