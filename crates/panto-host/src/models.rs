//! Which model answers: from a person's choice to a protocol and a model ready to be asked.
//!
//! What a person may write is in `docs/configuration.md`, "Model references"; the module
//! `find` is the part of it that reads names.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use pantograph::protocol::Protocol;
use pantograph::{Governor, Model, ModelRef, Origin};
use parking_lot::Mutex;

use crate::config::{Config, Provider};
use crate::nearest::meant;

mod error;
mod find;
mod keys;
mod late;
mod offered;
mod pick;
mod reasoning;
mod registry;
mod resolve;
mod session;

pub use error::{ChoiceNote, ChoiceWarning, ChooseError, ChosenBy};
pub use keys::{KeyLookup, KeyState};
pub use late::LateProtocols;
pub use offered::{DEFAULT_PROTOCOL, OfferedModel, OfferedProvider, provider};
pub use registry::{ProtocolError, ProtocolRegistry};
pub use resolve::{ResolveError, Resolved};

use pick::Pick;

/// Tokens that an unlisted model is taken to hold.
pub const UNLISTED_CONTEXT_WINDOW: u64 = 32_768;
/// Tokens that an unlisted model of a provider with a list is asked for at most.
pub const UNLISTED_MAX_OUTPUT: u64 = 4_096;
/// Tokens that a model of the catalog is asked for at most, unless its `max_output` is set: small
/// accounts are refused for what is asked for, not for what comes.
pub const DEFAULT_MAX_OUTPUT: u64 = 32_000;

/// The provider of a model that is named together with its place only.
pub const LOCAL_PROVIDER: &str = "local";

/// The models that the catalog and a configuration offer.
///
/// One value serves the whole process: each provider has one protocol and one [`Governor`],
/// made when it is first chosen and shared by all its models.
pub struct Models {
    config: Arc<Config>,
    registry: ProtocolRegistry,
    keys: Box<dyn KeyLookup>,
    /// By the provider's name and place.
    opened: Mutex<HashMap<(String, Option<String>), Opened>>,
}

/// What all models of one provider share.
#[derive(Clone)]
struct Opened {
    protocol: Arc<dyn Protocol>,
    governor: Arc<Governor>,
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models").finish_non_exhaustive()
    }
}

/// What a person asked for on the command line; what is `None` comes from the configuration.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChoiceRequest<'a> {
    /// `--model`: `provider:alias`, or less where that is enough.
    pub model: Option<&'a str>,
    /// `--reasoning`: one of [`REASONING`](crate::config::REASONING).
    pub reasoning: Option<&'a str>,
    /// `--base-url`: where the model is reached instead.
    pub base_url: Option<&'a str>,
    /// Of the last answer in the session that is gone on with: its model answers again.
    pub session: Option<&'a Origin>,
}

/// A model that was chosen.
#[derive(Clone)]
pub struct Chosen {
    /// How it is reached.
    pub protocol: Arc<dyn Protocol>,
    /// The model, with its limits, its price and the reasoning label in force.
    pub model: Model,
    /// Its provider as it is in force, the catalog's part included.
    pub provider: Provider,
    /// What panto chose by itself; for standard error.
    pub notes: Vec<ChoiceNote>,
    /// For standard error.
    pub warnings: Vec<ChoiceWarning>,
}

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chosen")
            .field("protocol", &self.protocol.name())
            .field("model", &self.model)
            .field("provider", &self.provider)
            .field("notes", &self.notes)
            .field("warnings", &self.warnings)
            .finish()
    }
}

impl Models {
    /// Whether a protocol is there without any extension.
    pub fn has_protocol(&self, name: &str) -> bool {
        self.registry.names().any(|known| known == name)
    }

    /// The models of the catalog and of `config`, reached over the protocols of `registry`. No
    /// key is known: see [`Models::with_keys`].
    pub fn new(config: Arc<Config>, registry: ProtocolRegistry) -> Self {
        Self {
            config,
            registry,
            keys: Box::new(|_: &Provider| None),
            opened: Mutex::default(),
        }
    }

    /// The same, with the keys that `keys` knows of. They decide which model answers if nobody
    /// names one, and at which providers a bare name is looked for.
    pub fn with_keys(self, keys: impl KeyLookup + 'static) -> Self {
        Self {
            keys: Box::new(keys),
            ..self
        }
    }

    /// Looks up the protocols of chosen models that extensions had not registered yet.
    pub fn find_late(&self, find: impl Fn(&str) -> Option<Arc<dyn Protocol>>) {
        self.registry.find_late(find);
    }

    /// Everything that there is to choose from, the providers of the configuration alone first.
    /// Reads the whole catalog.
    pub fn offered(&self) -> Vec<OfferedProvider> {
        offered::all(&self.config, &*self.keys)
    }

