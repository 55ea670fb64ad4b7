//! An item that has begun and not ended.

use std::collections::VecDeque;

use pantograph::protocol::ProtocolEvent;

use super::item::ItemKind;

/// One item and what came of it.
pub(super) struct Open {
    pub(super) output_index: Option<u32>,
    /// The block.
    pub(super) index: u32,
    pub(super) kind: ItemKind,
    /// The part that text came for last.
    pub(super) part: Option<Part>,
    /// For a call: its name is known and told.
    pub(super) is_named: bool,
    /// What came of its text.
    pub(super) text: String,
    /// What the ends of its parts say that its text is.
    pub(super) whole: String,
    /// Whether any of its text or input came.
    pub(super) has_come: bool,
}

/// A part of an item's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Text,
    Refusal,
    Summary(Option<u32>),
    Reasoning(Option<u32>),
}

impl Open {
    /// Gives out what did not come of the text, which `whole` is, or the ends of its parts say.
    pub(super) fn finish(&mut self, whole: String, out: &mut VecDeque<ProtocolEvent>) {
        let whole = match whole.is_empty() {
            true => std::mem::take(&mut self.whole),
            false => whole,
        };
        let missing = match missing(&whole, &self.text) {
            Some(rest) => rest.to_owned(),
            // What was given out stays; deltas of thinking are only cut in other ways.
            None if self.kind == ItemKind::Message => format!("\n\n{whole}"),
            None => return,
        };
        if !missing.is_empty() {
            self.has_come = true;
            out.extend(delta(self.kind, self.index, missing));
        }
    }
}

impl Part {
    pub(super) fn kind(self) -> ItemKind {
        match self {
            Self::Text | Self::Refusal => ItemKind::Message,
            Self::Summary(_) | Self::Reasoning(_) => ItemKind::Reasoning,
        }
    }
}

/// Text of a block; `None` for items without.
pub(super) fn delta(kind: ItemKind, index: u32, text: String) -> Option<ProtocolEvent> {
    match kind {
        ItemKind::Message => Some(ProtocolEvent::TextDelta { index, text }),
        ItemKind::Reasoning => Some(ProtocolEvent::ThinkingDelta { index, text }),
        ItemKind::FunctionCall | ItemKind::Other => None,
    }
}

/// What is in `whole` after what came of it, which may differ in white space and go further;
/// `None` if that is another text.
fn missing<'a>(whole: &'a str, came: &str) -> Option<&'a str> {
    if let Some(rest) = whole.strip_prefix(came) {
        return Some(rest);
    }
    let mut rest = whole.chars();
    for expected in came.chars().filter(|c| !c.is_whitespace()) {
        match rest.find(|c| !c.is_whitespace()) {
            Some(found) if found == expected => {}
            Some(_) => return None,
            None => return Some(""),
        }
    }
    let rest = rest.as_str();
    Some(
        match came.ends_with(char::is_whitespace) || rest.trim().is_empty() {
            true => rest.trim_start(),
            false => rest,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_come_is_what_is_after_it() {
        let cases = [
            ("", "", Some("")),
            ("a b", "", Some("a b")),
            ("a b", "a", Some(" b")),
            ("a  b c", "a b", Some(" c")),
            ("a\nb c", "a b ", Some("c")),
            (" a ", "a", Some("")),
            ("a", "a b", Some("")),
            ("", "a", Some("")),
            ("ab", "b", None),
        ];
        for (whole, came, rest) in cases {
            assert_eq!(missing(whole, came), rest, "{whole:?} after {came:?}");
        }
    }
}
