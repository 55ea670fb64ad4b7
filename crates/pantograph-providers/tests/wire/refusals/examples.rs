//! What was once sent and refused.

use std::sync::Arc;

use pantograph::protocol::{Request, ToolChoice};
use pantograph::{
    Attachment, Block, ForcedTool, Model, RawJson, ReasoningControl, Role, StopReason, ToolContent,
    ToolDeclaration, ToolSet, ToolStatus,
};
use pantograph_providers::OpenAiChatFlags;
use serde_json::{Value, json};

use super::{ANTHROPIC, GOOGLE, RESPONSES, anthropic, chat, chat_home, google, responses};
use crate::support::conversation::{self, Log, call, request, result};
use crate::support::random::Home;

const NOTHING: [String; 0] = [];

fn model(home: Home) -> Model {
    conversation::model("p", home.model, home.base_url)
}

/// An answer of these blocks, of the model itself, between two users.
fn answered(home: Home, blocks: Vec<Block>) -> Log {
    let mut log = Log::default();
    log.say(Role::User, vec![Block::text("One.")]);
    let native = conversation::Native {
        origin: conversation::origin(home.style, home.base_url, home.model),
        ..conversation::foreign()
    };
    log.answer(&native, blocks, StopReason::Cancelled);
    log.say(Role::User, vec![Block::text("Two.")]);
    log
}

fn thinking(signature: Option<&str>, raw: Option<&str>) -> Block {
    Block::Thinking {
        text: "Hm.".into(),
        signature: signature.map(Into::into),
        raw: raw.map(|raw| RawJson::parse(raw).unwrap()),
    }
}

fn messages(body: &Value) -> String {
    let messages = body["messages"].as_array().or(body["input"].as_array());
    let lines: Vec<String> = messages.unwrap().iter().map(Value::to_string).collect();
    lines.join("\n")
}

