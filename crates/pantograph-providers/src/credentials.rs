//! Keys: where a protocol gets one, and how it keeps it to itself.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use pantograph::{ErrorClass, ProviderError};
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

/// Where an endpoint's key comes from.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// The key for the next request; `None` if the endpoint takes none.
    ///
    /// Asked once a request, so that a key that changed is seen. May run a program: the wait
    /// counts as the provider's silence, and dropping the future must leave nothing behind.
    ///
    /// # Errors
    ///
    /// The source exists but gave no key.
    async fn key(&self) -> Result<Option<ApiKey>, CredentialsError>;
}

/// A key and the name of its source. Neither `Debug` nor any error shows the key.
#[derive(Clone)]
pub struct ApiKey {
    secret: SecretString,
    source: Arc<str>,
}

impl ApiKey {
    /// A key, without blanks around it, from a source that people know, such as
    /// `the environment variable X`.
    pub fn new(secret: &str, source: impl Into<Arc<str>>) -> Self {
        Self {
            secret: SecretString::from(secret.trim()),
            source: source.into(),
        }
    }

    /// Where it is from.
    pub fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn expose(&self) -> &str {
        self.secret.expose_secret()
    }

    /// The key as a header's value, after `scheme`.
    pub(crate) fn header(&self, scheme: &str) -> Result<HeaderValue, CredentialsError> {
        let text = format!("{scheme}{}", self.expose());
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            CredentialsError::new(&*self.source, "it has characters that no header can hold")
        })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey(from {})", self.source)
    }
}

/// Why a source gave no key. Never holds any part of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no usable key from {from}: {problem}")]
pub struct CredentialsError {
    from: String,
    problem: String,
}

impl CredentialsError {
    /// The source, as [`ApiKey::source`] would name it, and what is wrong with it.
    pub fn new(from: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            from: from.into(),
            problem: problem.into(),
        }
    }
}

impl From<CredentialsError> for ProviderError {
    fn from(error: CredentialsError) -> Self {
        ProviderError::new(ErrorClass::Authentication, error.to_string())
    }
}

/// One key that does not change.
#[derive(Debug, Clone)]
pub struct StaticKey(ApiKey);

impl StaticKey {
    /// The key and its source, as for [`ApiKey::new`].
    pub fn new(secret: &str, source: impl Into<Arc<str>>) -> Self {
        Self(ApiKey::new(secret, source))
    }
}

#[async_trait]
impl Credentials for StaticKey {
    async fn key(&self) -> Result<Option<ApiKey>, CredentialsError> {
        Ok(Some(self.0.clone()))
    }
}

/// For servers that take no key.
#[derive(Debug, Clone, Copy)]
pub struct NoKey;

#[async_trait]
impl Credentials for NoKey {
    async fn key(&self) -> Result<Option<ApiKey>, CredentialsError> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = ApiKey::new(" sk-secret\n", "the variable X");
        assert_eq!(format!("{key:?}"), "ApiKey(from the variable X)");
        assert_eq!(key.header("Bearer ").unwrap(), "Bearer sk-secret");
        assert_eq!(format!("{:?}", key.header("").unwrap()), "Sensitive");
        let broken = ApiKey::new("sk-\nsecret", "the variable X");
        let error = ProviderError::from(broken.header("").unwrap_err());
        assert_eq!(error.class, ErrorClass::Authentication);
        assert_eq!(
            error.message,
            "no usable key from the variable X: it has characters that no header can hold"
        );
    }
}
