//! Whether there is a key for a provider: what a choice needs to know of keys.

use std::path::PathBuf;

use crate::config::Provider;

/// Finds out whether a provider has a key, without showing it.
pub trait KeyLookup: Send + Sync {
    /// Where the provider's key comes from, in words that follow "key from", such as
    /// `the environment variable X`; `None` if there is none.
    ///
    /// `provider` holds what is in force for it, the catalog's part included; its variables are
    /// [`Provider::key_variables`]. Called for every provider when models are listed, so it must
    /// run no command.
    fn find(&self, provider: &Provider) -> Option<String>;

    /// The file in which keys are kept, if one is looked at; for messages.
    fn file(&self) -> Option<PathBuf> {
        None
    }
}

impl<F: Fn(&Provider) -> Option<String> + Send + Sync> KeyLookup for F {
    fn find(&self, provider: &Provider) -> Option<String> {
        self(provider)
    }
}

/// What is known about a provider's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyState {
    /// There is one; from where, as [`KeyLookup::find`] says it.
    Found(String),
    /// The provider takes none, or the configuration sends one as a header.
    NotNeeded,
    /// There is none, and without it the provider is not worth asking.
    Missing,
}

impl KeyState {
    pub(super) fn of(provider: &Provider, keys: &dyn KeyLookup) -> Self {
        match keys.find(provider) {
            Some(source) => Self::Found(source),
            None if provider.takes_key() => Self::Missing,
            None => Self::NotNeeded,
        }
    }

    /// Whether the provider can be asked.
    pub fn is_usable(&self) -> bool {
        *self != Self::Missing
    }
}