    /// The listed models whose names are nearly `text`, best first, a few. Reads the whole catalog.
    pub fn near(&self, text: &str) -> Vec<ModelRef> {
        find::near(text, &self.all())
    }

    /// Finds what a person chose: on the command line, else the model of the session, else that
    /// of the configuration; if nobody chose, the first provider of the catalog that has a key
    /// gives its default model, with a note. A session's model that cannot be asked now is
    /// passed over with a note.
    ///
    /// A model that its provider does not list is taken with [`UNLISTED_CONTEXT_WINDOW`] and
    /// [`UNLISTED_MAX_OUTPUT`], and a warning; if the provider is a server of the person's own,
    /// without the last two. A listed model that says which reasoning labels it knows takes no
    /// other from the command line, and from the configuration the nearest, with a warning; one
    /// that can be told nothing gets none, with a warning; any other model takes every label.
    ///
    /// # Errors
    ///
    /// [`ChooseError`] if no model is named and there is no key, the name may mean several, its
    /// provider is unknown or unusable, or the label does not fit.
    pub fn choose(&self, request: &ChoiceRequest<'_>) -> Result<Chosen, ChooseError> {
        let Pick {
            reference,
            provider,
            mut notes,
        } = self.pick(request)?;
        let listed = offered::model(&provider, &reference);
        let elsewhere = self.key_elsewhere(&reference, &provider, request);
        let mut warnings: Vec<_> = elsewhere.into_iter().collect();
        let reasoning = self.reasoning(request, &reference, listed.as_ref(), &mut warnings)?;
        let opened = self.open(&provider)?;
        let model = match &listed {
            Some(listed) => listed.to_model(),
            None if offered::is_own(&provider) => {
                notes.extend(not_among(&reference, &provider));
                offered::own_model(reference).to_model()
            }
            None => {
                warnings.push(unlisted(&reference, &provider));
                Model {
                    context_window: Some(UNLISTED_CONTEXT_WINDOW),
                    max_output: Some(UNLISTED_MAX_OUTPUT),
                    ..Model::new(reference)
                }
            }
        };
        let model = Model {
            base_url: provider.base_url.as_deref().cloned(),
            reasoning,
            limits: provider.limits(),
            retry: provider.retry(),
            governor: opened.governor,
            ..model
        };
        notes.extend(session::moved(&model, request));
        Ok(Chosen {
            protocol: opened.protocol,
            model,
            provider,
            notes,
            warnings,
        })
    }

    /// What the provider's models share, made on first use.
    fn open(&self, provider: &Provider) -> Result<Opened, ChooseError> {
        let place = (provider.name.clone(), provider.base_url.as_deref().cloned());
        // Held while the protocol is made, so that two choices at once make one.
        let mut opened = self.opened.lock();
        if let Some(open) = opened.get(&place) {
            return Ok(open.clone());
        }
        let open = Opened {
            protocol: self.make(provider)?,
            governor: Arc::default(),
        };
        opened.insert(place, open.clone());
        Ok(open)
    }

    fn make(&self, provider: &Provider) -> Result<Arc<dyn Protocol>, ChooseError> {
        let Some(name) = &provider.protocol else {
            return Err(ChooseError::NoProtocol {
                provider: provider.name.clone(),
                set_at: provider.source.clone(),
                known: self.registry.names().map(str::to_owned).collect(),
            });
        };
        match self.registry.make(name, provider) {
            Some(Ok(protocol)) => Ok(protocol),
            Some(Err(cause)) => Err(ChooseError::Protocol {
                provider: provider.name.clone(),
                protocol: name.value.clone(),
                set_at: provider.source.clone(),
                cause,
            }),
            None => Err(ChooseError::UnknownProtocol {
                provider: provider.name.clone(),
                protocol: name.value.clone(),
                set_at: name.source.clone(),
                known: self.registry.names().map(str::to_owned).collect(),
            }),
        }
    }
}

fn unlisted(reference: &ModelRef, provider: &Provider) -> ChoiceWarning {
    let near = find::near(reference.alias(), &offered::references(provider));
    ChoiceWarning::Unlisted {
        model: reference.clone(),
        near: meant(&near),
    }
}

/// That a model is not one of those that a person has listed for their server, if its name is
/// nearly that of one.
fn not_among(reference: &ModelRef, provider: &Provider) -> Option<ChoiceNote> {
    let near = find::near(reference.alias(), &offered::references(provider));
    (!near.is_empty()).then(|| ChoiceNote::NotAmong {
        model: reference.clone(),
        near: meant(&near),
    })
}

#[cfg(test)]
mod tests;
