//! What a line that cannot be read may still tell.

use std::fmt;

use jiff::Timestamp;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::ids::MessageId;
use crate::message::{Block, Message, Metadata, Role};
use crate::session::jsonl::decode::{self, Text};
use crate::surrogates;

const DAMAGED: &str = "(This message was damaged and cannot be read.)";

/// A message in the place of one that is damaged, if the line still tells its id, its parent and
/// its role: then all that names the message stays right.
pub(super) fn stub(
    line: &[u8],
    previous: Option<&MessageId>,
    created: Timestamp,
) -> Option<Message> {
    let fields = Fields::read(line);
    if fields.kind.as_deref() != Some("message") {
        return None;
    }
    let parent = match fields.parent {
        Some(parent) => parent,
        // It may stand after the damage.
        None if !fields.is_whole => return None,
        None => previous.cloned(),
    };
    Some(Message {
        id: fields.id?,
        parent,
        at: fields.at.unwrap_or(created),
        role: fields.role?,
        blocks: vec![Block::text(DAMAGED)],
        metadata: Metadata::new(),
        origin: None,
        usage: None,
        stop: None,
    })
}

/// Which message a line was, and whose child, as far as that can be guessed.
pub(super) fn id_and_parent(line: &[u8]) -> Option<(MessageId, Option<MessageId>)> {
    let id = text_field(line, b"\"id\":\"")?;
    Some((id, text_field(line, b"\"parent\":\"")))
}

/// The text that follows the first `key` up to the next quote.
fn text_field(line: &[u8], key: &[u8]) -> Option<MessageId> {
    let start = line.windows(key.len()).position(|part| part == key)? + key.len();
    let rest = &line[start..];
    let end = rest.iter().position(|&byte| byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok().map(MessageId::new)
}

/// The fields of a line's object up to the damage.
#[derive(Default)]
struct Fields {
    kind: Option<String>,
    id: Option<MessageId>,
    parent: Option<Option<MessageId>>,
    role: Option<Role>,
    at: Option<Timestamp>,
    is_whole: bool,
}

impl Fields {
    fn read(line: &[u8]) -> Self {
        let mut fields = Self::default();
        let line = surrogates::mended_bytes(line);
        // That it fails somewhere is why it is read here.
        let _ = serde_json::Deserializer::from_slice(&line).deserialize_map(&mut fields);
        fields
    }
}

impl<'de> Visitor<'de> for &mut Fields {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "type" => self.kind = Some(map.next_value::<Text<'_>>()?.0.into_owned()),
                "id" => self.id = Some(map.next_value::<Text<'_>>()?.id()),
                "parent" => {
                    self.parent = Some(map.next_value::<Option<Text<'_>>>()?.map(|id| id.id()))
                }
                "role" => self.role = decode::role(&map.next_value::<Text<'_>>()?.0),
                "at" => self.at = decode::time(&map.next_value::<Text<'_>>()?.0).ok(),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        self.is_whole = true;
        Ok(())
    }
}
