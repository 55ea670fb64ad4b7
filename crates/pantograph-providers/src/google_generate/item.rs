//! The parts of an answer, and what is kept of them for the provider.
//!
//! A signature belongs to the part that it came with. So the parts of a text that was signed are
//! kept as they were cut, since signed and unsigned ones must not be joined, and of a call only
//! its signature is kept, since all else is in the call.

use std::collections::BTreeMap;

use pantograph::RawJson;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;

/// A part of an answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thought: bool,
    #[serde(borrow)]
    thought_signature: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionCall<'a> {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
    partial_args: Option<IgnoredAny>,
    #[serde(default)]
    will_continue: bool,
}

impl<'a> Part<'a> {
    /// Reads a part; `None` if it is of a kind that only the provider understands.
    pub(super) fn read(raw: &'a RawValue) -> Option<Self> {
        let part: Self = serde_json::from_str(raw.get()).ok()?;
        let is_known = part.text.is_some() || part.function_call.is_some() || is_bare(raw);
        is_known.then_some(part)
    }

    /// The signature, as JSON.
    pub(super) fn signature(&self) -> Option<&'a RawValue> {
        self.thought_signature
            .filter(|signature| signature.get() != r#""""#)
    }
}

impl FunctionCall<'_> {
    /// Whether its arguments come in pieces, which happens only where that was asked for.
    pub(super) fn is_partial(&self) -> bool {
        self.will_continue || self.partial_args.is_some()
    }
}

/// Whether a part has nothing but a signature.
fn is_bare(raw: &RawValue) -> bool {
    let fields: Result<BTreeMap<String, IgnoredAny>, _> = serde_json::from_str(raw.get());
    fields.is_ok_and(|fields| {
        fields
            .keys()
            .all(|key| matches!(&**key, "thought" | "thoughtSignature"))
    })
}

/// The parts of one text as they were cut.
#[derive(Default)]
pub(super) struct Pieces {
    /// JSON of parts, with commas between.
    parts: String,
    /// Since the last signature.
    unsigned: String,
    has_signature: bool,
}

impl Pieces {
    pub(super) fn unsigned(&mut self, text: &str) {
        self.unsigned.push_str(text);
    }

    /// Takes a part that `signature` is of.
    pub(super) fn signed(&mut self, part: &RawValue, signature: &RawValue, is_thought: bool) {
        self.flush(is_thought);
        self.has_signature = true;
        if !is_bare(part) {
            return self.add(part.get());
        }
        // The API gives such parts and does not take them.
        let signature = signature.get();
        self.add(&match is_thought {
            true => format!(r#"{{"text":"","thought":true,"thoughtSignature":{signature}}}"#),
            false => format!(r#"{{"text":"","thoughtSignature":{signature}}}"#),
        });
    }

    /// The parts as a list, if any of them is signed.
    pub(super) fn finish(mut self, is_thought: bool) -> Option<RawJson> {
        if !self.has_signature {
            return None;
        }
        self.flush(is_thought);
        RawJson::parse(&format!("[{}]", self.parts)).ok()
    }

    fn flush(&mut self, is_thought: bool) {
        let text = std::mem::take(&mut self.unsigned);
        if text.is_empty() {
            return;
        }
        let part = match is_thought {
            true => json!({ "text": text, "thought": true }),
            false => json!({ "text": text }),
        };
        self.add(&part.to_string());
    }

    fn add(&mut self, part: &str) {
        if !self.parts.is_empty() {
            self.parts.push(',');
        }
        self.parts.push_str(part);
    }
}

/// The parts that [`Pieces::finish`] kept.
pub(super) fn pieces(raw: &RawJson) -> Vec<&RawValue> {
    serde_json::from_str(raw.as_str()).unwrap_or_default()
}

/// What is kept of a call.
pub(super) fn kept_signature(signature: &RawValue) -> Option<RawJson> {
    RawJson::parse(&format!(r#"{{"thoughtSignature":{}}}"#, signature.get())).ok()
}

/// The signature that [`kept_signature`] kept.
pub(super) fn signature(raw: &RawJson) -> Option<&RawValue> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kept<'a> {
        #[serde(borrow)]
        thought_signature: &'a RawValue,
    }
    let kept: Kept<'_> = serde_json::from_str(raw.as_str()).ok()?;
    Some(kept.thought_signature)
}