#[test]
fn an_answer_that_ends_with_thinking_leaves_with_what_came_before_it() {
    let signature = crate::strict::sign("claude-x", "Hm.");
    let signed = || thinking(Some(&signature), None);
    for (blocks, answer) in [
        (vec![signed()], 0),
        (vec![signed(), Block::text("Yes."), signed()], 1),
        (vec![thinking(Some(""), None), Block::text("Yes.")], 1),
        (vec![signed(), Block::text("\0\u{1c}")], 0),
    ] {
        let log = answered(ANTHROPIC, blocks);
        let (body, refusals) = anthropic(&request(model(ANTHROPIC), log.conversation));
        assert_eq!(refusals, NOTHING);
        let answers = messages(&body).matches(r#""role":"assistant""#).count();
        assert_eq!(answers, answer, "{}", messages(&body));
    }
}

#[test]
fn calls_after_which_it_only_thought_are_calls_without_thought() {
    let mut log = Log::default();
    log.say(Role::User, vec![Block::text("One.")]);
    let native = conversation::Native {
        origin: conversation::origin(ANTHROPIC.style, ANTHROPIC.base_url, ANTHROPIC.model),
        ..conversation::foreign()
    };
    let calls = vec![Block::ToolCall(call("c", "find", "{}"))];
    log.answer(&native, calls, StopReason::ToolCalls);
    log.results(vec![result("c", ToolStatus::Ok, Vec::new())]);
    let signature = crate::strict::sign("claude-x", "Hm.");
    log.answer(
        &native,
        vec![thinking(Some(&signature), None)],
        StopReason::Limit,
    );
    log.say(Role::User, vec![Block::text("Two.")]);
    let mut model = model(ANTHROPIC);
    model.reasoning = Some("high".into());
    model.reasoning_control = Some(ReasoningControl::Budget);
    let (body, refusals) = anthropic(&request(model, log.conversation));
    assert_eq!((refusals, body.get("thinking")), (Vec::new(), None));
}

/// Models with a budget think once a turn, so their later calls come without thought.
#[test]
fn a_turn_that_began_with_thought_goes_on_thinking() {
    let signature = crate::strict::sign("claude-x", "Hm.");
    let native = conversation::Native {
        origin: conversation::origin(ANTHROPIC.style, ANTHROPIC.base_url, ANTHROPIC.model),
        ..conversation::foreign()
    };
    let sent = |thoughts: [bool; 2], label: &str| {
        let mut log = Log::default();
        log.say(Role::User, vec![Block::text("One.")]);
        for (nth, thought) in thoughts.into_iter().enumerate() {
            let id = format!("c{nth}");
            let thought = thought.then(|| thinking(Some(&signature), None));
            let call = Block::ToolCall(call(&id, "find", "{}"));
            let blocks = thought.into_iter().chain([call]).collect();
            log.answer(&native, blocks, StopReason::ToolCalls);
            log.results(vec![result(&id, ToolStatus::Ok, Vec::new())]);
        }
        let mut model = model(ANTHROPIC);
        model.reasoning = Some(label.into());
        model.reasoning_control = Some(ReasoningControl::Budget);
        let (body, refusals) = anthropic(&request(model, log.conversation));
        assert_eq!(refusals, NOTHING);
        let thinks = body.get("thinking").is_some();
        (thinks, messages(&body).matches(&signature).count())
    };
    assert_eq!(sent([true, false], "high"), (true, 1));
    assert_eq!(sent([true, true], "high"), (true, 2));
    // After a move amid its calls, or once it is turned off, nothing of it may stay.
    assert_eq!(sent([false, true], "high"), (false, 0));
    assert_eq!(sent([true, true], "off"), (false, 0));
}

#[test]
fn a_model_that_thinks_unasked_does_not_while_it_is_made_to_call() {
    let mut request = conversation::simple(model(ANTHROPIC));
    request.tool_choice = ToolChoice::Required;
    let thinking = |forced_tool, control| {
        let mut model = model(ANTHROPIC);
        model.forced_tool = forced_tool;
        model.reasoning_control = control;
        let mut request = request.clone();
        request.model = Arc::new(model);
        let (body, refusals) = anthropic(&request);
        assert_eq!(refusals, NOTHING);
        body.get("thinking").cloned()
    };
    let disabled = Some(json!({ "type": "disabled" }));
    let effort = Some(ReasoningControl::Effort);
    assert_eq!(thinking(ForcedTool::WithoutThinking, effort), disabled);
    assert_eq!(thinking(ForcedTool::WithoutThinking, None), disabled);
    let adaptive = Some(json!({ "type": "adaptive", "display": "summarized" }));
    assert_eq!(thinking(ForcedTool::Yes, effort), adaptive);
    assert_eq!(thinking(ForcedTool::Yes, None), None);
    let none = Some(ReasoningControl::None);
    assert_eq!(thinking(ForcedTool::WithoutThinking, none), None);
}

#[test]
fn a_server_that_thinks_unasked_does_not_while_a_tool_is_forced() {
    let home = chat_home("deepseek");
    let mut request = conversation::simple(model(home));
    request.tool_choice = ToolChoice::Required;
    let thinking = |request: &Request, server| {
        let (body, refusals) = chat(request, server);
        assert_eq!(refusals, NOTHING);
        body.get("thinking").cloned()
    };
    let disabled = Some(json!({ "type": "disabled" }));
    assert_eq!(thinking(&request, "deepseek"), disabled);
    assert_eq!(thinking(&request, "openai"), None);
    let mut free = model(home);
    free.forced_tool = ForcedTool::Yes;
    request.model = Arc::new(free);
    assert_eq!(thinking(&request, "deepseek"), None);
}

#[test]
fn an_empty_item_of_responses_goes_with_its_reasoning() {
    let reasoning = |id: &str| {
        let encrypted = crate::strict::sign("gpt-x", id);
        json!({ "id": id, "type": "reasoning", "summary": [], "encrypted_content": encrypted })
            .to_string()
    };
    let said = |id: &str, text: &str| Block::Text {
        text: text.into(),
        raw: Some(RawJson::from_value(&json!({
            "id": id, "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }))),
    };
    let blocks = vec![
        thinking(None, Some(&reasoning("rs_1"))),
        said("msg_1_after_rs_1", ""),
        thinking(None, Some(&reasoning("rs_2"))),
        said("msg_2_after_rs_2", "Yes."),
    ];
    let log = answered(RESPONSES, blocks);
    let (body, refusals) = responses(&request(model(RESPONSES), log.conversation));
    assert_eq!(refusals, NOTHING);
    let shown = messages(&body);
    assert!(!shown.contains("rs_1") && shown.contains("rs_2"), "{shown}");
}

/// A key in the URL is neither recorded nor a reason to be from elsewhere.
#[test]
fn thinking_goes_back_to_a_place_that_is_written_with_a_query() {
    let signature = crate::strict::sign("claude-x", "Hm.");
    let blocks = vec![thinking(Some(&signature), None), Block::text("Yes.")];
    let log = answered(ANTHROPIC, blocks);
    let mut model = model(ANTHROPIC);
    model.base_url = Some(format!("{}?key=secret", ANTHROPIC.base_url));
    let (body, _) = anthropic(&request(model, log.conversation));
    assert!(messages(&body).contains(&signature));
}

fn image(side: u32, bytes: usize) -> Attachment {
    let mut data = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    data.extend(side.to_be_bytes());
    data.extend(side.to_be_bytes());
    data.resize(bytes, 0);
    Attachment::new("image/png", data)
}

/// A tool that showed so many images, as one of screenshots does.
fn screenshots(home: Home, images: usize, side: u32, bytes: usize) -> Log {
    let mut log = answered(home, vec![Block::text("Yes.")]);
    let native = conversation::foreign();
    for shot in 0..images {
        let id = format!("c{shot}");
        let calls = vec![Block::ToolCall(call(&id, "find", "{}"))];
        log.answer(&native, calls, StopReason::ToolCalls);
        let content = vec![ToolContent::Attachment(image(side, bytes))];
        log.results(vec![result(&id, ToolStatus::Ok, content)]);
    }
    log
}

#[test]
fn the_latest_images_that_fit_are_sent_and_words_for_the_others() {
    let sent = |images, side, bytes| {
        let log = screenshots(ANTHROPIC, images, side, bytes);
        let (body, refusals) = anthropic(&request(model(ANTHROPIC), log.conversation));
        assert_eq!(refusals, NOTHING);
        let shown = messages(&body);
        let last = shown.rfind("was left out").unwrap_or(0);
        assert!(shown.rfind(r#""type":"image""#).is_none_or(|at| at > last));
        shown.matches(r#""type":"image""#).count()
    };
    assert_eq!(sent(20, 8_000, 64), 20);
    assert_eq!(sent(1, 8_001, 64), 0);
    // Beside so many each must be smaller.
    assert_eq!(sent(21, 8_000, 64), 0);
    assert_eq!(sent(120, 2_000, 64), 100);
    // Three megabytes are four in base64.
    assert_eq!(sent(10, 100, 3 << 20), 6);
    let log = screenshots(chat_home("groq"), 9, 100, 64);
    let (body, refusals) = chat(&request(model(chat_home("groq")), log.conversation), "groq");
    assert_eq!(refusals, NOTHING);
    assert_eq!(messages(&body).matches("data:image/png").count(), 5);
}

#[test]
fn an_image_that_is_too_large_takes_no_other_along() {
    let groq = chat_home("groq");
    let mut log = screenshots(groq, 3, 100, 64);
    log.say(
        Role::User,
        vec![Block::Attachment(image(100, 4 << 20)), Block::text("And?")],
    );
    let (body, refusals) = chat(&request(model(groq), log.conversation), "groq");
    assert_eq!(refusals, NOTHING);
    let shown = messages(&body);
    assert_eq!(shown.matches("data:image/png").count(), 3);
    assert_eq!(shown.matches("it is too large to be sent").count(), 1);
}

#[test]
fn gemini_gets_what_fits_into_one_request() {
    let sent = |log: Log| {
        let (body, refusals) = google(&request(model(GOOGLE), log.conversation));
        assert_eq!(refusals, NOTHING);
        let shown = body["contents"].to_string();
        let is_latest = shown.rfind("was left out") < shown.rfind("inlineData");
        (shown.matches("inlineData").count(), is_latest)
    };
    // Thirty megabytes are forty in base64.
    assert_eq!(sent(screenshots(GOOGLE, 2, 100, 30_000_000)), (1, true));
    assert_eq!(sent(screenshots(GOOGLE, 1, 100, 38_000_000)), (0, false));
}

#[test]
fn a_model_that_takes_only_images_gets_words_for_documents() {
    let mut log = Log::default();
    let pdf = Attachment::new("application/pdf", b"%PDF-1.7".to_vec());
    let blocks = [image(32, 64), pdf].map(Block::Attachment);
    log.say(Role::User, blocks.to_vec());
    let words =
        "[an attachment of type application/pdf was left out: this model takes only images]";
    let shown = |documents: bool, sent: fn(&Request) -> (Value, Vec<String>), home: Home| {
        let mut model = model(home);
        model.attachments.documents = documents;
        let (body, refusals) = sent(&request(model, log.conversation.clone()));
        assert_eq!(refusals, NOTHING);
        let body = body.to_string();
        assert!(body.contains("image/png"));
        (body.contains(words), body.contains("JVBER"))
    };
    let openai: fn(&Request) -> _ = |request| chat(request, "openai");
    for (sent, home) in [
        (anthropic as fn(&Request) -> _, ANTHROPIC),
        (responses, RESPONSES),
        (google, GOOGLE),
        (openai, chat_home("openai")),
    ] {
        assert_eq!(shown(true, sent, home), (false, true), "{}", home.style);
        assert_eq!(shown(false, sent, home), (true, false), "{}", home.style);
    }
}

#[test]
fn a_bad_schema_of_one_tool_does_not_take_the_others_along() {
    let schema = json!({
        "type": "object",
        "properties": {
            "$filter": { "type": "string" }, "list": { "type": ["array", "null"] },
            "any": { "description": "Anything." }, "x": "number", "n": { "minimum": "1" },
        },
        "required": ["$filter", "list", "list"],
    });
    let bad = ToolDeclaration::new("bad", "Bad.", schema).unwrap();
    let mut request = conversation::simple(model(ANTHROPIC));
    request.tools = ToolSet::new(vec![bad]).unwrap();
    let (body, refusals) = anthropic(&request);
    assert_eq!(refusals, NOTHING);
    insta::assert_snapshot!(body["tools"][0]["input_schema"], @r#"{"type":"object","properties":{"list":{"type":["array","null"],"items":{}},"any":{"description":"Anything."},"x":{},"n":{}},"required":["list"],"description":"It also has the keys `$filter`."}"#);
    assert_eq!(responses(&request).1, NOTHING);
    for server in OpenAiChatFlags::SERVERS {
        assert_eq!(chat(&request, server).1, NOTHING, "{server}");
    }
    let (body, _) = chat(&request, "llama-cpp");
    insta::assert_snapshot!(body["tools"][0]["function"]["parameters"], @r#"{"type":"object","properties":{"$filter":{"type":"string"},"list":{"type":["array","null"],"items":{}},"any":{},"x":{},"n":{}},"required":["$filter","list"]}"#);
}

#[test]
fn images_of_a_type_that_a_server_cannot_read_become_words() {
    let shown = |server: &str| {
        let mut log = Log::default();
        let gif = Attachment::new("image/gif", b"GIF89a\x01\0\x01\0".to_vec());
        let webp = Attachment::new("image/webp", b"RIFF\0\0\0\0WEBP".to_vec());
        log.say(
            Role::User,
            vec![Block::Attachment(gif), Block::Attachment(webp)],
        );
        let (body, refusals) = chat(&request(model(chat_home(server)), log.conversation), server);
        assert_eq!(refusals, NOTHING, "{server}");
        let shown = messages(&body);
        [
            shown.contains("data:image/gif"),
            shown.contains("data:image/webp"),
        ]
    };
    assert_eq!(shown("openai"), [true, true]);
    assert_eq!(shown("ollama"), [false, true]);
    assert_eq!(shown("llama-cpp"), [true, false]);
    assert_eq!(shown("xai"), [false, false]);
}
