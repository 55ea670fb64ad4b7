//! One panto session: where things lie, configuration, keys, which model answers, the session
//! handle and headless output.
//!
//! For the `panto` program and for every other front end: it reads no process globals, parses
//! no command line and prints nothing. What it needs of the process comes in as an
//! [`Environment`].
//!
//! ```
//! use std::sync::Arc;
//! use panto_host::dirs::project_root;
//! use panto_host::{
//!     ChoiceRequest, Config, Dirs, Environment, LoadConfig, Models, ProtocolRegistry,
//! };
//!
//! let environment = Environment { cwd: "/project".into(), ..Environment::default() };
//! let loaded = Config::load(&LoadConfig {
//!     dirs: &Dirs::new(&environment),
//!     project_root: project_root(&environment.cwd),
//!     explicit: None,
//!     trusted: false,
//!     bundle: None,
//! })?;
//! let models = Models::new(Arc::new(loaded.config), ProtocolRegistry::default());
//! let error = models.choose(&ChoiceRequest::default()).unwrap_err();
//! assert!(error.to_string().starts_with("no model is set"));
//! # Ok::<(), panto_host::ConfigError>(())
//! ```

pub mod compose;
pub mod config;
pub mod credentials;
pub mod dirs;
pub mod extensions;
pub mod headless;
pub mod host;
pub mod models;
mod nearest;
pub mod rocks;
pub mod session;

pub use config::{Config, ConfigError, ConfigWarning, LoadConfig, Loaded};
pub use dirs::{Dirs, Environment, NoHome};
pub use models::{
    ChoiceRequest, ChoiceWarning, ChooseError, Chosen, ChosenBy, Models, ProtocolError,
    ProtocolRegistry,
};
pub use nearest::did_you_mean;
pub use session::SessionHandle;
