//! Which request a step answers.

use std::fmt;

use pantograph::protocol::{Purpose, Request};
use pantograph::{Block, Message, Role, ToolContent, ToolResult};

use crate::render::quote;

/// What must hold of a request; what is not set always holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Matcher {
    pub(crate) asked: Option<String>,
    pub(crate) last: Option<String>,
    pub(crate) last_role: Option<Role>,
    pub(crate) system: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) purpose: Option<Purpose>,
}

/// The first condition that does not hold, what it wants and what it found.
#[derive(Debug)]
pub(crate) enum Mismatch<'a> {
    LastRole(Role, Option<Role>),
    Asked(&'a str),
    Last(&'a str),
    System(&'a str),
    Label(&'a str, Option<&'a str>),
    Model(&'a str, &'a str),
    Purpose(Purpose, Purpose),
    Take(&'a str),
}

impl Matcher {
    /// Why the request is not meant; `None` if it is.
    pub(crate) fn mismatch<'a>(&'a self, request: &'a Request) -> Option<Mismatch<'a>> {
        let last = last_message(request);
        if let Some(wanted) = self.last_role {
            let found = last.map(|message| message.role);
            if found != Some(wanted) {
                return Some(Mismatch::LastRole(wanted, found));
            }
        }
        if let Some(part) = &self.asked
            && !last_of(request, Role::User).is_some_and(|message| says(message, part))
        {
            return Some(Mismatch::Asked(part));
        }
        if let Some(part) = &self.last
            && !last.is_some_and(|message| says(message, part))
        {
            return Some(Mismatch::Last(part));
        }
        if let Some(part) = &self.system
            && !system_says(request, part)
        {
            return Some(Mismatch::System(part));
        }
        self.mismatched_name(request)
    }

    fn mismatched_name<'a>(&'a self, request: &'a Request) -> Option<Mismatch<'a>> {
        if let Some(wanted) = &self.label {
            let found = request.label.as_deref();
            if found != Some(wanted) {
                return Some(Mismatch::Label(wanted, found));
            }
        }
        if let Some(wanted) = &self.model {
            let found = &request.model.wire_model;
            if found != wanted {
                return Some(Mismatch::Model(wanted, found));
            }
        }
        let wanted = self.purpose?;
        let found = request.purpose;
        (found != wanted).then_some(Mismatch::Purpose(wanted, found))
    }
}

/// The message that is answered: system messages accompany a conversation, they do not end it.
pub(crate) fn last_message(request: &Request) -> Option<&Message> {
    let messages = request.conversation.messages().iter().rev();
    messages
        .map(AsRef::as_ref)
        .find(|message| message.role != Role::System)
}

/// The last message from `role`.
fn last_of(request: &Request, role: Role) -> Option<&Message> {
    let messages = request.conversation.messages().iter().rev();
    messages
        .map(AsRef::as_ref)
        .find(|message| message.role == role)
}

/// Whether one of the message's texts contains `part`.
fn says(message: &Message, part: &str) -> bool {
    texts(message).any(|text| text.contains(part))
}

/// The message's texts and the outputs of its tools. Nothing is joined, since the texts can be
/// large and a script has many steps.
pub(crate) fn texts(message: &Message) -> impl Iterator<Item = &str> {
    message.blocks.iter().flat_map(|block| {
        let (text, result) = match block {
            Block::Text { text, .. } | Block::Summary { text } => (Some(&**text), None),
            Block::ToolResult(result) => (None, Some(result)),
            _ => (None, None),
        };
        text.into_iter().chain(result.into_iter().flat_map(parts))
    })
}

/// What a call has given, last first if it has more than one result.
pub(crate) fn outputs<'a>(request: &'a Request, call: &str) -> impl Iterator<Item = &'a str> {
    let messages = request.conversation.messages().iter().rev();
    messages
        .flat_map(|message| message.tool_results())
        .filter(move |result| *result.call == *call)
        .flat_map(parts)
}

fn parts(result: &ToolResult) -> impl Iterator<Item = &str> {
    result.content.iter().filter_map(|content| match content {
        ToolContent::Text(text) => Some(&**text),
        ToolContent::Attachment(_) => None,
    })
}

fn system_says(request: &Request, part: &str) -> bool {
    let prompt = request.system_prompt.as_deref();
    let mut messages = request.conversation.system_messages();
    prompt.is_some_and(|prompt| prompt.contains(part))
        || messages.any(|message| says(message, part))
}

impl fmt::Display for Mismatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::LastRole(wanted, found) => {
                let found = found.map_or("missing", Role::as_str);
                write!(f, "`last_role` is {wanted}, but the last one is {found}")
            }
            Mismatch::Asked(part) => {
                write!(f, "the last user message does not contain {}", quote(part))
            }
            Mismatch::Last(part) => {
                write!(f, "the last message does not contain {}", quote(part))
            }
            Mismatch::System(part) => {
                write!(f, "no system prompt or message contains {}", quote(part))
            }
            Mismatch::Label(wanted, found) => {
                let found = found.map_or("none".to_owned(), quote);
                write!(f, "`label` is {}, the request's {found}", quote(wanted))
            }
            Mismatch::Model(wanted, found) => {
                let (wanted, found) = (quote(wanted), quote(found));
                write!(f, "`model` is {wanted}, the request's {found}")
            }
            Mismatch::Purpose(wanted, found) => {
                let (wanted, found) = (wanted.as_str(), found.as_str());
                write!(f, "`purpose` is {wanted}, the request's {found}")
            }
            Mismatch::Take(name) => {
                let name = quote(name);
                write!(f, "there is nothing to take for {name}")
            }
        }
    }
}
