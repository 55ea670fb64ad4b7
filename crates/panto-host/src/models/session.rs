//! The model of a session that is gone on with.

use pantograph::{Model, ModelRef, Origin};

use super::pick::Pick;
use super::{ChoiceNote, ChoiceRequest, Models, offered};
use crate::config::{Provider, Sourced};

impl Models {
    /// The model that answered last in the session.
    ///
    /// A provider that is neither configured nor in the catalog any more, as after `--base-url`, is
    /// asked where it was.
    ///
    /// # Errors
    ///
    /// It cannot be asked now; why, in words that stand in brackets.
    pub(super) fn of_session(
        &self,
        origin: &Origin,
        request: &ChoiceRequest<'_>,
    ) -> Result<Pick, String> {
        let reference = ModelRef::parse(&origin.reference)
            .map_err(|_| "its name is no model reference".to_owned())?;
        let name = reference.provider();
        let known = self.provider(name);
        let is_known = known.is_some();
        let mut provider = known.unwrap_or_else(|| Provider::blank(name));
        let has_place = provider.base_url.is_some() || provider.protocol.is_some();
        let remembered = origin.base_url.as_deref().filter(|_| !has_place);
        if let Some(url) = request.base_url.or(remembered) {
            provider.base_url = Some(Sourced::default_value(url.to_owned()));
            if !is_known && self.registry.names().any(|known| known == origin.style) {
                provider.protocol = Some(Sourced::default_value(origin.style.clone()));
            }
            provider = offered::with_default_protocol(provider);
        } else if !is_known {
            return Err(format!("there is no provider `{name}` any more"));
        }
        if offered::model(&provider, &reference).is_none() && origin.model != reference.alias() {
            return Err("nothing lists it any more".to_owned());
        }
        if provider.takes_key() && self.keys.find(&provider).is_none() {
            return Err(format!("there is no key for `{name}`"));
        }
        Ok(Pick {
            reference,
            provider,
            notes: Vec::new(),
        })
    }
}

/// That the model of a session is asked at another place than before, if it is.
pub(super) fn moved(model: &Model, request: &ChoiceRequest<'_>) -> Option<ChoiceNote> {
    let before = request.session.filter(|_| request.base_url.is_none())?;
    let now = model.origin(&before.style);
    let (from, to) = (before.base_url.clone()?, now.base_url?);
    (now.reference == before.reference && from != to).then(|| ChoiceNote::Moved {
        model: model.reference.clone(),
        from,
        to,
    })
}
