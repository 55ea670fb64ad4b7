//! Fields that an answer does not depend on: what is not as it should be is as if it was not there.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Reads a field of a struct that is read from text; `None` if it is of another shape, such as a
/// count that is negative, broken, a text, or beyond all bounds.
pub(crate) fn field<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let raw = <&RawValue>::deserialize(deserializer)?;
    let read: Option<Option<T>> = serde_json::from_str(raw.get()).ok();
    Ok(read.flatten())
}
