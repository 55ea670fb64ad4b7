//! How long a provider asks to wait.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The wait that an answer's headers ask for.
///
/// `retry-after-ms` before `retry-after`, which is seconds or a date (RFC 9110, section 10.2.3).
/// A date counts from the answer's own, so that a clock that is wrong here does not matter; one
/// that has passed gives zero.
pub(super) fn from_headers(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let millis = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok());
    if let Some(wait) = millis.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()) {
        return Some(wait);
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let now = text(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok());
    let wait = until.duration_since(now.unwrap_or_else(SystemTime::now));
    Some(wait.unwrap_or_default())
}
