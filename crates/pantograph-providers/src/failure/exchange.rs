//! What is known of one exchange, for the words about its failures.

use std::borrow::Cow;
use std::cmp::Reverse;

use pantograph::{ErrorClass, ProviderError};

use super::{CUT, cut};
use crate::credentials::ApiKey;
use crate::endpoint::Endpoint;

/// How many characters of a provider's words are kept.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// How many characters of a code or an id are kept.
const MAX_NAME_CHARS: usize = 200;

/// Keys and the values of a query are secrets from this length on. What is shorter stands in for a
/// key where none is needed, as `EMPTY` and `ollama` do, and is found in any text.
const MIN_KEY_BYTES: usize = 8;

/// Header values from this length on may be secrets.
const MIN_HEADER_BYTES: usize = 12;

/// How much of a secret's beginning may stay before a cut; keys begin with the provider's name.
const MAX_PART_BYTES: usize = 5;

const REDACTED: &str = "[redacted]";

/// One request and the head of its answer.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) endpoint: Endpoint,
    pub(crate) key: Option<ApiKey>,
    pub(crate) request_id: Option<String>,
}

impl Exchange {
    /// An exchange that is about to begin.
    pub(crate) fn with(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            key: None,
            request_id: None,
        }
    }

    /// The text with no secret of this exchange in it, however the provider came to repeat one:
    /// neither a whole one nor what a cut has left of it.
    ///
    /// For texts that were read already: in JSON it may replace what the format needs.
    pub(crate) fn redact(&self, mut text: String) -> String {
        for secret in self.secrets() {
            if text.contains(&*secret) {
                text = text.replace(&*secret, REDACTED);
            }
            text = without_cut(text, &secret);
        }
        text
    }

    /// A code or an id: bounded and without secrets.
    pub(crate) fn name(&self, name: String) -> String {
        cut(self.redact(name), MAX_NAME_CHARS)
    }

    /// An error of this exchange as it leaves: bounded, without secrets, and, if the credentials
    /// were refused, with whose they are.
    pub(crate) fn complete(&self, mut error: ProviderError) -> ProviderError {
        error.message = cut(self.redact(error.message), MAX_MESSAGE_CHARS);
        error.code = error.code.map(|code| self.name(code));
        let request_id = error.request_id.map(|id| self.name(id));
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

    /// What may not be repeated, the longest first: one may be a part of another.
    fn secrets(&self) -> Vec<Cow<'_, str>> {
        let key = self.key.as_ref().map(|key| Cow::Borrowed(key.expose()));
        let keys = key.into_iter().chain(self.endpoint.base_url.query_values());
        let headers = self.endpoint.headers.values();
        // A header may be `Bearer` and the key.
        let words = headers
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(' '))
            .filter(|word| word.len() >= MIN_HEADER_BYTES);
        let mut secrets: Vec<_> = keys
            .filter(|key| key.len() >= MIN_KEY_BYTES)
            .chain(words.map(Cow::Borrowed))
            .collect();
        // As some write it in JSON, which is quoted as it came.
        let escaped = secrets.iter().filter(|secret| secret.contains('/'));
        let escaped: Vec<_> = escaped.map(|secret| secret.replace('/', "\\/")).collect();
        secrets.extend(escaped.into_iter().map(Cow::Owned));
        secrets.sort_unstable_by_key(|secret| Reverse(secret.len()));
        secrets
    }
}

/// The text without the beginnings of a secret that are left where it was cut: at its end, since
/// only so much of an answer is read, and before each mark of a cut.
fn without_cut(mut text: String, secret: &str) -> String {
    let marks = text.match_indices(CUT).map(|(at, _)| at);
    let ends: Vec<usize> = marks.chain([text.len()]).collect();
    // From behind, so that what comes before stays where it is.
    for end in ends.into_iter().rev() {
        let parts = (MAX_PART_BYTES + 1..secret.len()).rev();
        let mut parts = parts.filter_map(|bytes| secret.get(..bytes));
        if let Some(part) = parts.find(|part| text[..end].ends_with(part)) {
            text.replace_range(end - part.len()..end, REDACTED);
        }
    }
    text
}
