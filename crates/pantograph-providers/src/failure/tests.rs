use super::*;

mod answers;
mod secrets;

#[test]
fn each_providers_wording_of_an_overflow_is_known() {
    for message in [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
        "Your input exceeds the context window of this model. Please adjust your input",
        "Please reduce the length of the messages or completion.",
        "Prompt contains 40000 tokens and is too large for model with 32768 maximum context length",
        "the request exceeds the available context size (4096 tokens), try increasing it",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Unable to submit request because the input token count is 1200000 but model only supports up to 1048576.",
        "Request payload size exceeds the limit: 20971520 bytes.",
        "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
        "Input is too long for requested model.",
        "Invalid request: Your request exceeded model token limit: 131072",
    ] {
        let json = serde_json::json!({ "error": { "message": message } }).to_string();
        assert_eq!(
            in_stream(&json).class,
            ErrorClass::ContextOverflow,
            "{message}"
        );
        let status = StatusCode::BAD_REQUEST;
        let error = from_answer(status, &HeaderMap::new(), &json);
        assert_eq!(error.class, ErrorClass::ContextOverflow, "{message}");
        // The same words about a rate are about a rate.
        let status = StatusCode::TOO_MANY_REQUESTS;
        let error = from_answer(status, &HeaderMap::new(), &json);
        assert_eq!(error.class, ErrorClass::RateLimit, "{message}");
    }
}

#[test]
fn pages_are_quoted_without_their_tags() {
    let page = "<HTML>\n<SCRIPT>if (a < b) {}</SCRIPT><p>one<br>two</p> <b";
    assert_eq!(excerpt(&without_tags(page)), "one two");
    assert_eq!(excerpt(&"word ".repeat(100)).chars().count(), 201);
    assert_eq!(cut("äöü".into(), 2), "äö…");
    assert_eq!(cut("äöü".into(), 3), "äöü");
}
