//! Models by their exact names, for code: nothing is guessed, and nothing unlisted is taken.

use std::sync::Arc;

use pantograph::protocol::Protocol;
use pantograph::{Model, ModelRef};

use super::{ChooseError, Models, find, offered};
use crate::nearest::{did_you_mean, meant};

/// A model that was found by its name.
#[derive(Clone)]
pub struct Resolved {
    /// How it is reached.
    pub protocol: Arc<dyn Protocol>,
    /// The model, with its limits, its price and the reasoning label that was asked for.
    pub model: Model,
}

/// Why there is no such model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// Neither the catalog nor the configuration has the provider.
    #[error("there is no provider `{name}`{near}")]
    UnknownProvider {
        /// The provider.
        name: String,
        /// What was probably meant: empty, or a clause.
        near: String,
    },
    /// The provider lists no such model.
    #[error("`{model}` is not listed{near}")]
    Unlisted {
        /// The model.
        model: ModelRef,
        /// What was probably meant: empty, or a clause.
        near: String,
    },
    /// Its provider cannot be asked.
    #[error(transparent)]
    Provider(#[from] ChooseError),
}

impl Models {
    /// Makes sure that the model is listed: by the catalog, or by the configuration.
    ///
    /// # Errors
    ///
    /// [`ResolveError`], with the nearest names.
    pub fn check_listed(&self, reference: &ModelRef) -> Result<(), ResolveError> {
        let name = reference.provider();
        let Some(provider) = self.provider(name) else {
            return Err(ResolveError::UnknownProvider {
                name: name.to_owned(),
                near: did_you_mean(name, offered::provider_names(&self.config)),
            });
        };
        let is_listed = offered::model(&provider, reference).is_some()
            || offered::named_own(&self.config, &provider)
                .is_some_and(|own| own.reference == *reference);
        if is_listed {
            return Ok(());
        }
        let near = find::near(reference.alias(), &offered::references(&provider));
        Err(ResolveError::Unlisted {
            model: reference.clone(),
            near: meant(&near),
        })
    }

    /// The reasoning labels that a model lists; `None` if any is passed on.
    pub fn reasoning_labels(&self, reference: &ModelRef) -> Option<Vec<String>> {
        let provider = self.provider(reference.provider())?;
        offered::model(&provider, reference)?.reasoning
    }

    /// The protocol that a provider is reached over, by its name.
    pub fn protocol_name(&self, provider: &str) -> Option<String> {
        let protocol = self.provider(provider)?.protocol?;
        Some(protocol.value)
    }

    /// The listed model of exactly that name, with that reasoning label.
    ///
    /// # Errors
    ///
    /// [`ResolveError`].
    pub fn resolve(
        &self,
        reference: &ModelRef,
        reasoning: Option<&str>,
    ) -> Result<Resolved, ResolveError> {
        self.check_listed(reference)?;
        let unknown = || ResolveError::UnknownProvider {
            name: reference.provider().to_owned(),
            near: String::new(),
        };
        let provider = self.provider(reference.provider()).ok_or_else(unknown)?;
        let listed = offered::model(&provider, reference)
            .unwrap_or_else(|| offered::own_model(reference.clone()));
        let opened = self.open(&provider)?;
        Ok(Resolved {
            protocol: opened.protocol,
            model: Model {
                base_url: provider.base_url.as_deref().cloned(),
                reasoning: reasoning.map(str::to_owned),
                limits: provider.limits(),
                retry: provider.retry(),
                governor: opened.governor,
                ..listed.to_model()
            },
        })
    }
}
