//! What is sent.

use pantograph::protocol::{Protocol, Purpose, Request, ToolChoice};
use pantograph::{
    Attachment, Block, Conversation, ForcedTool, Model, ReasoningControl, Role, StopReason,
    ToolContent, ToolSet, ToolStatus,
};
use pantograph_providers::{AnthropicFlags, AnthropicMessages};
use serde_json::{Value, json};

use super::{model, protocol, reasoning, with_flags};
use crate::support::conversation::{
    self, Log, anthropic, call, foreign, request, result, rich, simple,
};
use crate::support::server::{Script, Server};
use crate::support::{KEY, ask, endpoint, pretty};

fn body(request: &Request) -> Value {
    serde_json::from_slice(&protocol().encode(request)).unwrap()
}

/// What of a body depends on the reasoning label and the tool choice.
fn choices(request: &Request) -> String {
    let body = body(request);
    let part = |key: &str| body.get(key).map(|value| format!("{key}: {value}"));
    let tools = body["tools"].as_array().map(|tools| {
        let names: Vec<&str> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        format!("tools: {}", names.join(" "))
    });
    let system = body["system"].as_array().and_then(|texts| texts.get(1));
    let parts = [
        part("max_tokens"),
        part("thinking"),
        part("output_config"),
        part("tool_choice"),
        tools,
        system.map(|text| format!("instruction: {}", text["text"])),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

#[test]
fn its_own_conversation_goes_back_as_it_came() {
    let request = request(model(), rich(&anthropic()));
    let body = protocol().encode(&request);
    insta::assert_snapshot!(pretty(&body));
    let text = String::from_utf8(body).unwrap();
    for verbatim in [
        r#"{"type":"redacted_thinking",  "data":"Em4KAhgB\/x=="}"#,
        r#"{ "path": "a\u00e9.txt",  "limit": 1e1 }"#,
        r#""signature":"EqQBCgIYAhIk/+==""#,
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
    let own = String::from_utf8(protocol().encode(&request(model(), rich(&anthropic())))).unwrap();
    let mut other_model = model();
    other_model.wire_model = "claude-y".into();
    let mut other_place = model();
    other_place.base_url = Some("https://proxy.example".into());
    for model in [other_model, other_place] {
        let body = protocol().encode(&request(model, rich(&anthropic())));
        let text = String::from_utf8(body).unwrap();
        for item in ["redacted_thinking", "signature"] {
            assert!(own.contains(item) && !text.contains(item), "{item}");
        }
    }
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter() {
    let all = rich(&anthropic());
    let bare = |messages: usize| {
        let mut part = all.clone();
        part.truncate(messages);
        let flags = AnthropicFlags {
            no_cache_marks: true,
            ..AnthropicFlags::default()
        };
        with_flags(flags).encode(&request(model(), part))
    };
    let whole = bare(all.len());
    for messages in [5, 7, 10] {
        let part = bare(messages);
        let shared = &part[..part.len() - "]}]}".len()];
        assert!(whole.starts_with(shared), "{messages}");
    }
}

#[test]
fn there_are_at_most_four_cache_marks_and_none_on_a_compaction() {
    let marks = |request: &Request, flags: AnthropicFlags| {
        let body = String::from_utf8(with_flags(flags).encode(request)).unwrap();
        body.matches("cache_control").count()
    };
    let mut request = request(model(), rich(&anthropic()));
    assert_eq!(marks(&request, AnthropicFlags::default()), 4);
    let flags = AnthropicFlags {
        no_cache_marks: true,
        ..AnthropicFlags::default()
    };
    assert_eq!(marks(&request, flags), 0);
    request.purpose = Purpose::Compaction;
    assert_eq!(marks(&request, AnthropicFlags::default()), 0);
}

#[test]
fn a_reasoning_label_is_a_word_or_a_budget() {
    let mut shown = Vec::new();
    for control in [ReasoningControl::Effort, ReasoningControl::Budget] {
        for label in ["off", "minimal", "low", "medium", "high", "xhigh", "max"] {
            let mut request = simple(reasoning(control, label));
            request.tools = ToolSet::default();
            shown.push(format!(
                "{label}: {}",
                choices(&request).replace('\n', ", ")
            ));
        }
    }
    let mut small = reasoning(ReasoningControl::Budget, "high");
    small.max_output = Some(1_000);
    let mut request = simple(small);
    request.tools = ToolSet::default();
    shown.push(format!("no room: {}", choices(&request)));
    insta::assert_snapshot!(shown.join("\n"));
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
            shown.push(format!(
                "{forced_tool:?} {choice:?}\n{}\n",
                choices(&request)
            ));
        }
    }
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_budget_waits_until_the_user_speaks_after_calls_without_thought() {
    let model = || reasoning(ReasoningControl::Budget, "high");
    let amid = |native: &conversation::Native| {
        let mut conversation = rich(native);
        conversation.truncate(5);
        body(&request(model(), conversation))
            .get("thinking")
            .cloned()
    };
    assert_eq!(amid(&foreign()), None);
    let enabled = json!({ "type": "enabled", "budget_tokens": 20_480 });
    assert_eq!(amid(&anthropic()), Some(enabled.clone()));
    let later = body(&request(model(), rich(&foreign())));
    assert_eq!(later.get("thinking"), Some(&enabled));
}

#[test]
fn an_agent_without_tools_still_declares_what_it_called() {
    let mut request = request(model(), rich(&anthropic()));
    request.tools = ToolSet::default();
    request.tool_choice = ToolChoice::Required;
    insta::assert_snapshot!(choices(&request), @r#"
    max_tokens: 32000
    tool_choice: {"type":"none"}
    tools: files__read gone__tool find
    instruction: "Be brief."
    "#);
}

#[test]
fn attachments_that_cannot_be_sent_become_words() {
    let mut log = Log::default();
    let attach = |media_type: &str, size| Attachment::new(media_type, vec![b'x'; size]);
    let blocks = vec![
        Block::Attachment(attach("application/pdf", 3)),
        Block::Attachment(attach("image/png", 4 << 20)),
        Block::Attachment(attach("video/mp4", 3)),
    ];
    log.say(Role::User, blocks);
    let native = anthropic();
    let calls = ["toolu_1", "toolu_2"].map(|id| Block::ToolCall(call(id, "find", "{}")));
    log.answer(&native, calls.to_vec(), StopReason::ToolCalls);
    let content = vec![ToolContent::Attachment(conversation::png())];
    log.results(vec![
        result("toolu_1", ToolStatus::Ok, content.clone()),
        result("toolu_2", ToolStatus::Cancelled, content),
    ]);
    let messages = |model: Model, conversation: &Conversation| {
        let body = body(&request(model, conversation.clone()));
        serde_json::to_string_pretty(&body["messages"]).unwrap()
    };
    insta::assert_snapshot!("attachments", messages(model(), &log.conversation));
    let mut blind = model();
    blind.attachments = false.into();
    insta::assert_snapshot!("no_attachments", messages(blind, &log.conversation));
}

/// Otherwise a model that takes an effort shows nothing until it answers.
#[test]
fn a_model_that_takes_an_effort_says_what_it_thinks_without_a_label_too() {
    let sent = |control| {
        let mut model = model();
        model.reasoning_control = control;
        let body = body(&simple(model));
        [body["thinking"].clone(), body["output_config"].clone()]
    };
    let adaptive = json!({ "type": "adaptive", "display": "summarized" });
    assert_eq!(
        sent(Some(ReasoningControl::Effort)),
        [adaptive, Value::Null]
    );
    let others = [
        None,
        Some(ReasoningControl::Budget),
        Some(ReasoningControl::None),
    ];
    for control in others {
        assert_eq!(sent(control), [Value::Null, Value::Null], "{control:?}");
    }
}

#[test]
fn a_document_may_be_larger_than_an_image() {
    let kinds = |bytes: usize| {
        let mut pdf = b"%PDF-1.7".to_vec();
        let mut png = conversation::png().bytes().unwrap().to_vec();
        pdf.resize(bytes, b' ');
        png.resize(bytes, 0);
        let blocks = vec![
            Block::Attachment(Attachment::new("application/pdf", pdf)),
            Block::Attachment(Attachment::new("image/png", png)),
        ];
        let mut log = Log::default();
        log.say(Role::User, blocks);
        let body = body(&request(model(), log.conversation));
        ["0", "1"].map(|at| {
            let block = body.pointer(&format!("/messages/0/content/{at}/type"));
            block.unwrap().as_str().unwrap().to_owned()
        })
    };
    assert_eq!(kinds(3 << 20), ["document", "image"]);
    assert_eq!(kinds(4 << 20), ["document", "text"]);
    assert_eq!(kinds(18 << 20), ["document", "text"]);
    assert_eq!(kinds(19 << 20), ["text", "text"]);
}

#[test]
fn unsigned_thinking_goes_back_only_where_it_is_wanted() {
    let mut native = anthropic();
    native.signature = None;
    let thinking = |flags| {
        let body = with_flags(flags).encode(&request(model(), rich(&native)));
        String::from_utf8(body)
            .unwrap()
            .matches("Let me look")
            .count()
    };
    assert_eq!(thinking(AnthropicFlags::default()), 0);
    let flags = AnthropicFlags {
        unsigned_thinking: true,
        ..AnthropicFlags::default()
    };
    assert_eq!(thinking(flags), 1);
}

#[tokio::test]
async fn the_key_and_the_version_go_in_headers() {
    let server = Server::start([Script::events(""), Script::events(""), Script::events("")]).await;
    let base = format!("{}/proxy/v1/", server.url());
    let own = AnthropicMessages::new(endpoint(&base), AnthropicFlags::default());
    let flags = AnthropicFlags {
        bearer: true,
        ..AnthropicFlags::default()
    };
    let bearer = AnthropicMessages::new(endpoint(&base), flags);
    let replaced = endpoint(&base).with_headers([
        ("X-Api-Key", "from the configuration"),
        ("anthropic-beta", "b1"),
        ("anthropic-version", "2099-01-01"),
    ]);
    let replaced = AnthropicMessages::new(replaced.unwrap(), AnthropicFlags::default());
    for protocol in [own, bearer, replaced] {
        let answer = ask(&protocol as &dyn Protocol, simple(model())).await;
        assert_eq!(answer.error, None);
    }
    let wanted = [
        "x-api-key",
        "authorization",
        "anthropic-version",
        "anthropic-beta",
    ];
    let shown: Vec<String> = server
        .seen()
        .iter()
        .map(|seen| {
            let headers = seen
                .headers
                .iter()
                .filter(|(name, _)| wanted.contains(&&**name));
            let headers: Vec<String> = headers
                .map(|(name, value)| format!("{name}: {value}"))
                .collect();
            format!("{}\n{}", seen.line, headers.join("\n"))
        })
        .collect();
    let shown = shown.join("\n\n").replace(KEY, "KEY");
    insta::assert_snapshot!(shown, @"
    POST /proxy/v1/messages HTTP/1.1
    anthropic-version: 2023-06-01
    x-api-key: KEY

    POST /proxy/v1/messages HTTP/1.1
    anthropic-version: 2023-06-01
    authorization: Bearer KEY

    POST /proxy/v1/messages HTTP/1.1
    anthropic-version: 2099-01-01
    x-api-key: from the configuration
    anthropic-beta: b1
    ");
    let sent: Value = serde_json::from_slice(&server.seen()[0].body).unwrap();
    assert_eq!(sent, body(&simple(model())));
}

#[tokio::test]
async fn attachments_in_files_are_read_for_the_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dot.png");
    std::fs::write(&path, conversation::png().bytes().unwrap()).unwrap();
    let mut log = Log::default();
    let image = Block::Attachment(Attachment::from_file("image/png", &path));
    log.say(Role::User, vec![image]);
    let server = Server::start([Script::events("")]).await;
    let protocol = AnthropicMessages::new(endpoint(&server.url()), AnthropicFlags::default());
    ask(&protocol, request(model(), log.conversation)).await;
    let sent: Value = serde_json::from_slice(&server.seen()[0].body).unwrap();
    assert_eq!(
        sent["messages"][0]["content"][0]["source"]["data"],
        "iVBORw0KGgo="
    );
}
