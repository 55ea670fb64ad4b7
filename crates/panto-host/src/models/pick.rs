//! Which model is meant, before anything is opened.

use pantograph::ModelRef;
use pantograph_providers::{BaseUrl, catalog};

use super::{
    ChoiceNote, ChoiceRequest, ChoiceWarning, ChooseError, ChosenBy, LOCAL_PROVIDER, Models, find,
    offered,
};
use crate::config::{Provider, Sourced};
use crate::nearest::did_you_mean;

/// What a choice comes to before anything is opened.
pub(super) struct Pick {
    pub(super) reference: ModelRef,
    pub(super) provider: Provider,
    pub(super) notes: Vec<ChoiceNote>,
    pub(super) warnings: Vec<ChoiceWarning>,
}

impl Pick {
    fn new(reference: ModelRef, provider: Provider, notes: Vec<ChoiceNote>) -> Self {
        Self {
            reference,
            provider,
            notes,
            warnings: Vec::new(),
        }
    }
}

impl Models {
    /// The model of the command line, else of the configuration, else of the first key.
    pub(super) fn pick(&self, request: &ChoiceRequest<'_>) -> Result<Pick, ChooseError> {
        let (text, by) = match (request.model, &self.config.model) {
            (Some(text), _) => (text, ChosenBy::CommandLine("--model")),
            (None, _) if request.base_url.is_some() => return Err(ChooseError::BaseUrlAlone),
            (None, Some(set)) => (set.as_str(), ChosenBy::Config(Box::new(set.source.clone()))),
            (None, None) => return self.by_key().ok_or_else(|| self.no_model()),
        };
        let Some(url) = request.base_url else {
            return self.named(text, by);
        };
        let place = BaseUrl::parse(url).map_err(ChooseError::BaseUrl)?;
        let mut pick = self.named_at_a_place(text, by)?;
        pick.warnings.extend(self.key_elsewhere(&pick, text, place));
        pick.provider.base_url = Some(Sourced::default_value(url.to_owned()));
        pick.provider = offered::with_default_protocol(pick.provider);
        Ok(pick)
    }

    /// What is in force for the provider of that name.
    fn provider(&self, name: &str) -> Option<Provider> {
        offered::provider(&self.config, name)
    }

    /// The default model of the first provider that has a key.
    fn by_key(&self) -> Option<Pick> {
        catalog::providers().iter().find_map(|known| {
            let provider = self.provider(known.name)?;
            let model = known.default_model?;
            let key_source = self.keys.find(&provider)?;
            let reference = ModelRef::parse(&format!("{}:{model}", known.name)).ok()?;
            let note = ChoiceNote::ByKey {
                model: reference.clone(),
                key_source,
                user_file: self.config.user_file.clone(),
            };
            Some(Pick::new(reference, provider, vec![note]))
        })
    }

    fn no_model(&self) -> ChooseError {
        let hosted = catalog::providers().iter();
        let hosted = hosted.filter_map(|known| self.provider(known.name));
        let configured = self.config.providers.keys();
        let configured = configured.filter_map(|name| self.provider(name));
        ChooseError::NoModel {
            user_file: self.config.user_file.clone(),
            models: configured
                .flat_map(|provider| {
                    provider
                        .models
                        .into_keys()
                        .map(move |alias| format!("{}:{alias}", provider.name))
                })
                .collect(),
            variables: hosted
                .flat_map(|provider| {
                    let names = provider.key_variables().into_iter();
                    names.map(str::to_owned).collect::<Vec<_>>()
                })
                .collect(),
            key_file: self.keys.file(),
        }
    }

    /// The model that `text` means.
    fn named(&self, text: &str, by: ChosenBy) -> Result<Pick, ChooseError> {
        if let Ok(reference) = ModelRef::parse(text) {
            if let Some(provider) = self.provider(reference.provider()) {
                return within(provider, reference, text, by);
            }
            // An alias may have a colon too.
            return match &self.found_anywhere(text)[..] {
                [one] if one.alias() == text => self.listed(one.clone(), text, by),
                _ => Err(self.unknown_provider(&reference, by)),
            };
        }
        match &self.found_anywhere(text)[..] {
            [one] => self.listed(one.clone(), text, by),
            [] => Err(self.bad_reference(text, by)),
            several => Err(ChooseError::Ambiguous {
                text: text.to_owned(),
                by,
                models: several.iter().map(ToString::to_string).collect(),
            }),
        }
    }

