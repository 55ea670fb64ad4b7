//! `google-generate`.

mod answers;
mod requests;

use pantograph::{Model, RawJson, ReasoningControl};
use pantograph_providers::{GoogleGenerate, GoogleGenerateFlags};
use serde_json::Value;

use crate::strict;
use crate::strict::google_generate::{Facts, Thinks};
use crate::support::conversation::{self, Native};
use crate::support::endpoint;

fn protocol() -> GoogleGenerate {
    with_flags(GoogleGenerateFlags::default())
}

fn with_flags(flags: GoogleGenerateFlags) -> GoogleGenerate {
    GoogleGenerate::new(endpoint(GoogleGenerate::BASE_URL), flags)
}

/// Panics where the API would refuse a body for the model.
pub(crate) fn accepted(body: &Value, model: &Model) {
    let facts = Facts {
        model: None,
        thinks: Thinks::of(model.reasoning_control),
    };
    let refusals = strict::google_generate::check(body, facts);
    assert_eq!(refusals, [""; 0], "{body}");
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
