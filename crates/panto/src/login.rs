//! `panto login` and `panto logout`: the keys in the credential file.

mod entry;
mod silent;

use std::sync::Arc;

use panto_host::config::Provider;
use panto_host::credentials::{
    CredentialStore, KeyProblem, KeySource, KeySources, KeyText, Removed, Stored,
};
use panto_host::{Config, did_you_mean, models};
use pantograph_providers::catalog;

use crate::args::{CommonArgs, LoginArgs, LogoutArgs};
use crate::failure::{Exit, Failure};
use crate::keys::Keys;
use crate::place::{Place, Workers, wait_for};
use crate::signals::Signals;
use crate::streams;
use entry::{Entered, Entry};

/// Asks for a key and stores it.
pub(crate) fn login(args: &LoginArgs, common: &CommonArgs) -> Result<Exit, Failure> {
    if !args.rest.is_empty() {
        return Err(no_key_here(&args.provider));
    }
    let desk = Desk::new(&args.provider, common)?;
    if desk.is_a_key() {
        return Err(no_key_here("PROVIDER"));
    }
    desk.warn_if_unknown();
    // Before a person types: what would be in the way.
    desk.store.read()?;
    wait_for(Workers::Few, async {
        let signals = Signals::listen()?;
        let entry = Entry::from_stdin(desk.question());
        let entered = tokio::select! {
            entered = entry.read() => entered?,
            exit = signals.first() => Entered::Interrupted(exit),
        };
        match entered {
            // Inside the runtime: there a full disk is an error rather than the end.
            Entered::Text(text) => desk.store_key(&text).map(|()| Exit::Done),
            Entered::Interrupted(exit) => {
                streams::note("nothing was stored");
                Ok(exit)
            }
        }
    })
}

/// Removes a stored key.
pub(crate) fn logout(args: &LogoutArgs, common: &CommonArgs) -> Result<(), Failure> {
    let desk = Desk::new(&args.provider, common)?;
    wait_for(Workers::None, async { desk.forget() })
}

/// What both commands work with.
struct Desk<'a> {
    provider: &'a str,
    store: CredentialStore,
    keys: Keys,
    /// Empty, if it is broken: a key can be stored and forgotten all the same.
    config: Arc<Config>,
}

impl<'a> Desk<'a> {
    fn new(provider: &'a str, common: &CommonArgs) -> Result<Self, Failure> {
        if !is_name(provider) {
            // Not repeated: it may be a key.
            return Err(Failure::usage(
                "the name of a provider has letters, digits, `_` and `-`, and nothing else",
            ));
        }
        let place = Place::find(common)?;
        let store = CredentialStore::new(&place.dirs).map_err(Failure::config)?;
        let config = place.load_config(common).unwrap_or_else(|failure| {
            streams::warn(failure.to_line());
            Arc::default()
        });
        Ok(Self {
            provider,
            store,
            keys: Keys::new(&place, &config),
            config,
        })
    }

    /// Whether a key stands in the place of the provider's name. It must not be repeated.
    fn is_a_key(&self) -> bool {
        const PREFIXES: [&str; 5] = ["sk-", "gsk_", "xai-", "AIza", "pk-"];
        /// No provider has a longer name.
        const MOST: usize = 48;
        let name = self.provider;
        let looks_like_one = name.len() > MOST || PREFIXES.iter().any(|key| name.starts_with(key));
        looks_like_one && !self.is_known()
    }

    fn is_known(&self) -> bool {
        self.names().any(|name| name == self.provider)
    }

    /// Every provider that is built in or configured.
    fn names(&self) -> impl Iterator<Item = &str> {
        let built_in = catalog::providers().iter().map(|known| known.name);
        built_in.chain(self.configured())
    }

    fn configured(&self) -> impl Iterator<Item = &str> {
        self.config.providers.keys().map(String::as_str)
    }

    fn warn_if_unknown(&self) {
        if !self.is_known() {
            streams::warn(format!(
                "`{}` is neither built in nor configured{}",
                self.provider,
                did_you_mean(self.provider, self.names())
            ));
        }
    }

    /// What a person is asked.
    fn question(&self) -> String {
        let provider = self.in_force();
        // Elsewhere than at home a key of another kind may be wanted.
        let page = match provider.takes_key() {
            true => provider.catalog().and_then(|known| known.key_page),
            false => None,
        };
        match page {
            Some(page) => format!("Key for {} ({page}): ", self.provider),
            None => format!("Key for {}: ", self.provider),
        }
    }

    fn store_key(&self, text: &str) -> Result<(), Failure> {
        let key = KeyText::entered(text).map_err(|problem| match problem {
            KeyProblem::Empty => Failure::usage("no key was given; nothing was stored"),
            problem => {
                Failure::usage(format!("this is no key: {problem}")).with_hint("nothing was stored")
            }
        })?;
        let stored = self.store.set(self.provider, &key)?;
        let provider = self.provider;
        let path = self.store.path().display();
        streams::note(match stored {
            Stored::Added => format!("stored the key of `{provider}` in `{path}`"),
            Stored::Replaced => format!("replaced the key of `{provider}` in `{path}`"),
            Stored::Unchanged => format!("this key of `{provider}` is in `{path}` already"),
        });
        match self.sources().find() {
            Ok(None | Some(KeySource::File(_))) => {}
            Ok(Some(source)) => streams::warn(format!("{source} wins over the stored key")),
            Err(error) => streams::warn(format!("{error}; it wins over the stored key")),
        }
        Ok(())
    }

    fn forget(&self) -> Result<(), Failure> {
        let removed = self.store.remove(self.provider)?;
        let provider = self.provider;
        let path = self.store.path().display();
        streams::note(match removed {
            Removed::Removed => format!("removed the key of `{provider}` from `{path}`"),
            Removed::Absent(_) if self.is_a_key() => return Err(no_key_here("PROVIDER")),
            Removed::Absent(others) => format!(
                "there is no key of `{provider}` in `{path}`{}",
                did_you_mean(provider, others.iter().map(String::as_str))
            ),
        });
        if let Ok(Some(source)) = self.sources().find() {
            streams::warn(format!("{source} still gives a key"));
        }
        Ok(())
    }

    /// Where a request would take its key from.
    fn sources(&self) -> KeySources {
        self.keys.sources(&self.in_force())
    }

    /// The provider as it would be asked.
    fn in_force(&self) -> Provider {
        let provider = models::provider(&self.config, self.provider);
        provider.unwrap_or_else(|| Provider::blank(self.provider))
    }
}

/// The same names that a model reference has.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !text.is_empty() && text.bytes().all(is_part)
}

/// A key stands on the command line; it is not repeated.
fn no_key_here(provider: &str) -> Failure {
    let provider = if is_name(provider) {
        provider
    } else {
        "PROVIDER"
    };
    Failure::usage(
        "a key is not taken from the command line, where it would stand in the list of processes \
         and in the shell's history",
    )
    .with_hint(format!(
        "`panto login {provider}` asks for it; one that a program prints is piped in: pass show \
         NAME | panto login {provider}"
    ))
}
