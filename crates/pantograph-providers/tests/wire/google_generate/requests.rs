//! What is sent.

use pantograph::protocol::{Protocol, Request, ToolChoice};
use pantograph::{
    Attachment, Block, Conversation, ForcedTool, Model, ReasoningControl, Role, StopReason,
    ToolContent, ToolDeclaration, ToolSet, ToolStatus,
};
use pantograph_providers::{GoogleGenerate, GoogleGenerateFlags};
use serde_json::{Value, json};

use super::{
    CALL, OPAQUE, TEXT, THOUGHT, accepted, model, native, protocol, reasoning, with_flags,
};
use crate::support::conversation::{
    self, Log, anthropic, call, foreign, request, result, rich, simple,
};
use crate::support::server::{Script, Server};
use crate::support::{KEY, ask, endpoint, pretty};

fn body(request: &Request) -> Value {
    serde_json::from_slice(&protocol().encode(request)).unwrap()
}

fn text(request: &Request) -> String {
    String::from_utf8(protocol().encode(request)).unwrap()
}

/// The contents, one a line.
fn contents(body: &Value) -> String {
    let contents = body["contents"].as_array().unwrap().iter();
    let lines: Vec<String> = contents.map(Value::to_string).collect();
    lines.join("\n")
}

#[test]
fn its_own_conversation_goes_back_as_it_came() {
    let request = request(reasoning(ReasoningControl::Effort, "high"), rich(&native()));
    insta::assert_snapshot!(pretty(&protocol().encode(&request)));
    let text = text(&request);
    let pieces = |json: &'static str| json.trim_matches(['[', ']']);
    let whole = format!(
        "{},{OPAQUE},{},{{\"functionCall\"",
        pieces(THOUGHT),
        pieces(TEXT)
    );
    assert!(text.contains(&whole), "{text}");
    for verbatim in [
        CALL.trim_matches(['{', '}']),
        r#""args":{ "path": "a\u00e9.txt",  "limit": 1e1 }"#,
    ] {
        assert!(text.contains(verbatim), "{verbatim}");
    }
}

#[test]
fn a_conversation_from_elsewhere_leaves_what_only_its_provider_understands() {
    let request = request(model(), rich(&foreign()));
    insta::assert_snapshot!(pretty(&protocol().encode(&request)));
}

#[test]
fn another_model_or_place_of_the_same_protocol_is_elsewhere() {
    let own = text(&request(model(), rich(&native())));
    let mut other_model = model();
    other_model.wire_model = "gemini-y".into();
    let mut other_place = model();
    other_place.base_url = Some("https://proxy.example".into());
    for model in [other_model, other_place] {
        let text = text(&request(model, rich(&native())));
        for item in [
            "VGhv",
            "VGV4",
            "Q2Fs",
            "Q29k",
            "executableCode",
            "\"thought\"",
        ] {
            assert!(own.contains(item) && !text.contains(item), "{item}");
        }
        assert!(text.contains("skip_thought_signature_validator"));
    }
}

