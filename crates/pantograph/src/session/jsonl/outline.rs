//! What a line says of itself, without its contents.

use serde::Deserialize;

use super::decode::{self, Fault, Text, present};
use super::marks::Mark;

/// The fields of a record that place it in the tree.
#[derive(Debug, Deserialize)]
pub(super) struct Outline<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    /// `None` if the record names no parent, not even `null`.
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) parent: Option<Option<Text<'a>>>,
    #[serde(borrow)]
    pub(super) role: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) target: Option<Option<Text<'a>>>,
    #[serde(borrow)]
    pub(super) at: Option<Text<'a>>,
    n: Option<u64>,
    user_at: Option<u64>,
    origin_at: Option<u64>,
}

impl<'a> Outline<'a> {
    /// Reads a line; `Ok(None)` for a type of record that is not known.
    pub(super) fn read(line: &'a [u8]) -> Result<Option<Self>, Fault> {
        match serde_json::from_slice::<Self>(line) {
            Ok(outline) => Ok(decode::is_known(&outline.kind.0).then_some(outline)),
            Err(error) => {
                #[derive(Deserialize)]
                struct Kind<'a> {
                    #[serde(rename = "type", borrow)]
                    kind: Text<'a>,
                }
                match serde_json::from_slice::<Kind<'_>>(line) {
                    Ok(kind) if !decode::is_known(&kind.kind.0) => Ok(None),
                    _ => Err(error.into()),
                }
            }
        }
    }

    /// Whether it is a message or a compaction.
    pub(super) fn is_node(&self) -> bool {
        matches!(&*self.kind.0, "message" | "compaction")
    }

    /// The mark, if whoever wrote the line wrote one.
    pub(super) fn mark(&self) -> Option<Mark> {
        self.n.map(|n| Mark {
            n,
            user_at: self.user_at,
            origin_at: self.origin_at,
        })
    }
}
