//! Protocols over HTTP: what real models are reached with.
//!
//! For hosts that give an agent a model: [`AnthropicMessages`], [`OpenAiResponses`],
//! [`OpenAiChat`] and [`GoogleGenerate`]. Each protocol is made from an [`Endpoint`] (where, with
//! which credentials) and implements [`pantograph::protocol::Protocol`]; all share one
//! [`HttpClient`]. Reads no environment but the proxy variables, knows no configuration, and
//! keeps keys in [`ApiKey`] until a request leaves.
//!
//! ```
//! use std::sync::Arc;
//!
//! use pantograph::protocol::Protocol;
//! use pantograph_providers::{
//!     AnthropicFlags, AnthropicMessages, BaseUrl, Endpoint, HttpClient, StaticKey,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = HttpClient::new();
//! let key = StaticKey::new("sk-…", "the example");
//! let endpoint = Endpoint::new(BaseUrl::parse(AnthropicMessages::BASE_URL)?, Arc::new(key), client)
//!     .with_headers([("x-team", "a")])?;
//! let protocol = AnthropicMessages::new(endpoint, AnthropicFlags::default());
//! assert_eq!(protocol.name(), "anthropic-messages");
//! # Ok(())
//! # }
//! ```

mod anthropic;
mod attachment;
mod call_ids;
pub mod catalog;
mod credentials;
mod endpoint;
mod failure;
mod few;
mod forcing;
mod frame;
mod google_generate;
mod harmless;
mod history;
mod http;
mod lenient;
mod openai_chat;
mod openai_responses;
mod payload;
mod prompt_cache;
mod schema;
mod sse;
mod stream;

pub use anthropic::{AnthropicFlags, AnthropicMessages};
pub use credentials::{ApiKey, Credentials, CredentialsError, NoKey, StaticKey};
pub use endpoint::{BaseUrl, Endpoint, InvalidBaseUrl, InvalidHeader};
pub use google_generate::{GoogleGenerate, GoogleGenerateFlags};
pub use http::HttpClient;
pub use openai_chat::{
    Efforts, OpenAiChat, OpenAiChatFlags, OutputLimit, ReasoningParameter, ThinkingReplay,
};
pub use openai_responses::{OpenAiResponses, OpenAiResponsesFlags};
