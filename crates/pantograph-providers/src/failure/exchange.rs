//! What is known of one exchange, for the words about its failures.

use pantograph::{ErrorClass, ProviderError};
use reqwest::header::HeaderMap;

use super::cut;
use crate::credentials::ApiKey;

/// How many characters of a provider's words are kept.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// Header values from this length on may be secrets.
const MIN_SECRET_BYTES: usize = 12;

/// One request and the head of its answer.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) key: Option<ApiKey>,
    /// Those of the configuration.
    pub(crate) headers: HeaderMap,
    pub(crate) request_id: Option<String>,
}

impl Exchange {
    /// The text with no secret of this exchange in it, however the provider came to repeat one.
    pub(crate) fn redact(&self, mut text: String) -> String {
        let key = self.key.as_ref().map(ApiKey::expose);
        let values = self
            .headers
            .values()
            .filter_map(|value| value.to_str().ok());
        // A header may be `Bearer` and the key.
        let words = values
            .flat_map(|value| value.split(' '))
            .filter(|word| word.len() >= MIN_SECRET_BYTES);
        for secret in key.into_iter().filter(|key| !key.is_empty()).chain(words) {
            if text.contains(secret) {
                text = text.replace(secret, "[redacted]");
            }
        }
        text
    }

    /// An error of this exchange as it leaves: bounded, without secrets, and, if the credentials
    /// were refused, with whose they are.
    pub(crate) fn complete(&self, mut error: ProviderError) -> ProviderError {
        error.message = cut(self.redact(error.message), MAX_MESSAGE_CHARS);
        error.code = error.code.map(|code| self.redact(code));
        let request_id = error.request_id.map(|id| self.redact(id));
        error.request_id = request_id.or_else(|| self.request_id.clone());
        if error.class == ErrorClass::Authentication
            && (error.status.is_some() || error.code.is_some())
        {
            let key = match &self.key {
                Some(key) => format!(" (the key is from {})", key.source()),
                None => " (no key was sent)".to_owned(),
            };
            error.message.push_str(&key);
        }
        error
    }
}
