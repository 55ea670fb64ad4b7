//! What there is to choose from: the catalog with the configuration over it.

use pantograph::{Attachments, ForcedTool, Model, ModelRef, Price, ReasoningControl};
use pantograph_providers::catalog::{self, CatalogModel};

use super::find;
use super::keys::{KeyLookup, KeyState};
use super::{DEFAULT_MAX_OUTPUT, UNLISTED_CONTEXT_WINDOW};
use crate::config::{Config, ModelSettings, Provider, Source, Sourced};

/// The protocol of a provider that says only where it is reached.
pub const DEFAULT_PROTOCOL: &str = "openai-chat";

/// A provider and the models that are listed for it.
#[derive(Debug, Clone)]
pub struct OfferedProvider {
    /// Its name in model references.
    pub name: String,
    /// Its name for people; that in references if it has no other.
    pub title: String,
    /// Whether the configuration says anything about it.
    pub is_configured: bool,
    /// What is known about its key.
    pub key: KeyState,
    /// Its models, by alias.
    pub models: Vec<OfferedModel>,
}

/// A listed model: the catalog's facts, and over them what the configuration sets.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedModel {
    /// How people name it.
    pub reference: ModelRef,
    /// Its name for people, if the catalog has one.
    pub name: Option<&'static str>,
    /// When it came out, as `YYYY-MM-DD`, if the catalog knows.
    pub released: Option<&'static str>,
    /// Its name on the wire.
    pub wire_model: String,
    /// Tokens that a request and its answer may hold together.
    pub context_window: Option<u64>,
    /// Tokens that an answer may have.
    pub max_output: Option<u64>,
    /// What it costs.
    pub price: Option<Price>,
    /// The reasoning labels that it takes; `None` if any is passed on, empty if none is.
    pub reasoning: Option<Vec<String>>,
    /// How it takes a label; `None` means as its protocol's newest models do.
    pub reasoning_control: Option<ReasoningControl>,
    /// Which attachments it takes.
    pub attachments: Attachments,
    /// Whether it can be made to call a tool.
    pub forced_tool: ForcedTool,
    /// Tokens that a request asks for at most.
    asked_output: Option<u64>,
    /// Where the labels are listed.
    pub(super) reasoning_source: Source,
}

impl OfferedModel {
    fn new(
        reference: ModelRef,
        known: Option<&'static CatalogModel>,
        set: Option<&ModelSettings>,
    ) -> Self {
        let plain = Model::new(reference);
        let set_text = |read: fn(&ModelSettings) -> &Option<Sourced<String>>| {
            set.and_then(|set| read(set).as_deref())
        };
        let labels = set.and_then(|set| set.reasoning.as_ref());
        let known_control = known.map(|known| known.reasoning_control);
        let set_output = set.and_then(|set| set.max_output.as_deref().copied());
        let known_output = known.map(|known| known.max_output);
        Self {
            name: known.map(|known| known.name),
            released: known.map(|known| known.released),
            wire_model: set_text(|set| &set.id).unwrap_or(&plain.wire_model).clone(),
            context_window: set
                .and_then(|set| set.context_window.as_deref().copied())
                .or(known.map(|known| known.context_window)),
            max_output: set_output.or(known_output),
            asked_output: set_output.or(known_output.map(|most| most.min(DEFAULT_MAX_OUTPUT))),
            price: price(
                set.and_then(|set| set.price),
                known.and_then(|known| known.price),
            ),
            reasoning: match (labels, known) {
                (Some(labels), _) => Some(labels.value.clone()),
                (None, Some(known)) => Some(
                    known
                        .reasoning
                        .iter()
                        .map(|label| (*label).to_owned())
                        .collect(),
                ),
                (None, None) => None,
            },
            reasoning_source: labels.map_or(Source::Default, |labels| labels.source.clone()),
            reasoning_control: set_text(|set| &set.reasoning_control)
                .and_then(|control| ReasoningControl::parse(control))
                // Whoever lists labels says that it takes them.
                .or(known_control
                    .filter(|control| labels.is_none() || *control != ReasoningControl::None)),
            attachments: set
                .and_then(|set| set.attachments.as_deref().copied())
                .map(Attachments::from)
                .or(known.map(|known| Attachments {
                    images: known.images,
                    documents: known.pdf,
                }))
                .unwrap_or(plain.attachments),
            forced_tool: set_text(|set| &set.forced_tool)
                .and_then(|forced| ForcedTool::parse(forced))
                .or(known.map(|known| known.forced_tool))
                .unwrap_or(plain.forced_tool),
            reference: plain.reference,
        }
    }

    /// The model as far as its own facts go.
    pub(super) fn to_model(&self) -> Model {
        Model {
            wire_model: self.wire_model.clone(),
            context_window: self.context_window,
            max_output: self.asked_output,
            price: self.price,
            reasoning_control: self.reasoning_control,
            attachments: self.attachments,
            forced_tool: self.forced_tool,
            ..Model::new(self.reference.clone())
        }
    }
}

