//! JSON text kept byte for byte.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Valid JSON text, kept exactly as it came; cheap to clone.
#[derive(Clone)]
pub struct RawJson(Arc<RawValue>);

impl RawJson {
    /// Checks that `text` is one JSON value and keeps it.
    ///
    /// # Errors
    ///
    /// Where the text stops being JSON.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<Box<RawValue>>(text).map(Self::keep)
    }

    /// Writes a value.
    pub fn from_value(value: &serde_json::Value) -> Self {
        let raw = serde_json::value::to_raw_value(value);
        // Writing into memory fails only for maps with keys that are no strings; there are none.
        Self::keep(raw.unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    fn keep(raw: Box<RawValue>) -> Self {
        Self(raw.into())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl Hash for RawJson {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::keep)
    }
}
