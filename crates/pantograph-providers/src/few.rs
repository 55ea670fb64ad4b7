//! Lists that mostly have one item.

use std::fmt;
use std::iter::Chain;
use std::marker::PhantomData;
use std::{option, vec};

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A list whose first item takes no memory of its own.
pub(crate) struct Few<T> {
    first: Option<T>,
    others: Vec<T>,
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = Chain<option::IntoIter<T>, vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.others)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FewVisitor(PhantomData))
    }
}

struct FewVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FewVisitor<T> {
    type Value = Few<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Few<T>, A::Error> {
        let first = list.next_element()?;
        let mut others = Vec::new();
        while let Some(item) = list.next_element()? {
            others.push(item);
        }
        Ok(Few { first, others })
    }
}
