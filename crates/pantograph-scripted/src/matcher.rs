//! Which request a step answers.

use pantograph::protocol::{Purpose, Request};
use pantograph::{Message, Role};

use crate::render::quote;

/// What must hold of a request; what is not set always holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Matcher {
    pub(crate) last: Option<String>,
    pub(crate) last_role: Option<Role>,
    pub(crate) system: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) purpose: Option<Purpose>,
}

impl Matcher {
    /// Why the request is not meant; `None` if it is.
    pub(crate) fn mismatch(&self, request: &Request) -> Option<String> {
        let last = last_message(request);
        if let Some(role) = self.last_role
            && last.map(|message| message.role) != Some(role)
        {
            let found = last.map_or("missing", |message| message.role.as_str());
            return Some(format!(
                "`last_role` is {role}, but the last one is {found}"
            ));
        }
        if let Some(part) = &self.last
            && !last.is_some_and(|message| says(message, part))
        {
            let part = quote(part);
            return Some(format!("the last message does not contain {part}"));
        }
        if let Some(part) = &self.system
            && !system_says(request, part)
        {
            let part = quote(part);
            return Some(format!("no system prompt or message contains {part}"));
        }
        if let Some(label) = &self.label
            && request.label.as_deref() != Some(label)
        {
            let found = request.label.as_deref().map_or("none".to_owned(), quote);
            return Some(format!(
                "`label` is {}, the request's {found}",
                quote(label)
            ));
        }
        if let Some(model) = &self.model
            && request.model.wire_model != *model
        {
            let found = quote(&request.model.wire_model);
            return Some(format!(
                "`model` is {}, the request's {found}",
                quote(model)
            ));
        }
        if let Some(purpose) = self.purpose
            && request.purpose != purpose
        {
            let (wanted, found) = (purpose.as_str(), request.purpose.as_str());
            return Some(format!("`purpose` is {wanted}, the request's {found}"));
        }
        None
    }
}

/// The message that is answered: system messages accompany a conversation, they do not end it.
fn last_message(request: &Request) -> Option<&Message> {
    let messages = request.conversation.messages().iter().rev();
    messages
        .map(AsRef::as_ref)
        .find(|message| message.role != Role::System)
}

fn says(message: &Message, part: &str) -> bool {
    let in_results = || {
        message
            .tool_results()
            .any(|result| result.output().contains(part))
    };
    message.text().contains(part) || in_results()
}

fn system_says(request: &Request, part: &str) -> bool {
    let prompt = request.system_prompt.as_deref();
    prompt.is_some_and(|prompt| prompt.contains(part))
        || request
            .conversation
            .system_messages()
            .any(|message| message.text().contains(part))
}
