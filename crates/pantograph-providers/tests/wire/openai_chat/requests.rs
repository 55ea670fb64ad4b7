//! What is sent.

use pantograph::protocol::{Protocol, Purpose, Request, ToolChoice};
use pantograph::{
    Attachment, Block, ForcedTool, Role, StopReason, ToolContent, ToolSet, ToolStatus,
};
use pantograph_providers::{
    AnthropicFlags, AnthropicMessages, OpenAiChat, OpenAiChatFlags, ThinkingReplay,
};
use serde_json::Value;

use super::{model, native, protocol, with_flags};
use crate::strict::openai_chat as strict;
use crate::support::conversation::{
    self, Log, Native, anthropic, call, foreign, request, result, rich, simple,
};
use crate::support::server::{Script, Server};
use crate::support::{KEY, ask, endpoint, pretty};

fn body(flags: OpenAiChatFlags, request: &Request) -> Value {
    serde_json::from_slice(&with_flags(flags).encode(request)).unwrap()
}

/// The messages of the rich conversation, as a server gets them.
fn messages(server: &str, native: &Native) -> String {
    let flags = OpenAiChatFlags::of_server(server).unwrap();
    let body = body(flags, &request(model(), rich(native)));
    serde_json::to_string_pretty(&body["messages"]).unwrap()
}

#[test]
fn its_own_conversation_goes_back_as_it_came() {
    let body = protocol("openrouter").encode(&request(model(), rich(&native())));
    insta::assert_snapshot!(pretty(&body));
    let text = String::from_utf8(body).unwrap();
    for verbatim in [
        r#"{ "type":"reasoning.text","text":"Let me look.","signature":"c2ln\/","index":0 }"#,
        r#"{"type":"reasoning.encrypted", "data":"Z0FB\/==","index":1}"#,
        r#""extra_content":{"google":{"thought_signature":"Q2F\/"}}"#,
        r#""arguments":"{ \"path\": \"a\\u00e9.txt\",  \"limit\": 1e1 }""#,
    ] {
        assert!(text.contains(verbatim), "{verbatim}");
    }
}

#[test]
fn a_conversation_from_elsewhere_leaves_what_only_its_provider_understands() {
    let flags = OpenAiChatFlags::default();
    let foreign = body(flags, &request(model(), rich(&foreign())));
    insta::assert_snapshot!(serde_json::to_string_pretty(&foreign).unwrap());
}

#[test]
fn a_conversation_of_anthropic_goes_on_at_mistral() {
    insta::assert_snapshot!(messages("mistral", &anthropic()));
}

#[test]
fn a_conversation_goes_on_at_anthropic() {
    let protocol = AnthropicMessages::new(
        endpoint(AnthropicMessages::BASE_URL),
        AnthropicFlags::default(),
    );
    let model = conversation::model("anthropic", "claude-x", AnthropicMessages::BASE_URL);
    insta::assert_snapshot!(pretty(&protocol.encode(&request(model, rich(&native())))));
}

#[test]
fn thinking_goes_back_where_the_server_wants_it() {
    let answers = |flags| {
        let body = body(flags, &request(model(), rich(&native())));
        let answers: Vec<String> = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|message| message["role"] == "assistant")
            .map(|message| {
                let mut message = message.clone();
                message.as_object_mut().unwrap().remove("tool_calls");
                message.to_string()
            })
            .collect();
        answers[..2].join("\n")
    };
    let mut shown = Vec::new();
    for thinking in [
        ThinkingReplay::Dropped,
        ThinkingReplay::Content,
        ThinkingReplay::Reasoning,
        ThinkingReplay::Details,
        ThinkingReplay::Parts,
    ] {
        let mut flags = OpenAiChatFlags::default();
        flags.thinking = thinking;
        shown.push(format!("{thinking:?}\n{}", answers(flags)));
    }
    let mut flags = OpenAiChatFlags::default();
    flags.thinking = ThinkingReplay::Content;
    flags.thinking_required = true;
    shown.push(format!("required\n{}", answers(flags)));
    insta::assert_snapshot!(shown.join("\n\n"));
}

const NOTHING: [String; 0] = [];

fn refused(server: &str, request: &Request) -> Vec<String> {
    let flags = OpenAiChatFlags::of_server(server).unwrap();
    strict::check(&body(flags, request), server)
}

/// The answers of a server, which has nothing beside its calls unless it is OpenRouter.
fn native_of(server: &str) -> Native {
    let mut native = native();
    if server != "openrouter" {
        native.call = None;
    }
    native
}

#[test]
fn no_server_gets_what_it_refuses() {
    for server in OpenAiChatFlags::SERVERS {
        for native in [native_of(server), anthropic(), foreign()] {
            let all = rich(&native);
            for messages in 1..=all.len() {
                let mut part = all.clone();
                part.truncate(messages);
                // A request leaves when the user or a tool spoke last.
                let speaks = part.messages().last().unwrap().role;
                if matches!(speaks, Role::Assistant | Role::System) {
                    continue;
                }
                let mut request = request(model(), part);
                assert_eq!(refused(server, &request), NOTHING);
                request.tools = ToolSet::default();
                request.tool_choice = ToolChoice::Required;
                assert_eq!(refused(server, &request), NOTHING);
            }
        }
    }
}

