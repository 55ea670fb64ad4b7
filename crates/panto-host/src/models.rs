//! Which model answers: from a person's choice to a protocol and a model ready to be asked.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use pantograph::protocol::Protocol;
use pantograph::{Governor, Model, ModelRef};
use parking_lot::Mutex;

use crate::config::{Config, ModelSettings, Provider, REASONING};
use crate::nearest::{did_you_mean, meant, nearest};

mod error;
mod registry;

pub use error::{ChoiceWarning, ChooseError, ChosenBy};
pub use registry::{ProtocolError, ProtocolRegistry};

/// Tokens that an unlisted model is taken to hold.
pub const UNLISTED_CONTEXT_WINDOW: u64 = 32_768;
/// Tokens that an unlisted model is asked for at most.
pub const UNLISTED_MAX_OUTPUT: u64 = 4_096;

/// The models that a configuration offers.
///
/// One value serves the whole process: each provider has one protocol and one [`Governor`],
/// made when it is first chosen and shared by all its models.
pub struct Models {
    config: Arc<Config>,
    registry: ProtocolRegistry,
    opened: Mutex<HashMap<String, Opened>>,
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
    /// `--model`: `provider:alias`.
    pub model: Option<&'a str>,
    /// `--reasoning`: one of [`REASONING`].
    pub reasoning: Option<&'a str>,
}

/// A model that was chosen.
#[derive(Clone)]
pub struct Chosen {
    /// How it is reached.
    pub protocol: Arc<dyn Protocol>,
    /// The model, with its limits, its price and the reasoning label in force.
    pub model: Model,
    /// For standard error.
    pub warnings: Vec<ChoiceWarning>,
}

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chosen")
            .field("protocol", &self.protocol.name())
            .field("model", &self.model)
            .field("warnings", &self.warnings)
            .finish()
    }
}

impl Models {
    /// The models of `config`, reached over the protocols of `registry`.
    pub fn new(config: Arc<Config>, registry: ProtocolRegistry) -> Self {
        Self {
            config,
            registry,
            opened: Mutex::default(),
        }
    }

    /// Finds what a person chose.
    ///
    /// A model that its provider does not list is taken with [`UNLISTED_CONTEXT_WINDOW`] and
    /// [`UNLISTED_MAX_OUTPUT`], and a warning. A listed model that says which reasoning labels
    /// it knows takes no other; any other model takes every label.
    ///
    /// # Errors
    ///
    /// [`ChooseError`] if no model is named, its provider is unknown or unusable, or the label
    /// does not fit.
    pub fn choose(&self, request: &ChoiceRequest<'_>) -> Result<Chosen, ChooseError> {
        let (reference, by) = self.reference(request)?;
        let provider = self.provider(&reference, &by)?;
        let listed = provider.models.get(reference.alias());
        let reasoning = self.reasoning(request, &reference, listed)?;
        let opened = self.open(provider)?;
        let warnings = match listed {
            Some(_) => Vec::new(),
            None => vec![unlisted(&reference, provider)],
        };
        let model = Model {
            base_url: provider.base_url.as_deref().cloned(),
            reasoning,
            limits: provider.limits(),
            retry: provider.retry(),
            governor: opened.governor,
            ..model(reference, listed)
        };
        Ok(Chosen {
            protocol: opened.protocol,
            model,
            warnings,
        })
    }

    /// The reference that is in force, and who wrote it.
    fn reference(&self, request: &ChoiceRequest<'_>) -> Result<(ModelRef, ChosenBy), ChooseError> {
        let (text, by) = match (request.model, &self.config.model) {
            (Some(text), _) => (text, ChosenBy::CommandLine("--model")),
            (None, Some(set)) => (set.as_str(), ChosenBy::Config(Box::new(set.source.clone()))),
            (None, None) => return Err(self.no_model()),
        };
        match ModelRef::parse(text) {
            Ok(reference) => Ok((reference, by)),
            Err(_) => Err(ChooseError::BadReference {
                text: text.to_owned(),
                by,
                suggestion: self.only_model_called(text),
            }),
        }
    }

