//! What has to be said to find a provider's key.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use super::store::CredentialStore;
use crate::config::Provider;

/// Whose key is wanted, and what may be asked for it.
#[derive(Clone, Copy)]
pub struct KeyRequest<'a> {
    /// The provider's name in model references.
    pub provider: &'a str,
    /// What the configuration says about it, if anything.
    pub settings: Option<&'a Provider>,
    /// The variables that hold this provider's key by custom, best first.
    pub well_known: &'a [&'a str],
    /// Whether the provider is asked at all without a key.
    pub need: KeyNeed,
    /// The credential file; `None` without a home.
    pub store: Option<&'a CredentialStore>,
    /// The configuration file that a hint names.
    pub config_file: Option<&'a Path>,
    /// The environment; answers as [`std::env::var_os`] does.
    pub lookup: &'a dyn Fn(&str) -> Option<OsString>,
}

impl fmt::Debug for KeyRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRequest")
            .field("provider", &self.provider)
            .field("well_known", &self.well_known)
            .field("need", &self.need)
            .finish_non_exhaustive()
    }
}

/// Whether a provider wants a key. One whose key has a source in the configuration always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyNeed {
    /// A request without a key is not worth making.
    Required,
    /// A server without keys, as one's own often is; a key that is there is sent.
    Optional,
}

impl KeyNeed {
    /// The need of a provider, see [`Provider::takes_key`].
    pub fn of(provider: &Provider) -> Self {
        match provider.takes_key() {
            true => KeyNeed::Required,
            false => KeyNeed::Optional,
        }
    }
}
