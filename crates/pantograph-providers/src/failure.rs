//! What providers say when they fail, made one classified error.
//!
//! A code counts before a status, since overload and overflow also arrive inside a `200` stream.

mod classify;
mod exchange;
mod retry_after;
mod words;

pub(crate) use exchange::Exchange;

use pantograph::{ErrorClass, ProviderError};
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};

use classify::classify;
use words::Words;

/// How much of a body is read for its words.
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024;

/// How many characters of a body without an error object are quoted.
const EXCERPT_CHARS: usize = 200;

/// Stands where a text was cut.
const CUT: char = '…';

/// An error object inside a stream that began well.
pub(crate) fn in_stream(json: &str) -> ProviderError {
    let words = Words::read(json);
    let mut error = ProviderError::new(
        classify(&words, None),
        words
            .message
            .unwrap_or_else(|| format!("the provider reported an error: {}", excerpt(json))),
    );
    error.code = words.codes.into_iter().next();
    error.retry_after = words.retry_after;
    error.request_id = words.request_id;
    error
}

/// An event that is not what the protocol says.
pub(crate) fn malformed(what: &str, data: &str) -> ProviderError {
    ProviderError::transport(format!("{what}: {}", excerpt(data)))
}

/// An answer that is no stream of events: its status says that it failed, or its body is a
/// document of another kind. `body` is as much of it as was read, secrets included: those go when
/// the error is completed, since before its JSON is read they may be a part of that.
pub(crate) fn from_answer(status: StatusCode, headers: &HeaderMap, body: &str) -> ProviderError {
    let words = Words::read(body);
    let message = if let Some(message) = &words.message {
        message.clone()
    } else if status.is_redirection() {
        redirected(headers)
    } else if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        format!("the proxy wants a user name and a password ({status})")
    } else if is_html(headers, body) {
        format!(
            "the provider answered with a web page ({status}); is the base URL right, and is \
             there a proxy in between? It says: {}",
            excerpt(&without_tags(body))
        )
    } else if status.is_success() {
        format!(
            "the provider answered with something else than a stream of events: {}",
            excerpt(body)
        )
    } else if status == StatusCode::NOT_FOUND {
        format!(
            "the provider answered with {status}, so there is nothing at this path; is the base \
             URL right? It says: {}",
            match excerpt(body) {
                words if words.is_empty() => "(nothing)".to_owned(),
                words => words,
            }
        )
    } else if body.trim().is_empty() {
        format!("the provider answered with {status} and no words")
    } else {
        format!("the provider answered with {status}: {}", excerpt(body))
    };
    let class = match status {
        status if status.is_redirection() => ErrorClass::Terminal,
        status if status.is_success() && words.message.is_none() => ErrorClass::Terminal,
        status => classify(&words, Some(status.as_u16())),
    };
    let mut error = ProviderError::new(class, message);
    error.status = Some(status.as_u16());
    error.code = words.codes.into_iter().next();
    error.retry_after = retry_after::from_headers(headers).or(words.retry_after);
    error.request_id = request_id(headers).or(words.request_id);
    error
}

/// The provider's id of an exchange, under the names that providers have for it.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    ["request-id", "x-request-id", "x-goog-request-id", "cf-ray"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok().map(str::to_owned))
}

/// The media type of an answer, without parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> &str {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    value
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
}

fn redirected(headers: &HeaderMap) -> String {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    format!(
        "the provider redirects to `{}`, where the key is not sent; the base URL must be where \
         the API is",
        excerpt(location.unwrap_or("nowhere"))
    )
}

fn is_html(headers: &HeaderMap, body: &str) -> bool {
    let start: String = body.trim_start().chars().take(9).collect();
    let start = start.to_ascii_lowercase();
    media_type(headers).eq_ignore_ascii_case("text/html")
        || start.starts_with("<html")
        || start.starts_with("<!doctype")
}

/// What a web page says: the text outside its tags, styles and scripts.
fn without_tags(html: &str) -> String {
    // Has the same offsets, and tags of one spelling.
    let lower = html.to_ascii_lowercase();
    let mut text = String::new();
    let mut at = 0;
    while let Some(open) = lower[at..].find('<').map(|found| at + found) {
        text.push_str(&html[at..open]);
        text.push(' ');
        let tag = &lower[open..];
        let skipped = ["<script", "<style"]
            .iter()
            .find(|name| tag.starts_with(**name));
        let end = skipped.and_then(|name| tag.find(&format!("</{}", &name[1..])));
        let from = open + end.unwrap_or(0);
        at = lower[from..]
            .find('>')
            .map_or(html.len(), |close| from + close + 1);
    }
    text.push_str(&html[at..]);
    text
}

/// The beginning of a text, on one line.
fn excerpt(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > EXCERPT_CHARS * 4 {
            break;
        }
    }
    cut(line, EXCERPT_CHARS)
}

/// The text, cut after so many characters, which the cut shows.
fn cut(mut text: String, max_chars: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(max_chars) {
        text.truncate(end);
        text.push(CUT);
    }
    text
}

#[cfg(test)]
mod tests;
