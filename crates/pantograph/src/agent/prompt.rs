//! What a turn begins with.

use crate::message::{Block, Metadata};
use crate::queue::Sender;

/// What a turn begins with.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// What is said.
    pub blocks: Vec<Block>,
    /// On the user message.
    pub metadata: Metadata,
    /// Whether tool calls are run. If not, the turn ends at the first answer, and
    /// [`crate::Outcome::tool_calls`] has its calls.
    pub dispatch_tools: bool,
    /// Who says it: after an interrupt, what code has queued waits for a person's prompt.
    pub sender: Sender,
}

impl Prompt {
    /// A person's prompt of blocks.
    pub fn new(blocks: Vec<Block>) -> Self {
        Self {
            blocks,
            metadata: Metadata::new(),
            dispatch_tools: true,
            sender: Sender::Person,
        }
    }

    /// The same, said by code.
    pub fn by_code(mut self) -> Self {
        self.sender = Sender::Code;
        self
    }

    /// The same with metadata on the user message.
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// The same, ending at the first answer.
    pub fn without_dispatch(mut self) -> Self {
        self.dispatch_tools = false;
        self
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self::new(vec![Block::text(text)])
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self::new(vec![Block::text(text)])
    }
}
