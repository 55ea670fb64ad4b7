//! What is sent.

use pantograph::protocol::{Protocol, Purpose, Request, ToolChoice};
use pantograph::{
    Attachment, Block, Conversation, ForcedTool, Model, ReasoningControl, Role, StopReason,
    ToolContent, ToolSet, ToolStatus,
};
use pantograph_providers::{AnthropicFlags, AnthropicMessages, OpenAiResponses};
use pantograph_providers::{BaseUrl, Endpoint, HttpClient, NoKey, OpenAiResponsesFlags};
use serde_json::{Value, json};

use super::{CALL, MESSAGE, OPAQUE, REASONING, model, native, protocol, reasoning, with_flags};
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

#[test]
fn its_own_conversation_goes_back_as_it_came() {
    let request = request(reasoning("high"), rich(&native()));
    insta::assert_snapshot!(pretty(&protocol().encode(&request)));
    let text = text(&request);
    let whole = format!("{REASONING},{OPAQUE},{MESSAGE},{CALL},");
    assert!(text.contains(&whole), "{text}");
}

#[test]
fn a_conversation_from_elsewhere_leaves_what_only_its_provider_understands() {
    let request = request(model(), rich(&foreign()));
    insta::assert_snapshot!(pretty(&protocol().encode(&request)));
}

#[test]
fn a_conversation_of_anthropic_goes_on_here() {
    let request = request(model(), rich(&anthropic()));
    insta::assert_snapshot!(pretty(&protocol().encode(&request)));
}

#[test]
fn a_conversation_from_here_goes_on_at_anthropic() {
    let there = AnthropicMessages::new(
        endpoint(AnthropicMessages::BASE_URL),
        AnthropicFlags::default(),
    );
    let model = conversation::model("anthropic", "claude-x", AnthropicMessages::BASE_URL);
    let request = request(model, rich(&native()));
    insta::assert_snapshot!(pretty(&there.encode(&request)));
}

