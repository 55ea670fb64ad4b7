//! `google-generate`.

mod answers;
mod requests;
pub(crate) mod strict;

use pantograph::{Model, RawJson, ReasoningControl};
use pantograph_providers::{GoogleGenerate, GoogleGenerateFlags};

use crate::support::conversation::{self, Native};
use crate::support::endpoint;

fn protocol() -> GoogleGenerate {
    with_flags(GoogleGenerateFlags::default())
}

fn with_flags(flags: GoogleGenerateFlags) -> GoogleGenerate {
    GoogleGenerate::new(endpoint(GoogleGenerate::BASE_URL), flags)
}

/// The model of [`native`].
fn model() -> Model {
    conversation::model("google", "gemini-x", GoogleGenerate::BASE_URL)
}

fn reasoning(control: ReasoningControl, label: &str) -> Model {
    let mut model = model();
    model.reasoning_control = Some(control);
    model.reasoning = Some(label.into());
    model
}

const THOUGHT: &str = r#"[{"text":"Let me look.","thought":true},{ "thought":true,"text":"","thoughtSignature":"VGhv\/w==" }]"#;
const TEXT: &str = r#"[{"text":"Looking."},{"text":"", "thoughtSignature":"VGV4\/w=="}]"#;
const CALL: &str = r#"{"thoughtSignature":"Q2Fs\/w=="}"#;
const OPAQUE: &str = r#"{"executableCode":{"language":"PYTHON",  "code":"print(\"\u00e9\")"},"thoughtSignature":"Q29k\/w=="}"#;

/// The answers of Google.
pub(crate) fn native() -> Native {
    let raw = |json| Some(RawJson::parse(json).unwrap());
    Native {
        origin: conversation::origin("google-generate", GoogleGenerate::BASE_URL, "gemini-x"),
        ids: ["call_0a1b2c", "r7x9k2pq", "function-call-123"],
        signature: None,
        thinking: raw(THOUGHT),
        text: raw(TEXT),
        call: raw(CALL),
        opaque: raw(OPAQUE),
    }
}