#[test]
fn nothing_is_sent_that_the_api_refuses() {
    for native in [native(), anthropic(), foreign()] {
        let all = rich(&native);
        for messages in 1..=all.len() {
            let mut part = all.clone();
            part.truncate(messages);
            // A request leaves when the user or a tool spoke last.
            let speaks = part.messages().last().unwrap().role;
            if matches!(speaks, Role::Assistant | Role::System) {
                continue;
            }
            for control in [ReasoningControl::Effort, ReasoningControl::Budget] {
                let mut request = request(reasoning(control, "high"), part.clone());
                accepted(&body(&request), &request.model);
                request.tool_choice = ToolChoice::Required;
                accepted(&body(&request), &request.model);
            }
        }
    }
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter() {
    for native in [native(), foreign()] {
        let all = rich(&native);
        let bytes = |messages: usize| {
            let mut part = all.clone();
            part.truncate(messages);
            protocol().encode(&request(model(), part))
        };
        let whole = bytes(all.len());
        for messages in [5, 7, 10] {
            let part = bytes(messages);
            let shared = &part[..part.len() - "]}]}".len()];
            assert!(whole.starts_with(shared), "{messages}");
        }
    }
}

/// Calls of one answer, of another model.
fn called(ids: &[&str]) -> Conversation {
    let mut log = Log::default();
    log.say(Role::User, vec![Block::text("Hello")]);
    let calls = ids.iter().map(|id| Block::ToolCall(call(id, "find", "{}")));
    log.answer(&foreign(), calls.collect(), StopReason::ToolCalls);
    let results = ids.iter().map(|id| {
        let text = ToolContent::Text(format!("of {id}"));
        result(id, ToolStatus::Ok, vec![text])
    });
    log.results(results.collect());
    log.conversation
}

#[test]
fn the_first_call_of_an_answer_of_another_model_has_the_documented_signature() {
    let body = body(&request(model(), called(&["a", "b"])));
    insta::assert_snapshot!(contents(&body), @r#"
    {"role":"user","parts":[{"text":"Hello"}]}
    {"role":"model","parts":[{"functionCall":{"id":"a","name":"find","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"b","name":"find","args":{}}}]}
    {"role":"user","parts":[{"functionResponse":{"id":"a","name":"find","response":{"output":"of a"}}},{"functionResponse":{"id":"b","name":"find","response":{"output":"of b"}}}]}
    "#);
}

#[test]
fn servers_that_refuse_ids_of_calls_get_none() {
    let flags = GoogleGenerateFlags {
        no_call_ids: true,
        ..GoogleGenerateFlags::default()
    };
    let body = with_flags(flags).encode(&request(model(), called(&["a", "b"])));
    let body: Value = serde_json::from_slice(&body).unwrap();
    accepted(&body, &model());
    assert!(!contents(&body).contains("\"id\""));
}

#[test]
fn what_the_user_says_after_results_is_a_content_of_its_own() {
    let mut log = Log {
        conversation: called(&["a"]),
    };
    log.say(Role::User, vec![Block::text("Wait.")]);
    log.say(Role::User, vec![Block::text("Stop.")]);
    let body = body(&request(model(), log.conversation));
    accepted(&body, &model());
    let lines = contents(&body);
    let last: Vec<&str> = lines.lines().skip(2).collect();
    insta::assert_snapshot!(last.join("\n"), @r#"
    {"role":"user","parts":[{"functionResponse":{"id":"a","name":"find","response":{"output":"of a"}}}]}
    {"role":"user","parts":[{"text":"Wait."},{"text":"Stop."}]}
    "#);
}

#[test]
fn an_answer_that_only_thought_without_a_signature_is_as_if_it_had_not_been() {
    let mut log = Log::default();
    log.say(Role::User, vec![Block::text("One.")]);
    let thought = vec![Block::Thinking {
        text: "Hm.".into(),
        signature: None,
        raw: None,
    }];
    log.answer(&native(), thought, StopReason::Limit);
    log.say(Role::User, vec![Block::text("Two.")]);
    let body = body(&request(model(), log.conversation));
    insta::assert_snapshot!(contents(&body), @r#"{"role":"user","parts":[{"text":"One."},{"text":"Two."}]}"#);
}

/// What of a body depends on the reasoning label and the tool choice.
fn choices(request: &Request) -> String {
    let body = body(request);
    let tools = body["tools"][0]["functionDeclarations"].as_array();
    let tools = tools.map(|tools| {
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        format!("tools: {}", names.collect::<Vec<_>>().join(" "))
    });
    let config = &body["toolConfig"]["functionCallingConfig"];
    let thinking = &body["generationConfig"]["thinkingConfig"];
    let some = |name: &str, value: &Value| (!value.is_null()).then(|| format!("{name}: {value}"));
    let parts = [
        some("thinking", thinking),
        some("choice", config),
        tools,
        some(
            "instruction",
            &body["systemInstruction"]["parts"][1]["text"],
        ),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

#[test]
fn a_reasoning_label_is_a_level_or_a_budget() {
    let mut shown = Vec::new();
    for control in [ReasoningControl::Effort, ReasoningControl::Budget] {
        for label in [
            "off", "minimal", "low", "medium", "high", "xhigh", "max", "auto",
        ] {
            let mut request = simple(reasoning(control, label));
            request.tools = ToolSet::default();
            shown.push(format!("{label}: {}", choices(&request)));
        }
    }
    let mut small = reasoning(ReasoningControl::Budget, "high");
    small.max_output = Some(1_000);
    let mut request = simple(small);
    request.tools = ToolSet::default();
    shown.push(format!("little room: {}", choices(&request)));
    let mut none = simple(model());
    none.tools = ToolSet::default();
    shown.push(format!("no label: {}", choices(&none)));
    insta::assert_snapshot!(shown.join("\n"), @r#"
    off: thinking: {"thinkingLevel":"low"}
    minimal: thinking: {"includeThoughts":true,"thinkingLevel":"minimal"}
    low: thinking: {"includeThoughts":true,"thinkingLevel":"low"}
    medium: thinking: {"includeThoughts":true,"thinkingLevel":"medium"}
    high: thinking: {"includeThoughts":true,"thinkingLevel":"high"}
    xhigh: thinking: {"includeThoughts":true,"thinkingLevel":"high"}
    max: thinking: {"includeThoughts":true,"thinkingLevel":"high"}
    auto: thinking: {"includeThoughts":true,"thinkingLevel":"auto"}
    off: thinking: {"thinkingBudget":0}
    minimal: thinking: {"includeThoughts":true,"thinkingBudget":512}
    low: thinking: {"includeThoughts":true,"thinkingBudget":2048}
    medium: thinking: {"includeThoughts":true,"thinkingBudget":8192}
    high: thinking: {"includeThoughts":true,"thinkingBudget":16384}
    xhigh: thinking: {"includeThoughts":true,"thinkingBudget":24000}
    max: thinking: {"includeThoughts":true,"thinkingBudget":24000}
    auto: thinking: {"includeThoughts":true,"thinkingBudget":-1}
    little room: thinking: {"includeThoughts":true,"thinkingBudget":750}
    no label:
    "#);
}

#[test]
fn a_forced_tool_and_thinking_never_leave_together_where_they_clash() {
    let mut shown = Vec::new();
    for forced_tool in [ForcedTool::Yes, ForcedTool::WithoutThinking, ForcedTool::No] {
        for choice in [
            ToolChoice::Auto,
            ToolChoice::None,
            ToolChoice::Required,
            ToolChoice::Named("files.read".into()),
            ToolChoice::Named("unknown".into()),
        ] {
            let mut model = reasoning(ReasoningControl::Effort, "high");
            model.forced_tool = forced_tool;
            let mut request = simple(model);
            request.tool_choice = choice.clone();
            accepted(&body(&request), &request.model);
            shown.push(format!(
                "{forced_tool:?} {choice:?}\n{}\n",
                choices(&request)
            ));
        }
    }
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn an_agent_without_tools_declares_none() {
    let mut request = request(model(), rich(&native()));
    request.tools = ToolSet::default();
    request.tool_choice = ToolChoice::Required;
    assert_eq!(choices(&request), r#"instruction: "Be brief.""#);
}

#[test]
fn a_tool_that_takes_nothing_has_no_parameters() {
    let nothing = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let declared = ToolDeclaration::new("now", "", nothing).unwrap();
    let mut request = simple(model());
    request.tools = ToolSet::new(vec![declared]).unwrap();
    let body = body(&request);
    accepted(&body, &model());
    insta::assert_snapshot!(body["tools"].to_string(), @r#"[{"functionDeclarations":[{"name":"now","description":"now"}]}]"#);
}

#[test]
fn files_go_into_results_or_behind_them() {
    let mut log = Log::default();
    let attach = |media_type: &str, size| Attachment::new(media_type, vec![b'x'; size]);
    let blocks = vec![
        Block::Attachment(attach("application/pdf", 3)),
        Block::Attachment(attach("image/png", 36 << 20)),
        Block::Attachment(attach("image/gif", 3)),
    ];
    log.say(Role::User, blocks);
    let calls = ["a", "b"].map(|id| Block::ToolCall(call(id, "find", "{}")));
    log.answer(&native(), calls.to_vec(), StopReason::ToolCalls);
    let image = || ToolContent::Attachment(conversation::png());
    let text = |text: &str| ToolContent::Text(text.into());
    log.results(vec![
        result("a", ToolStatus::Ok, vec![image()]),
        result(
            "b",
            ToolStatus::Cancelled,
            vec![text("one"), image(), text("two")],
        ),
    ]);
    log.say(Role::User, vec![Block::text("And?")]);
    let shown = |model: Model, flags| {
        let request = request(model, log.conversation.clone());
        let body: Value = serde_json::from_slice(&with_flags(flags).encode(&request)).unwrap();
        accepted(&body, &request.model);
        contents(&body)
    };
    let flags = GoogleGenerateFlags::default();
    insta::assert_snapshot!(shown(model(), flags), @r#"
    {"role":"user","parts":[{"inlineData":{"mimeType":"application/pdf","data":"eHh4"}},{"text":"[an attachment of type image/png was left out: it is too large to be sent]"},{"text":"[an attachment of type image/gif was left out: it is of a type that cannot be sent]"}]}
    {"role":"model","parts":[{"functionCall":{"id":"a","name":"find","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"b","name":"find","args":{}}}]}
    {"role":"user","parts":[{"functionResponse":{"id":"a","name":"find","response":{"output":"(see the attached file)"},"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]}},{"functionResponse":{"id":"b","name":"find","response":{"error":"one\ntwo"},"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]}}]}
    {"role":"user","parts":[{"text":"And?"}]}
    "#);
    let older = shown(reasoning(ReasoningControl::Budget, "high"), flags);
    insta::assert_snapshot!(older, @r#"
    {"role":"user","parts":[{"inlineData":{"mimeType":"application/pdf","data":"eHh4"}},{"text":"[an attachment of type image/png was left out: it is too large to be sent]"},{"text":"[an attachment of type image/gif was left out: it is of a type that cannot be sent]"}]}
    {"role":"model","parts":[{"functionCall":{"id":"a","name":"find","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"b","name":"find","args":{}}}]}
    {"role":"user","parts":[{"functionResponse":{"id":"a","name":"find","response":{"output":"(see the attached file)"}}},{"functionResponse":{"id":"b","name":"find","response":{"error":"one\ntwo"}}}]}
    {"role":"user","parts":[{"text":"The attachment of the response of `find`:"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}},{"text":"The attachment of the response of `find`:"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}},{"text":"And?"}]}
    "#);
    let flagged = GoogleGenerateFlags {
        files_after_results: true,
        ..flags
    };
    assert_eq!(shown(model(), flagged), older);
    let mut blind = model();
    blind.attachments = false.into();
    insta::assert_snapshot!(shown(blind, flags), @r#"
    {"role":"user","parts":[{"text":"[an attachment of type application/pdf was left out: this model takes no attachments]"},{"text":"[an attachment of type image/png was left out: this model takes no attachments]"},{"text":"[an attachment of type image/gif was left out: this model takes no attachments]"}]}
    {"role":"model","parts":[{"functionCall":{"id":"a","name":"find","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"b","name":"find","args":{}}}]}
    {"role":"user","parts":[{"functionResponse":{"id":"a","name":"find","response":{"output":"[an attachment of type image/jpeg was left out: this model takes no attachments]"}}},{"functionResponse":{"id":"b","name":"find","response":{"error":"one\n[an attachment of type image/jpeg was left out: this model takes no attachments]\ntwo"}}}]}
    {"role":"user","parts":[{"text":"And?"}]}
    "#);
}

#[tokio::test]
async fn the_model_is_in_the_path_and_the_key_in_a_header() {
    let bases = ["", "/", "/v1beta", "/proxy/v1beta/"];
    let server = Server::start((0..6).map(|_| Script::events(""))).await;
    let flags = GoogleGenerateFlags::default();
    for base in bases {
        let protocol = GoogleGenerate::new(endpoint(&format!("{}{base}", server.url())), flags);
        assert_eq!(protocol.name(), "google-generate");
        ask(&protocol, simple(model())).await;
    }
    let protocol = GoogleGenerate::new(endpoint(&server.url()), flags);
    let mut tuned = model();
    tuned.wire_model = "tunedModels/mine".into();
    ask(&protocol, simple(tuned)).await;
    let flags = GoogleGenerateFlags {
        bearer: true,
        ..flags
    };
    let protocol = GoogleGenerate::new(endpoint(&server.url()), flags);
    ask(&protocol, simple(model())).await;
    let shown: Vec<String> = server
        .seen()
        .iter()
        .map(|seen| {
            let mut headers = seen.headers.iter();
            let key = headers.find(|(_, value)| value.contains(KEY)).unwrap();
            format!("{}\n    {}: {}", seen.line, key.0, key.1)
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n").replace(KEY, "KEY"), @"
    POST /v1beta/models/gemini-x:streamGenerateContent?alt=sse HTTP/1.1
        x-goog-api-key: KEY
    POST /v1beta/models/gemini-x:streamGenerateContent?alt=sse HTTP/1.1
        x-goog-api-key: KEY
    POST /v1beta/models/gemini-x:streamGenerateContent?alt=sse HTTP/1.1
        x-goog-api-key: KEY
    POST /proxy/v1beta/models/gemini-x:streamGenerateContent?alt=sse HTTP/1.1
        x-goog-api-key: KEY
    POST /v1beta/tunedModels/mine:streamGenerateContent?alt=sse HTTP/1.1
        x-goog-api-key: KEY
    POST /v1beta/models/gemini-x:streamGenerateContent?alt=sse HTTP/1.1
        authorization: Bearer KEY
    ");
    let sent: Value = serde_json::from_slice(&server.seen()[0].body).unwrap();
    assert_eq!(sent, body(&simple(model())));
}
