//! A restricted environment for Lua that a model wrote.
//!
//! A [`Sandbox`] runs a chunk on a Lua state of its own, on a thread of its own. The chunk finds a chosen set of
//! the standard functions and those that its host gives it ([`Given`]); plain data ([`Value`]) is all that crosses
//! the border, always as a copy. It is stopped when it has used up what it may use ([`Limits`]).
//!
//! ```
//! use panto_runtime::sandbox::{Given, Limits, Outcome, Reason, Sandbox, Value};
//!
//! let given = Given::new()
//!     .immediate("ctx.double", |arguments| match arguments.as_slice() {
//!         [Value::Integer(n)] => Ok(vec![Value::Integer(n * 2)]),
//!         _ => Err("expected an integer".to_owned()),
//!     })
//!     .parking("ctx.ask");
//! let limits = Limits { instructions: 100_000, ..Limits::default() };
//! let mut sandbox = Sandbox::new(limits, given)?;
//!
//! let source = "local answer = ctx:ask { question = 'how many?' } return ctx.double(answer)";
//! let Outcome::Parked(request) = sandbox.run("example", source, vec![]).wait() else { panic!() };
//! assert_eq!(request.function, "ctx.ask");
//! assert_eq!(request.arguments[0].get("question"), Some(&Value::from("how many?")));
//!
//! // Any time later, and from a future as well: `sandbox.resume(…).await`.
//! let outcome = sandbox.resume(vec![Value::Integer(21)]).wait();
//! assert_eq!(outcome, Outcome::Finished(vec![Value::Integer(42)]));
//!
//! let outcome = sandbox.run("endless", "while true do pcall(error) end", vec![]).wait();
//! assert_eq!(outcome, Outcome::Killed(Reason::Instructions));
//! # Ok::<(), panto_runtime::sandbox::SandboxError>(())
//! ```
//!
//! # Why a state of its own
//!
//! In the state of the host's other Lua code, what a chunk must not reach has to be hidden from it one by one:
//! the metatable of strings, globals, other coroutines, finalizers that a shared collector runs, the memory limit
//! that trusted code shares. In its own state none of these exist, so there is nothing to hide. What is left are
//! time and memory, and those are bounded by:
//!
//! - **The count hook**, in every coroutine. It yields rather than raises, so that no `pcall` sees it, and the host
//!   never resumes what it stopped. Yielding works at any instruction because no C function calls code of the chunk:
//!   those that would (`table.sort`, `string.gsub`, `tostring`, `xpcall`, arithmetic on strings, …) are written in
//!   Lua here. `__gc` is refused, since finalizers run without hooks, and so is `coroutine.close`, which runs
//!   `__close` from C.
//! - **Counted work in C and Rust.** Patterns are matched in Rust by counted steps, a source is compiled in small
//!   pieces with a look at the clock before each, `string.rep` and `table.unpack` have a size limit, and all else is
//!   linear in memory that is bounded.
//! - **The memory limit of the state.** A chunk that meets it ends: an error could be caught, and each further
//!   allocation would collect all garbage again.
//! - **The thread.** A few single instructions take long by nature (growing a table of keys that were chosen to
//!   collide, calling a table that is its own `__call`, collecting weak tables that hold each other), and nothing can
//!   interrupt them. They hold up the sandbox's own thread; whoever waits for the slice is answered when its time
//!   is up. The thread ends at the next instruction, and takes the state along.
//!
//! Dropping a sandbox, whatever it does, runs none of its code: a state that is freed runs finalizers, of which it has
//! none, and to-be-closed variables of the main coroutine, in which no chunk runs.
//!
//! # Threads
//!
//! A [`Sandbox`] is held by its driver, on any thread. [`Slice::wait`] blocks that thread, for no longer than
//! [`Limits::time`]; as a future a slice blocks nothing and needs tokio's timer. Immediate functions run there too.

mod border;
mod budget;
mod given;
mod limits;
mod natives;
mod pattern;
mod slice;
mod state;
mod value;
mod worker;

use std::io;

pub use given::Given;
pub use limits::{Limits, Reason};
pub use slice::Slice;
pub use value::Value;

use worker::{Command, Link};

/// Why a sandbox could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The system refused a thread; nothing is left behind.
    #[error("could not start a thread for the sandbox")]
    Thread(#[source] io::Error),
}

/// What a slice came to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The chunk returned. The sandbox can run another one, which finds the globals of this one.
    Finished(Vec<Value>),
    /// The chunk called a parking function, and waits for [`Sandbox::resume`].
    Parked(Request),
    /// The chunk raised an error, or none could be compiled: `name:line: message`, as a rule. An error that is
    /// no string is named by its type. The sandbox can run another chunk.
    Failed(String),
    /// The chunk was stopped, and is gone with the sandbox's memory and thread.
    Killed(Reason),
}

/// A call that parked a chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The name under which the function was given.
    pub function: String,
    /// What it was called with, without the table that it is a method of.
    pub arguments: Vec<Value>,
}

/// A Lua state for code that is not trusted. See the [module](self).
pub struct Sandbox {
    limits: Limits,
    given: Given,
    stage: Stage,
}

enum Stage {
    Idle(Link),
    Parked(Link),
    /// Stopped; or a slice holds the link, and takes it along if it is dropped.
    Dead(Reason),
}

impl Sandbox {
    /// Makes a sandbox, and starts its thread.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Thread`] if there can be no more threads.
    pub fn new(limits: Limits, given: Given) -> Result<Self, SandboxError> {
        let names = given
            .functions
            .iter()
            .map(|function| (function.name.clone(), function.body.is_none()))
            .collect();
        let link = worker::start(limits.clone(), names).map_err(SandboxError::Thread)?;
        Ok(Self {
            limits,
            given,
            stage: Stage::Idle(link),
        })
    }

    /// Compiles a chunk and runs it, with `values` as its `...`, until it ends or parks. It is text, never
    /// bytecode; `name` stands in its messages.
    ///
    /// Chunks that run in one sandbox one after the other share their globals. While one is parked none other can
    /// run: that fails, and leaves the parked one as it is.
    pub fn run(&mut self, name: &str, source: impl Into<Vec<u8>>, values: Vec<Value>) -> Slice<'_> {
        if matches!(self.stage, Stage::Parked(_)) {
            return Slice::refused(self, "another chunk is parked in this sandbox");
        }
        let command = Command::Run {
            name: name.to_owned(),
            source: source.into(),
            values,
        };
        Slice::begin(self, command)
    }

    /// Lets the call that parked the chunk return `values`. Fails if none is parked.
    pub fn resume(&mut self, values: Vec<Value>) -> Slice<'_> {
        self.answer(Ok(values))
    }

    /// Lets the call that parked the chunk raise `message`, at its place. Fails if none is parked.
    pub fn raise(&mut self, message: impl Into<String>) -> Slice<'_> {
        self.answer(Err(message.into()))
    }

    fn answer(&mut self, answer: Result<Vec<Value>, String>) -> Slice<'_> {
        if matches!(self.stage, Stage::Idle(_)) {
            return Slice::refused(self, "nothing is parked in this sandbox");
        }
        Slice::begin(self, Command::Resume(answer))
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stage = match self.stage {
            Stage::Idle(_) => "idle",
            Stage::Parked(_) => "parked",
            Stage::Dead(_) => "dead",
        };
        f.debug_struct("Sandbox")
            .field("stage", &stage)
            .field("given", &self.given)
            .finish_non_exhaustive()
    }
}

/// The examples of the page run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sandbox.md")]
struct Page;