#[test]
fn an_answer_that_only_thought_is_as_if_it_had_not_been() {
    let mut log = Log::default();
    let native = native();
    log.say(Role::User, vec![Block::text("One.")]);
    let thought = vec![Block::Thinking {
        text: "Hm.".into(),
        signature: None,
        raw: native.thinking.clone(),
    }];
    log.answer(&native, thought, StopReason::Limit);
    log.say(Role::User, vec![Block::text("Two.")]);
    let request = request(model(), log.conversation);
    assert_eq!(refused("openrouter", &request), NOTHING);
    let plain = body(OpenAiChatFlags::default(), &request);
    assert_eq!(plain["messages"][1]["content"], "One.\n\nTwo.");
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter() {
    let all = rich(&native());
    for server in OpenAiChatFlags::SERVERS {
        let mut flags = OpenAiChatFlags::of_server(server).unwrap();
        flags.cache_marks = false;
        let bytes = |messages: usize| {
            let mut part = all.clone();
            part.truncate(messages);
            with_flags(flags).encode(&request(model(), part))
        };
        let whole = bytes(all.len());
        for messages in [7, 10] {
            let part = bytes(messages);
            let shared = &part[..part.len() - "]}".len()];
            assert!(whole.starts_with(shared), "{server} {messages}");
        }
    }
}

#[test]
fn there_are_at_most_four_cache_marks_and_none_on_a_compaction() {
    let marks = |server: &str, request: &Request| {
        let body = String::from_utf8(protocol(server).encode(request)).unwrap();
        body.matches("cache_control").count()
    };
    let mut request = request(model(), rich(&native()));
    assert_eq!(marks("openrouter", &request), 3);
    assert_eq!(marks("openai", &request), 0);
    request.purpose = Purpose::Compaction;
    assert_eq!(marks("openrouter", &request), 0);
}

/// What of a body is no message and no schema.
fn parameters(body: &Value) -> String {
    let mut body = body.clone();
    let fields = body.as_object_mut().unwrap();
    fields.remove("messages");
    if let Some(Value::Array(tools)) = fields.get_mut("tools") {
        for tool in tools {
            *tool = tool["function"]["name"].take();
        }
    }
    body.to_string()
}

#[test]
fn each_server_gets_the_parameters_that_it_knows() {
    let mut request = simple(model());
    request.context = "c".repeat(65).into();
    let mut thinking = model();
    thinking.reasoning = Some("high".into());
    request.model = thinking.into();
    let shown: Vec<String> = OpenAiChatFlags::SERVERS
        .iter()
        .map(|server| {
            let flags = OpenAiChatFlags::of_server(server).unwrap();
            format!("{server}: {}", parameters(&body(flags, &request)))
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
    let body = body(
        OpenAiChatFlags::of_server("openai").unwrap(),
        &simple(model()),
    );
    assert_eq!(body["prompt_cache_key"], "context");
}

#[test]
fn a_forced_tool_is_named_where_the_server_knows_how() {
    let mut shown = Vec::new();
    for no_named_tool in [false, true] {
        for forced_tool in [ForcedTool::Yes, ForcedTool::WithoutThinking, ForcedTool::No] {
            for choice in [
                ToolChoice::Auto,
                ToolChoice::None,
                ToolChoice::Required,
                ToolChoice::Named("files.read".into()),
                ToolChoice::Named("unknown".into()),
            ] {
                let mut flags = OpenAiChatFlags::default();
                flags.no_named_tool = no_named_tool;
                let mut model = model();
                model.reasoning = Some("high".into());
                model.forced_tool = forced_tool;
                let mut request = simple(model);
                request.tool_choice = choice.clone();
                let body = body(flags, &request);
                shown.push(format!(
                    "{no_named_tool} {forced_tool:?} {choice:?}: {} {}",
                    parameters(&body),
                    body["messages"][0]["content"]
                ));
            }
        }
    }
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn attachments_that_cannot_be_sent_become_words() {
    let mut log = Log::default();
    let attach = |media_type: &str, size| Attachment::new(media_type, vec![b'x'; size]);
    let blocks = vec![
        Block::Attachment(attach("application/pdf", 3)),
        Block::Attachment(attach("video/mp4", 3)),
    ];
    log.say(Role::User, blocks);
    let native = native();
    let calls = vec![Block::ToolCall(call("call_1", "find", "{}"))];
    log.answer(&native, calls, StopReason::ToolCalls);
    let content = vec![ToolContent::Attachment(conversation::png())];
    log.results(vec![result("call_1", ToolStatus::Cancelled, content)]);
    let shown = |server: &str, attachments| {
        let mut model = model();
        model.attachments = bool::into(attachments);
        let flags = OpenAiChatFlags::of_server(server).unwrap();
        let body = body(flags, &request(model, log.conversation.clone()));
        serde_json::to_string_pretty(&body["messages"]).unwrap()
    };
    insta::assert_snapshot!("documents", shown("openai", true));
    insta::assert_snapshot!("images_only", shown("ollama", true));
    insta::assert_snapshot!("no_attachments", shown("ollama", false));
}

#[tokio::test]
async fn the_path_follows_the_base_url_and_the_key_goes_as_bearer() {
    let bases = ["", "/", "/v1", "/api/v1/", "/v1beta/openai", "/api/paas/v4"];
    let server = Server::start(bases.map(|_| Script::events(""))).await;
    for base in bases {
        let endpoint = endpoint(&format!("{}{base}", server.url()));
        let protocol = OpenAiChat::new(endpoint, OpenAiChatFlags::default());
        assert_eq!(protocol.name(), "openai-chat");
        ask(&protocol, simple(model())).await;
    }
    let shown: Vec<String> = server
        .seen()
        .iter()
        .map(|seen| {
            let mut headers = seen.headers.iter();
            let key = headers.find(|(name, _)| name == "authorization");
            format!("{} {}", seen.line, key.map_or("", |(_, key)| key))
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n").replace(KEY, "KEY"));
    let sent: Value = serde_json::from_slice(&server.seen()[0].body).unwrap();
    assert_eq!(sent, body(OpenAiChatFlags::default(), &simple(model())));
}
