//! Whether a request is one that every provider accepts.

use std::collections::HashSet;

use pantograph::protocol::{Purpose, Request, ToolChoice};
use pantograph::{Block, CallId, Message, Role, ToolStatus};

mod batch;
mod problem;

pub use problem::{InvalidRequest, Problem};

/// Checks a request as [`crate::ScriptedProtocol`] does.
///
/// Valid is what every provider takes and the agent core promises:
///
/// - no message is empty or there twice, and blocks stand where they belong;
/// - beside system messages, which may stand anywhere but between a call and its result, the
///   conversation begins with a user message, no assistant message follows another, and one
///   for a turn does not end with one; user messages may follow each other;
/// - every call has an id of its own and exactly one result; the results of one assistant
///   message are one tool message, right after it, in the order of the calls;
/// - a call that succeeded had a JSON object as its input (or nothing, or `null`, if no key is
///   required), and in a turn its tool is declared;
/// - no tool is declared twice, and a forced choice has a tool to choose.
///
/// # Errors
///
/// The first [`Problem`], with the conversation around it.
pub fn check_request(request: &Request) -> Result<(), InvalidRequest> {
    RequestCheck::new().check(request)
}

/// [`check_request`] with exceptions.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestCheck {
    allows_removed_tools: bool,
}

impl RequestCheck {
    /// The check without exceptions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts successful calls of tools that are not declared.
    pub fn allow_removed_tools(mut self) -> Self {
        self.allows_removed_tools = true;
        self
    }

    /// Checks a request.
    ///
    /// # Errors
    ///
    /// As [`check_request`].
    pub fn check(&self, request: &Request) -> Result<(), InvalidRequest> {
        check_tools(request)
            .and_then(|()| self.check_messages(request))
            .map_err(|problem| InvalidRequest::new(problem, request))
    }

    fn check_messages(&self, request: &Request) -> Result<(), Problem> {
        let messages = request.conversation.messages();
        let batches = batch::Batches {
            messages,
            tools: &request.tools,
            // Nothing runs in a compaction, so it may leave the tools out.
            allows_removed_tools: self.allows_removed_tools
                || request.purpose == Purpose::Compaction,
        };
        let mut message_ids = HashSet::new();
        let mut call_ids = HashSet::new();
        let mut previous = None;
        for (at, message) in messages.iter().enumerate() {
            if !message_ids.insert(&message.id) {
                let id = message.id.clone();
                return Err(Problem::RepeatedMessage { at, id });
            }
            check_content(at, message)?;
            check_order(at, message.role, previous)?;
            check_call_ids(at, message, &mut call_ids)?;
            batches.check(at)?;
            if message.role != Role::System {
                previous = Some(message.role);
            }
        }
        match previous {
            None => Err(Problem::NothingToAnswer),
            Some(Role::Assistant) if request.purpose == Purpose::Turn => {
                Err(Problem::EndsWithAssistant)
            }
            Some(_) => Ok(()),
        }
    }
}

fn check_tools(request: &Request) -> Result<(), Problem> {
    let mut names = HashSet::new();
    for tool in &request.tools {
        if !names.insert(&tool.name) {
            return Err(Problem::DuplicateTool(tool.name.to_string()));
        }
    }
    match &request.tool_choice {
        ToolChoice::Named(name) if request.tools.get(name).is_none() => {
            Err(Problem::UndeclaredChoice(name.clone()))
        }
        ToolChoice::Required if request.tools.is_empty() => Err(Problem::NothingToChoose),
        _ => Ok(()),
    }
}

fn check_content(at: usize, message: &Message) -> Result<(), Problem> {
    if message.blocks.iter().all(is_empty) {
        return Err(Problem::Empty { at });
    }
    let role = message.role;
    for block in &message.blocks {
        let (kind, belongs) = match block {
            Block::ToolResult(_) => ("a tool result", role == Role::Tool),
            Block::ToolCall(_) => ("a tool call", role == Role::Assistant),
            Block::Thinking { .. } => ("thinking", role == Role::Assistant),
            _ if role == Role::Tool => ("something other than tool results", false),
            _ => continue,
        };
        if !belongs {
            return Err(Problem::Misplaced { at, role, kind });
        }
    }
    Ok(())
}

/// Whether no provider would see anything of the block.
fn is_empty(block: &Block) -> bool {
    match block {
        Block::Text { text, .. } | Block::Summary { text } => text.is_empty(),
        Block::Thinking {
            text,
            signature,
            raw,
        } => text.is_empty() && signature.is_none() && raw.is_none(),
        _ => false,
    }
}

fn check_order(at: usize, role: Role, previous: Option<Role>) -> Result<(), Problem> {
    match (previous, role) {
        (None, Role::Assistant | Role::Tool) => Err(Problem::BeginsWith { at, role }),
        (Some(Role::Assistant), Role::Assistant) => Err(Problem::AssistantAfterAssistant { at }),
        (Some(Role::Tool), Role::Tool) => Err(Problem::SeveralToolMessages { at }),
        (Some(Role::User), Role::Tool) => Err(Problem::ToolAfterUser { at }),
        _ => Ok(()),
    }
}

fn check_call_ids<'a>(
    at: usize,
    message: &'a Message,
    seen: &mut HashSet<&'a CallId>,
) -> Result<(), Problem> {
    for call in message.tool_calls() {
        if !seen.insert(&call.id) {
            let call = call.id.clone();
            return Err(Problem::RepeatedCall { at, call });
        }
    }
    Ok(())
}

/// Whether a result says that its tool ran and answered.
fn succeeded(status: ToolStatus) -> bool {
    status == ToolStatus::Ok
}
