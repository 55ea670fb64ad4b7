//! The functions that a host gives to a sandbox.

use crate::sandbox::Value;

/// What an immediate function does: plain data in, plain data or a message out.
pub(super) type Body = Box<dyn FnMut(Vec<Value>) -> Result<Vec<Value>, String> + Send>;

/// The functions that code in a sandbox finds beside the standard ones.
///
/// A name may have parts: `ctx.agent` is the function `agent` in the global table `ctx`, and can be
/// called as `ctx.agent(…)` or `ctx:agent(…)` alike. Arguments are copied; one that is no plain data is
/// refused with an error at the call.
#[derive(Default)]
pub struct Given {
    pub(super) functions: Vec<Function>,
}

/// One given function; it is known to the sandbox by its place in the list.
pub(super) struct Function {
    pub(super) name: String,
    /// `None` if a call parks.
    pub(super) body: Option<Body>,
}

impl Given {
    /// No functions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a function that answers at once. It runs where the slice is waited for, and its message,
    /// if it fails, is raised as an error at the call. The clock of the slice stands meanwhile.
    #[must_use]
    pub fn immediate(
        mut self,
        name: impl Into<String>,
        body: impl FnMut(Vec<Value>) -> Result<Vec<Value>, String> + Send + 'static,
    ) -> Self {
        self.functions.push(Function {
            name: name.into(),
            body: Some(Box::new(body)),
        });
        self
    }

    /// Adds a function whose call parks the sandbox until it is resumed with what the call returns.
    #[must_use]
    pub fn parking(mut self, name: impl Into<String>) -> Self {
        self.functions.push(Function {
            name: name.into(),
            body: None,
        });
        self
    }

    /// The name of a function.
    pub(super) fn name(&self, function: usize) -> String {
        let function = self.functions.get(function);
        function
            .map(|function| function.name.clone())
            .unwrap_or_default()
    }

    /// Runs an immediate function.
    pub(super) fn call(
        &mut self,
        function: usize,
        arguments: Vec<Value>,
    ) -> Result<Vec<Value>, String> {
        match self.functions.get_mut(function) {
            Some(Function {
                body: Some(body), ..
            }) => body(arguments),
            _ => Err("there is no such function".to_owned()),
        }
    }
}

impl std::fmt::Debug for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.functions.iter().map(|function| &function.name))
            .finish()
    }
}
