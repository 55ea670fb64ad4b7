//! `openai-responses`.

mod answers;
mod items;
mod requests;

use pantograph::{Model, RawJson};
use pantograph_providers::{OpenAiResponses, OpenAiResponsesFlags};

use crate::support::conversation::{self, Native};
use crate::support::endpoint;

fn protocol() -> OpenAiResponses {
    with_flags(OpenAiResponsesFlags::default())
}

fn with_flags(flags: OpenAiResponsesFlags) -> OpenAiResponses {
    OpenAiResponses::new(endpoint(OpenAiResponses::BASE_URL), flags)
}

/// The model of [`native`].
fn model() -> Model {
    conversation::model("openai", "gpt-x", OpenAiResponses::BASE_URL)
}

fn reasoning(label: &str) -> Model {
    let mut model = model();
    model.reasoning = Some(label.into());
    model
}

const REASONING: &str = r#"{"id":"rs_1", "type":"reasoning","summary":[{"type":"summary_text","text":"Let me look."}],"encrypted_content":"gAAAAA\/x=="}"#;
const OPAQUE: &str = r#"{"id":"ws_1","type":"web_search_call",  "status":"completed","action":{"type":"search","query":"\u00e9"}}"#;
const MESSAGE: &str = r#"{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Looking."}],"phase":"commentary","role":"assistant"}"#;
const CALL: &str = r#"{"id":"fc_1","type":"function_call","status":"completed","arguments":"{ \"path\": \"a\\u00e9.txt\",  \"limit\": 1e1 }","call_id":"call_01A","name":"files__read"}"#;

/// The answers of OpenAI.
pub(crate) fn native() -> Native {
    let item = |json| Some(RawJson::parse(json).unwrap());
    Native {
        origin: conversation::origin("openai-responses", OpenAiResponses::BASE_URL, "gpt-x"),
        ids: ["call_01A", "call_01B", "call_01C"],
        signature: None,
        thinking: item(REASONING),
        text: item(MESSAGE),
        call: item(CALL),
        opaque: item(OPAQUE),
    }
}
