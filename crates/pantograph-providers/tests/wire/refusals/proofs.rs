//! The validators refuse: a body that is taken, with one thing about it changed.

use std::sync::Arc;

use pantograph::protocol::ToolChoice;
use pantograph::{ForcedTool, Model, ReasoningControl};
use serde_json::{Value, json};

use super::{ANTHROPIC, GOOGLE, RESPONSES, chat_home};
use crate::strict;
use crate::strict::google_generate::Thinks;
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

#[test]
fn the_gemini_api_refuses() {
    let facts = strict::google_generate::Facts {
        model: Some(GOOGLE.model),
        thinks: Thinks::Levels,
    };
    let mut forced = request(model(GOOGLE), rich(&conversation::foreign()));
    forced.tool_choice = ToolChoice::Named("find".into());
    Arc::make_mut(&mut forced.model).forced_tool = ForcedTool::Yes;
    let (good, _) = super::google(&forced);
    let check = |body: &Value| strict::google_generate::check(body, facts);
    each(&good, check, GEMINI_REFUSES);
    for (thinks, words) in [
        (Thinks::Budget, "Thinking level is not supported"),
        (Thinks::Budget, "Multimodal function response"),
        (Thinks::Never, "Thinking is not supported"),
    ] {
        let facts = strict::google_generate::Facts { thinks, ..facts };
        let refusals = strict::google_generate::check(&good, facts);
        let is_refused = refusals.iter().any(|refusal| refusal.contains(words));
        assert!(is_refused, "{words}: {refusals:?}");
    }
}

/// A function that Gemini is told of.
fn function(body: &mut Value) -> &mut Value {
    &mut body["tools"][0]["functionDeclarations"][0]
}

/// The first property of what it takes.
fn property(body: &mut Value) -> &mut Value {
    let properties = function(body)["parameters"]["properties"].as_object_mut();
    properties.unwrap().values_mut().next().unwrap()
}

/// The contents of one kind.
fn contents<'a>(body: &'a mut Value, part: &str) -> &'a mut Value {
    let contents = body["contents"].as_array_mut().unwrap().iter_mut();
    let has = |content: &Value| {
        let parts = content["parts"].as_array().unwrap();
        parts.iter().any(|it| it.get(part).is_some())
    };
    contents.into_iter().find(|content| has(content)).unwrap()
}

/// The first part of one kind.
fn part<'a>(body: &'a mut Value, part: &str) -> &'a mut Value {
    let parts = contents(body, part)["parts"].as_array_mut().unwrap();
    let has = |it: &&mut Value| it.get(part).is_some();
    parts.iter_mut().find(has).unwrap()
}

