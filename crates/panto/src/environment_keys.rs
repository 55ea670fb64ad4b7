//! Keys in environment variables.

use std::sync::Arc;

use panto_host::config::Provider;
use panto_host::models::{KeyLookup, ProtocolError};
use pantograph_providers::{Credentials, NoKey, StaticKey};

/// The keys that environment variables hold.
pub(crate) struct EnvironmentKeys;

impl KeyLookup for EnvironmentKeys {
    fn find(&self, provider: &Provider) -> Option<String> {
        let (variable, _) = key(provider)?;
        Some(format!("the environment variable {variable}"))
    }
}

/// What a protocol gets a provider's key from.
///
/// # Errors
///
/// The provider takes a key, and no variable holds one.
pub(crate) fn credentials(provider: &Provider) -> Result<Arc<dyn Credentials>, ProtocolError> {
    match key(provider) {
        Some((variable, key)) => {
            let source = format!("the environment variable {variable}");
            Ok(Arc::new(StaticKey::new(&key, source)))
        }
        None if provider.takes_key() => {
            let variables = provider.key_variables().join(" or ");
            Err(format!("no key: {variables} is not set").into())
        }
        None => Ok(Arc::new(NoKey)),
    }
}

/// The first variable that holds a key, and the key.
fn key(provider: &Provider) -> Option<(String, String)> {
    provider.key_variables().into_iter().find_map(|variable| {
        let key = std::env::var(variable).ok()?;
        (!key.trim().is_empty()).then(|| (variable.to_owned(), key))
    })
}
