//! `openai-chat`.

mod answers;
mod requests;

use pantograph::{Model, RawJson};
use pantograph_providers::{OpenAiChat, OpenAiChatFlags};

use crate::support::conversation::{self, Native, origin};
use crate::support::endpoint;
pub(crate) use answers::CALLS;

const BASE_URL: &str = "https://openrouter.example/api/v1";

fn protocol(server: &str) -> OpenAiChat {
    with_flags(OpenAiChatFlags::of_server(server).unwrap())
}

fn with_flags(flags: OpenAiChatFlags) -> OpenAiChat {
    OpenAiChat::new(endpoint(BASE_URL), flags)
}

/// The model of [`native`].
fn model() -> Model {
    conversation::model("openrouter", "vendor/m", BASE_URL)
}

/// The answers of a server that has everything that servers of this protocol have.
pub(crate) fn native() -> Native {
    let raw = |text| Some(RawJson::parse(text).unwrap());
    Native {
        origin: origin("openai-chat", BASE_URL, "vendor/m"),
        ids: [
            "call_A",
            "call_B",
            "chatcmpl-tool-0123456789abcdef0123456789abcdef",
        ],
        signature: None,
        thinking: raw(
            r#"[{ "type":"reasoning.text","text":"Let me look.","signature":"c2ln\/","index":0 }]"#,
        ),
        text: None,
        call: raw(r#"{"google":{"thought_signature":"Q2F\/"}}"#),
        opaque: raw(r#"[{"type":"reasoning.encrypted", "data":"Z0FB\/==","index":1}]"#),
    }
}
