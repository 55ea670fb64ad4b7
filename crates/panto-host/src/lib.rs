//! One panto session: where things lie, configuration, which model answers, the session handle
//! and headless output.
//!
//! For the `panto` program and for every other front end: it reads no process globals, parses
//! no command line and prints nothing. What it needs of the process comes in as an
//! [`Environment`].

pub mod config;
pub mod dirs;
pub mod headless;
pub mod models;
mod nearest;
pub mod session;

pub use config::{Config, ConfigError, ConfigWarning, LoadConfig, Loaded};
pub use dirs::{Dirs, Environment, NoHome};
pub use models::{
    ChoiceRequest, ChoiceWarning, ChooseError, Chosen, ChosenBy, Models, ProtocolError,
    ProtocolRegistry,
};
pub use session::SessionHandle;
