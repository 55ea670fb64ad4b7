//! The parts of an error object, in any of the shapes that providers give it.

use std::time::Duration;

use serde_json::Value;

/// What an error says of itself.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Words {
    pub(super) message: Option<String>,
    /// The most telling first.
    pub(super) codes: Vec<String>,
    /// A status inside the object.
    pub(super) status: Option<u16>,
    pub(super) retry_after: Option<Duration>,
    pub(super) request_id: Option<String>,
    /// What the request says was refused.
    pub(super) is_moderated: bool,
    /// What is used up comes back tomorrow, or once it is paid for.
    pub(super) is_spent: bool,
}

/// How Google says that what was paid for is used up, in lower case.
const SPENT: &str = "credits are depleted";

impl Words {
    /// Reads `{"error":{"code","type","status","message"}}`, the same without the outer object or
    /// in a list, and the plainer forms of proxies and local servers.
    pub(super) fn read(json: &str) -> Self {
        let Ok(root) = serde_json::from_str::<Value>(json) else {
            return Self::default();
        };
        let root = root.get(0).unwrap_or(&root);
        let error = match root.get("error") {
            Some(error) if !error.is_null() => error,
            _ => root
                .get("response")
                .and_then(|r| r.get("error"))
                .unwrap_or(root),
        };
        let text = |value: &Value, key: &str| {
            let text = value.get(key)?.as_str()?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        // Beside an error that is a text, the code is its neighbour.
        let coded = match error {
            Value::String(_) => root,
            error => error,
        };
        let reasons = details(error).filter_map(|detail| text(detail, "reason"));
        let metadata = error.get("metadata");
        // What OpenRouter heard from who is behind it.
        let passed_on = metadata.and_then(|metadata| text(metadata, "raw"));
        let inner = passed_on.as_deref().map(Self::read).unwrap_or_default();
        let codes = text(coded, "code")
            .into_iter()
            .chain(reasons)
            .chain(["type", "status"].iter().filter_map(|key| text(coded, key)))
            .chain(inner.codes)
            .filter(|code| code != "error")
            .collect();
        let number = coded.get("code").and_then(|code| match code {
            Value::String(code) => code.parse().ok(),
            code => code.as_u64().and_then(|code| code.try_into().ok()),
        });
        let message = error
            .as_str()
            .map(str::to_owned)
            .or_else(|| said(error.get("message")?))
            .or_else(|| said(root.get("message")?))
            .or_else(|| said(root.get("detail")?))
            .map(|message| match inner.message.or(passed_on) {
                Some(words) => format!("{message}: {words}"),
                None => message,
            });
        let is_spent = details(error).any(is_daily)
            || message
                .as_ref()
                .is_some_and(|message| message.to_lowercase().contains(SPENT));
        Self {
            message,
            is_spent,
            codes,
            status: number.filter(|status| (300..600).contains(status)),
            retry_after: details(error)
                .find_map(|detail| delay(detail.get("retryDelay")?.as_str()?)),
            request_id: text(root, "request_id"),
            is_moderated: metadata.is_some_and(|metadata| metadata.get("flagged_input").is_some()),
        }
    }
}

/// What a message says: a text, or a list of what is wrong where, as validators give it.
fn said(message: &Value) -> Option<String> {
    match message {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Array(items) => {
            let said: Vec<String> = items.iter().filter_map(said).collect();
            Some(said.join("; "))
        }
        Value::Object(object) => {
            let said = ["msg", "message", "detail"]
                .iter()
                .find_map(|key| said(object.get(*key)?))?;
            let path = object.get("loc").and_then(Value::as_array);
            let path: Vec<String> = path
                .into_iter()
                .flatten()
                .map(|step| {
                    step.as_str()
                        .map_or_else(|| step.to_string(), str::to_owned)
                })
                .collect();
            Some(match path.is_empty() {
                true => said,
                false => format!("{}: {said}", path.join(".")),
            })
        }
        _ => None,
    }
    .filter(|text| !text.is_empty())
}

/// Google's list of what belongs to an error.
fn details(error: &Value) -> impl Iterator<Item = &Value> {
    error
        .get("details")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Whether a detail names a quota of a day. The wait that is given beside it is that of a minute.
fn is_daily(detail: &Value) -> bool {
    let violations = detail.get("violations").and_then(Value::as_array);
    violations.into_iter().flatten().any(|violation| {
        let quota = violation.get("quotaId").and_then(Value::as_str);
        quota.is_some_and(|quota| quota.contains("PerDay"))
    })
}

/// Seconds as Google writes them: `34.5s`.
fn delay(text: &str) -> Option<Duration> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
