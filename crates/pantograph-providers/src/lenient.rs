//! Fields that an answer does not depend on: what is not as it should be is as if it was not there.

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;

/// Reads a field of a struct that is read from text; `None` if it is of another shape, such as a
/// count that is negative, broken, a text, or beyond all bounds.
pub(crate) fn field<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    <&RawValue>::deserialize(deserializer).map(read)
}

/// Reads what such a field holds, where it is not always looked at.
pub(crate) fn read<'de, T: Deserialize<'de>>(raw: &'de RawValue) -> Option<T> {
    serde_json::from_str::<Option<T>>(raw.get()).ok().flatten()
}

/// Reads a count; `None` if it is none.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(raw.get().parse().ok())
}

/// A value that must not be there, of a field that a struct has as `Option<Absent>`.
pub(crate) struct Absent;

impl<'de> Deserialize<'de> for Absent {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom("a field that must be absent"))
    }
}
