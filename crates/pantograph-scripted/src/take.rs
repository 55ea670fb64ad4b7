//! What an answer takes over from the request that it answers.

use pantograph::protocol::Request;

use crate::matcher::{last_message, outputs, texts};

/// A piece of a request, in the place of a name in braces: see
/// [`Step::taking`](crate::Step::taking).
///
/// Without further conditions it is the first text of the last message that is not a system
/// message, which may be the output of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Take {
    pub(crate) result: Option<String>,
    pub(crate) after: String,
    pub(crate) until: Option<String>,
}

impl Take {
    /// All of the first text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Of the result of the call with this id instead, wherever it stands in the conversation.
    pub fn result(mut self, call: impl Into<String>) -> Self {
        self.result = Some(call.into());
        self
    }

    /// What stands behind the first place of this; texts without it do not count.
    pub fn after(mut self, after: impl Into<String>) -> Self {
        self.after = after.into();
        self
    }

    /// Only up to the first place of this, or to the end of the text if it is not there.
    pub fn until(mut self, until: impl Into<String>) -> Self {
        self.until = Some(until.into());
        self
    }

    /// The piece; `None` if the request has none.
    pub(crate) fn find<'a>(&self, request: &'a Request) -> Option<&'a str> {
        let behind = |text: &'a str| Some(text.split_once(&*self.after)?.1);
        let behind = match &self.result {
            Some(call) => outputs(request, call).find_map(behind),
            None => texts(last_message(request)?).find_map(behind),
        }?;
        let end = self.until.as_deref().and_then(|until| behind.find(until));
        Some(&behind[..end.unwrap_or(behind.len())])
    }
}

/// `text` with the names in braces that were taken replaced; other braces stay. What was taken is
/// not looked through again.
pub(crate) fn filled(text: &str, taken: &[(&str, String)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        filled.push_str(before);
        let found = taken.iter().find_map(|(name, value)| {
            let rest = behind.strip_prefix(name)?.strip_prefix('}')?;
            Some((value, rest))
        });
        rest = match found {
            Some((value, rest)) => {
                filled.push_str(value);
                rest
            }
            None => {
                filled.push('{');
                behind
            }
        };
    }
    filled.push_str(rest);
    filled
}
