//! What a provider repeats of a request leaves no secret in a failure, and keeps its meaning.

use std::sync::Arc;

use super::*;
use crate::credentials::ApiKey;
use crate::endpoint::{BaseUrl, Endpoint};
use crate::{HttpClient, NoKey};

const KEY: &str = "sk-test-Zk93/xQ0kP7";
const QUERY: &str = "q-Vb61hunter2";
const HEADER: &str = "h-Wc75-a-token";

fn exchange(key: &str) -> Exchange {
    let base_url = BaseUrl::parse(&format!("http://a/v1?key={QUERY}")).unwrap();
    let endpoint = Endpoint::new(base_url, Arc::new(NoKey), HttpClient::without_proxies());
    let headers = [("x-token", &*format!("Bearer {HEADER}"))];
    let mut exchange = Exchange::with(endpoint.with_headers(headers).unwrap());
    exchange.key = Some(ApiKey::new(key, "the test"));
    exchange
}

/// Every way in which words become an error, each repeating `words`.
fn failures(words: &str) -> Vec<ProviderError> {
    let location = format!("http://b/{}", words.replace(' ', "%20"));
    let headers = HeaderMap::from_iter([(LOCATION, location.parse().unwrap())]);
    let none = HeaderMap::new();
    let object = serde_json::json!({ "neither": words }).to_string();
    let message = serde_json::json!({ "error": { "message": words, "code": words } }).to_string();
    vec![
        in_stream(&object),
        in_stream(&object.replace('/', "\\/")),
        in_stream(&message),
        malformed("broken", words),
        from_answer(StatusCode::TEMPORARY_REDIRECT, &headers, ""),
        from_answer(
            StatusCode::NOT_FOUND,
            &none,
            &format!("Cannot POST /{words}"),
        ),
        from_answer(StatusCode::OK, &none, &object),
        from_answer(StatusCode::BAD_GATEWAY, &none, &format!("<html><p>{words}")),
        from_answer(StatusCode::BAD_REQUEST, &none, words),
        from_answer(StatusCode::BAD_REQUEST, &none, &message),
    ]
}

#[test]
fn no_cut_leaves_the_beginning_of_a_secret() {
    for secret in [KEY, QUERY, HEADER] {
        for before in (100..220).chain(1_960..2_001) {
            // In two words, so that an excerpt keeps both.
            let words = format!("{} {secret} and more", "x".repeat(before));
            for error in failures(&words) {
                let error = exchange(KEY).complete(error);
                assert!(
                    !format!("{error:?}").contains(&secret[..6]),
                    "{before} {error:?}"
                );
            }
        }
    }
}

#[test]
fn an_answer_that_is_read_in_part_leaves_no_part_of_a_secret() {
    let said = |words: &str| {
        let error = from_answer(StatusCode::BAD_GATEWAY, &HeaderMap::new(), words);
        exchange(KEY).complete(error).message
    };
    insta::assert_snapshot!(said("no sk-test-Zk9"), @"the provider answered with 502 Bad Gateway: no [redacted]");
    // So much is the name of who gave it.
    insta::assert_snapshot!(said("no sk-te"), @"the provider answered with 502 Bad Gateway: no sk-te");
}

#[test]
fn what_stands_in_for_a_key_changes_no_words() {
    let body = r#"{"error":{"message":"1 model `ollama` is EMPTY","code":"model_not_found"}}"#;
    for key in ["1", "EMPTY", "ollama", "", "\""] {
        let error = from_answer(StatusCode::BAD_REQUEST, &HeaderMap::new(), body);
        let error = exchange(key).complete(error);
        assert_eq!(error.message, "1 model `ollama` is EMPTY");
        assert_eq!(error.class, ErrorClass::ModelNotFound);
    }
}

#[test]
fn a_key_that_an_error_object_is_made_of_does_not_change_its_class() {
    let body = r#"{"error":{"message":"not there","code":"model_not_found"}}"#;
    for key in ["model_not_found", "\"error\":{\"message\""] {
        let error = from_answer(StatusCode::BAD_REQUEST, &HeaderMap::new(), body);
        let error = exchange(key).complete(error);
        assert_eq!(error.class, ErrorClass::ModelNotFound, "{key}");
        assert_eq!(error.message, "not there", "{key}");
        assert_ne!(error.code.as_deref(), Some(key));
    }
}

#[test]
fn codes_and_ids_are_short() {
    let long = "c".repeat(100_000);
    let body = serde_json::json!({
        "error": { "message": "m", "code": long }, "request_id": long,
    });
    for error in [
        in_stream(&body.to_string()),
        from_answer(
            StatusCode::BAD_REQUEST,
            &HeaderMap::new(),
            &body.to_string(),
        ),
    ] {
        let error = exchange(KEY).complete(error);
        let length = |text: &Option<String>| text.as_ref().map(|text| text.chars().count());
        assert_eq!(length(&error.code), Some(201));
        assert_eq!(length(&error.request_id), Some(201));
    }
}
