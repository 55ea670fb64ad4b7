//! The protocols that a configuration may name.

use std::sync::Arc;

use panto_host::config::Provider;
use panto_host::models::{ProtocolError, ProtocolRegistry};
use pantograph_providers::{
    AnthropicFlags, AnthropicMessages, BaseUrl, Endpoint, HttpClient, OpenAiChat, OpenAiChatFlags,
    OpenAiResponses, OpenAiResponsesFlags,
};
use pantograph_scripted::{Script, ScriptedProtocol};

use crate::environment_keys::credentials;

/// Every protocol that is built in.
pub(crate) fn built_in() -> ProtocolRegistry {
    let mut registry = ProtocolRegistry::default();
    registry.register("scripted", |provider| {
        let script = provider
            .script
            .as_deref()
            .ok_or("it needs `script`, the file that it plays")?;
        // Sessions that had tools, such as the demo's, go on without them: panto has none yet.
        let script = Script::load(script)?.allow_removed_tools();
        Ok(Arc::new(ScriptedProtocol::new(script)))
    });
    let client = HttpClient::new();
    let shared = client.clone();
    registry.register("anthropic-messages", move |provider| {
        let endpoint = endpoint(provider, AnthropicMessages::BASE_URL, &shared)?;
        let flags = AnthropicFlags::default();
        Ok(Arc::new(AnthropicMessages::new(endpoint, flags)))
    });
    let shared = client.clone();
    registry.register("openai-responses", move |provider| {
        let endpoint = endpoint(provider, OpenAiResponses::BASE_URL, &shared)?;
        let flags = OpenAiResponsesFlags::default();
        Ok(Arc::new(OpenAiResponses::new(endpoint, flags)))
    });
    registry.register("openai-chat", move |provider| {
        let endpoint = endpoint(provider, OpenAiChat::BASE_URL, &client)?;
        let server = provider.server.as_deref();
        let flags = server.and_then(|server| OpenAiChatFlags::of_server(server));
        Ok(Arc::new(OpenAiChat::new(
            endpoint,
            flags.unwrap_or_default(),
        )))
    });
    registry
}

/// Where a provider is reached: where it says, else where its protocol is at home.
fn endpoint(
    provider: &Provider,
    home: &str,
    client: &HttpClient,
) -> Result<Endpoint, ProtocolError> {
    let base_url = provider.base_url.as_ref().map_or(home, |url| url.as_str());
    let base_url = BaseUrl::parse(base_url)?;
    let headers = provider.headers.0.iter();
    let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
    let endpoint = Endpoint::new(base_url, credentials(provider)?, client.clone());
    Ok(endpoint.with_headers(headers)?)
}
