//! An answer while it arrives: protocol events in, blocks and turn events out.

use std::collections::HashSet;
use std::sync::Arc;

use super::Emitter;
use crate::error::{ErrorClass, ProviderError};
use crate::event::Event;
use crate::message::{Block, CallId, StopReason, ToolCall, text_of};
use crate::model::Model;
use crate::protocol::ProtocolEvent;
use crate::raw_json::RawJson;
use crate::usage::Usage;

/// How many bytes an answer may have, and how many blocks. A provider's reply is bounded.
const MAX_BYTES: usize = 64 * 1024 * 1024;
const MAX_BLOCKS: usize = 4_096;

/// The blocks of one attempt so far.
pub(super) struct Draft {
    blocks: Vec<DraftBlock>,
    bytes: usize,
    pub(super) usage: Usage,
}

struct DraftBlock {
    /// The protocol's index; the position in the draft is what events say.
    index: u32,
    kind: Kind,
    ended: bool,
    raw: Option<RawJson>,
}

enum Kind {
    Text(String),
    Thinking {
        text: String,
        signature: Option<String>,
    },
    Call {
        id: CallId,
        name: Arc<str>,
        input: String,
        /// The provider's item holds an id that is not ours.
        renamed: bool,
    },
    Opaque,
}

/// Whether events of a draft reach the reader.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Visibility {
    Shown,
    Silent,
}

/// An answer that has ended.
pub(super) struct Answer {
    pub(super) blocks: Vec<Block>,
    pub(super) stop: StopReason,
    pub(super) usage: Usage,
    /// The calls whose input the output limit cut.
    pub(super) cut: HashSet<CallId>,
    /// Who was asked, which is not always who is asked next.
    pub(super) model: Arc<Model>,
    /// Over which protocol.
    pub(super) style: String,
}

impl Answer {
    /// The text of the answer, if it has some.
    pub(super) fn text(&self) -> Option<String> {
        Some(text_of(&self.blocks)).filter(|text| !text.is_empty())
    }

    pub(super) fn calls(&self) -> Vec<ToolCall> {
        self.blocks
            .iter()
            .filter_map(|block| match block {
                Block::ToolCall(call) => Some(call.clone()),
                _ => None,
            })
            .collect()
    }
}

impl Draft {
    pub(super) fn new() -> Self {
        Self {
            blocks: Vec::new(),
            bytes: 0,
            usage: Usage::default(),
        }
    }

