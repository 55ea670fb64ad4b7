//! The validators refuse: a body that is taken, with one thing about it changed.

use pantograph::{Model, ReasoningControl};
use serde_json::{Value, json};

use super::{ANTHROPIC, RESPONSES, chat_home};
use crate::strict;
use crate::support::conversation::{self, request, rich};
use crate::support::random::Home;

/// A change of a body, and words of the refusal that it gets.
type Change = (&'static str, fn(&mut Value));

/// Panics unless each change is refused so, and the body without one is taken.
fn each(good: &Value, check: impl Fn(&Value) -> Vec<String>, changes: &[Change]) {
    assert_eq!(check(good), [""; 0]);
    for (words, change) in changes {
        let mut bad = good.clone();
        change(&mut bad);
        let refusals = check(&bad);
        assert!(
            refusals.iter().any(|refusal| refusal.contains(words)),
            "{words}: {refusals:?}"
        );
    }
}

fn model(home: Home) -> Model {
    let mut model = conversation::model("p", home.model, home.base_url);
    model.reasoning = Some("high".into());
    model
}

#[test]
fn the_messages_api_refuses() {
    let facts = strict::anthropic::Facts {
        model: ANTHROPIC.model,
        budget: true,
        forced_while_thinking: false,
        thinks_unasked: false,
    };
    let mut model = model(ANTHROPIC);
    model.reasoning_control = Some(ReasoningControl::Budget);
    let (good, _) = super::anthropic(&request(model, rich(&conversation::foreign())));
    each(
        &good,
        |body| strict::anthropic::check(body, facts),
        &[
            ("at least one message", |body| body["messages"] = json!([])),
            ("first message must use", |body| {
                body["messages"].as_array_mut().unwrap().remove(0);
            }),
            ("prefill", |body| {
                body["messages"].as_array_mut().unwrap().pop();
            }),
            ("roles must alternate", |body| {
                body["messages"][1]["role"] = "user".into()
            }),
            ("non-whitespace", |body| {
                body["messages"][0]["content"][0]["text"] = "\u{1c}".into()
            }),
            ("without `tool_result`", |body| {
                body["messages"][2]["content"]
                    .as_array_mut()
                    .unwrap()
                    .remove(0);
            }),
            ("unexpected `tool_use_id`", |body| {
                body["messages"][2]["content"][0]["tool_use_id"] = "x".into();
            }),
            ("must come first", |body| {
                let text = json!({ "type": "text", "text": "x" });
                body["messages"][2]["content"]
                    .as_array_mut()
                    .unwrap()
                    .insert(0, text);
            }),
            ("tool_use.id", |body| {
                body["messages"][1]["content"][1]["id"] = "a b".into()
            }),
            ("Input should be a valid dictionary", |body| {
                body["messages"][1]["content"][1]["input"] = "{}".into();
            }),
            ("Invalid `signature`", |body| {
                body["messages"][1]["content"][0] =
                    json!({ "type": "thinking", "thinking": "x", "signature": "" });
            }),
            ("cannot be `thinking`", |body| {
                let thinking = json!({ "type": "thinking", "thinking": "x", "signature": "x" });
                body["messages"][1]["content"]
                    .as_array_mut()
                    .unwrap()
                    .push(thinking);
            }),
            ("must define tools", |body| body["tools"] = json!([])),
            ("must be unique", |body| {
                body["tools"][1] = body["tools"][0].clone()
            }),
            ("tools.0.custom.name", |body| {
                body["tools"][0]["name"] = "a.b".into()
            }),
            ("at the top level", |body| {
                body["tools"][0]["input_schema"]["anyOf"] = json!([{}])
            }),
            ("Property keys", |body| {
                body["tools"][0]["input_schema"]["properties"]["$x"] = json!({});
            }),
            ("JSON schema is invalid", |body| {
                body["tools"][0]["input_schema"]["required"] = true.into();
            }),
            ("not found in provided", |body| {
                body["tool_choice"] = json!({ "type": "tool", "name": "x" });
            }),
            ("forces tool use", |body| {
                body["tool_choice"] = json!({ "type": "any" })
            }),
            ("greater than or equal to 1024", |body| {
                body["thinking"]["budget_tokens"] = 1.into()
            }),
            ("must be greater than", |body| {
                body["max_tokens"] = 1024.into()
            }),
            ("is not supported", |body| {
                body["thinking"] = json!({ "type": "adaptive" })
            }),
            ("A maximum of 4", |body| {
                body["system"][0]["cache_control"] = json!({});
                body["system"][1]["cache_control"] = json!({});
                body["tools"][0]["cache_control"] = json!({});
            }),
            ("Extra inputs", |body| body["temperature"] = 1.into()),
        ],
    );
}

#[test]
fn chat_servers_refuse() {
    let home = chat_home("mistral");
    let (good, _) = super::chat(
        &request(model(home), rich(&conversation::foreign())),
        "mistral",
    );
    each(
        &good,
        |body| strict::openai_chat::check(body, "mistral"),
        &[
            ("Unrecognized", |body| body["stream_options"] = json!({})),
            ("must be one of", |body| {
                body["reasoning_effort"] = "minimal".into()
            }),
            ("too short - 'tools'", |body| body["tools"] = json!([])),
            ("is only allowed", |body| {
                body["tool_choice"] = "none".into();
                body.as_object_mut().unwrap().remove("tools");
            }),
            ("does not match pattern", |body| {
                body["tools"][0]["function"]["name"] = "a.b".into()
            }),
            ("missing items", |body| {
                body["tools"][0]["function"]["parameters"]["properties"]["x"] =
                    json!({ "type": "array" });
            }),
            ("Unexpected role", |body| {
                body["messages"].as_array_mut().unwrap().remove(1);
            }),
            ("must be followed", |body| {
                body["messages"].as_array_mut().unwrap().remove(3);
            }),
            ("Tool call id was", |body| {
                body["messages"][2]["tool_calls"][0]["id"] = "0123456789".into();
            }),
            ("got null", |body| {
                body["messages"][1]["content"] = Value::Null
            }),
            ("non-empty", |body| {
                body["messages"][1]["content"] = " ".into()
            }),
            ("is unsupported", |body| {
                body["messages"][2]["reasoning_content"] = "x".into()
            }),
            ("invalid tool call arguments", |body| {
                body["messages"][2]["tool_calls"][0]["function"]["arguments"] = "null".into();
            }),
            ("unsupported content", |body| {
                body["messages"][3]["content"] = json!([{ "type": "image_url" }]);
            }),
            ("Expected last role", |body| {
                body["messages"].as_array_mut().unwrap().pop();
            }),
            ("NUL", |body| body["messages"][1]["content"] = "\0".into()),
        ],
    );
    let plain = json!({
        "model": "m", "stream": true, "messages": [{ "role": "user", "content": "Hello" }],
        "tools": [{ "type": "function", "function": {
            "name": "f", "parameters": { "type": "object", "properties": {} },
        } }],
    });
    each(
        &plain,
        |body| strict::openai_chat::check(body, "llama-cpp"),
        &[
            ("Invalid tool_choice", |body| {
                body["tool_choice"] = json!({ "type": "function", "function": { "name": "f" } });
            }),
            ("Unrecognized schema", |body| {
                body["tools"][0]["function"]["parameters"]["properties"]["x"] =
                    json!({ "description": "x" });
            }),
        ],
    );
}

#[test]
fn the_responses_api_refuses() {
    let facts = strict::openai_responses::Facts {
        model: RESPONSES.model,
        reasons: true,
    };
    let (good, _) = super::responses(&request(model(RESPONSES), rich(&conversation::foreign())));
    let check = |body: &Value| strict::openai_responses::check(body, facts);
    let mute = strict::openai_responses::Facts {
        reasons: false,
        ..facts
    };
    let refusals = strict::openai_responses::check(&good, mute);
    assert!(
        refusals
            .iter()
            .any(|refusal| refusal.contains("Encrypted content"))
    );
    each(
        &good,
        check,
        &[
            ("Unknown parameter", |body| body["stop"] = json!([])),
            ("`store` is set to false", |body| {
                body["store"] = true.into()
            }),
            ("Supported values", |body| {
                body["reasoning"]["effort"] = "off".into()
            }),
            ("below minimum value", |body| {
                body["max_output_tokens"] = 15.into()
            }),
            ("maximum length 64", |body| {
                body["prompt_cache_key"] = "x".repeat(65).into()
            }),
            ("No tool output found", |body| {
                let input = body["input"].as_array_mut().unwrap();
                let output = input
                    .iter()
                    .position(|i| i["type"] == "function_call_output");
                input.remove(output.unwrap());
            }),
            ("required following item", |body| {
                let input = body["input"].as_array_mut().unwrap();
                let encrypted = strict::sign("gpt-x", "rs_1");
                input.push(json!({
                    "type": "reasoning", "id": "rs_1", "summary": [],
                    "encrypted_content": encrypted,
                }));
            }),
            ("not persisted", |body| {
                let input = body["input"].as_array_mut().unwrap();
                input.push(json!({ "type": "reasoning", "id": "rs_1", "summary": [] }));
            }),
            ("without its required 'reasoning'", |body| {
                let input = body["input"].as_array_mut().unwrap();
                input.push(json!({
                    "type": "message", "id": "msg_1_after_rs_1", "role": "assistant",
                    "content": "x",
                }));
            }),
            ("begins with 'msg_'", |body| {
                body["input"][0]["id"] = "toolu_1".into()
            }),
            ("empty content", |body| {
                body["input"][0]["content"] = "".into()
            }),
            ("Invalid value: 'output_text'", |body| {
                body["input"][0]["content"] = json!([{ "type": "output_text", "text": "x" }]);
            }),
            ("required to be supplied", |body| {
                body["tools"][0]["strict"] = true.into()
            }),
            ("Invalid tool_choice", |body| {
                body["tool_choice"] = json!({ "type": "function", "function": { "name": "find" } });
            }),
        ],
    );
}
