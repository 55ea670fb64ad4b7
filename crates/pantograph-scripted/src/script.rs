//! A script: the steps that a protocol plays.

use std::path::Path;
use std::sync::Arc;

use crate::file::{self, ScriptError};
use crate::step::Step;

/// Steps in order; cheap to clone.
///
/// A request is answered by the first step that is not used up and whose conditions all hold.
/// A step is used up by its first request, unless it is [`Step::repeated`].
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub(crate) steps: Vec<Arc<Step>>,
    pub(crate) allows_removed_tools: bool,
}

impl Script {
    /// A script without steps: every request is refused.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step; whatever an item can be made of makes a step too, such as a `&str`.
    pub fn step(mut self, step: impl Into<Step>) -> Self {
        self.steps.push(Arc::new(step.into()));
        self
    }

    /// Adds steps.
    pub fn steps(self, steps: impl IntoIterator<Item = impl Into<Step>>) -> Self {
        steps.into_iter().fold(self, Self::step)
    }

    /// The script without the waits between the deltas of a block. Delays and faults stay.
    pub fn unpaced(mut self) -> Self {
        for step in &mut self.steps {
            Arc::make_mut(step).unpace();
        }
        self
    }

    /// Accepts a history with successful calls of tools that are no longer declared, as it is
    /// after an agent's tools were changed.
    pub fn allow_removed_tools(mut self) -> Self {
        self.allows_removed_tools = true;
        self
    }

    /// Reads a script in TOML.
    ///
    /// # Errors
    ///
    /// [`ScriptError::Parse`] with the place: the text is not TOML, or not a script.
    pub fn from_toml(text: &str) -> Result<Self, ScriptError> {
        file::from_toml(text, None)
    }

    /// Reads a script in JSON, of the same shape.
    ///
    /// # Errors
    ///
    /// [`ScriptError::Parse`] with the place: the text is not JSON, or not a script.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        file::from_json(text, None)
    }

    /// Reads the script in a `.toml` or `.json` file. Blocks on the file system.
    ///
    /// # Errors
    ///
    /// The name has another extension, the file cannot be read, or it is not a script.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        file::load(path.as_ref())
    }
}
