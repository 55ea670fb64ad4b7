//! `[providers.*]` and the models in it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use pantograph::{Price, RetryPolicy, StreamLimits};
use pantograph_providers::catalog::{self, CatalogProvider};

use super::sourced::{Source, Sourced};

/// One `[providers.NAME]`. The query of its URL, its headers and its key command may hold secrets:
/// `Debug` leaves them out.
#[derive(Clone)]
pub struct Provider {
    /// Its name in model references.
    pub name: String,
    /// Where the highest layer that mentions it does so.
    pub source: Source,
    /// The wire format; without it the catalog's, or `openai-chat` at a `base_url`.
    pub protocol: Option<Sourced<String>>,
    /// Where it is reached.
    pub base_url: Option<Sourced<String>>,
    /// Which server's deviations hold for `openai-chat`; one of
    /// [`OpenAiChatFlags::SERVERS`](pantograph_providers::OpenAiChatFlags::SERVERS).
    pub server: Option<Sourced<String>>,
    /// The environment variable that holds its key.
    pub api_key_env: Option<Sourced<String>>,
    /// The command that prints its key, and the command's arguments.
    pub api_key_command: Option<Sourced<Vec<String>>>,
    /// Sent with every request.
    pub headers: Headers,
    /// How it deviates from what its protocol takes, and where that is set.
    pub flags: Flags,
    /// Until there is a connection.
    pub connect_timeout: Option<Sourced<Duration>>,
    /// Between two events.
    pub idle_timeout: Option<Sourced<Duration>>,
    /// For one whole attempt.
    pub request_timeout: Option<Sourced<Duration>>,
    /// Repetitions after the first attempt.
    pub max_retries: Option<Sourced<u32>>,
    /// The script of a `scripted` provider, relative to its configuration file if it was written so.
    pub script: Option<Sourced<PathBuf>>,
    /// `[providers.NAME.models.*]` by alias.
    pub models: BTreeMap<String, ModelSettings>,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.base_url.as_deref();
        let url = url.and_then(|url| url.split(['?', '#']).next());
        let command = self.api_key_command.as_deref();
        f.debug_struct("Provider")
            .field("name", &self.name)
            .field("source", &self.source)
            .field("protocol", &self.protocol)
            .field("base_url", &url)
            .field("server", &self.server)
            .field("api_key_env", &self.api_key_env)
            .field("api_key_command", &command.map(Vec::len))
            .field("headers", &self.headers)
            .field("flags", &self.flags)
            .field("connect_timeout", &self.connect_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("request_timeout", &self.request_timeout)
            .field("max_retries", &self.max_retries)
            .field("script", &self.script)
            .field("models", &self.models)
            .finish()
    }
}

impl Provider {
    /// A provider of which nothing is set.
    pub fn blank(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            source: Source::Default,
            protocol: None,
            base_url: None,
            server: None,
            api_key_env: None,
            api_key_command: None,
            headers: Headers::default(),
            flags: Flags::default(),
            connect_timeout: None,
            idle_timeout: None,
            request_timeout: None,
            max_retries: None,
            script: None,
            models: BTreeMap::new(),
        }
    }

    /// What panto knows about the provider of this name by itself.
    pub fn catalog(&self) -> Option<&'static CatalogProvider> {
        catalog::provider(&self.name)
    }

    /// The environment variables in which its key is looked for, the first that is set wins: the
    /// configuration's, else, unless a command prints the key, the well-known ones.
    pub fn key_variables(&self) -> Vec<&str> {
        match (&self.api_key_env, &self.api_key_command) {
            (Some(variable), _) => vec![variable.as_str()],
            (None, Some(_)) => Vec::new(),
            (None, None) => {
                let known = self.catalog().map(|known| known.key_variables);
                known.unwrap_or_default().to_vec()
            }
        }
    }

    /// Whether it is not worth asking without a key: a source of one is configured, or it is known
    /// to want one, wherever it is reached. Not if the configuration sends one as a header.
    pub fn takes_key(&self) -> bool {
        const KEY_HEADERS: [&str; 3] = ["authorization", "x-api-key", "x-goog-api-key"];
        let is_key_header =
            |name: &String| KEY_HEADERS.contains(&name.to_ascii_lowercase().as_str());
        let has_source = self.api_key_command.is_some() || self.api_key_env.is_some();
        let wants_one = |known: &CatalogProvider| !known.key_variables.is_empty();
        (has_source || self.catalog().is_some_and(wants_one))
            && !self.headers.0.keys().any(is_key_header)
    }

    /// The limits on one attempt, with the core's defaults for what is not set.
    pub fn limits(&self) -> StreamLimits {
        let default = StreamLimits::default();
        let or = |set: &Option<Sourced<Duration>>, default| set.as_deref().copied().or(default);
        StreamLimits {
            connect: or(&self.connect_timeout, default.connect),
            idle: or(&self.idle_timeout, default.idle),
            total: or(&self.request_timeout, default.total),
        }
    }

    /// How failed attempts are repeated, with the core's defaults for what is not set.
    pub fn retry(&self) -> RetryPolicy {
        let default = RetryPolicy::default();
        RetryPolicy {
            max_retries: self
                .max_retries
                .as_deref()
                .copied()
                .unwrap_or(default.max_retries),
            ..default
        }
    }
}

/// Header values by name. They may hold secrets, so `Debug` shows the names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(pub BTreeMap<String, Sourced<String>>);

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// `[providers.NAME.flags]` by name: `true`, `false` or a word each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flags(pub BTreeMap<String, Sourced<toml::Value>>);

/// One `[providers.NAME.models.ALIAS]`.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// Where the highest layer that mentions it does so.
    pub source: Source,
    /// Its name on the wire; the alias if left out.
    pub id: Option<Sourced<String>>,
    /// Tokens that a request and its answer may hold together.
    pub context_window: Option<Sourced<u64>>,
    /// Tokens that an answer may have.
    pub max_output: Option<Sourced<u64>>,
    /// The reasoning labels that it knows; without the list any is passed on.
    pub reasoning: Option<Sourced<Vec<String>>>,
    /// How it takes a label: `effort`, `budget` or `none`.
    pub reasoning_control: Option<Sourced<String>>,
    /// Whether it takes attachments, of every kind or none.
    pub attachments: Option<Sourced<bool>>,
    /// Whether it can be made to call a tool: `yes`, `no` or `without_thinking`.
    pub forced_tool: Option<Sourced<String>>,
    /// What it costs, if any price is set.
    pub price: Option<Price>,
}
