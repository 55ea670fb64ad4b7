//! `anthropic-messages`.

mod answers;
pub(crate) mod binding;
mod requests;

use pantograph::{Model, ReasoningControl};
use pantograph_providers::{AnthropicFlags, AnthropicMessages};

use crate::support::conversation;
use crate::support::endpoint;

fn protocol() -> AnthropicMessages {
    with_flags(AnthropicFlags::default())
}

fn with_flags(flags: AnthropicFlags) -> AnthropicMessages {
    AnthropicMessages::new(endpoint(AnthropicMessages::BASE_URL), flags)
}

/// The model of [`conversation::anthropic`].
fn model() -> Model {
    conversation::model("anthropic", "claude-x", AnthropicMessages::BASE_URL)
}

fn reasoning(control: ReasoningControl, label: &str) -> Model {
    let mut model = model();
    model.reasoning_control = Some(control);
    model.reasoning = Some(label.into());
    model
}
