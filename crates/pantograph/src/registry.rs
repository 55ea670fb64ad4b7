//! Tools that are Rust functions.
//!
//! Each call runs on a tokio task of its own, which ends when the call is answered or the turn
//! waits no longer.

use std::collections::HashMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;

use crate::agent::Agent;
use crate::batch::{OutputHandle, PendingCall, ToolBatch, ToolOutput, ToolReply, ToolSource};
use crate::cancel::Cancel;
use crate::ids::SessionId;
use crate::message::CallId;
use crate::raw_json::RawJson;
use crate::tool::{InvalidDeclaration, ToolDeclaration};
use crate::tool_input::InputError;
use crate::turn::panic_text;

type Handler = dyn Fn(ToolContext) -> BoxFuture<'static, ToolOutput> + Send + Sync;

/// A [`ToolSource`] of Rust functions, in the order in which they were added.
///
/// ```
/// use pantograph::{ToolContext, ToolDeclaration, ToolOutput, ToolRegistry};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let schema = serde_json::json!({
///     "type": "object",
///     "properties": {"words": {"type": "array", "items": {"type": "string"}}},
///     "required": ["words"],
/// });
/// let declaration = ToolDeclaration::new("text.join", "Joins words by blanks.", schema)?;
///
/// #[derive(serde::Deserialize)]
/// struct Input {
///     words: Vec<String>,
/// }
///
/// let tools = ToolRegistry::new().tool(declaration, async |context: ToolContext| {
///     match context.input_as::<Input>() {
///         Ok(input) => ToolOutput::text(input.words.join(" ")),
///         Err(error) => error.into(),
///     }
/// })?;
/// # let _ = tools;
/// # Ok(())
/// # }
/// ```
///
/// A tool that needs something is a closure that owns it and gives each call's future a clone.
/// An `async move` closure that captured it would not do: its future would borrow from the
/// closure.
///
/// ```
/// # use std::sync::Arc;
/// # use pantograph::{ToolContext, ToolDeclaration, ToolOutput, ToolRegistry};
/// # struct Notes;
/// # impl Notes {
/// #     async fn all(&self) -> String {
/// #         String::new()
/// #     }
/// # }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let notes = Arc::new(Notes);
/// let schema = serde_json::json!({"type": "object"});
/// let declaration = ToolDeclaration::new("notes.read", "Reads all notes.", schema)?;
/// let tools = ToolRegistry::new().tool(declaration, move |_: ToolContext| {
///     let notes = Arc::clone(&notes);
///     async move { ToolOutput::text(notes.all().await) }
/// })?;
/// # let _ = tools;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct ToolRegistry {
    declarations: Vec<Arc<ToolDeclaration>>,
    tools: HashMap<Arc<str>, Tool>,
}

#[derive(Clone)]
struct Tool {
    declaration: Arc<ToolDeclaration>,
    handler: Arc<Handler>,
}

impl ToolRegistry {
    /// A registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    ///
    /// The handler is called once a call, all calls of a batch at the same time; how it holds on
    /// to what it needs is shown at [`ToolRegistry`]. It should
    /// watch [`ToolContext::cancel`]; its future is dropped when the turn waits no longer. If it
    /// panics, that call gets an error result with the panic's message.
    ///
    /// # Errors
    ///
    /// [`InvalidDeclaration::Duplicate`] if there is a tool of that name.
    pub fn tool<F, Fut>(
        mut self,
        declaration: ToolDeclaration,
        handler: F,
    ) -> Result<Self, InvalidDeclaration>
    where
        F: Fn(ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ToolOutput> + Send + 'static,
    {
        let name = declaration.name.to_shared();
        if self.tools.contains_key(&name) {
            return Err(InvalidDeclaration::Duplicate(declaration.name));
        }
        let declaration = Arc::new(declaration);
        self.declarations.push(Arc::clone(&declaration));
        let tool = Tool {
            declaration,
            handler: Arc::new(move |context| handler(context).boxed()),
        };
        self.tools.insert(name, tool);
        Ok(self)
    }
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.declarations.iter().map(|tool| tool.name.as_str());
        f.debug_set().entries(names).finish()
    }
}

impl ToolSource for ToolRegistry {
    fn declarations(&self) -> Vec<ToolDeclaration> {
        self.declarations
            .iter()
            .map(|declaration| ToolDeclaration::clone(declaration))
            .collect()
    }

    fn invoke_batch(&self, batch: ToolBatch) {
        for call in batch.calls {
            let PendingCall {
                id,
                tool_name,
                input,
                reply,
            } = call;
            let Some(tool) = self.tools.get(&tool_name) else {
                reply.finish(ToolOutput::error(format!("there is no tool `{tool_name}`")));
                continue;
            };
            let context = ToolContext {
                id,
                tool_name,
                input,
                cancel: batch.cancel.clone(),
                agent: batch.agent.clone(),
                session: batch.session,
                declaration: Arc::clone(&tool.declaration),
                output: reply.output_handle(),
            };
            tokio::spawn(run(Arc::clone(&tool.handler), context, reply));
        }
    }
}

/// Drives one call to its answer, or until nobody waits for it.
async fn run(handler: Arc<Handler>, context: ToolContext, reply: ToolReply) {
    let name = Arc::clone(&context.tool_name);
    // The handler itself is called inside, since a closure can panic before its first await.
    let work = AssertUnwindSafe(async move { handler(context).await }).catch_unwind();
    let output = tokio::select! {
        biased;
        () = reply.closed() => return,
        outcome = work => outcome,
    };
    reply.finish(output.unwrap_or_else(|panic| {
        let message = panic_text(&*panic);
        ToolOutput::error(format!("the tool `{name}` panicked: {message}"))
    }));
}

/// One call of a registered tool.
pub struct ToolContext {
    /// Names the call.
    pub id: CallId,
    /// The canonical tool name.
    pub tool_name: Arc<str>,
    /// A JSON object; whether it fits the schema is not checked.
    pub input: RawJson,
    /// Raised when the turn is to stop: answer soon.
    pub cancel: Cancel,
    /// The agent whose model calls.
    pub agent: Agent,
    /// Its session.
    pub session: SessionId,
    declaration: Arc<ToolDeclaration>,
    output: OutputHandle,
}

impl ToolContext {
    /// Decodes the input.
    ///
    /// # Errors
    ///
    /// [`InputError`], which becomes a [`ToolOutput`] that tells the model, if the input is not
    /// a `T`.
    pub fn input_as<T: DeserializeOwned>(&self) -> Result<T, InputError> {
        serde_json::from_str(self.input.as_str())
            .map_err(|cause| InputError::unfit(&cause, &self.declaration))
    }

    /// Shows output while the call runs; it is not part of the result.
    ///
    /// Does not block; nothing is shown once the call is answered.
    pub fn output(&self, chunk: &str) {
        self.output.output(chunk);
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("id", &self.id)
            .field("tool_name", &self.tool_name)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl From<InputError> for ToolOutput {
    fn from(error: InputError) -> Self {
        ToolOutput::error(error.to_string())
    }
}

#[cfg(test)]
mod tests;
