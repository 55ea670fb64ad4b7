//! Why an answer ended, or there is none.

use pantograph::{ErrorClass, ProviderError, StopReason};

use super::answer::PromptFeedback;

/// How an answer ended; `None` if the reason says that it did not.
///
/// # Errors
///
/// The answer is none: it was filtered, or the model broke the rules.
pub(super) fn stop(reason: &str, words: Option<&str>) -> Result<Option<StopReason>, ProviderError> {
    let (class, what) = match reason {
        "" | "FINISH_REASON_UNSPECIFIED" => return Ok(None),
        "STOP" => return Ok(Some(StopReason::End)),
        "MAX_TOKENS" => return Ok(Some(StopReason::Limit)),
        // What a model does wrong once it mostly does right the next time.
        "MALFORMED_FUNCTION_CALL" => (ErrorClass::Server, "the model wrote a broken tool call"),
        "UNEXPECTED_TOOL_CALL" => (
            ErrorClass::Server,
            "the model called a tool that it does not have",
        ),
        "MALFORMED_RESPONSE" => (ErrorClass::Server, "the model wrote a broken answer"),
        "OTHER" => (
            ErrorClass::Server,
            "the provider stopped the answer without saying why",
        ),
        "MISSING_THOUGHT_SIGNATURE" => (
            ErrorClass::InvalidRequest,
            "the provider misses the signature of an earlier tool call",
        ),
        "TOO_MANY_TOOL_CALLS" => (
            ErrorClass::Terminal,
            "the provider stopped the answer: too many tool calls in a row",
        ),
        "SAFETY"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "RECITATION"
        | "LANGUAGE"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "MODEL_ARMOR" => (
            ErrorClass::Terminal,
            "the provider's content filter stopped the answer",
        ),
        // What the API may come to have; none of them is a way to be complete.
        _ => (ErrorClass::Terminal, "the provider stopped the answer"),
    };
    Err(failed(class, what, reason, words))
}

/// The failure that a blocked prompt is.
pub(super) fn blocked(feedback: &PromptFeedback) -> Option<ProviderError> {
    let reason = feedback.block_reason.as_deref()?;
    if matches!(
        reason,
        "" | "BLOCK_REASON_UNSPECIFIED" | "BLOCKED_REASON_UNSPECIFIED"
    ) {
        return None;
    }
    Some(failed(
        ErrorClass::Terminal,
        "the provider's content filter refused the request",
        reason,
        feedback.block_reason_message.as_deref(),
    ))
}

fn failed(class: ErrorClass, what: &str, code: &str, words: Option<&str>) -> ProviderError {
    let words = words.map(str::trim).filter(|words| !words.is_empty());
    let mut error = ProviderError::new(
        class,
        match words {
            Some(words) => format!("{what}: {words}"),
            None => format!("{what} ({code})"),
        },
    );
    error.code = Some(code.to_owned());
    error
}