    /// The model that `text` means when its place is given: of a known provider, or any at all.
    fn named_at_a_place(&self, text: &str, by: ChosenBy) -> Result<Pick, ChooseError> {
        let written = ModelRef::parse(text).ok();
        let known = written
            .clone()
            .and_then(|reference| Some((self.provider(reference.provider())?, reference)));
        if let Some((provider, reference)) = known {
            return within(provider, reference, text, by);
        }
        let provider = self
            .provider(LOCAL_PROVIDER)
            .unwrap_or_else(|| Provider::blank(LOCAL_PROVIDER));
        if let Some(reference) = written.filter(|written| written.provider() == LOCAL_PROVIDER) {
            return within(provider, reference, text, by);
        }
        match ModelRef::parse(&format!("{LOCAL_PROVIDER}:{text}")) {
            Ok(reference) => within(provider, reference, text, by),
            Err(_) => Err(self.bad_reference(text, by)),
        }
    }

    /// The warning that `place` gets a key that is another's: a server's model may have a name that
    /// reads as a provider's.
    fn key_elsewhere(&self, pick: &Pick, text: &str, place: BaseUrl) -> Option<ChoiceWarning> {
        let own = pick.provider.base_url.as_deref();
        let is_own = match own.and_then(|url| BaseUrl::parse(url).ok()) {
            Some(own) => {
                let [own, place] = [&own, &place].map(ToString::to_string);
                own.trim_end_matches('/') == place.trim_end_matches('/')
            }
            // Its settings are for whatever place is given.
            None => pick.provider.name == LOCAL_PROVIDER,
        };
        if is_own {
            return None;
        }
        Some(ChoiceWarning::KeyElsewhere {
            model: pick.reference.clone(),
            written: text.to_owned(),
            key_source: self.keys.find(&pick.provider)?,
            place,
        })
    }

    fn listed(&self, reference: ModelRef, text: &str, by: ChosenBy) -> Result<Pick, ChooseError> {
        match self.provider(reference.provider()) {
            Some(provider) => {
                let notes = read_as(text, &reference, &by);
                Ok(Pick::new(reference, provider, notes))
            }
            None => Err(self.unknown_provider(&reference, by)),
        }
    }

    /// The models that a bare name may mean, at providers that are configured or have a key.
    fn found_anywhere(&self, text: &str) -> Vec<ModelRef> {
        let names = offered::provider_names(&self.config);
        let providers = names.filter_map(|name| self.provider(name));
        let candidates: Vec<_> = providers
            .filter(|provider| {
                self.config.providers.contains_key(&provider.name)
                    || self.keys.find(provider).is_some()
            })
            .flat_map(|provider| offered::references(&provider))
            .collect();
        find::find(text, &candidates)
    }

    /// Every listed model.
    pub(super) fn all(&self) -> Vec<ModelRef> {
        let names = offered::provider_names(&self.config);
        let providers = names.filter_map(|name| self.provider(name));
        providers
            .flat_map(|provider| offered::references(&provider))
            .collect()
    }

    fn bad_reference(&self, text: &str, by: ChosenBy) -> ChooseError {
        let all = self.all();
        let mut near = find::find(text, &all);
        if near.is_empty() {
            near = find::near(text, &all);
        }
        ChooseError::BadReference {
            text: text.to_owned(),
            by,
            near: near.iter().map(ToString::to_string).collect(),
        }
    }

    fn unknown_provider(&self, reference: &ModelRef, by: ChosenBy) -> ChooseError {
        let all = || offered::provider_names(&self.config);
        ChooseError::UnknownProvider {
            name: reference.provider().to_owned(),
            by,
            near: did_you_mean(reference.provider(), all()),
            configured: self.config.providers.keys().cloned().collect(),
            files: self.config.files.clone(),
        }
    }
}

/// The model of `provider` that is meant: a listed one, or else that of exactly this name.
fn within(
    provider: Provider,
    reference: ModelRef,
    text: &str,
    by: ChosenBy,
) -> Result<Pick, ChooseError> {
    let candidates = offered::references(&provider);
    match &find::find(reference.alias(), &candidates)[..] {
        [] => Ok(Pick::new(reference, provider, Vec::new())),
        [one] => {
            let notes = read_as(text, one, &by);
            Ok(Pick::new(one.clone(), provider, notes))
        }
        several => Err(ChooseError::Ambiguous {
            text: text.to_owned(),
            by,
            models: several.iter().map(ToString::to_string).collect(),
        }),
    }
}

/// Says which model was meant, if somebody has just written it in another way.
fn read_as(text: &str, model: &ModelRef, by: &ChosenBy) -> Vec<ChoiceNote> {
    let is_plain = text == model.to_string() || text == model.alias();
    match by {
        ChosenBy::CommandLine(_) if !is_plain => vec![ChoiceNote::ReadAs {
            text: text.to_owned(),
            model: model.clone(),
        }],
        _ => Vec::new(),
    }
}
