//! Answers that fail after they began well.

use std::time::Duration;

use pantograph::{ErrorClass, ProviderError};

use super::event::Response;
use crate::failure;

/// What a `response.failed` or an `error` says.
pub(super) fn failed(data: &str) -> ProviderError {
    let mut error = failure::in_stream(data);
    let code = error.code.as_deref().unwrap_or_default();
    // There is no status that tells, and only some of the codes are of all of OpenAI's APIs.
    if error.class == ErrorClass::Server && is_about_an_image(code) {
        error.class = ErrorClass::InvalidRequest;
    }
    if error.class == ErrorClass::RateLimit && error.retry_after.is_none() {
        // There are no headers of this failure, so words are all there is.
        error.retry_after = wait_in(&error.message);
    }
    error
}

/// The failure that an incomplete answer is, unless a limit cut it.
pub(super) fn filtered(response: &Response<'_>) -> Option<ProviderError> {
    let reason = response
        .reason()
        .filter(|reason| *reason == "content_filter")?;
    let mut error = ProviderError::new(
        ErrorClass::Terminal,
        "the provider's content filter stopped the answer",
    );
    error.code = Some(reason.into());
    Some(error)
}

/// `invalid_image`, `image_too_large` and their like: the request's own image is refused.
fn is_about_an_image(code: &str) -> bool {
    code.split('_').any(|word| word == "image")
}

/// The time in `… try again in 1m2.5s.`
fn wait_in(message: &str) -> Option<Duration> {
    let (_, mut rest) = message.split_once("try again in ")?;
    let mut wait = None;
    while let Some((part, after)) = leading(rest) {
        wait = Some(wait.unwrap_or(Duration::ZERO).checked_add(part)?);
        rest = after;
    }
    wait
}

/// The number with a unit that a text begins with, and the rest.
fn leading(text: &str) -> Option<(Duration, &str)> {
    let text = text.trim_start();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..digits].parse().ok()?;
    let unit_and_rest = text[digits..].trim_start();
    let letters = unit_and_rest.find(|c: char| !c.is_ascii_alphabetic());
    let (unit, rest) = unit_and_rest.split_at(letters.unwrap_or(unit_and_rest.len()));
    let seconds = match unit {
        "ms" => 0.001,
        "s" | "second" | "seconds" => 1.0,
        "m" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3_600.0,
        _ => return None,
    };
    let wait = Duration::try_from_secs_f64(number * seconds).ok()?;
    Some((wait, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_from_words() {
        let cases = [
            ("Please try again in 1.898s. Visit", Some(1_898)),
            ("please try again in 345ms.", Some(345)),
            ("try again in 6m0s", Some(360_000)),
            ("try again in 1h2m3.5s", Some(3_723_500)),
            ("try again in 20 seconds", Some(20_000)),
            ("try again in a while", None),
            ("try again in 9999999999999999999999s", None),
            (
                "try again in 10000000000000000000s10000000000000000000s",
                None,
            ),
            ("try again in 3", None),
            ("slow down", None),
        ];
        for (message, millis) in cases {
            assert_eq!(
                wait_in(message),
                millis.map(Duration::from_millis),
                "{message}"
            );
        }
    }
}
