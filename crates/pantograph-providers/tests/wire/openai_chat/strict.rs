//! What servers refuse, all of it together.

use std::collections::HashSet;

use pantograph_providers::OpenAiChatFlags;
use serde_json::Value;

/// Panics where a server with these flags would refuse the body.
pub(crate) fn check(body: &Value, flags: OpenAiChatFlags) {
    assert!(body["model"].is_string() && body["stream"] == true);
    let tools = body.get("tools").map(|tools| tools.as_array().unwrap());
    assert!(
        tools.is_none_or(|tools| !tools.is_empty()),
        "an empty list of tools"
    );
    assert!(
        body.get("tool_choice").is_none() || tools.is_some(),
        "a choice among nothing"
    );
    for tool in tools.into_iter().flatten() {
        name(&tool["function"]["name"]);
        assert_eq!(tool["function"]["parameters"]["type"], "object");
    }
    let messages = body["messages"].as_array().unwrap();
    let mut before = "";
    let mut open: HashSet<&str> = HashSet::new();
    let mut seen: HashSet<&str> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap();
        assert!(
            open.is_empty() || role == "tool",
            "{at}: calls without results: {open:?}"
        );
        match role {
            "system" | "developer" => {
                assert_eq!(at, 0, "instructions amid the conversation");
                assert_eq!(role == "developer", flags.developer_role);
            }
            "user" => {
                assert_ne!(before, "user", "{at}: two user messages");
                assert!(before != "tool" || !flags.answer_after_results, "{at}");
            }
            "assistant" => {
                assert_ne!(before, "assistant", "{at}: two answers");
                let calls = message.get("tool_calls").map(|c| c.as_array().unwrap());
                assert!(calls.is_none_or(|calls| !calls.is_empty()));
                assert!(calls.is_some() || !message["content"].is_null(), "{at}");
                for call in calls.into_iter().flatten() {
                    name(&call["function"]["name"]);
                    let arguments = call["function"]["arguments"].as_str().unwrap();
                    let arguments: Value = serde_json::from_str(arguments).unwrap();
                    assert!(arguments.is_object(), "{at}");
                    let id = call["id"].as_str().unwrap();
                    assert!(seen.insert(id), "{at}: the id {id} again");
                    open.insert(id);
                    let legal = id.bytes().all(|b| b.is_ascii_alphanumeric());
                    assert!(
                        !flags.short_call_ids || id.len() == 9 && legal,
                        "{at}: the id {id}"
                    );
                    assert!(!id.is_empty() && id.len() <= 40, "{at}: the id {id}");
                }
                assert!(
                    !flags.thinking_required || message["reasoning_content"].is_string(),
                    "{at}: no thinking"
                );
            }
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap();
                assert!(open.remove(id), "{at}: a result without call");
            }
            other => panic!("{at}: the role {other}"),
        }
        content(at, role, &message["content"]);
        before = role;
    }
    assert!(
        matches!(before, "user" | "tool"),
        "{before} has the last word"
    );
}

fn name(name: &Value) {
    let name = name.as_str().unwrap();
    let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    assert!(
        (1..=64).contains(&name.len()) && name.bytes().all(legal),
        "the name {name}"
    );
}

fn content(at: usize, role: &str, content: &Value) {
    match content {
        Value::Null => assert_eq!(role, "assistant", "{at}"),
        Value::String(text) => text_is_sound(at, text),
        Value::Array(parts) => {
            assert!(!parts.is_empty(), "{at}");
            for part in parts {
                match (role, part["type"].as_str().unwrap()) {
                    (_, "text") => text_is_sound(at, part["text"].as_str().unwrap()),
                    ("user", "image_url") => {
                        let url = part["image_url"]["url"].as_str().unwrap();
                        assert!(url.starts_with("data:image/png;base64,"), "{at}");
                    }
                    ("user", "file") => {}
                    ("assistant", "thinking") => {}
                    (_, kind) => panic!("{at}: {kind} from {role}"),
                }
            }
        }
        other => panic!("{at}: {other}"),
    }
}

fn text_is_sound(at: usize, text: &str) {
    assert!(!text.trim().is_empty() && !text.contains('\0'), "{at}");
}
