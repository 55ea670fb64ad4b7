//! What the API refuses, all of it together.

use serde_json::Value;

/// Panics where the API would refuse the body, or a model that knows no files in responses.
pub(crate) fn check(body: &Value) {
    let known = [
        "systemInstruction",
        "tools",
        "toolConfig",
        "generationConfig",
        "contents",
    ];
    keys(body, &known);
    if let Some(system) = body.get("systemInstruction") {
        parts(&system["parts"], |part| text_is_sound(&part["text"]));
    }
    let tools = body.get("tools").map(|tools| tools.as_array().unwrap());
    assert!(tools.is_none_or(|tools| tools.len() == 1), "{body}");
    assert!(
        body.get("toolConfig").is_none() || tools.is_some(),
        "a choice among nothing"
    );
    for tool in tools.into_iter().flatten() {
        let declared = tool["functionDeclarations"].as_array().unwrap();
        assert!(!declared.is_empty());
        for function in declared {
            name(&function["name"]);
            text_is_sound(&function["description"]);
            if let Some(parameters) = function.get("parameters") {
                assert_eq!(parameters["type"], "object");
                assert!(!parameters["properties"].as_object().unwrap().is_empty());
                schema(parameters);
            }
        }
    }
    contents(body["contents"].as_array().unwrap());
}

fn contents(contents: &[Value]) {
    let mut open: Vec<&Value> = Vec::new();
    let mut before = Kind::Said;
    for (at, content) in contents.iter().enumerate() {
        keys(content, &["role", "parts"]);
        let parts = content["parts"].as_array().unwrap();
        assert!(!parts.is_empty(), "{at}: no parts");
        let kind = match content["role"].as_str().unwrap() {
            "model" => Kind::Answered,
            "user" if parts.iter().any(is_response) => Kind::Responded,
            "user" => Kind::Said,
            role => panic!("{at}: the role {role}"),
        };
        assert!(
            kind == Kind::Responded || open.is_empty(),
            "{at}: calls without responses"
        );
        match kind {
            Kind::Said => {
                assert!(at == 0 || before != Kind::Said, "{at}: the user again");
                parts.iter().for_each(said);
            }
            Kind::Answered => {
                assert!(at > 0 && before != Kind::Answered, "{at}: the model again");
                parts.iter().for_each(answered);
                open = parts
                    .iter()
                    .filter_map(|part| part.get("functionCall"))
                    .collect();
                let signed = parts.iter().find(|part| part.get("functionCall").is_some());
                assert!(
                    signed.is_none_or(|part| part["thoughtSignature"].is_string()),
                    "{at}: the first call is not signed"
                );
            }
            Kind::Responded => {
                assert!(parts.iter().all(is_response), "{at}: a response and more");
                assert_eq!(parts.len(), open.len(), "{at}");
                for (part, call) in parts.iter().zip(open.drain(..)) {
                    let response = &part["functionResponse"];
                    keys(response, &["id", "name", "response", "parts"]);
                    assert_eq!(response["name"], call["name"], "{at}");
                    assert_eq!(response.get("id"), call.get("id"), "{at}");
                    assert_eq!(response["response"].as_object().unwrap().len(), 1);
                }
            }
        }
        before = kind;
    }
    assert_ne!(before, Kind::Answered, "the model has the last word");
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Said,
    Answered,
    Responded,
}

fn is_response(part: &Value) -> bool {
    part.get("functionResponse").is_some()
}

fn said(part: &Value) {
    match part.get("inlineData") {
        Some(data) => {
            keys(data, &["mimeType", "data"]);
            let known = ["image/png", "image/jpeg", "image/webp", "application/pdf"];
            assert!(
                known.contains(&data["mimeType"].as_str().unwrap()),
                "{data}"
            );
        }
        None => {
            keys(part, &["text"]);
            text_is_sound(&part["text"]);
        }
    }
}

fn answered(part: &Value) {
    if let Some(call) = part.get("functionCall") {
        keys(part, &["functionCall", "thoughtSignature"]);
        keys(call, &["id", "name", "args"]);
        name(&call["name"]);
        assert!(call["args"].is_object(), "{call}");
        assert!(call.get("id").is_none_or(|id| id != ""), "{call}");
    } else if part.get("text").is_some() && part.get("thoughtSignature").is_none() {
        // Within the pieces of a signed text there may be any.
        let text = part["text"].as_str().unwrap();
        assert!(!text.is_empty() && !text.contains('\0'), "{part}");
    }
}

fn schema(schema: &Value) {
    if let Some(members) = schema.get("anyOf") {
        keys(schema, &["anyOf"]);
        let members = members.as_array().unwrap();
        assert!(members.len() > 1);
        return members.iter().for_each(self::schema);
    }
    let own: &[&str] = match schema["type"].as_str().unwrap() {
        "string" => &["enum", "format", "minLength", "maxLength"],
        "number" | "integer" => &["format", "minimum", "maximum"],
        "boolean" => &[],
        "array" => &["items", "minItems", "maxItems"],
        "object" => &["properties", "required", "minProperties", "maxProperties"],
        kind => panic!("the type {kind}"),
    };
    let known: Vec<&str> = ["type", "description", "nullable"]
        .iter()
        .chain(own)
        .copied()
        .collect();
    keys(schema, &known);
    if schema["type"] == "array" {
        self::schema(&schema["items"]);
    }
    for value in schema["enum"].as_array().into_iter().flatten() {
        assert!(value.as_str().is_some_and(|value| !value.is_empty()));
    }
    for key in schema["required"].as_array().into_iter().flatten() {
        assert!(schema["properties"].get(key.as_str().unwrap()).is_some());
    }
    for property in schema["properties"].as_object().into_iter().flatten() {
        self::schema(property.1);
    }
}

fn keys(object: &Value, known: &[&str]) {
    for key in object.as_object().unwrap().keys() {
        assert!(known.contains(&&**key), "unknown name {key} in {object}");
    }
}

fn parts(parts: &Value, check: impl Fn(&Value)) {
    let parts = parts.as_array().unwrap();
    assert!(!parts.is_empty());
    parts.iter().for_each(check);
}

fn name(name: &Value) {
    let name = name.as_str().unwrap();
    let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    assert!(
        (1..=64).contains(&name.len()) && name.bytes().all(legal),
        "{name}"
    );
}

fn text_is_sound(text: &Value) {
    let text = text.as_str().unwrap();
    assert!(!text.trim().is_empty() && !text.contains('\0'), "{text:?}");
}
