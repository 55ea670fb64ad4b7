//! Identifiers: what names a session, a message, a turn, a batch and an agent.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Names a session: a UUID whose canonical text is also the session's file stem.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Uuid);

/// Why a text is not a [`SessionId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a session id: expected a UUID in lower-case, hyphenated form")]
pub struct InvalidSessionId(pub String);

impl SessionId {
    /// Wraps a UUID.
    pub fn new(uuid: Uuid) -> Self {
        Self(uuid)
    }

    /// Reads canonical UUID text: 36 characters, lower case, with hyphens.
    ///
    /// Nothing else is accepted, so an id can become a path component.
    ///
    /// # Errors
    ///
    /// [`InvalidSessionId`] for any other text.
    pub fn parse(text: &str) -> Result<Self, InvalidSessionId> {
        match Uuid::try_parse(text) {
            Ok(uuid) if uuid.hyphenated().to_string() == text => Ok(Self(uuid)),
            _ => Err(InvalidSessionId(text.to_owned())),
        }
    }

    /// The UUID itself.
    pub fn as_uuid(&self) -> &Uuid {
        &self.0
    }

    /// When the id was made, if it tells.
    pub(crate) fn time(&self) -> Option<Timestamp> {
        let (seconds, nanos) = self.0.get_timestamp()?.to_unix();
        Timestamp::new(seconds.try_into().ok()?, nanos.try_into().ok()?).ok()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.hyphenated())
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Names a message within its session.
///
/// Written as a UUIDv7; any text is read, since it is only ever compared.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(Arc<str>);

impl MessageId {
    /// Wraps a text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text as stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of a message that is made from this one: always the same for one `salt`.
    pub(crate) fn derived(&self, salt: &str) -> Self {
        let digest = Sha256::new()
            .chain_update(self.0.as_bytes())
            .chain_update([0])
            .chain_update(salt.as_bytes())
            .finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Uuid::new_v8(bytes).into()
    }
}

impl From<Uuid> for MessageId {
    fn from(uuid: Uuid) -> Self {
        let mut buffer = Uuid::encode_buffer();
        Self(Arc::from(&*uuid.hyphenated().encode_lower(&mut buffer)))
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

macro_rules! process_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID.
            pub fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0.hyphenated())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

process_id!(
    /// Names one turn of one agent.
    TurnId
);
process_id!(
    /// Names one batch of tool calls: all calls of one assistant message.
    BatchId
);
process_id!(
    /// Names an agent for as long as it lives; the lane of the batches that it raises.
    AgentId
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_text_is_a_session_id() {
        let good = "0198c0de-0000-7000-8000-00000000abcd";
        assert_eq!(SessionId::parse(good).unwrap().to_string(), good);
        for bad in [
            "",
            "nope",
            "../x",
            "0198C0DE-0000-7000-8000-00000000ABCD",
            "0198c0de00007000800000000000abcd",
            "{0198c0de-0000-7000-8000-00000000abcd}",
            "urn:uuid:0198c0de-0000-7000-8000-00000000abcd",
            " 0198c0de-0000-7000-8000-00000000abcd",
        ] {
            assert_eq!(
                SessionId::parse(bad),
                Err(InvalidSessionId(bad.to_owned())),
                "{bad}"
            );
        }
    }
}
