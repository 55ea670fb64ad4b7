//! The provider's own items: what of them is read.

use std::borrow::Cow;

use pantograph::RawJson;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::history::Call;

/// An output item of an answer.
#[derive(Default, Deserialize)]
pub(super) struct OutputItem {
    #[serde(rename = "type", default)]
    pub(super) kind: ItemKind,
    id: Option<String>,
    call_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: Option<String>,
    status: Option<String>,
    content: Option<Vec<ItemText>>,
    summary: Option<Vec<ItemText>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ItemKind {
    Message,
    Reasoning,
    FunctionCall,
    /// What only the provider understands.
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct ItemText {
    text: Option<String>,
    refusal: Option<String>,
}

impl OutputItem {
    /// Reads an item. One of a shape that is not known is of a kind that is not known.
    pub(super) fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// Whether a limit cut it.
    pub(super) fn is_cut(&self) -> bool {
        self.status.as_deref() == Some("incomplete")
    }

    /// The id that a result names. The item's own is another, and all that some servers give.
    pub(super) fn call_id(&mut self) -> String {
        let call_id = self.call_id.take().filter(|id| !id.is_empty());
        call_id.or_else(|| self.id.take()).unwrap_or_default()
    }

    /// The text of a message or of reasoning, whole, with its parts apart as deltas have them.
    pub(super) fn text(self) -> String {
        let mut whole = String::new();
        for part in self.summary.into_iter().chain(self.content).flatten() {
            let is_apart = self.kind == ItemKind::Reasoning || part.refusal.is_some();
            if is_apart && !whole.is_empty() {
                whole.push_str("\n\n");
            }
            whole.extend(part.text.or(part.refusal));
        }
        whole
    }
}

/// Whether reasoning can be sent back: the provider kept none of it, so it must be in the item.
pub(super) fn is_reasoning_whole(raw: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Reasoning<'a> {
        #[serde(borrow)]
        encrypted_content: Option<Cow<'a, str>>,
        /// In clear, from models that hide nothing.
        content: Option<Vec<IgnoredAny>>,
    }
    serde_json::from_str::<Reasoning<'_>>(raw.as_str()).is_ok_and(|reasoning| {
        let is_encrypted = reasoning
            .encrypted_content
            .is_some_and(|text| !text.is_empty());
        is_encrypted || reasoning.content.is_some_and(|content| !content.is_empty())
    })
}

/// Whether an item is what `call` says, so that it can stand for it: the names on the wire
/// depend on the request, and what a model wrote may be no JSON.
pub(super) fn is_call(raw: &RawJson, call: &Call<'_>) -> bool {
    #[derive(Deserialize)]
    struct FunctionCall<'a> {
        #[serde(borrow)]
        call_id: Cow<'a, str>,
        #[serde(borrow)]
        name: Cow<'a, str>,
        #[serde(borrow)]
        arguments: Cow<'a, str>,
    }
    serde_json::from_str::<FunctionCall<'_>>(raw.as_str()).is_ok_and(|item| {
        item.call_id == call.id && item.name == call.name && item.arguments == call.input.as_str()
    })
}
