//! What leaves of a wish for a tool call, given what the model can be made to do.

use pantograph::protocol::{Request, ToolChoice};
use pantograph::wire_name::WireNames;
use pantograph::{ForcedTool, Model, ReasoningControl, ToolDeclaration};

/// What leaves of a request's tool choice and reasoning label.
///
/// A model that cannot be forced is asked in words, and of several tools is shown only the one
/// that is wanted; a model that cannot be forced while it thinks does not think.
#[derive(Debug, PartialEq)]
pub(crate) struct Forcing<'a> {
    pub(crate) choice: ToolChoice,
    pub(crate) reasoning: Option<&'a str>,
    /// Follows the system prompt.
    pub(crate) instruction: Option<String>,
    pub(crate) tools: Vec<&'a ToolDeclaration>,
}

impl<'a> Forcing<'a> {
    pub(crate) fn of(request: &'a Request, names: &WireNames) -> Self {
        let tools: Vec<&ToolDeclaration> = request.tools.iter().collect();
        // No provider takes a choice among no tools.
        let choice = match &request.tool_choice {
            _ if tools.is_empty() => ToolChoice::Auto,
            ToolChoice::Named(name) if request.tools.get(name).is_none() => ToolChoice::Required,
            choice => choice.clone(),
        };
        let plain = Self {
            reasoning: request.model.effective_reasoning(&choice),
            choice,
            instruction: None,
            tools,
        };
        match (&plain.choice, request.model.forced_tool) {
            (ToolChoice::Required, ForcedTool::No) => Self {
                choice: ToolChoice::Auto,
                instruction: Some("Answer with a call of one of your tools.".into()),
                ..plain
            },
            (ToolChoice::Named(name), ForcedTool::No) => Self {
                instruction: Some(format!(
                    "Answer with exactly one call of the tool `{}`, and nothing else.",
                    names.encode(name)
                )),
                tools: request.tools.get(name).into_iter().collect(),
                choice: ToolChoice::Auto,
                ..plain
            },
            _ => plain,
        }
    }

    /// Whether the model must not think, as it may do unasked: it is made to call a tool, and
    /// cannot be while it thinks.
    pub(crate) fn forbids_thinking(&self, model: &Model) -> bool {
        let is_forced = matches!(self.choice, ToolChoice::Required | ToolChoice::Named(_));
        is_forced
            && model.forced_tool == ForcedTool::WithoutThinking
            && model.reasoning_control != Some(ReasoningControl::None)
    }
}
