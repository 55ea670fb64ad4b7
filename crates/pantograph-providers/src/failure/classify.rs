//! Which class a failure has.

use pantograph::ErrorClass;
use pantograph::ErrorClass::{
    Authentication, ContextOverflow, InvalidRequest, ModelNotFound, Overloaded, RateLimit, Server,
    Terminal,
};

use super::words::Words;

/// Codes that say enough by themselves, of all providers: none means two things.
const CODES: &[(&str, ErrorClass)] = &[
    // Anthropic
    ("authentication_error", Authentication),
    ("permission_error", Authentication),
    ("billing_error", Terminal),
    ("not_found_error", ModelNotFound),
    ("request_too_large", ContextOverflow),
    ("rate_limit_error", RateLimit),
    ("overloaded_error", Overloaded),
    // OpenAI and what speaks like it
    ("invalid_api_key", Authentication),
    ("invalid_authentication_error", Authentication),
    ("insufficient_permissions", Authentication),
    ("model_not_found", ModelNotFound),
    ("context_length_exceeded", ContextOverflow),
    ("exceed_context_size_error", ContextOverflow),
    ("tokens_limit_reached", ContextOverflow),
    ("string_above_max_length", ContextOverflow),
    ("insufficient_quota", Terminal),
    ("billing_hard_limit_reached", Terminal),
    ("billing_not_active", Terminal),
    ("access_terminated", Terminal),
    ("rate_limit_exceeded", RateLimit),
    ("rate_limit_reached_error", RateLimit),
    ("slow_down", Overloaded),
    ("server_is_overloaded", Overloaded),
    ("engine_overloaded_error", Overloaded),
    ("content_filter", Terminal),
    ("content_policy_violation", Terminal),
    // llama.cpp
    ("unavailable_error", Overloaded),
    ("not_supported_error", InvalidRequest),
    // Groq: the model wrote a call that is none, and may not the next time
    ("tool_use_failed", Server),
    ("model_decommissioned", ModelNotFound),
    // Mistral
    ("invalid_model", ModelNotFound),
    ("service_tier_capacity_exceeded", Overloaded),
    // Gemini
    ("API_KEY_INVALID", Authentication),
    ("UNAUTHENTICATED", Authentication),
    ("PERMISSION_DENIED", Authentication),
    ("NOT_FOUND", ModelNotFound),
    ("RESOURCE_EXHAUSTED", RateLimit),
    ("UNAVAILABLE", Overloaded),
];

/// Codes of a failure inside, in which a provider may wrap any other.
const INSIDE: &[&str] = &[
    "api_error",
    "timeout_error",
    "server_error",
    "internal_server_error",
    "INTERNAL",
    "DEADLINE_EXCEEDED",
];

/// How providers say that a request does not fit, in lower case.
const OVERFLOW: &[&str] = &[
    // Anthropic
    "prompt is too long",
    "exceed context limit",
    "request exceeds the maximum size",
    // OpenAI, vLLM, DeepSeek, OpenRouter, Mistral
    "maximum context length",
    "exceeds the context window",
    "reduce the length of the messages",
    "too large for model with",
    // llama.cpp, Ollama, LM Studio
    "exceeds the available context size",
    "exceeds the context length",
    "greater than the context length",
    // Gemini, xAI, Bedrock, Moonshot, MiniMax
    "exceeds the maximum number of tokens",
    "model only supports up to",
    "request payload size exceeds the limit",
    "maximum prompt length",
    "input is too long",
    "exceeded model token limit",
    "context window exceeds limit",
];

/// How providers say that there is no more money, with a code that does not, in lower case.
const UNPAID: &[&str] = &[
    "credit balance is too low",
    "reached your specified api usage limits",
];

pub(super) fn classify(words: &Words, status: Option<u16>) -> ErrorClass {
    // A status inside the object of a stream is all that some proxies give.
    let status = status.filter(|status| *status >= 300).or(words.status);
    if status == Some(404) && is_about_the_path(words) || words.is_moderated {
        return Terminal;
    }
    // Whatever else a server says with them: asking again with the same key changes nothing.
    if matches!(status, Some(401 | 403)) {
        return Authentication;
    }
    if exceeds_every_minute(words) {
        return ContextOverflow;
    }
    let mut codes = words.codes.iter();
    match codes.find_map(|code| class_of_code(code)) {
        Some(RateLimit) if words.is_spent => return Terminal,
        Some(class) => return class,
        None => {}
    }
    // Proxies give any status to what a provider behind them says.
    if status != Some(429) && says(words, OVERFLOW) {
        return ContextOverflow;
    }
    if says(words, UNPAID) {
        return Terminal;
    }
    if words.codes.iter().any(|code| INSIDE.contains(&&**code)) {
        return Server;
    }
    match status {
        Some(402 | 407) => Terminal,
        Some(404) => ModelNotFound,
        Some(408 | 409) => Server,
        Some(413) => ContextOverflow,
        Some(429) => RateLimit,
        Some(498 | 503 | 529) => Overloaded,
        Some(501) => InvalidRequest,
        Some(500..) => Server,
        Some(400..) => InvalidRequest,
        // What a stream ends with, and names no cause that is known, may not come again.
        _ if words.codes.iter().any(|code| is_refusal(code)) => InvalidRequest,
        _ => Server,
    }
}

/// Whether the server does not know the path: then the base URL is wrong, and not the model.
fn is_about_the_path(words: &Words) -> bool {
    words.message.as_ref().is_none_or(|message| {
        let message = message.to_lowercase();
        matches!(&*message, "not found" | "file not found") || message.starts_with("invalid url")
    })
}

/// Whether the request alone has more tokens than there are for a minute: waiting does not help,
/// and a shorter one may.
fn exceeds_every_minute(words: &Words) -> bool {
    says(words, &["request too large for"]) && says(words, &["tokens per min"])
}

fn class_of_code(code: &str) -> Option<ErrorClass> {
    let known = CODES.iter().find(|(known, _)| *known == code)?;
    Some(known.1)
}

/// Codes that only say that the request is at fault.
fn is_refusal(code: &str) -> bool {
    // Mistral's `invalid_request_message_order` and its like are said so.
    code.starts_with("invalid_request")
        || matches!(
            code,
            "invalid_prompt" | "INVALID_ARGUMENT" | "FAILED_PRECONDITION"
        )
}

fn says(words: &Words, wordings: &[&str]) -> bool {
    let Some(message) = &words.message else {
        return false;
    };
    let message = message.to_lowercase();
    wordings.iter().any(|wording| message.contains(wording))
}
