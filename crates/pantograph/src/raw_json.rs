//! JSON text kept byte for byte.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Valid JSON text, kept exactly as it came; cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Arc<str>);

impl RawJson {
    /// Checks that `text` is one JSON value and keeps it.
    ///
    /// # Errors
    ///
    /// Where the text stops being JSON.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let value: &RawValue = serde_json::from_str(text)?;
        Ok(Self(Arc::from(value.get())))
    }

    /// Writes a value.
    pub fn from_value(value: &serde_json::Value) -> Self {
        Self(Arc::from(value.to_string()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Borrowing as a `RawValue` re-checks the text; it is the one way to write it verbatim.
        let raw: &RawValue =
            serde_json::from_str(&self.0).map_err(<S::Error as serde::ser::Error>::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text: Box<str> = raw.into();
        Ok(Self(Arc::from(text)))
    }
}
