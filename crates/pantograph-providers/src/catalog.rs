//! Well-known providers and their current models: limits, prices, what they can do.
//!
//! Compiled in as data, so that a key alone is enough. The providers are written by hand, below;
//! their models lie in `catalog/*.json`, which `scripts/refresh-catalog` writes and which name
//! their source and its day. A provider's models are read when they are first asked for.
//!
//! ```
//! use pantograph_providers::catalog;
//!
//! let provider = catalog::provider("anthropic").unwrap();
//! assert_eq!(provider.key_variables, ["ANTHROPIC_API_KEY"]);
//! let model = provider.model(provider.default_model.unwrap()).unwrap();
//! assert!(model.context_window >= 200_000);
//! ```

mod entries;
mod model;

use std::sync::OnceLock;

pub use model::CatalogModel;

use model::Cut;

/// A provider that panto knows without being told.
#[derive(Debug)]
pub struct CatalogProvider {
    /// Its name in model references.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The protocol that it speaks best.
    pub protocol: &'static str,
    /// Where it is reached.
    pub base_url: &'static str,
    /// Which server's deviations hold for `openai-chat`, one of
    /// [`OpenAiChatFlags::SERVERS`](crate::OpenAiChatFlags::SERVERS); `None` if there are none.
    pub server: Option<&'static str>,
    /// The environment variables that usually hold its key, the first that is set wins. Empty
    /// for a server on one's own machine, which takes none.
    pub key_variables: &'static [&'static str],
    /// Where a person gets a key.
    pub key_page: Option<&'static str>,
    /// The model for whoever names none; `None` for a server without models of its own.
    pub default_model: Option<&'static str>,
    json: Option<&'static str>,
}

/// What has been read of the data, in the order of the providers.
static READ: [OnceLock<Cut>; entries::PROVIDERS.len()] =
    [const { OnceLock::new() }; entries::PROVIDERS.len()];

/// What a server without models of its own has.
static NOTHING: Cut = Cut::nothing();

/// Every provider: first those that a key is looked for by itself, in that order, then servers on
/// one's own machine.
pub fn providers() -> &'static [CatalogProvider] {
    &entries::PROVIDERS
}

/// The provider of that name.
pub fn provider(name: &str) -> Option<&'static CatalogProvider> {
    providers().iter().find(|provider| provider.name == name)
}

impl CatalogProvider {
    /// Its current models, sorted by id. Read from the data on first use.
    pub fn models(&'static self) -> &'static [CatalogModel] {
        &self.cut().models
    }

    /// The model of that id.
    pub fn model(&'static self, id: &str) -> Option<&'static CatalogModel> {
        let models = self.models();
        let at = models.binary_search_by(|model| model.id.cmp(id)).ok()?;
        models.get(at)
    }

    /// Where the facts about its models come from; empty for one without models.
    pub fn source(&'static self) -> &'static str {
        self.cut().source
    }

    /// The day of the source, as `YYYY-MM-DD`; empty for one without models.
    pub fn date(&'static self) -> &'static str {
        self.cut().date
    }

    fn cut(&'static self) -> &'static Cut {
        let place = providers()
            .iter()
            .zip(&READ)
            .find(|(provider, _)| provider.name == self.name);
        match (place, self.json) {
            // A test reads every file, so none fails here.
            (Some((_, read)), Some(json)) => {
                read.get_or_init(|| Cut::parse(json).unwrap_or(Cut::nothing()))
            }
            _ => &NOTHING,
        }
    }
}

#[cfg(test)]
mod tests;
