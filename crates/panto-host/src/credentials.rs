//! Keys: where a provider's key comes from, and where a key that a person gave is kept.
//!
//! A key is found in this order:
//!
//! 1. the provider's `api_key_command`: nothing else is looked at then;
//! 2. the variable of its `api_key_env`, in the place of the provider's well-known variables;
//!    else the first of those that is set;
//! 3. the credential file.
//!
//! What is set in the configuration says whose key is meant, so a well-known variable, which may
//! hold a key of another account, never stands in for it; the credential file may, since a key is
//! stored there under the provider's own name. A command that fails is an error: it says more than
//! a key that happens to lie elsewhere.
//!
//! Keys are compared with nothing, shown nowhere, and leave this module as an
//! [`ApiKey`](pantograph_providers::ApiKey) only.
//!
//! ```
//! use panto_host::credentials::{KeyNeed, KeyRequest, KeySources};
//!
//! let sources = KeySources::new(&KeyRequest {
//!     provider: "anthropic",
//!     settings: None,
//!     well_known: &["ANTHROPIC_API_KEY"],
//!     need: KeyNeed::Required,
//!     store: None,
//!     config_file: None,
//!     lookup: &|name| (name == "ANTHROPIC_API_KEY").then(|| "sk-example".into()),
//! });
//! let found = sources.find()?.map(|source| source.to_string());
//! assert_eq!(found.as_deref(), Some("the environment variable ANTHROPIC_API_KEY"));
//! # Ok::<(), pantograph_providers::CredentialsError>(())
//! ```

mod command;
mod error;
mod key;
mod request;
mod source;
mod sources;
mod store;

pub use error::{KeyError, KeyWarning, LookedAt, MissingKey, Outcome};
pub use key::{KeyProblem, KeyText};
pub use request::{KeyNeed, KeyRequest};
pub use source::KeySource;
pub use sources::{KeySources, Prepared};
pub use store::{Contents, CredentialStore, Removed, StoreError, Stored};

#[cfg(test)]
mod tests;
