//! `openai-responses`: the Responses API of OpenAI, and of what speaks like it.
//!
//! Written after the public documentation of the API. Nothing is kept upstream: every request
//! holds the whole conversation, with the provider's reasoning encrypted in it.

mod decode;
mod event;
mod failed;
mod input;
mod item;
mod open;
mod request;

use std::io;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use pantograph::ProviderError;
use pantograph::protocol::{Protocol, ProtocolStream, Request};
use reqwest::header::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::endpoint::Endpoint;
use crate::http::{Head, KeyHeader};
use crate::payload::Writers;
use crate::stream;
use decode::ResponsesDecoder;

const STYLE: &str = "openai-responses";

/// How a server deviates from OpenAI's own. Serialised as a map; fields may be left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenAiResponsesFlags {
    /// Knows no role `developer`: the system prompt has the role `system`.
    pub system_role: bool,
    /// Takes nothing but text as the output of a function.
    pub text_results: bool,
    /// Gives no encrypted reasoning and refuses to be asked for it.
    pub no_encrypted_reasoning: bool,
    /// Knows no `prompt_cache_key`.
    pub no_cache_key: bool,
}

/// The protocol `openai-responses`.
#[derive(Debug, Clone)]
pub struct OpenAiResponses {
    endpoint: Endpoint,
    flags: OpenAiResponsesFlags,
}

impl OpenAiResponses {
    /// Where OpenAI itself is reached.
    pub const BASE_URL: &str = "https://api.openai.com";

    /// The protocol at `endpoint`.
    pub fn new(endpoint: Endpoint, flags: OpenAiResponsesFlags) -> Self {
        Self { endpoint, flags }
    }

    /// The body that is sent for a request. Blocks on attachments that lie in files.
    pub fn encode(&self, request: &Request) -> Vec<u8> {
        request::body(request, self.flags, Writers::One).into_vec()
    }

    /// Reads an answer to `request` that came in another way, such as a recorded one.
    pub fn decode(
        &self,
        request: &Request,
        body: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Box<dyn ProtocolStream> {
        stream::read(request, body, ResponsesDecoder::new)
    }
}

#[async_trait]
impl Protocol for OpenAiResponses {
    fn name(&self) -> &str {
        STYLE
    }

    async fn open(&self, request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        let head = Head {
            path: "/v1/responses".into(),
            query: None,
            headers: HeaderMap::new(),
            key: KeyHeader::Bearer,
        };
        let flags = self.flags;
        let build = move |request: &Request| request::body(request, flags, Writers::Several);
        stream::open(&self.endpoint, head, request, build, ResponsesDecoder::new).await
    }
}
