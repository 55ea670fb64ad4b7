//! Calls and their results.

use std::sync::Arc;

use pantograph::{Message, Role, ToolCall, ToolDeclaration, ToolSet};
use serde::de::IgnoredAny;

use super::{Problem, succeeded};

/// The assistant messages of a conversation with the tool messages that belong to them.
pub(super) struct Batches<'a> {
    pub(super) messages: &'a [Arc<Message>],
    pub(super) tools: &'a ToolSet,
    pub(super) allows_removed_tools: bool,
}

impl Batches<'_> {
    /// Checks the message at `at`: an assistant's calls against the next message, a tool's
    /// results against the message before.
    pub(super) fn check(&self, at: usize) -> Result<(), Problem> {
        match self.messages[at].role {
            Role::Assistant => self.check_calls(at),
            Role::Tool => self.check_results(at),
            Role::System | Role::User => Ok(()),
        }
    }

    fn check_calls(&self, at: usize) -> Result<(), Problem> {
        let next = self.messages.get(at + 1);
        let next = next.filter(|message| message.role == Role::Tool);
        for (position, call) in self.messages[at].tool_calls().enumerate() {
            let result = next.and_then(|message| {
                let mut results = message.tool_results().enumerate();
                results.find(|(_, result)| result.call == call.id)
            });
            match result {
                None => return Err(self.missing_result(at, call)),
                Some((place, result)) => {
                    if succeeded(result.status) {
                        self.check_success(at, call)?;
                    }
                    // A result too many moves the others; the tool message will say so.
                    let has_strangers = next.is_some_and(|message| {
                        message.tool_results().count() != self.messages[at].tool_calls().count()
                    });
                    if place != position && !has_strangers {
                        let call = call.id.clone();
                        return Err(Problem::ResultOrder { at: at + 1, call });
                    }
                }
            }
        }
        Ok(())
    }

    fn missing_result(&self, at: usize, call: &ToolCall) -> Problem {
        let later = self.messages.iter().enumerate().skip(at + 1);
        let found = later
            .filter(|(_, message)| message.tool_results().any(|result| result.call == call.id))
            .map(|(position, _)| position)
            .next();
        let call = call.id.clone();
        match found {
            None => Problem::CallWithoutResult { at, call },
            Some(later) if self.messages[at + 1..=later].iter().all(is_tool) => {
                Problem::SeveralToolMessages { at: later }
            }
            Some(later) => Problem::ResultTooLate { at: later, call },
        }
    }

    fn check_success(&self, at: usize, call: &ToolCall) -> Result<(), Problem> {
        let declaration = self.tools.get(&call.name);
        if declaration.is_none() && !self.allows_removed_tools {
            return Err(Problem::UndeclaredTool {
                at,
                call: call.id.clone(),
                tool: call.name.to_string(),
            });
        }
        match input_problem(&call.input, declaration) {
            None => Ok(()),
            Some(reason) => Err(Problem::BadInput {
                at,
                call: call.id.clone(),
                reason,
            }),
        }
    }

    fn check_results(&self, at: usize) -> Result<(), Problem> {
        let before = at.checked_sub(1).map(|before| &self.messages[before]);
        let calls: Vec<&ToolCall> = before.iter().flat_map(|m| m.tool_calls()).collect();
        let mut answered = Vec::new();
        for result in self.messages[at].tool_results() {
            let call = result.call.clone();
            if !calls.iter().any(|known| known.id == call) {
                return Err(Problem::ResultWithoutCall { at, call });
            }
            if answered.contains(&call) {
                return Err(Problem::RepeatedResult { at, call });
            }
            answered.push(call);
        }
        Ok(())
    }
}

fn is_tool(message: &Arc<Message>) -> bool {
    message.role == Role::Tool
}

/// Why a tool cannot have run with this input.
fn input_problem(input: &str, declaration: Option<&ToolDeclaration>) -> Option<String> {
    let text = input.trim();
    if text.is_empty() || text == "null" {
        let required = declaration.map(ToolDeclaration::required_keys);
        let keys = required.filter(|keys| !keys.is_empty())?;
        return Some(format!("has no input, but must have {}", keys.join(", ")));
    }
    match serde_json::from_str::<IgnoredAny>(text) {
        Err(error) => Some(format!("has an input that is not JSON ({error})")),
        Ok(_) if !text.starts_with('{') => Some("has an input that is not an object".to_owned()),
        Ok(_) => None,
    }
}
