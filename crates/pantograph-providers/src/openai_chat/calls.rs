//! Tool calls out of their pieces.

use std::collections::HashMap;

use pantograph::{ErrorClass, ProviderError, RawJson};
use serde::de::IgnoredAny;

use super::chunk::CallDelta;

/// The calls of one answer.
///
/// A piece names its call by a number, which some servers leave out and others give every call
/// alike, or by an id, which is there once, late, or in every piece.
#[derive(Default)]
pub(super) struct Calls {
    slots: Vec<Slot>,
    /// The last call of each number and of each id.
    by_number: HashMap<u32, usize>,
    by_id: HashMap<String, usize>,
}

/// How many calls an answer may have; the core takes no more blocks.
const MAX_CALLS: usize = 4_096;

/// One call.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) id: String,
    /// On the wire.
    pub(super) name: String,
    input: String,
    /// Bytes of the input that are given out.
    given: usize,
    extra: Option<RawJson>,
    /// The block, once the call has begun.
    pub(super) block: Option<u32>,
}

impl Calls {
    /// Takes a piece in; gives the call that it belongs to, unless it says nothing.
    ///
    /// # Errors
    ///
    /// There are more calls than an answer may have.
    pub(super) fn take(
        &mut self,
        piece: CallDelta<'_>,
    ) -> Result<Option<&mut Slot>, ProviderError> {
        if piece.is_blank() {
            return Ok(None);
        }
        let at = match self.find(&piece) {
            Some(at) => at,
            None if self.slots.len() >= MAX_CALLS => {
                return Err(ProviderError::new(
                    ErrorClass::Terminal,
                    format!("the answer has more than {MAX_CALLS} tool calls"),
                ));
            }
            None => {
                let at = self.slots.len();
                self.by_number
                    .extend(piece.index.map(|number| (number, at)));
                self.slots.push(Slot::default());
                at
            }
        };
        let slot = &mut self.slots[at];
        let had_id = !slot.id.is_empty();
        slot.take(piece);
        if !had_id && !slot.id.is_empty() {
            self.by_id.insert(slot.id.clone(), at);
        }
        Ok(Some(slot))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.slots.iter_mut()
    }

    fn find(&self, piece: &CallDelta<'_>) -> Option<usize> {
        let id = piece.id.as_deref().unwrap_or_default();
        let name = piece.function.as_ref().and_then(|f| f.name.as_deref());
        let has_name = name.is_some_and(|name| !name.is_empty());
        let last = || self.slots.len().checked_sub(1);
        let at = match piece.index {
            Some(number) => self.by_number.get(&number).copied(),
            None if !id.is_empty() => self
                .by_id
                .get(id)
                .copied()
                .or_else(|| last().filter(|_| !has_name)),
            None => last().filter(|&at| !has_name || self.slots[at].name.is_empty()),
        }?;
        // A whole new call under a number that was given already.
        let known = &self.slots[at].id;
        let is_other = has_name && !id.is_empty() && !known.is_empty() && known != id;
        (!is_other).then_some(at)
    }
}

impl Slot {
    fn take(&mut self, piece: CallDelta<'_>) {
        let function = piece.function.unwrap_or_default();
        let once = |known: &mut String, new: Option<String>| {
            if known.is_empty() {
                *known = new.unwrap_or_default();
            }
        };
        once(&mut self.id, piece.id);
        once(&mut self.name, function.name);
        if let Some(arguments) = function.arguments {
            self.input.push_str(&arguments.0);
        }
        if let Some(extra) = piece.extra_content {
            self.extra = RawJson::parse(extra.get()).ok();
        }
    }

    /// Whether it can begin: its id or input shows that the name is complete and the id not late.
    pub(super) fn is_ready(&self) -> bool {
        !self.name.is_empty() && (!self.id.is_empty() || !self.input.is_empty())
    }

    /// Whether nothing is known of it.
    pub(super) fn is_blank(&self) -> bool {
        self.name.is_empty() && self.id.is_empty() && self.input.is_empty()
    }

    /// Whether its input is an object to which nothing can be added.
    pub(super) fn is_whole(&self) -> bool {
        self.input.trim_start().starts_with('{')
            && serde_json::from_str::<IgnoredAny>(&self.input).is_ok()
    }

    /// What came of the input since this was last asked.
    pub(super) fn new_input(&mut self) -> Option<String> {
        let input = self.input[self.given..].to_owned();
        self.given = self.input.len();
        Some(input).filter(|input| !input.is_empty())
    }

    /// What the provider put beside it, once.
    pub(super) fn new_extra(&mut self) -> Option<RawJson> {
        self.extra.take()
    }
}
