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
    ("api_error", Server),
    ("timeout_error", Server),
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
    ("server_error", Server),
    ("internal_server_error", Server),
    // Gemini
    ("API_KEY_INVALID", Authentication),
    ("UNAUTHENTICATED", Authentication),
    ("PERMISSION_DENIED", Authentication),
    ("NOT_FOUND", ModelNotFound),
    ("RESOURCE_EXHAUSTED", RateLimit),
    ("UNAVAILABLE", Overloaded),
    ("INTERNAL", Server),
    ("DEADLINE_EXCEEDED", Server),
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

pub(super) fn classify(words: &Words, status: Option<u16>) -> ErrorClass {
    let mut codes = words.codes.iter();
    match codes.find_map(|code| class_of_code(code)) {
        Some(RateLimit) if words.is_spent => return Terminal,
        Some(class) => return class,
        None => {}
    }
    // A status inside the object of a stream is all that some proxies give.
    let status = status.filter(|status| *status >= 300).or(words.status);
    if matches!(status, None | Some(400 | 413 | 422 | 500)) && says_overflow(words) {
        return ContextOverflow;
    }
    match status {
        Some(401 | 403) => Authentication,
        Some(402) => Terminal,
        Some(404) => ModelNotFound,
        Some(408 | 409) => Server,
        Some(413) => ContextOverflow,
        Some(429) => RateLimit,
        Some(503 | 529) => Overloaded,
        Some(500..) => Server,
        Some(400..) => InvalidRequest,
        // What a stream ends with, and names no cause that is known, may not come again.
        _ if words.codes.iter().any(|code| is_refusal(code)) => InvalidRequest,
        _ => Server,
    }
}

fn class_of_code(code: &str) -> Option<ErrorClass> {
    let known = CODES.iter().find(|(known, _)| *known == code)?;
    Some(known.1)
}

/// Codes that only say that the request is at fault.
fn is_refusal(code: &str) -> bool {
    matches!(
        code,
        "invalid_request_error" | "invalid_prompt" | "INVALID_ARGUMENT" | "FAILED_PRECONDITION"
    )
}

fn says_overflow(words: &Words) -> bool {
    let Some(message) = &words.message else {
        return false;
    };
    let message = message.to_lowercase();
    OVERFLOW.iter().any(|wording| message.contains(wording))
}