/// The parts that are set, and the others as they are known.
fn price(set: Option<Price>, known: Option<Price>) -> Option<Price> {
    let (Some(set), Some(known)) = (set, known) else {
        return set.or(known);
    };
    Some(Price {
        input: set.input.or(known.input),
        output: set.output.or(known.output),
        cache_read: set.cache_read.or(known.cache_read),
        cache_write: set.cache_write.or(known.cache_write),
    })
}

/// Every name that has a provider: those of the configuration alone, by name, then the catalog's
/// in its order.
pub(super) fn provider_names(config: &Config) -> impl Iterator<Item = &str> {
    let own = config.providers.keys().map(String::as_str);
    let own = own.filter(|name| catalog::provider(name).is_none());
    own.chain(catalog::providers().iter().map(|provider| provider.name))
}

/// What is in force for a provider: the configuration's settings, and the catalog's for what those
/// leave out. `None` if neither has it.
pub fn provider(config: &Config, name: &str) -> Option<Provider> {
    let set = config.providers.get(name).cloned();
    let known = catalog::provider(name);
    let mut provider = match (set, known) {
        (Some(set), _) => set,
        (None, Some(_)) => Provider::blank(name),
        (None, None) => return None,
    };
    if let Some(known) = known {
        let fill = |set: &mut Option<Sourced<String>>, known: &str| {
            set.get_or_insert_with(|| Sourced::default_value(known.to_owned()));
        };
        fill(&mut provider.protocol, known.protocol);
        fill(&mut provider.base_url, known.base_url);
        if let Some(server) = known.server {
            fill(&mut provider.server, server);
        }
    }
    Some(with_default_protocol(provider))
}

/// The same with the protocol that goes without saying.
pub(super) fn with_default_protocol(mut provider: Provider) -> Provider {
    if provider.base_url.is_some() {
        provider
            .protocol
            .get_or_insert_with(|| Sourced::default_value(DEFAULT_PROTOCOL.to_owned()));
    }
    provider
}

/// Whether a provider is a server of the person's own, of which the catalog knows no model: what
/// it has is theirs to know.
pub(super) fn is_own(provider: &Provider) -> bool {
    let known = provider.catalog();
    known.is_none_or(|known| known.default_model.is_none())
}

/// A model that is not listed, of a server of the person's own.
pub(super) fn own_model(reference: ModelRef) -> OfferedModel {
    OfferedModel {
        context_window: Some(UNLISTED_CONTEXT_WINDOW),
        ..OfferedModel::new(reference, None, None)
    }
}

/// The model that the configuration names, if it is an unlisted one of a server of one's own.
pub(super) fn named_own(config: &Config, provider: &Provider) -> Option<OfferedModel> {
    let reference = ModelRef::parse(config.model.as_deref()?).ok()?;
    let is_it = reference.provider() == provider.name && is_own(provider);
    let found = is_it.then(|| find::find(reference.alias(), &references(provider)))?;
    found.is_empty().then(|| own_model(reference))
}

/// The listed model of that alias.
pub(super) fn model(provider: &Provider, reference: &ModelRef) -> Option<OfferedModel> {
    let set = provider.models.get(reference.alias());
    let id = set.and_then(|set| set.id.as_deref());
    let id = id.map_or(reference.alias(), String::as_str);
    let known = provider.catalog().and_then(|known| known.model(id));
    (set.is_some() || known.is_some()).then(|| OfferedModel::new(reference.clone(), known, set))
}

/// The names of the models that are listed for a provider, sorted.
pub(super) fn references(provider: &Provider) -> Vec<ModelRef> {
    let set = provider.models.keys().map(String::as_str);
    let known = provider.catalog().map(|known| known.models());
    let known = known.unwrap_or_default().iter().map(|model| model.id);
    let mut aliases: Vec<&str> = set.chain(known).collect();
    aliases.sort_unstable();
    aliases.dedup();
    aliases
        .into_iter()
        .filter_map(|alias| ModelRef::parse(&format!("{}:{alias}", provider.name)).ok())
        .collect()
}

/// Everything that there is to choose from.
pub(super) fn all(config: &Config, keys: &dyn KeyLookup) -> Vec<OfferedProvider> {
    let providers = provider_names(config).filter_map(|name| provider(config, name));
    providers
        .map(|provider| {
            let references = references(&provider);
            OfferedProvider {
                title: match provider.catalog() {
                    Some(known) => known.title.to_owned(),
                    None => provider.name.clone(),
                },
                is_configured: config.providers.contains_key(&provider.name),
                key: KeyState::of(&provider, keys),
                models: references
                    .iter()
                    .filter_map(|reference| model(&provider, reference))
                    .chain(named_own(config, &provider))
                    .collect(),
                name: provider.name,
            }
        })
        .collect()
}
