//! An answer while it arrives: protocol events in, blocks and turn events out.

use std::collections::HashSet;
use std::sync::Arc;

use super::Emitter;
use crate::event::Event;
use crate::message::{Block, CallId, StopReason, ToolCall};
use crate::protocol::ProtocolEvent;
use crate::raw_json::RawJson;
use crate::usage::Usage;

/// The blocks of one attempt so far.
pub(super) struct Draft {
    blocks: Vec<DraftBlock>,
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
}

impl Answer {
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
    pub(super) fn apply(
        &mut self,
        event: ProtocolEvent,
        taken: &HashSet<CallId>,
        fresh: impl FnOnce() -> CallId,
        emit: &mut impl FnMut(Event),
    ) -> Option<StopReason> {
        match event {
            ProtocolEvent::TextDelta { index, text } => {
                let at = self.open(index, emit, || Kind::Text(String::new()));
                if let Kind::Text(whole) = &mut self.blocks[at].kind
                    && !text.is_empty()
                {
                    whole.push_str(&text);
                    emit(Event::AssistantTextDelta {
                        index: at as u32,
                        delta: text,
                    });
                }
            }
            ProtocolEvent::ThinkingDelta { index, text } => {
                let at = self.open(index, emit, new_thinking);
                if let Kind::Thinking { text: whole, .. } = &mut self.blocks[at].kind
                    && !text.is_empty()
                {
                    whole.push_str(&text);
                    emit(Event::ThinkingDelta {
                        index: at as u32,
                        delta: text,
                    });
                }
            }
            ProtocolEvent::ThinkingSignature { index, signature } => {
                let at = self.open(index, emit, new_thinking);
                if let Kind::Thinking {
                    signature: slot, ..
                } = &mut self.blocks[at].kind
                {
                    *slot = Some(signature);
                }
            }
            ProtocolEvent::ToolCallStart { index, id, name } => {
                self.start_call(index, id, name, taken, fresh, emit);
            }
            ProtocolEvent::ToolCallDelta { index, json } => {
                if let Some(at) = self.find(index)
                    && let Kind::Call {
                        id, name, input, ..
                    } = &mut self.blocks[at].kind
                    && !json.is_empty()
                {
                    input.push_str(&json);
                    emit(Event::ToolDelta {
                        index: at as u32,
                        id: Arc::clone(id),
                        tool_name: Arc::clone(name),
                        delta: json,
                    });
                }
            }
            ProtocolEvent::Raw { index, raw } => {
                let at = self.open(index, emit, || Kind::Opaque);
                self.blocks[at].raw = Some(raw);
            }
            ProtocolEvent::Opaque { index, raw } => {
                let at = self.open(index, emit, || Kind::Opaque);
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
                for at in 0..self.blocks.len() {
                    let cut = stop == StopReason::Limit
                        && matches!(self.blocks[at].kind, Kind::Call { .. });
                    if !cut {
                        self.end(at, emit);
                    }
                }
                return Some(stop);
            }
        }
        None
    }

    fn start_call(
        &mut self,
        index: u32,
        id: String,
        name: String,
        taken: &HashSet<CallId>,
        fresh: impl FnOnce() -> CallId,
        emit: &mut impl FnMut(Event),
    ) {
        if self.find(index).is_some() {
            return;
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
        });
        emit(Event::ToolDetails {
            index: at as u32,
            id,
            tool_name: name,
        });
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
    ) -> usize {
        if let Some(at) = self.find(index) {
            return at;
        }
        let at = self.blocks.len();
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
        at
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
    pub(super) fn finish(self, stop: StopReason) -> Answer {
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
        }
    }

    /// What a cancel leaves: text, complete calls, and thinking that its provider signed.
    ///
    /// Nothing if that would be thinking alone, which providers refuse.
    pub(super) fn interrupted(self) -> Option<Answer> {
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
        (!blocks.is_empty()).then_some(Answer {
            blocks,
            stop: StopReason::Cancelled,
            usage: self.usage,
            cut: HashSet::new(),
        })
    }
}

/// Whether JSON text ends before its value does. Some protocols end a block that was cut.
fn is_cut(input: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(input).is_err_and(|error| error.is_eof())
        && !input.trim().is_empty()
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
