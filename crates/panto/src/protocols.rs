//! The protocols that a configuration may name.

use std::sync::Arc;

use panto_host::config::Provider;
use panto_host::models::{ProtocolError, ProtocolRegistry};
use pantograph::protocol::Protocol;
use pantograph_providers::{
    AnthropicFlags, AnthropicMessages, BaseUrl, Credentials, Endpoint, GoogleGenerate,
    GoogleGenerateFlags, HttpClient, OpenAiChat, OpenAiChatFlags, OpenAiResponses,
    OpenAiResponsesFlags,
};
use pantograph_scripted::{Script, ScriptedProtocol};
use serde::Serialize;
use serde::de::DeserializeOwned;

mod flags;

/// Gives the credentials of a provider.
pub(crate) type CredentialsOf = Box<dyn Fn(&Provider) -> Arc<dyn Credentials> + Send + Sync>;

/// Every protocol that is built in.
pub(crate) fn built_in(credentials: CredentialsOf) -> ProtocolRegistry {
    let mut registry = ProtocolRegistry::default();
    registry.register("scripted", |provider| {
        let script = provider
            .script
            .as_deref()
            .ok_or("it needs `script`, the file that it plays")?;
        // A session that goes on may have had tools that are not there any more.
        let script = Script::load(script)?.allow_removed_tools();
        Ok(Arc::new(ScriptedProtocol::new(script)))
    });
    let mut http = OverHttp {
        registry: &mut registry,
        reach: Arc::new(Reach {
            credentials,
            client: HttpClient::new(),
        }),
    };
    http.register(
        "anthropic-messages",
        AnthropicMessages::BASE_URL,
        |_| AnthropicFlags::default(),
        AnthropicMessages::new,
    );
    http.register(
        "openai-responses",
        OpenAiResponses::BASE_URL,
        |_| OpenAiResponsesFlags::default(),
        OpenAiResponses::new,
    );
    http.register(
        "openai-chat",
        OpenAiChat::BASE_URL,
        |provider| {
            let server = provider.server.as_deref();
            let flags = server.and_then(|server| OpenAiChatFlags::of_server(server));
            flags.unwrap_or_default()
        },
        OpenAiChat::new,
    );
    http.register(
        "google-generate",
        GoogleGenerate::BASE_URL,
        |_| GoogleGenerateFlags::default(),
        GoogleGenerate::new,
    );
    registry
}

/// Registers what has an endpoint and flags.
struct OverHttp<'a> {
    registry: &'a mut ProtocolRegistry,
    reach: Arc<Reach>,
}

impl OverHttp<'_> {
    fn register<F, P>(
        &mut self,
        name: &str,
        base_url: &'static str,
        flags: impl Fn(&Provider) -> F + Send + Sync + 'static,
        new: impl Fn(Endpoint, F) -> P + Send + Sync + 'static,
    ) where
        F: Serialize + DeserializeOwned,
        P: Protocol + 'static,
    {
        let reach = Arc::clone(&self.reach);
        self.registry.register(name, move |provider| {
            let flags = flags::over(flags(provider), provider)?;
            let endpoint = reach.endpoint(provider, base_url)?;
            Ok(Arc::new(new(endpoint, flags)))
        });
    }
}

/// What all providers are reached with.
struct Reach {
    credentials: CredentialsOf,
    client: HttpClient,
}

impl Reach {
    fn endpoint(&self, provider: &Provider, base_url: &str) -> Result<Endpoint, ProtocolError> {
        let base_url = match &provider.base_url {
            Some(set) => set,
            None => base_url,
        };
        let headers = provider.headers.0.iter();
        let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
        let endpoint = Endpoint::new(
            BaseUrl::parse(base_url)?,
            (self.credentials)(provider),
            self.client.clone(),
        );
        Ok(endpoint.with_headers(headers)?)
    }
}