#[test]
fn another_model_or_place_of_the_same_protocol_is_elsewhere() {
    let own = text(&request(model(), rich(&native())));
    let mut other_model = model();
    other_model.wire_model = "gpt-y".into();
    let mut other_place = model();
    other_place.base_url = Some("https://proxy.example".into());
    for model in [other_model, other_place] {
        let text = text(&request(model, rich(&native())));
        for item in ["gAAAAA", "rs_1", "ws_1", "msg_1", "fc_1"] {
            assert!(own.contains(item) && !text.contains(item), "{item}");
        }
    }
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter() {
    let all = rich(&native());
    let bare = |messages: usize| {
        let mut part = all.clone();
        part.truncate(messages);
        protocol().encode(&request(model(), part))
    };
    let whole = bare(all.len());
    for messages in [5, 7, 10] {
        let part = bare(messages);
        let shared = &part[..part.len() - "]}".len()];
        assert!(whole.starts_with(shared), "{messages}");
    }
}

/// What of a body depends on the reasoning label and the tool choice.
fn choices(request: &Request) -> String {
    let body = body(request);
    let part = |key: &str| body.get(key).map(|value| format!("{key}: {value}"));
    let tools = body["tools"].as_array().map(|tools| {
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        format!("tools: {}", names.collect::<Vec<_>>().join(" "))
    });
    let last = body["input"].as_array().and_then(|items| items.last());
    let instruction = last
        .filter(|item| item["role"] == "developer")
        .map(|item| format!("instruction: {}", item["content"]));
    let parts = [part("reasoning"), part("tool_choice"), tools, instruction];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

#[test]
fn a_reasoning_label_is_an_effort() {
    let labels = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
    let mut shown: Vec<String> = labels
        .iter()
        .map(|label| {
            let mut request = simple(reasoning(label));
            request.tools = ToolSet::default();
            format!("{label}: {}", choices(&request))
        })
        .collect();
    let mut none = simple(model());
    none.tools = ToolSet::default();
    shown.push(format!("no label: {}", choices(&none)));
    insta::assert_snapshot!(shown.join("\n"), @r#"
    off: reasoning: {"effort":"none"}
    minimal: reasoning: {"effort":"minimal","summary":"auto"}
    low: reasoning: {"effort":"low","summary":"auto"}
    medium: reasoning: {"effort":"medium","summary":"auto"}
    high: reasoning: {"effort":"high","summary":"auto"}
    xhigh: reasoning: {"effort":"xhigh","summary":"auto"}
    max: reasoning: {"effort":"max","summary":"auto"}
    no label:
    "#);
}

#[test]
fn a_model_that_does_not_reason_is_not_asked_for_its_reasoning() {
    let mut model = reasoning("high");
    model.reasoning_control = Some(ReasoningControl::None);
    let body = body(&simple(model));
    assert_eq!((body.get("include"), body.get("reasoning")), (None, None));
}

#[test]
fn a_model_of_which_nothing_is_known_is_asked_for_its_reasoning_only_with_a_label() {
    let asked = |model| body(&simple(model)).get("include").is_some();
    assert!(!asked(model()));
    assert!(asked(reasoning("low")));
    let mut listed = model();
    listed.reasoning_control = Some(ReasoningControl::Effort);
    assert!(asked(listed));
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
            let mut model = reasoning("high");
            model.forced_tool = forced_tool;
            let mut request = simple(model);
            request.tool_choice = choice.clone();
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
    assert_eq!(choices(&request), "");
}

#[test]
fn a_cache_key_is_the_conversations_and_never_too_long() {
    let key = |request: &Request| body(request).get("prompt_cache_key").cloned();
    let mut request = simple(model());
    assert_eq!(key(&request), Some(json!("context")));
    request.context = "x".repeat(64).into();
    assert_eq!(key(&request), Some(json!(&*request.context)));
    request.context = "x".repeat(65).into();
    let long = key(&request).unwrap();
    assert_eq!(long.as_str().unwrap().len(), 64);
    request.context = "y".repeat(65).into();
    assert_ne!(key(&request), Some(long));
    request.purpose = Purpose::Compaction;
    assert_eq!(key(&request), None);
}

#[test]
fn the_bound_of_an_answer_is_never_below_what_the_api_takes() {
    let bound = |max_output| {
        let mut model = model();
        model.max_output = max_output;
        body(&simple(model)).get("max_output_tokens").cloned()
    };
    assert_eq!(bound(Some(1_000)), Some(json!(1_000)));
    assert_eq!(bound(Some(1)), Some(json!(16)));
    assert_eq!(bound(None), None);
}

#[test]
fn attachments_that_cannot_be_sent_become_words() {
    let mut log = Log::default();
    let attach = |media_type: &str, size| Attachment::new(media_type, vec![b'x'; size]);
    let blocks = vec![
        Block::Attachment(attach("application/pdf", 3)),
        Block::Attachment(attach("image/png", 16 << 20)),
        Block::Attachment(attach("video/mp4", 3)),
    ];
    log.say(Role::User, blocks);
    let calls = vec![Block::ToolCall(call("call_1", "find", "{}"))];
    log.answer(&native(), calls, StopReason::ToolCalls);
    let content = vec![
        ToolContent::Text("one".into()),
        ToolContent::Attachment(conversation::png()),
        ToolContent::Text("two".into()),
    ];
    log.results(vec![result("call_1", ToolStatus::Cancelled, content)]);
    let shown = |model: Model, flags, conversation: &Conversation| {
        let body = with_flags(flags).encode(&request(model, conversation.clone()));
        let body: Value = serde_json::from_slice(&body).unwrap();
        serde_json::to_string_pretty(&body["input"]).unwrap()
    };
    let flags = OpenAiResponsesFlags::default();
    insta::assert_snapshot!("attachments", shown(model(), flags, &log.conversation));
    let mut blind = model();
    blind.attachments = false.into();
    insta::assert_snapshot!("no_attachments", shown(blind, flags, &log.conversation));
    let flags = OpenAiResponsesFlags {
        text_results: true,
        ..flags
    };
    let shown = shown(model(), flags, &log.conversation);
    let output = shown
        .lines()
        .find(|line| line.contains("\"output\""))
        .unwrap();
    insta::assert_snapshot!(output.trim(), @r#""output": "one\n[an attachment of type image/png was left out: this provider takes only text from tools]\ntwo""#);
}

#[test]
fn a_server_that_deviates_is_not_sent_what_it_refuses() {
    let flags = OpenAiResponsesFlags {
        system_role: true,
        no_encrypted_reasoning: true,
        no_cache_key: true,
        ..OpenAiResponsesFlags::default()
    };
    let mut request = simple(model());
    request.tools = ToolSet::default();
    let body = String::from_utf8(with_flags(flags).encode(&request)).unwrap();
    insta::assert_snapshot!(body, @r#"{"model":"gpt-x","stream":true,"store":false,"max_output_tokens":32000,"input":[{"type":"message","role":"system","content":"You help."},{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]}]}"#);
}

#[tokio::test]
async fn the_key_goes_in_its_header_or_not_at_all() {
    let server = Server::start([Script::events(""), Script::events(""), Script::events("")]).await;
    let base = format!("{}/proxy/v1/", server.url());
    let flags = OpenAiResponsesFlags::default();
    let replaced = endpoint(&base).with_headers([
        ("authorization", "Basic configured"),
        ("openai-organization", "org"),
    ]);
    let keyless = Endpoint::new(
        BaseUrl::parse(&base).unwrap(),
        std::sync::Arc::new(NoKey),
        HttpClient::without_proxies(),
    );
    for endpoint in [endpoint(&base), replaced.unwrap(), keyless] {
        let protocol = OpenAiResponses::new(endpoint, flags);
        let answer = ask(&protocol as &dyn Protocol, simple(model())).await;
        assert_eq!(answer.error, None);
    }
    let shown: Vec<String> = server
        .seen()
        .iter()
        .map(|seen| {
            let header = |name: &str| {
                let found = seen.headers.iter().find(|(known, _)| known == name);
                found.map_or("-", |(_, value)| &**value)
            };
            let [key, organization] = ["authorization", "openai-organization"].map(header);
            format!("{}: {key}, {organization}", seen.line)
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n").replace(KEY, "KEY"), @"
    POST /proxy/v1/responses HTTP/1.1: Bearer KEY, -
    POST /proxy/v1/responses HTTP/1.1: Basic configured, org
    POST /proxy/v1/responses HTTP/1.1: -, -
    ");
    let sent: Value = serde_json::from_slice(&server.seen()[0].body).unwrap();
    assert_eq!(sent, body(&simple(model())));
}
