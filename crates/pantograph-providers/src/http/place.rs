//! Where a connection goes, and what is said if it fails.

use std::error::Error;
use std::io;
use std::time::Duration;

use pantograph::{ErrorClass, ProviderError};
use reqwest::Url;

/// Where a connection goes, for the words about its failures.
pub(super) struct Place {
    host: String,
    connect: Option<Duration>,
}

impl Place {
    pub(super) fn of(url: &Url, connect: Option<Duration>) -> Self {
        let host = url.host_str().unwrap_or_default();
        let host = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        Self { host, connect }
    }

    /// The failure of a request that went there, or of the rest of its answer.
    pub(super) fn failure(&self, error: &reqwest::Error) -> ProviderError {
        let host = &self.host;
        let cause = root_cause(error);
        let message = if !error.is_connect() {
            match error.is_decode() && !breaks_off(error) {
                true => format!("the answer of `{host}` could not be unpacked: {cause}"),
                false => format!("the connection to `{host}` broke off: {cause}"),
            }
        } else if error.is_dns() {
            format!("the host `{host}` could not be found: {cause}")
        } else if error.is_timeout() {
            match self.connect {
                Some(limit) => format!(
                    "no connection to `{host}` within {} s (the connect limit of this provider)",
                    limit.as_secs_f64()
                ),
                None => format!("no connection to `{host}`: {cause}"),
            }
        } else if through_proxy(error) {
            let message = format!("the proxy let no connection to `{host}` through: {cause}");
            // Asking again without one changes nothing.
            return match wants_a_password(&cause) {
                true => ProviderError::new(ErrorClass::Terminal, message),
                false => ProviderError::transport(message),
            };
        } else if is_io(error, io::ErrorKind::ConnectionRefused) {
            format!(
                "`{host}` refused the connection; is the server running, and the base URL right?"
            )
        } else if is_about_tls(error) {
            // A certificate or a server without TLS: asking again changes nothing.
            let message = format!(
                "no secure connection to `{host}`; does it speak TLS there, and is its certificate \
                 trusted here? ({cause})"
            );
            return ProviderError::new(ErrorClass::Terminal, message);
        } else {
            format!("could not connect to `{host}`: {cause}")
        };
        ProviderError::transport(message)
    }
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// The last words of a chain of errors, which alone say what happened.
pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    causes(error)
        .last()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Whether anything below is an I/O error of this kind, in however many others it is wrapped.
fn is_io(error: &(dyn Error + 'static), kind: io::ErrorKind) -> bool {
    causes(error)
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| {
            let inner = error.get_ref().map(|inner| inner as &(dyn Error + 'static));
            error.kind() == kind || inner.is_some_and(|inner| is_io(inner, kind))
        })
}

/// Whether a server's certificate was refused, or it speaks no TLS.
pub(super) fn is_about_tls(error: &reqwest::Error) -> bool {
    error.is_connect() && is_io(error, io::ErrorKind::InvalidData)
}

// Those below know by their words what has a type that cannot be named here. The class of a
// failure depends on them, so tests hold these words.

fn through_proxy(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|error| error.to_string().contains("tunnel"))
}

/// Whether a proxy wants a user name and a password, by the last words of its failure.
fn wants_a_password(cause: &str) -> bool {
    cause.contains("authorization")
}

/// Whether a server says over HTTP/2 that it did not look at a request: it refused the stream, or
/// closes the connection in good order.
pub(super) fn was_not_taken(error: &(dyn Error + 'static)) -> bool {
    const WORDS: [&str; 2] = [
        "stream error received: refused stream",
        "connection error received: not a result of an error",
    ];
    causes(error).any(|error| {
        let said = error.to_string();
        WORDS.iter().any(|words| said.starts_with(words))
    })
}

/// Whether a body that could not be decoded did not even come.
fn breaks_off(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|error| error.to_string().contains("reading a body"))
}
