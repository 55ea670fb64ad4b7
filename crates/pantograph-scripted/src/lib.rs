//! A [`pantograph::protocol::Protocol`] that plays a script, records requests and injects faults,
//! without HTTP.
//!
//! For people who test agents and extensions, for the tests of the core itself, and for
//! configurations that should answer without a provider. It knows nothing of agents: what it
//! sees are requests, and it refuses those that a real provider would refuse.
//!
//! A [`Script`] is built here or read from a file (the format is in `docs/scripted.md`). Each
//! [`Step`] is one answer; a [`ScriptedProtocol`] plays them.
//!
//! ```
//! use pantograph::protocol::Protocol;
//! use pantograph::{ErrorClass, Role};
//! use pantograph_scripted::{Gate, Script, ScriptedProtocol, Step, Text};
//! use serde_json::json;
//!
//! let gate = Gate::new();
//! let script = Script::new()
//!     .step(Step::error(ErrorClass::Overloaded))
//!     .step(Step::call("weather", json!({ "city": "Oslo" })).when_last("Oslo"))
//!     .step(Step::new().then(Text::new("Rain.").chunks(3)).then(&gate))
//!     .step(Step::text("Done.").when_last_role(Role::Tool).repeated());
//! let protocol = ScriptedProtocol::new(script);
//! // … give `protocol` to an agent, let it work, and see what it was asked:
//! assert_eq!(protocol.name(), "scripted");
//! assert_eq!(protocol.unused_steps(), 3);
//! assert!(protocol.requests().is_empty());
//! ```

mod check;
mod counts;
mod fault;
mod file;
mod gate;
mod item;
mod matcher;
mod protocol;
mod recorded;
mod render;
mod script;
mod step;
mod stream;
mod take;

pub use check::{InvalidRequest, Problem, RequestCheck, check_request};
pub use fault::{Fault, failure};
pub use file::ScriptError;
pub use gate::Gate;
pub use item::{Call, Item, Text, Thinking};
pub use protocol::ScriptedProtocol;
pub use recorded::RecordedRequest;
pub use script::Script;
pub use step::Step;
pub use take::Take;

/// The page for users, so that its Rust examples run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/scripted.md")]
struct Page;

/// The README's example, which must compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
