//! Real shapes of failures, and the class that each has.

use super::*;

/// What providers answer, as their documentation and their users have it.
const ANSWERS: &[(u16, &str, &str)] = &[
    // Anthropic
    (
        400,
        "invalid_request",
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: roles must alternate"},"request_id":"req_1"}"#,
    ),
    (
        400,
        "context_overflow",
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
    ),
    (
        400,
        "context_overflow",
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}"#,
    ),
    (
        400,
        "terminal",
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
    ),
    (
        400,
        "terminal",
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01."}}"#,
    ),
    (
        401,
        "authentication",
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
    ),
    (
        402,
        "terminal",
        r#"{"type":"error","error":{"type":"billing_error","message":"pay"}}"#,
    ),
    (
        403,
        "authentication",
        r#"{"type":"error","error":{"type":"permission_error","message":"no"}}"#,
    ),
    (
        404,
        "model_not_found",
        r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}"#,
    ),
    (
        413,
        "context_overflow",
        r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
    ),
    (
        429,
        "rate_limit",
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit"}}"#,
    ),
    (
        500,
        "server",
        r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#,
    ),
    (
        504,
        "server",
        r#"{"type":"error","error":{"type":"timeout_error","message":"Timeout"}}"#,
    ),
    (
        529,
        "overloaded",
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    ),
    // OpenAI
    (
        400,
        "context_overflow",
        r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    ),
    (
        400,
        "invalid_request",
        r#"{"error":{"message":"Unsupported value: 'reasoning.effort'","type":"invalid_request_error","param":"reasoning.effort","code":"unsupported_value"}}"#,
    ),
    (
        400,
        "terminal",
        r#"{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400}}"#,
    ),
    (
        401,
        "authentication",
        r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
    ),
    (
        404,
        "model_not_found",
        r#"{"error":{"message":"The model `gpt-9` does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
    ),
    (
        404,
        "terminal",
        r#"{"error":{"message":"Invalid URL (POST /v1/v1/responses)","type":"invalid_request_error","param":null,"code":null}}"#,
    ),
    (
        429,
        "rate_limit",
        r#"{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
    ),
    (
        429,
        "terminal",
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
    ),
    (
        429,
        "context_overflow",
        r#"{"error":{"message":"Request too large for gpt-x in organization org on tokens per min (TPM): Limit 30000, Requested 61337.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
    ),
    (
        500,
        "server",
        r#"{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}"#,
    ),
    (
        503,
        "overloaded",
        r#"{"error":{"message":"slow down","type":"server_error","param":null,"code":"slow_down"}}"#,
    ),
    // OpenRouter, which also puts these into streams
    (
        402,
        "terminal",
        r#"{"error":{"code":402,"message":"Insufficient credits"}}"#,
    ),
    (
        403,
        "terminal",
        r#"{"error":{"code":403,"message":"Input was flagged","metadata":{"reasons":["x"],"flagged_input":"y","provider_name":"z"}}}"#,
    ),
    (
        429,
        "rate_limit",
        r#"{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"m is temporarily rate-limited upstream","provider_name":"x"}}}"#,
    ),
    (
        502,
        "context_overflow",
        r#"{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 9 > 8\",\"type\":\"invalid_request_error\"}}","provider_name":"x"}}}"#,
    ),
    (
        400,
        "overloaded",
        r#"{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"}}}"#,
    ),
    (
        502,
        "server",
        r#"{"error":{"code":502,"message":"No instances available"}}"#,
    ),
    // DeepSeek
    (
        402,
        "terminal",
        r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#,
    ),
    (
        422,
        "invalid_request",
        r#"{"error":{"message":"Failed to deserialize the JSON body","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
    ),
    // Mistral
    (
        400,
        "invalid_request",
        r#"{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_message_order","param":null,"code":"3230"}"#,
    ),
    (
        400,
        "model_not_found",
        r#"{"object":"error","message":"Invalid model: m-9","type":"invalid_model","param":null,"code":"1500"}"#,
    ),
    (
        400,
        "context_overflow",
        r#"{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}"#,
    ),
    (401, "authentication", r#"{"detail":"Unauthorized"}"#),
    (
        422,
        "invalid_request",
        r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","messages",0,"name"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error","param":null,"code":null}"#,
    ),
    (
        422,
        "invalid_request",
        r#"{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required"},{"msg":"and more"}]}"#,
    ),
    (
        429,
        "overloaded",
        r#"{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","param":null,"code":"3505"}"#,
    ),
    // Groq
    (
        400,
        "server",
        r#"{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=x>"}}"#,
    ),
    (
        400,
        "model_not_found",
        r#"{"error":{"message":"The model has been decommissioned","type":"invalid_request_error","code":"model_decommissioned"}}"#,
    ),
    (
        413,
        "context_overflow",
        r#"{"error":{"message":"Request too large for model `x` in organization `o` on tokens per minute (TPM): Limit 6000, Requested 6294","type":"tokens","code":"rate_limit_exceeded"}}"#,
    ),
    (
        498,
        "overloaded",
        r#"{"error":{"message":"Flex tier capacity exceeded"}}"#,
    ),
    // Ollama
    (404, "model_not_found", r#"{"error":"model 'x' not found"}"#),
    (
        400,
        "invalid_request",
        r#"{"error":{"message":"\"x\" does not support thinking","type":"invalid_request_error","param":null,"code":null}}"#,
    ),
    (404, "terminal", "404 page not found"),
    // llama.cpp
    (
        400,
        "context_overflow",
        r#"{"error":{"code":400,"message":"request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}"#,
    ),
    (
        401,
        "authentication",
        r#"{"error":{"code":401,"message":"Invalid API Key","type":"authentication_error"}}"#,
    ),
    (
        404,
        "terminal",
        r#"{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}"#,
    ),
    (
        500,
        "server",
        r#"{"error":{"code":500,"message":"Failed to parse messages","type":"server_error"}}"#,
    ),
    (
        501,
        "invalid_request",
        r#"{"error":{"code":501,"message":"This server does not support it","type":"not_supported_error"}}"#,
    ),
    (
        503,
        "overloaded",
        r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
    ),
    // vLLM
    (
        400,
        "context_overflow",
        r#"{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens","type":"BadRequestError","param":null,"code":400}"#,
    ),
    (
        404,
        "model_not_found",
        r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","param":null,"code":404}"#,
    ),
    (404, "terminal", r#"{"detail":"Not Found"}"#),
    // xAI
    (
        400,
        "invalid_request",
        r#"{"code":"invalid-argument","error":"Model x does not support parameter reasoningEffort."}"#,
    ),
    // Proxies
    (409, "server", ""),
    (
        413,
        "context_overflow",
        "<html><h1>413 Request Entity Too Large</h1></html>",
    ),
    (502, "server", "<html><h1>502 Bad Gateway</h1></html>"),
    (524, "server", "error code: 524"),
];

#[test]
fn each_providers_failures_have_their_class() {
    let mut wrong = Vec::new();
    for (status, class, body) in ANSWERS {
        let status = StatusCode::from_u16(*status).unwrap();
        let error = from_answer(status, &HeaderMap::new(), body);
        if error.class.as_str() != *class {
            wrong.push(format!("{status} {body}: {}", error.class.as_str()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn failures_inside_a_stream_have_the_class_of_their_object() {
    for (_, class, body) in ANSWERS {
        // These tell their class by the status of the answer alone.
        let number = serde_json::from_str::<serde_json::Value>(body)
            .ok()
            .and_then(|value| value["error"]["code"].as_u64());
        if number.is_some() {
            assert_eq!(in_stream(body).class.as_str(), *class, "{body}");
        }
    }
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#;
    assert_eq!(in_stream(overloaded).class, ErrorClass::Overloaded);
}

#[test]
fn what_validators_say_is_said_with_its_place() {
    let said =
        |body: &str| from_answer(StatusCode::UNPROCESSABLE_ENTITY, &HeaderMap::new(), body).message;
    let of = |start: &str| {
        ANSWERS
            .iter()
            .find(|(status, _, body)| *status == 422 && body.starts_with(start))
            .unwrap()
            .2
    };
    insta::assert_snapshot!(said(of(r#"{"object""#)), @"body.messages.0.name: Extra inputs are not permitted");
    insta::assert_snapshot!(said(of(r#"{"detail":["#)), @"body.model: Field required; and more");
    insta::assert_snapshot!(from_answer(StatusCode::NOT_FOUND, &HeaderMap::new(), "404 page not found").message, @"the provider answered with 404 Not Found, so there is nothing at this path; is the base URL right? It says: 404 page not found");
    let passed_on = ANSWERS
        .iter()
        .find(|(status, class, _)| *status == 502 && *class == "context_overflow")
        .unwrap()
        .2;
    insta::assert_snapshot!(said(passed_on), @"Provider returned error: prompt is too long: 9 > 8");
}