const GEMINI_REFUSES: &[Change] = &[
    ("Cannot find field", |body| body["stop"] = json!([])),
    ("payload size", |body| {
        part(body, "text")["text"] = "x".repeat(100_000_000).into();
    }),
    ("NUL", |body| part(body, "text")["text"] = "\0".into()),
    ("system_instruction", |body| {
        body["systemInstruction"]["parts"] = json!([])
    }),
    ("must be positive", |body| {
        body["generationConfig"]["maxOutputTokens"] = 0.into()
    }),
    ("only one of thinking budget", |body| {
        body["generationConfig"]["thinkingConfig"]["thinkingBudget"] = 512.into();
    }),
    ("thinking_level", |body| {
        body["generationConfig"]["thinkingConfig"]["thinkingLevel"] = "max".into();
    }),
    ("The thinking budget", |body| {
        body["generationConfig"]["thinkingConfig"] = json!({ "thinkingBudget": 511 });
    }),
    ("one_of 'tool_type'", |body| {
        body["tools"][0]["functionDeclarations"] = json!([])
    }),
    ("Invalid function name", |body| {
        function(body)["name"] = "files/read".into()
    }),
    ("Invalid function name", |body| {
        function(body)["name"] = "1st".into()
    }),
    ("Duplicate function declaration", |body| {
        let again = function(body).clone();
        let declared = body["tools"][0]["functionDeclarations"].as_array_mut();
        declared.unwrap().push(again);
    }),
    ("description: missing field", |body| {
        function(body)["description"] = " ".into()
    }),
    ("should be non-empty for OBJECT", |body| {
        function(body)["parameters"]["properties"] = json!({})
    }),
    ("any_of, it must be the only field", |body| {
        *property(body) = json!({ "anyOf": [{ "type": "string" }], "description": "x" });
    }),
    (".type", |body| {
        *property(body) = json!({ "type": ["string", "null"] });
    }),
    ("Cannot find field", |body| {
        *property(body) = json!({ "type": "string", "minimum": 1 });
    }),
    ("format", |body| {
        *property(body) = json!({ "type": "string", "format": "uri" });
    }),
    ("items: missing field", |body| {
        *property(body) = json!({ "type": "array" })
    }),
    ("cannot be empty", |body| {
        *property(body) = json!({ "type": "string", "enum": [""] });
    }),
    ("property is not defined", |body| {
        function(body)["parameters"]["required"] = json!(["gone"])
    }),
    ("without function_declarations", |body| {
        body.as_object_mut().unwrap().remove("tools");
    }),
    ("only when function calling mode is ANY", |body| {
        body["toolConfig"]["functionCallingConfig"]["mode"] = "NONE".into();
    }),
    ("function_calling_config.mode", |body| {
        body["toolConfig"]["functionCallingConfig"]["mode"] = "any".into();
    }),
    ("is not declared", |body| {
        body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] = json!(["gone"]);
    }),
    ("contents is not specified", |body| {
        body["contents"] = json!([])
    }),
    ("valid role", |body| {
        body["contents"][0]["role"] = "system".into()
    }),
    ("alternate between user and model", |body| {
        let first = body["contents"][0].clone();
        body["contents"].as_array_mut().unwrap().insert(0, first);
    }),
    ("comes immediately after a user turn", |body| {
        body["contents"].as_array_mut().unwrap().remove(0);
    }),
    ("followed by a function response turn", |body| {
        *contents(body, "functionResponse") = json!({ "role": "user", "parts": [{ "text": "x" }] });
    }),
    ("immediately after a function call turn", |body| {
        let responses = contents(body, "functionResponse").clone();
        body["contents"].as_array_mut().unwrap().push(responses);
    }),
    ("equal to the number of function call parts", |body| {
        let parts = contents(body, "functionResponse")["parts"].as_array_mut();
        parts.unwrap().push(json!({ "text": "x" }));
    }),
    ("of no function call", |body| {
        part(body, "functionResponse")["functionResponse"]["id"] = "gone".into();
    }),
    ("Duplicate function call id", |body| {
        let again = part(body, "functionCall").clone();
        let parts = contents(body, "functionCall")["parts"].as_array_mut();
        parts.unwrap().push(again);
    }),
    ("end with a user role", |body| {
        let answer = json!({ "role": "model", "parts": [{ "text": "x" }] });
        body["contents"].as_array_mut().unwrap().push(answer);
    }),
    ("parts must not be empty", |body| {
        body["contents"][0]["parts"] = json!([])
    }),
    ("missing a thought_signature", |body| {
        let call = part(body, "functionCall").as_object_mut().unwrap();
        call.remove("thoughtSignature");
    }),
    ("signature is not valid", |body| {
        part(body, "functionCall")["thoughtSignature"] = "c2ln".into();
    }),
    ("function_call.args", |body| {
        part(body, "functionCall")["functionCall"]["args"] = json!([]);
    }),
    ("function_response.response", |body| {
        part(body, "functionResponse")["functionResponse"]["response"] = "x".into();
    }),
    ("must have a text parameter", |body| {
        part(body, "text")["text"] = "\u{1c}".into()
    }),
    ("Unsupported MIME type", |body| {
        part(body, "inlineData")["inlineData"]["mimeType"] = "image/gif".into();
    }),
    ("exceeds the supported size", |body| {
        part(body, "inlineData")["inlineData"]["data"] = "A".repeat(50_000_004).into();
    }),
    ("image is not valid", |body| {
        part(body, "inlineData")["inlineData"]["mimeType"] = "image/webp".into();
    }),
    ("one initialized field", |body| {
        let parts = contents(body, "functionCall")["parts"].as_array_mut();
        parts.unwrap().push(json!({}));
    }),
];
