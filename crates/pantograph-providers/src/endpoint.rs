//! Where a provider is reached, and what goes with every request to it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::credentials::Credentials;
use crate::http::HttpClient;

/// What a protocol needs beside its own rules; cheap to clone.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) base_url: BaseUrl,
    pub(crate) headers: HeaderMap,
    pub(crate) credentials: Arc<dyn Credentials>,
    pub(crate) client: HttpClient,
}

impl Endpoint {
    /// A provider at `base_url`.
    pub fn new(base_url: BaseUrl, credentials: Arc<dyn Credentials>, client: HttpClient) -> Self {
        Self {
            base_url,
            headers: HeaderMap::new(),
            credentials,
            client,
        }
    }

    /// The same with headers for every request. They replace what a protocol would send under
    /// the same names, the key's header included.
    ///
    /// # Errors
    ///
    /// [`InvalidHeader`] names the first that no request can have.
    pub fn with_headers<'a>(
        mut self,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, InvalidHeader> {
        for (name, value) in headers {
            let invalid = || InvalidHeader(name.to_owned());
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
            // It may be a secret, and nothing tells.
            value.set_sensitive(true);
            self.headers.insert(key, value);
        }
        Ok(self)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("base_url", &self.base_url)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

/// A header that no request can have; names it and does not show its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a header, or has a value that no header can hold")]
pub struct InvalidHeader(pub String);

/// An `http` or `https` URL under which a protocol's paths lie. Its query may hold a key, so neither
/// `Display` nor `Debug` shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

/// Why a text is not a [`BaseUrl`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidBaseUrl {
    /// It is no URL, or one of another kind. Holds the text without what may be secret in it.
    #[error("the base URL `{0}` must be `http://HOST` or `https://HOST`, perhaps with a path")]
    NotHttp(String),
    /// It holds a user's name or password, which would be shown with it.
    #[error("the base URL must not hold a user name or password")]
    HasCredentials,
}

impl BaseUrl {
    /// Reads a base URL. A slash at its end does not matter; a query stays on every request.
    ///
    /// # Errors
    ///
    /// [`InvalidBaseUrl`] for any other text.
    pub fn parse(text: &str) -> Result<Self, InvalidBaseUrl> {
        let not_http = || InvalidBaseUrl::NotHttp(without_secrets(text));
        let mut url = Url::parse(text.trim()).map_err(|_| not_http())?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidBaseUrl::HasCredentials);
        }
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(not_http());
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    /// Whether it is more than a host.
    pub(crate) fn has_path(&self) -> bool {
        self.0.path() != "/"
    }

    /// The values in its query, as they are sent and as they are meant.
    pub(crate) fn query_values(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let sent = self.0.query().unwrap_or_default().split('&');
        let sent = sent.map(|pair| Cow::Borrowed(pair.split_once('=').map_or(pair, |(_, v)| v)));
        sent.chain(self.0.query_pairs().map(|(_, value)| value))
    }

    /// The URL of `path`, which begins with a slash.
    ///
    /// A base that ends with the path's first part, as `…/v1` does for `/v1/messages`, is taken
    /// to mean the same place as one without it.
    pub(crate) fn join(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        let base = url.path().trim_end_matches('/');
        let first = &path[..path[1..].find('/').map_or(path.len(), |at| at + 1)];
        let rest = match base.ends_with(first) {
            true => &path[first.len()..],
            false => path,
        };
        url.set_path(&format!("{base}{rest}"));
        url
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // There is no fragment, see `parse`.
        let url = self.0.as_str();
        f.write_str(url.split('?').next().unwrap_or(url))
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that may have been meant as a URL, without its query and whatever stands before an `@`.
///
/// It has no parts that one could go by: a password may hold what would end it in a URL.
fn without_secrets(text: &str) -> String {
    let Some((before, rest)) = text.rsplit_once('@') else {
        let shown = text.split(['?', '#']).next();
        return shown.unwrap_or_default().to_owned();
    };
    let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
    let separator = if scheme.is_empty() { "" } else { "://" };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}{separator}…@{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lie_under_the_base_with_or_without_its_version() {
        let cases = [
            ("https://a.example", "https://a.example/v1/messages"),
            ("https://a.example/", "https://a.example/v1/messages"),
            ("https://a.example/v1/", "https://a.example/v1/messages"),
            ("http://a:8/x/y", "http://a:8/x/y/v1/messages"),
            ("http://a/x?k=v#f", "http://a/x/v1/messages?k=v"),
            ("http://[::1]:8", "http://[::1]:8/v1/messages"),
        ];
        for (base, expected) in cases {
            let url = BaseUrl::parse(base).unwrap().join("/v1/messages");
            assert_eq!(url.as_str(), expected, "{base}");
        }
        let base = BaseUrl::parse("http://a/v1").unwrap();
        assert_eq!(base.join("/responses").as_str(), "http://a/v1/responses");
        assert_eq!(base.join("/m/a?b c").as_str(), "http://a/v1/m/a%3Fb%20c");
    }

    #[test]
    fn other_texts_are_refused_without_repeating_a_password() {
        let refused = |text| BaseUrl::parse(text).unwrap_err().to_string();
        for text in [
            "",
            "localhost:80/v1",
            "ftp://a",
            "a.example",
            "http://",
            "file:///x",
        ] {
            assert_eq!(
                refused(text),
                format!(
                    "the base URL `{text}` must be `http://HOST` or `https://HOST`, \
                     perhaps with a path"
                )
            );
        }
        let message = refused("https://me:hunter2@a.example");
        assert_eq!(
            message,
            "the base URL must not hold a user name or password"
        );
        for (text, shown) in [
            (
                "https://me:hunter2@a.example:99999/v1",
                "https://…@a.example:99999/v1",
            ),
            ("https://me:hun/ter2@a.example", "https://…@a.example"),
            ("https://me:hun?ter2@a.example:x", "https://…@a.example:x"),
            (
                "https://me:hun@ter2@a.example:x?k=hunter2",
                "https://…@a.example:x",
            ),
            ("me:hunter2@a.example", "…@a.example"),
            ("a.example/v1?key=hunter2", "a.example/v1"),
            ("ftp://a/#hunter2", "ftp://a/"),
        ] {
            let expected = InvalidBaseUrl::NotHttp(shown.into());
            assert_eq!(BaseUrl::parse(text).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn a_query_is_sent_and_never_shown() {
        let base = BaseUrl::parse("http://a/x?key=hun%2Fter2&flag&v=1").unwrap();
        assert_eq!(base.to_string(), "http://a/x");
        assert_eq!(format!("{base:?}"), "http://a/x");
        assert!(
            base.join("/y")
                .as_str()
                .ends_with("?key=hun%2Fter2&flag&v=1")
        );
        let values: Vec<_> = base.query_values().collect();
        assert_eq!(values, ["hun%2Fter2", "flag", "1", "hun/ter2", "", "1"]);
    }

    #[test]
    fn headers_are_named_and_never_shown() {
        let endpoint = |name, value| {
            let base = BaseUrl::parse("http://a").unwrap();
            Endpoint::new(base, Arc::new(crate::NoKey), HttpClient::new())
                .with_headers([(name, value)])
        };
        let shown = format!("{:?}", endpoint("x-token", "hunter2").unwrap());
        assert_eq!(
            shown,
            r#"Endpoint { base_url: http://a/, headers: {"x-token": Sensitive}, .. }"#
        );
        let error = endpoint("x-token", "hun\nter2").unwrap_err();
        assert_eq!(error, InvalidHeader("x-token".into()));
    }
}
