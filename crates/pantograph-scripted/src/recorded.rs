//! What the protocol has seen.

use std::fmt;

use pantograph::protocol::Request;

use crate::render::{self, Extent};

/// One request, and what became of it. Its text is for snapshots: it has neither ids of
/// messages nor times.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The request as it came.
    pub request: Request,
    /// The position in the script, from zero, of the step that answered it.
    pub step: Option<usize>,
    /// Why it was refused, if it was.
    pub refusal: Option<String>,
}

impl RecordedRequest {
    /// The text of the last message, or the output of its tools.
    pub fn last_text(&self) -> String {
        let Some(message) = self.request.conversation.last() else {
            return String::new();
        };
        let mut parts = vec![message.text()];
        parts.extend(message.tool_results().map(|result| result.output()));
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    }
}

impl fmt::Display for RecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render::request(&self.request, Extent::Whole))
    }
}
