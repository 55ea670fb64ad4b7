//! Reading keys and checking what they say together, at the place where they stand.

use std::fmt::{self, Display};
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// Reads a table of keys `K` and makes a `T` of it.
///
/// As `#[serde(try_from = "K")]`, but the check runs while the deserializer is still at the
/// table, so that its error has the table's place and not that of what is around it.
pub(super) fn checked<'de, K, T, D>(deserializer: D) -> Result<T, D::Error>
where
    K: Deserialize<'de>,
    T: TryFrom<K, Error: Display>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_map(Checked(PhantomData::<(K, T)>))
}

struct Checked<K, T>(PhantomData<(K, T)>);

impl<'de, K, T> Visitor<'de> for Checked<K, T>
where
    K: Deserialize<'de>,
    T: TryFrom<K, Error: Display>,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of keys")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let keys = K::deserialize(MapAccessDeserializer::new(map))?;
        T::try_from(keys).map_err(A::Error::custom)
    }
}

/// Lets `$entry` be read as `$keys` and checked.
macro_rules! read_checked {
    ($entry:ty: $keys:ty) => {
        impl<'de> serde::Deserialize<'de> for $entry {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::file::checked::checked::<$keys, _, _>(deserializer)
            }
        }
    };
}

pub(super) use read_checked;
