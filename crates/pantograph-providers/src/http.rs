//! One client for every provider, and one request over it.

mod lookup;
mod place;

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use pantograph::{ErrorClass, ProviderError};
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use tokio::sync::OnceCell;

use crate::credentials::ApiKey;
use crate::endpoint::Endpoint;
use crate::payload::Payload;
use crate::sse::Body;
use lookup::Lookups;
use place::{Place, is_about_tls, root_cause, was_not_taken};

/// How long an unused connection is kept.
const POOL_IDLE: Duration = Duration::from_secs(90);

/// How often a silent HTTP/2 connection is asked whether it lives, and how long it may take.
const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));

/// How often a request is sent again that a server has said it did not look at.
const MAX_AGAIN: usize = 2;

/// Connections to providers, pooled and shared; cheap to clone. One serves a whole process.
///
/// It speaks HTTP/2 where the server does, follows no redirect, since that would take the key
/// to elsewhere, and needs no thread for a stream.
#[derive(Clone)]
pub struct HttpClient {
    proxies: Proxies,
    clients: Arc<Mutex<HashMap<Kind, Arc<OnceCell<Client>>>>>,
    lookups: Arc<Lookups>,
    /// What a test needs of a client and no environment gives it.
    #[cfg(test)]
    adapted: Option<Adapted>,
}

#[cfg(test)]
type Adapted = Arc<dyn Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + Sync>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proxies {
    FromEnvironment,
    None,
}

/// What connections have in common that share a pool. There are few.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    /// The limit is the connection's and not the request's.
    connect: Option<Duration>,
    roots: Roots,
}

/// The certificates that servers are checked by.
///
/// Reading the system's takes longer than all else before the first request, and there may be
/// none. A server without TLS needs neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Roots {
    System,
    None,
}

impl HttpClient {
    /// A client that uses the proxies that the environment names.
    pub fn new() -> Self {
        Self::with(Proxies::FromEnvironment)
    }

    /// A client that uses no proxy whatever the environment says.
    pub fn without_proxies() -> Self {
        Self::with(Proxies::None)
    }

    fn with(proxies: Proxies) -> Self {
        Self {
            proxies,
            clients: Arc::default(),
            lookups: Arc::default(),
            #[cfg(test)]
            adapted: None,
        }
    }

    /// The client for connections of a kind; the first to ask for it makes it.
    async fn client(&self, kind: Kind) -> Result<Client, ProviderError> {
        let cell = Arc::clone(self.clients.lock().entry(kind).or_default());
        let client = cell.get_or_try_init(|| self.build(kind)).await?;
        Ok(client.clone())
    }

    async fn build(&self, kind: Kind) -> Result<Client, ProviderError> {
        let mut builder = Client::builder()
            .user_agent(concat!("panto/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .dns_resolver(Arc::clone(&self.lookups))
            .pool_idle_timeout(POOL_IDLE)
            .http2_adaptive_window(true)
            .http2_keep_alive_interval(PING.0)
            .http2_keep_alive_timeout(PING.1);
        if let Some(connect) = kind.connect {
            builder = builder.connect_timeout(connect);
        }
        if self.proxies == Proxies::None {
            builder = builder.no_proxy();
        }
        #[cfg(test)]
        if let Some(adapt) = &self.adapted {
            builder = adapt(builder);
        }
        let built = match kind.roots {
            Roots::None => builder.tls_certs_only([]).build(),
            // Reads files.
            Roots::System => tokio::task::spawn_blocking(|| builder.build())
                .await
                .map_err(|_| ProviderError::transport("the request was abandoned"))?,
        };
        built.map_err(|error| {
            let cause = root_cause(&error);
            ProviderError::new(
                ErrorClass::Terminal,
                format!("could not set up HTTP: {cause}"),
            )
        })
    }
}

impl Default for HttpClient {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("proxies", &self.proxies)
            .finish_non_exhaustive()
    }
}

/// One request, as a protocol wants it.
pub(crate) struct Post {
    pub(crate) head: Head,
    pub(crate) body: Payload,
    /// Until there is a connection.
    pub(crate) connect: Option<Duration>,
}

/// What a protocol sends its requests with.
pub(crate) struct Head {
    /// Under the base URL; begins with a slash.
    pub(crate) path: String,
    pub(crate) query: Option<(&'static str, &'static str)>,
    /// The protocol's own.
    pub(crate) headers: HeaderMap,
    pub(crate) key: KeyHeader,
}

/// The header in which a key goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `authorization`, after `Bearer`.
    Bearer,
    /// One of this name.
    Named(&'static str),
}

impl KeyHeader {
    fn name(self) -> HeaderName {
        match self {
            Self::Bearer => reqwest::header::AUTHORIZATION,
            Self::Named(name) => HeaderName::from_static(name),
        }
    }

    fn value(self, key: &ApiKey) -> Result<HeaderValue, ProviderError> {
        let scheme = match self {
            Self::Bearer => "Bearer ",
            Self::Named(_) => "",
        };
        Ok(key.header(scheme)?)
    }
}

/// Sends `post` and waits for the answer's head. Dropping the future closes the connection.
pub(crate) async fn send(
    endpoint: &Endpoint,
    key: Option<&ApiKey>,
    post: Post,
) -> Result<Response, ProviderError> {
    let Post {
        head,
        body,
        connect,
    } = post;
    let mut url = endpoint.base_url.join(&head.path);
    if let Some((name, value)) = head.query {
        url.query_pairs_mut().append_pair(name, value);
    }
    let mut headers = head.headers;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    if let Some(key) = key {
        headers.insert(head.key.name(), head.key.value(key)?);
    }
    for (name, value) in &endpoint.headers {
        headers.insert(name, value.clone());
    }
    let place = Place::of(&url, connect);
    let in_parts = body.parts().len() > 1;
    if in_parts {
        // Without it, parts would be sent as chunks, which not every server takes.
        headers.insert(CONTENT_LENGTH, body.len().into());
    }
    let mut again = 0;
    let mut roots = match url.scheme() {
        "http" => Roots::None,
        _ => Roots::System,
    };
    loop {
        let client = endpoint.client.client(Kind { connect, roots }).await?;
        let request = client
            .post(url.clone())
            .headers(headers.clone())
            .body(wire_body(&body));
        match request.send().await {
            // Only a proxy can have asked for TLS, and nothing of the request has left.
            Err(error) if roots == Roots::None && is_about_tls(&error) => roots = Roots::System,
            // The client itself does so for bodies that are whole.
            Err(error) if in_parts && again < MAX_AGAIN && was_not_taken(&error) => again += 1,
            sent => return sent.map_err(|error| place.failure(&error)),
        }
    }
}

/// The same bytes each time, and none of them copied.
fn wire_body(body: &Payload) -> reqwest::Body {
    match body.parts() {
        [whole] => whole.clone().into(),
        parts => {
            let parts = stream::iter(Vec::from(parts)).map(Ok::<_, Infallible>);
            reqwest::Body::wrap_stream(parts)
        }
    }
}

/// The rest of an answer. Dropping it closes the connection.
pub(crate) fn body(response: Response) -> Body {
    let place = Place::of(response.url(), None);
    response
        .bytes_stream()
        .map(move |chunk| chunk.map_err(|error| place.failure(&error)))
        .boxed()
}

#[cfg(test)]
mod tests;
