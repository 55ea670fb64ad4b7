//! What an item can be made of.

use std::time::Duration;

use pantograph::{ErrorClass, ProviderError, StopReason, Usage};

use super::{Call, Item, Text, Thinking};
use crate::fault::Fault;
use crate::gate::Gate;

macro_rules! item_from {
    ($($variant:ident: $part:ty),* $(,)?) => {
        $(impl From<$part> for Item {
            fn from(part: $part) -> Self {
                Item::$variant(part)
            }
        })*
    };
}

item_from! {
    Text: Text,
    Thinking: Thinking,
    Call: Call,
    Usage: Usage,
    Stop: StopReason,
    Fault: Fault,
}

macro_rules! item_from_fault {
    ($($part:ty),* $(,)?) => {
        $(impl From<$part> for Item {
            fn from(part: $part) -> Self {
                Item::Fault(part.into())
            }
        })*
    };
}

item_from_fault! {
    Duration,
    Gate,
    &Gate,
    ProviderError,
    ErrorClass,
}

impl From<&str> for Item {
    fn from(text: &str) -> Self {
        Item::Text(Text::new(text))
    }
}

impl From<String> for Item {
    fn from(text: String) -> Self {
        Item::Text(Text::new(text))
    }
}
