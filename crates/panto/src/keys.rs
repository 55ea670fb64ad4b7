//! Where this machine keeps the keys of providers.

use std::collections::{BTreeSet, HashMap};
use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use panto_host::Config;
use panto_host::config::Provider;
use panto_host::credentials::{CredentialStore, KeyNeed, KeyRequest, KeySources};
use panto_host::models::KeyLookup;
use parking_lot::Mutex;

use crate::failure::Failure;
use crate::place::Place;
use crate::protocols::CredentialsOf;
use crate::streams;

/// The keys of all providers: the environment's, the commands', the credential file's.
#[derive(Clone)]
pub(crate) struct Keys(Arc<Shared>);

struct Shared {
    store: Option<CredentialStore>,
    /// The user's configuration file, for hints.
    config_file: Option<PathBuf>,
    /// What was said of sources that are broken: one serves many providers.
    said: Mutex<BTreeSet<String>>,
    /// Those that a protocol was made with.
    in_use: Mutex<HashMap<Reached, Arc<KeySources>>>,
}

/// A provider's name and place: one may be reached at several, and not need a key at each.
type Reached = (String, Option<String>);

fn reached(provider: &Provider) -> Reached {
    let place = provider.base_url.as_deref();
    (provider.name.clone(), place.cloned())
}

impl Keys {
    pub(crate) fn new(place: &Place, config: &Config) -> Self {
        Self(Arc::new(Shared {
            // Without a home there is no file; the other sources stand without it.
            store: CredentialStore::new(&place.dirs).ok(),
            config_file: config.user_file.clone(),
            said: Mutex::default(),
            in_use: Mutex::default(),
        }))
    }

    /// What protocols are made with.
    pub(crate) fn credentials(&self) -> CredentialsOf {
        let keys = self.clone();
        Box::new(move |provider| {
            let sources = Arc::new(keys.sources(provider));
            let mut in_use = keys.0.in_use.lock();
            in_use.insert(reached(provider), Arc::clone(&sources));
            sources
        })
    }

    /// The sources of a provider's key.
    pub(crate) fn sources(&self, provider: &Provider) -> KeySources {
        let known = provider.catalog();
        KeySources::new(&KeyRequest {
            provider: &provider.name,
            settings: Some(provider),
            well_known: known.map_or(&[], |known| known.key_variables),
            need: KeyNeed::of(provider),
            store: self.0.store.as_ref(),
            config_file: self.0.config_file.as_deref(),
            lookup: &|name| env::var_os(name),
        })
    }

    /// Makes sure that a provider's protocol gets a key, if it takes one.
    ///
    /// # Errors
    ///
    /// There is none, or its source gives none.
    pub(crate) async fn prepare(&self, provider: &Provider) -> Result<(), Failure> {
        let sources = self.0.in_use.lock().get(&reached(provider)).cloned();
        let Some(sources) = sources else {
            return Ok(());
        };
        for warning in &sources.prepare().await?.warnings {
            streams::warn(warning);
        }
        Ok(())
    }

    fn warn_once(&self, message: &str) {
        if self.0.said.lock().insert(message.to_owned()) {
            streams::warn(message);
        }
    }
}

impl KeyLookup for Keys {
    fn find(&self, provider: &Provider) -> Option<String> {
        match self.sources(provider).find() {
            Ok(source) => source.map(|source| source.to_string()),
            Err(error) => {
                self.warn_once(&error.to_string());
                None
            }
        }
    }

    fn file(&self) -> Option<PathBuf> {
        let store = self.0.store.as_ref();
        store.map(|store| store.path().to_owned())
    }
}

/// Keeps other programs of the same user, those of tools too, from reading the process's
/// environment and memory, in which keys are. The superuser still can.
pub(crate) fn hide_environment() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Where it is refused it is as it was.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

#[cfg(test)]
mod tests {
    use panto_host::config::Sourced;

    use super::*;

    #[tokio::test]
    async fn a_provider_at_two_places_has_the_needs_of_each() {
        let keys = Keys(Arc::new(Shared {
            store: None,
            config_file: None,
            said: Mutex::default(),
            in_use: Mutex::default(),
        }));
        let set = |text: &str| Some(Sourced::default_value(text.to_owned()));
        let at = |url: &str| {
            let mut provider = Provider::blank("work");
            provider.base_url = set(url);
            provider
        };
        let (mut home, own) = (at("https://a.example"), at("http://127.0.0.1:1"));
        home.api_key_env = set("SET_IN_NO_ENVIRONMENT");
        let credentials = keys.credentials();
        for provider in [&home, &own] {
            credentials(provider);
        }
        assert!(keys.prepare(&home).await.is_err());
        assert!(keys.prepare(&own).await.is_ok());
    }
}
