//! Which protocols there are, and how each is made for a provider.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use pantograph::protocol::Protocol;

use super::late::LateProtocols;
use crate::config::Provider;

/// Why a protocol could not be made for a provider, in words for people.
pub type ProtocolError = Box<dyn Error + Send + Sync>;

type Constructor = Box<dyn Fn(&Provider) -> Result<Arc<dyn Protocol>, ProtocolError> + Send + Sync>;

/// Protocols by the name that `protocol = "…"` has for them.
#[derive(Default)]
pub struct ProtocolRegistry {
    constructors: BTreeMap<String, Constructor>,
    /// Of names that something else may still register.
    late: Option<LateProtocols>,
}

impl fmt::Debug for ProtocolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

impl ProtocolRegistry {
    /// Makes `name` known; a later registration replaces an earlier one.
    ///
    /// `make` is called once a provider, when the first of its models is chosen. What is
    /// missing in the provider (a script, a base URL) is its error.
    pub fn register<F>(&mut self, name: &str, make: F)
    where
        F: Fn(&Provider) -> Result<Arc<dyn Protocol>, ProtocolError> + Send + Sync + 'static,
    {
        self.constructors.insert(name.to_owned(), Box::new(make));
    }

    /// Takes every other name for one that an extension may register: `late` has these protocols.
    pub fn allow_late(&mut self, late: LateProtocols) {
        self.late = Some(late);
    }

    /// Looks up the names that were chosen and that something else had not registered yet.
    pub(super) fn find_late(&self, find: impl Fn(&str) -> Option<Arc<dyn Protocol>>) {
        if let Some(late) = &self.late {
            late.find_missing(find);
        }
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.constructors.keys().map(String::as_str)
    }

    /// Whether the protocol is one that an extension may register.
    pub(super) fn is_late(&self, name: &str) -> bool {
        self.late.is_some() && !self.constructors.contains_key(name)
    }

    /// Makes the protocol `name` for `provider`; `None` if there is no such protocol.
    pub(super) fn make(
        &self,
        name: &str,
        provider: &Provider,
    ) -> Option<Result<Arc<dyn Protocol>, ProtocolError>> {
        match self.constructors.get(name) {
            Some(make) => Some(make(provider)),
            None => Some(Ok(self.late.as_ref()?.protocol(name))),
        }
    }
}