    /// Whether the reader has seen anything of it.
    pub(super) fn has_begun(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Takes one event in; gives the stop reason with the last one.
    ///
    /// `taken` are the call ids of the conversation; `fresh` makes one that was never given.
    ///
    /// # Errors
    ///
    /// The event breaks the rules of [`ProtocolEvent`], or the answer grows past all bounds.
    pub(super) fn apply(
        &mut self,
        event: ProtocolEvent,
        taken: &HashSet<CallId>,
        fresh: impl FnOnce() -> CallId,
        emit: &mut impl FnMut(Event),
    ) -> Result<Option<StopReason>, ProviderError> {
        match event {
            ProtocolEvent::TextDelta { index, text } => {
                let at = self.growing(index, emit, || Kind::Text(String::new()))?;
                let Kind::Text(whole) = &mut self.blocks[at].kind else {
                    return Err(broken("text for a block of another kind"));
                };
                if !text.is_empty() {
                    whole.push_str(&text);
                    self.grow(text.len())?;
                    emit(Event::AssistantTextDelta {
                        index: at as u32,
                        delta: text,
                    });
                }
            }
            ProtocolEvent::ThinkingDelta { index, text } => {
                let at = self.growing(index, emit, new_thinking)?;
                let Kind::Thinking { text: whole, .. } = &mut self.blocks[at].kind else {
                    return Err(broken("thinking for a block of another kind"));
                };
                if !text.is_empty() {
                    whole.push_str(&text);
                    self.grow(text.len())?;
                    emit(Event::ThinkingDelta {
                        index: at as u32,
                        delta: text,
                    });
                }
            }
            ProtocolEvent::ThinkingSignature {
                index,
                signature: value,
            } => {
                self.grow(value.len())?;
                let at = self.growing(index, emit, new_thinking)?;
                let Kind::Thinking { signature, .. } = &mut self.blocks[at].kind else {
                    return Err(broken("a signature for a block of another kind"));
                };
                *signature = Some(value);
            }
            ProtocolEvent::ToolCallStart { index, id, name } => {
                self.grow(id.len() + name.len())?;
                self.start_call(index, id, name, taken, fresh, emit)?;
            }
            ProtocolEvent::ToolCallDelta { index, json } => {
                let at = self
                    .find(index)
                    .filter(|&at| !self.blocks[at].ended)
                    .ok_or_else(|| broken("tool input without an open call"))?;
                let Kind::Call {
                    id, name, input, ..
                } = &mut self.blocks[at].kind
                else {
                    return Err(broken("tool input for a block of another kind"));
                };
                if !json.is_empty() {
                    input.push_str(&json);
                    let (id, tool_name) = (Arc::clone(id), Arc::clone(name));
                    self.grow(json.len())?;
                    emit(Event::ToolDelta {
                        index: at as u32,
                        id,
                        tool_name,
                        delta: json,
                    });
                }
            }
            ProtocolEvent::Raw { index, raw } => {
                self.grow(raw.as_str().len())?;
                let at = self.open(index, emit, || Kind::Opaque)?;
                self.blocks[at].raw = Some(raw);
            }
            ProtocolEvent::Opaque { index, raw } => {
                self.grow(raw.as_str().len())?;
                let at = self.growing(index, emit, || Kind::Opaque)?;
                if !matches!(self.blocks[at].kind, Kind::Opaque) {
                    return Err(broken("an opaque item for a block of another kind"));
                }
                self.blocks[at].raw = Some(raw);
                self.blocks[at].ended = true;
            }
            ProtocolEvent::BlockEnd { index } => {
                if let Some(at) = self.find(index) {
                    self.end(at, emit);
                }
            }
            ProtocolEvent::Usage(usage) => self.usage.update(&usage),
            ProtocolEvent::Done { stop } => {
                if matches!(stop, StopReason::Cancelled | StopReason::Failed) {
                    return Err(broken("an answer that is done, but not complete"));
                }
                for at in 0..self.blocks.len() {
                    let cut = stop == StopReason::Limit
                        && matches!(self.blocks[at].kind, Kind::Call { .. });
                    if !cut {
                        self.end(at, emit);
                    }
                }
                return Ok(Some(stop));
            }
        }
        Ok(None)
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ProviderError> {
        self.bytes += bytes;
        if self.bytes > MAX_BYTES {
            return Err(too_large());
        }
        Ok(())
    }

    fn start_call(
        &mut self,
        index: u32,
        id: String,
        name: String,
        taken: &HashSet<CallId>,
        fresh: impl FnOnce() -> CallId,
        emit: &mut impl FnMut(Event),
    ) -> Result<(), ProviderError> {
        if self.find(index).is_some() {
            return Err(broken("a tool call in the place of another block"));
        }
        let usable = !id.is_empty()
            && !taken.contains(id.as_str())
            && !self
                .blocks
                .iter()
                .any(|block| matches!(&block.kind, Kind::Call { id: other, .. } if **other == *id));
        let id: CallId = if usable { id.into() } else { fresh() };
        let name: Arc<str> = name.into();
        let at = self.open(index, emit, || Kind::Call {
            id: Arc::clone(&id),
            name: Arc::clone(&name),
            input: String::new(),
            renamed: !usable,
        })?;
        emit(Event::ToolDetails {
            index: at as u32,
            id,
            tool_name: name,
        });
        Ok(())
    }

    /// The position of a block that may still grow.
    fn growing(
        &mut self,
        index: u32,
        emit: &mut impl FnMut(Event),
        kind: impl FnOnce() -> Kind,
    ) -> Result<usize, ProviderError> {
        let at = self.open(index, emit, kind)?;
        if self.blocks[at].ended {
            return Err(broken("more of a block after its end"));
        }
        Ok(at)
    }

    /// The position of a block, which is usually the last.
    fn find(&self, index: u32) -> Option<usize> {
        self.blocks.iter().rposition(|block| block.index == index)
    }

    fn open(
        &mut self,
        index: u32,
        emit: &mut impl FnMut(Event),
        kind: impl FnOnce() -> Kind,
    ) -> Result<usize, ProviderError> {
        if let Some(at) = self.find(index) {
            return Ok(at);
        }
        let at = self.blocks.len();
        if at >= MAX_BLOCKS {
            return Err(too_large());
        }
        let kind = kind();
        let position = at as u32;
        match &kind {
            Kind::Text(_) => emit(Event::AssistantText { index: position }),
            Kind::Thinking { .. } => emit(Event::Thinking { index: position }),
            Kind::Call { .. } => emit(Event::Tool { index: position }),
            Kind::Opaque => {}
        }
        self.blocks.push(DraftBlock {
            index,
            kind,
            ended: false,
            raw: None,
        });
        Ok(at)
    }

    fn end(&mut self, at: usize, emit: &mut impl FnMut(Event)) {
        let block = &mut self.blocks[at];
        if std::mem::replace(&mut block.ended, true) {
            return;
        }
        let index = at as u32;
        match &block.kind {
            Kind::Text(text) => emit(Event::AssistantTextComplete {
                index,
                text: text.as_str().into(),
            }),
            Kind::Thinking { text, .. } => emit(Event::ThinkingComplete {
                index,
                text: text.as_str().into(),
            }),
            Kind::Call {
                id, name, input, ..
            } => emit(Event::ToolCallComplete {
                index,
                id: Arc::clone(id),
                tool_name: Arc::clone(name),
                input: input.as_str().into(),
            }),
            Kind::Opaque => {}
        }
    }

    /// The answer that `stop` ended.
    pub(super) fn finish(self, stop: StopReason, model: Arc<Model>, style: String) -> Answer {
        let mut cut = HashSet::new();
        for block in &self.blocks {
            if let Kind::Call { id, input, .. } = &block.kind
                && (!block.ended || stop == StopReason::Limit && is_cut(input))
            {
                cut.insert(Arc::clone(id));
            }
        }
        let blocks: Vec<Block> = self
            .blocks
            .into_iter()
            .filter_map(DraftBlock::into_block)
            .collect();
        let has_calls = blocks
            .iter()
            .any(|block| matches!(block, Block::ToolCall(_)));
        let stop = match stop {
            StopReason::Limit => StopReason::Limit,
            _ if has_calls => StopReason::ToolCalls,
            _ => StopReason::End,
        };
        Answer {
            blocks,
            stop,
            usage: self.usage,
            cut,
            model,
            style,
        }
    }

    /// What a cancel leaves: text, complete calls, and thinking that its provider signed.
    ///
    /// Not thinking at the end or alone, which providers refuse.
    pub(super) fn interrupted(self, model: Arc<Model>, style: String) -> Answer {
        let mut blocks: Vec<Block> = Vec::new();
        for mut block in self.blocks {
            let keep = match &block.kind {
                Kind::Text(_) => true,
                Kind::Thinking { signature, .. } => {
                    signature.is_some() || (block.ended && block.raw.is_some())
                }
                Kind::Call { .. } | Kind::Opaque => block.ended,
            };
            if !block.ended {
                block.raw = None;
            }
            if keep {
                blocks.extend(block.into_block());
            }
        }
        while let Some(Block::Thinking { .. } | Block::Opaque { .. }) = blocks.last() {
            blocks.pop();
        }
        Answer {
            blocks,
            stop: StopReason::Cancelled,
            usage: self.usage,
            cut: HashSet::new(),
            model,
            style,
        }
    }
}

/// Whether JSON text ends before its value does. Some protocols end a block that was cut.
fn is_cut(input: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(input).is_err_and(|error| error.is_eof())
        && !input.trim().is_empty()
}

/// A protocol that does not keep to its own rules; asking again would not help.
fn broken(what: &str) -> ProviderError {
    let message = format!("the protocol gave {what}");
    ProviderError::new(ErrorClass::Terminal, message)
}

fn too_large() -> ProviderError {
    let message = "the answer is larger than any answer may be (64 MiB, 4,096 blocks)";
    ProviderError::new(ErrorClass::Terminal, message)
}

fn new_thinking() -> Kind {
    Kind::Thinking {
        text: String::new(),
        signature: None,
    }
}

impl DraftBlock {
    /// The block, unless it is empty.
    fn into_block(self) -> Option<Block> {
        let raw = self.raw;
        match self.kind {
            Kind::Text(text) if text.is_empty() && raw.is_none() => None,
            Kind::Text(text) => Some(Block::Text { text, raw }),
            Kind::Thinking { text, signature }
                if text.is_empty() && signature.is_none() && raw.is_none() =>
            {
                None
            }
            Kind::Thinking { text, signature } => Some(Block::Thinking {
                text,
                signature,
                raw,
            }),
            Kind::Call {
                id,
                name,
                input,
                renamed,
            } => Some(Block::ToolCall(ToolCall {
                id,
                name,
                input,
                raw: raw.filter(|_| !renamed),
            })),
            Kind::Opaque => raw.map(|raw| Block::Opaque { raw }),
        }
    }
}

impl Visibility {
    /// Hands an event to the reader if the draft is shown.
    pub(super) fn push(self, emitter: &Emitter, event: Event) {
        if self == Visibility::Shown {
            emitter.push(event);
        }
    }
}
