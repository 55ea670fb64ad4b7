//! Which model is meant, before anything is opened.

use pantograph::ModelRef;
use pantograph_providers::{BaseUrl, catalog};

use super::{
    ChoiceNote, ChoiceRequest, ChoiceWarning, ChooseError, ChosenBy, LOCAL_PROVIDER, Models, find,
    offered,
};
use crate::config::{Layer, Provider, Source, Sourced};
use crate::nearest::did_you_mean;

/// What a choice comes to before anything is opened.
pub(super) struct Pick {
    pub(super) reference: ModelRef,
    pub(super) provider: Provider,
    pub(super) notes: Vec<ChoiceNote>,
}

impl Models {
    /// The model of the command line, else of the session, else of the configuration, else of the
    /// first key.
    pub(super) fn pick(&self, request: &ChoiceRequest<'_>) -> Result<Pick, ChooseError> {
        if let Some(url) = request.base_url {
            BaseUrl::parse(url).map_err(ChooseError::BaseUrl)?;
        }
        if let Some(text) = request.model {
            let by = ChosenBy::CommandLine("--model");
            let Some(url) = request.base_url else {
                return self.named(text, by);
            };
            let mut pick = self.named_at_a_place(text, by)?;
            pick.provider.base_url = Some(Sourced::default_value(url.to_owned()));
            pick.provider = offered::with_default_protocol(pick.provider);
            return Ok(pick);
        }
        let Some(origin) = request.session else {
            return self.by_default(request);
        };
        let why = match self.of_session(origin, request) {
            Ok(pick) => return Ok(pick),
            Err(why) => why,
        };
        let mut pick = self.by_default(request)?;
        let note = ChoiceNote::InsteadOfSession {
            session: origin.reference.clone(),
            why,
            model: pick.reference.clone(),
        };
        pick.notes.insert(0, note);
        Ok(pick)
    }

    /// The model of the configuration, else of the first key.
    fn by_default(&self, request: &ChoiceRequest<'_>) -> Result<Pick, ChooseError> {
        if request.base_url.is_some() {
            return Err(ChooseError::BaseUrlAlone);
        }
        let Some(set) = &self.config.model else {
            return self.by_key().ok_or_else(|| self.no_model());
        };
        let by = ChosenBy::Config(Box::new(set.source.clone()));
        let mut pick = self.named(set.as_str(), by)?;
        if let Source::File { layer, .. } = &set.source
            && matches!(layer, Layer::Project | Layer::Local)
        {
            pick.notes.push(ChoiceNote::ByProject {
                model: pick.reference.clone(),
                set_at: set.source.clone(),
            });
        }
        Ok(pick)
    }

    /// What is in force for the provider of that name.
    pub(super) fn provider(&self, name: &str) -> Option<Provider> {
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
            Some(Pick {
                reference,
                provider,
                notes: vec![note],
            })
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
                _ => Err(self.unknown_provider(reference.provider(), by)),
            };
        }
        if let Some((provider, alias)) = halves(text) {
            return Err(self.half(text, provider, alias, by));
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
        if let Some((provider, alias)) = halves(text) {
            return Err(self.half(text, provider, alias, by));
        }
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

    /// The warning that the place of `--base-url` gets a key that is another's: a server's model may
    /// have a name that reads as a provider's.
    pub(super) fn key_elsewhere(
        &self,
        reference: &ModelRef,
        provider: &Provider,
        request: &ChoiceRequest<'_>,
    ) -> Option<ChoiceWarning> {
        let place = BaseUrl::parse(request.base_url?).ok()?;
        let own = self.provider(&provider.name);
        let own = own.and_then(|own| BaseUrl::parse(own.base_url.as_deref()?).ok());
        let is_own = match own {
            Some(own) => {
                let [own, place] = [&own, &place].map(ToString::to_string);
                own.trim_end_matches('/') == place.trim_end_matches('/')
            }
            // Its settings are for whatever place is given.
            None => provider.name == LOCAL_PROVIDER,
        };
        if is_own {
            return None;
        }
        Some(ChoiceWarning::KeyElsewhere {
            model: reference.clone(),
            written: request.model.map_or(reference.to_string(), str::to_owned),
            key_source: self.keys.find(provider)?,
            place,
        })
    }

    fn listed(&self, reference: ModelRef, text: &str, by: ChosenBy) -> Result<Pick, ChooseError> {
        match self.provider(reference.provider()) {
            Some(provider) => Ok(Pick {
                notes: read_as(text, &reference, &by),
                reference,
                provider,
            }),
            None => Err(self.unknown_provider(reference.provider(), by)),
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
        let found = find::find(text, &candidates);
        match text.strip_prefix(GOOGLE_PREFIX) {
            Some(plain) if found.is_empty() => find::find(plain, &candidates),
            _ => found,
        }
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

    /// What is wrong with a text that has nothing on one side of its colon.
    fn half(&self, text: &str, provider: &str, alias: &str, by: ChosenBy) -> ChooseError {
        let (lacks, near) = match self.provider(provider) {
            _ if provider.is_empty() => ("provider", self.near(alias)),
            None => return self.unknown_provider(provider, by),
            Some(known) => {
                let default = known.catalog().and_then(|known| known.default_model);
                let default = default.map(|model| format!("{provider}:{model}"));
                let default = default.and_then(|text| ModelRef::parse(&text).ok());
                let mut listed = offered::references(&known);
                listed.truncate(3);
                ("model", default.map_or(listed, |model| vec![model]))
            }
        };
        ChooseError::Half {
            text: text.to_owned(),
            by,
            lacks,
            near: near.iter().map(ToString::to_string).collect(),
        }
    }

    fn unknown_provider(&self, name: &str, by: ChosenBy) -> ChooseError {
        let all = || offered::provider_names(&self.config);
        ChooseError::UnknownProvider {
            name: name.to_owned(),
            by,
            near: did_you_mean(name, all()),
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
    let reference = without_google_prefix(reference, &provider, &candidates);
    match &find::find(reference.alias(), &candidates)[..] {
        [] => Ok(Pick {
            notes: read_as(text, &reference, &by),
            reference,
            provider,
        }),
        [one] => Ok(Pick {
            notes: read_as(text, one, &by),
            reference: one.clone(),
            provider,
        }),
        several => Err(ChooseError::Ambiguous {
            text: text.to_owned(),
            by,
            models: several.iter().map(ToString::to_string).collect(),
        }),
    }
}

/// What Google's own pages have before the names of models.
const GOOGLE_PREFIX: &str = "models/";

/// The model as panto names it, which Google calls `models/NAME`.
fn without_google_prefix(
    reference: ModelRef,
    provider: &Provider,
    candidates: &[ModelRef],
) -> ModelRef {
    let protocol = provider.protocol.as_deref().map(String::as_str);
    let plain = reference.alias().strip_prefix(GOOGLE_PREFIX);
    plain
        .filter(|_| protocol == Some("google-generate") && !candidates.contains(&reference))
        .and_then(|plain| ModelRef::parse(&format!("{}:{plain}", provider.name)).ok())
        .unwrap_or(reference)
}

/// The sides of a colon that has nothing on one of them.
fn halves(text: &str) -> Option<(&str, &str)> {
    let (provider, alias) = text.split_once(':')?;
    let (provider, alias) = (provider.trim(), alias.trim());
    let is_name = || ModelRef::parse(&format!("{provider}:x")).is_ok();
    (provider.is_empty() || alias.is_empty() && is_name()).then_some((provider, alias))
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
