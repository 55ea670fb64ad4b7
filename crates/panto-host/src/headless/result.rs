//! How a run ended, as programs read it.

use std::time::Duration;

use pantograph::{SessionId, StopReason, Usage, UsageTotal};
use serde::{Serialize, Serializer};

use super::json_line;

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// In one word.
    pub status: RunStatus,
    /// Why the last turn ended; `None` if there was none.
    pub stop: Option<StopReason>,
    /// The answer: of a cancelled run what there was of it, of a failed one the last whole text.
    pub text: String,
    /// What failed.
    pub error: Option<RunError>,
    /// Names the session; `None` if the run failed before it had one.
    pub session_id: Option<SessionId>,
    /// Whether the session is on disk with all that was said, so that it can be gone on with.
    pub saved: bool,
    /// The model reference, if one was chosen.
    pub model: Option<String>,
    /// What the run used.
    pub usage: UsageTotal,
    /// Turns that settled.
    pub turns: u32,
    /// How long the run took.
    pub duration: Duration,
    /// What the process ends with.
    pub exit_code: u8,
}

impl RunResult {
    /// The result of a run that failed before it had a session.
    pub fn failed_early(error: RunError, exit_code: u8) -> Self {
        Self {
            error: Some(error),
            ..Self::early(RunStatus::Failed, exit_code)
        }
    }

    /// The result of a run that was interrupted before it had a session.
    pub fn cancelled_early(exit_code: u8) -> Self {
        Self::early(RunStatus::Cancelled, exit_code)
    }

    fn early(status: RunStatus, exit_code: u8) -> Self {
        Self {
            status,
            stop: None,
            text: String::new(),
            error: None,
            session_id: None,
            saved: false,
            model: None,
            usage: UsageTotal::default(),
            turns: 0,
            duration: Duration::ZERO,
            exit_code,
        }
    }
}

/// How a run ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The model had no more to say.
    Completed,
    /// It failed; the error says how.
    Failed,
    /// It was interrupted.
    Cancelled,
    /// An output or round limit cut the answer.
    Limit,
}

/// What failed, for programs and for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RunError {
    /// One name for programs.
    pub kind: String,
    /// What happened, causes included.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How long the provider asks to wait, if it did.
    #[serde(
        rename = "retry_after_ms",
        serialize_with = "milliseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_after: Option<Duration>,
    /// The HTTP status of the provider's answer, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

#[expect(clippy::ref_option, reason = "serde asks for this form")]
fn milliseconds<S: Serializer>(wait: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    let wait = wait.unwrap_or_default().as_millis();
    serializer.serialize_u64(u64::try_from(wait).unwrap_or(u64::MAX))
}

/// The JSON form, the same in both formats.
#[derive(Serialize)]
struct ResultObject<'a> {
    r#type: &'static str,
    status: RunStatus,
    stop: Option<StopReason>,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RunError>,
    session_id: Option<SessionId>,
    saved: bool,
    model: Option<&'a str>,
    usage: &'a Usage,
    requests: u32,
    cost: Option<f64>,
    turns: u32,
    duration_ms: u64,
    exit_code: u8,
}

/// Writes the object of type `result` and a newline, with what a command gave for programs unless
/// that was written before.
pub(super) fn write(
    writer: &mut impl std::io::Write,
    result: &RunResult,
    data: Option<&serde_json::Value>,
) -> std::io::Result<()> {
    let object = ResultObject {
        r#type: "result",
        status: result.status,
        stop: result.stop,
        text: &result.text,
        data,
        error: result.error.as_ref(),
        session_id: result.session_id,
        saved: result.saved,
        model: result.model.as_deref(),
        usage: &result.usage.usage,
        requests: result.usage.requests,
        // A sum that leaves answers out would look like the whole.
        cost: result.usage.cost.filter(|_| result.usage.unpriced == 0),
        turns: result.turns,
        duration_ms: u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX),
        exit_code: result.exit_code,
    };
    writer.write_all(json_line(&object)?.as_bytes())?;
    writer.flush()
}