    fn no_model(&self) -> ChooseError {
        ChooseError::NoModel {
            user_file: self.config.user_file.clone(),
            models: self.references().map(|model| model.to_string()).collect(),
        }
    }

    /// The listed models, sorted.
    fn references(&self) -> impl Iterator<Item = ModelRef> {
        self.config.providers.values().flat_map(|provider| {
            let aliases = provider.models.keys();
            aliases.filter_map(|alias| ModelRef::parse(&format!("{}:{alias}", provider.name)).ok())
        })
    }

    /// The model that exactly one provider lists under `alias`.
    fn only_model_called(&self, alias: &str) -> Option<ModelRef> {
        let mut found = self.references().filter(|model| model.alias() == alias);
        match (found.next(), found.next()) {
            (Some(model), None) => Some(model),
            _ => None,
        }
    }

    fn provider(&self, reference: &ModelRef, by: &ChosenBy) -> Result<&Provider, ChooseError> {
        let providers = &self.config.providers;
        providers
            .get(reference.provider())
            .ok_or_else(|| ChooseError::UnknownProvider {
                name: reference.provider().to_owned(),
                by: by.clone(),
                near: did_you_mean(reference.provider(), providers.keys().map(String::as_str)),
                providers: providers.keys().cloned().collect(),
                files: self.config.files.clone(),
            })
    }

    /// The label that is in force, if any.
    fn reasoning(
        &self,
        request: &ChoiceRequest<'_>,
        reference: &ModelRef,
        listed: Option<&ModelSettings>,
    ) -> Result<Option<String>, ChooseError> {
        let (label, by) = match (request.reasoning, &self.config.reasoning) {
            (Some(label), _) => (label, ChosenBy::CommandLine("--reasoning")),
            (None, Some(set)) => (set.as_str(), ChosenBy::Config(Box::new(set.source.clone()))),
            (None, None) => return Ok(None),
        };
        if !REASONING.contains(&label) {
            return Err(ChooseError::UnknownReasoning {
                label: label.to_owned(),
                by,
                near: did_you_mean(label, REASONING.iter().copied()),
            });
        }
        match listed.and_then(|model| model.reasoning.as_ref()) {
            Some(known) if !known.iter().any(|known| known == label) => {
                Err(ChooseError::Reasoning {
                    model: reference.clone(),
                    label: label.to_owned(),
                    by,
                    known: known.value.clone(),
                    listed: Box::new(known.source.clone()),
                })
            }
            _ => Ok(Some(label.to_owned())),
        }
    }

    /// What the provider's models share, made on first use.
    fn open(&self, provider: &Provider) -> Result<Opened, ChooseError> {
        // Held while the protocol is made, so that two choices at once make one.
        let mut opened = self.opened.lock();
        if let Some(open) = opened.get(&provider.name) {
            return Ok(open.clone());
        }
        let open = Opened {
            protocol: self.make(provider)?,
            governor: Arc::default(),
        };
        opened.insert(provider.name.clone(), open.clone());
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

/// The model as far as its own settings go.
fn model(reference: ModelRef, listed: Option<&ModelSettings>) -> Model {
    let model = Model::new(reference);
    match listed {
        Some(listed) => Model {
            wire_model: match &listed.id {
                Some(id) => id.value.clone(),
                None => model.wire_model,
            },
            context_window: listed.context_window.as_deref().copied(),
            max_output: listed.max_output.as_deref().copied(),
            price: listed.price,
            ..model
        },
        None => Model {
            context_window: Some(UNLISTED_CONTEXT_WINDOW),
            max_output: Some(UNLISTED_MAX_OUTPUT),
            ..model
        },
    }
}

fn unlisted(reference: &ModelRef, provider: &Provider) -> ChoiceWarning {
    let aliases = provider.models.keys().map(String::as_str);
    let near: Vec<_> = nearest(reference.alias(), aliases)
        .into_iter()
        .map(|alias| format!("{}:{alias}", provider.name))
        .collect();
    ChoiceWarning::Unlisted {
        model: reference.clone(),
        near: meant(&near),
    }
}

#[cfg(test)]
mod tests;
