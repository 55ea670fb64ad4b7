//! `openai-chat`: Chat Completions, of OpenAI and of what speaks like it.
//!
//! Written after the public documentation of the API. Where servers differ from each other, an
//! [`OpenAiChatFlags`] says how; nothing is guessed from a model's name or a URL.

mod calls;
mod chunk;
mod decode;
mod details;
mod flags;
mod message;
mod messages;
mod plain;
mod reasoning;
mod request;

use std::io;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use pantograph::ProviderError;
use pantograph::protocol::{Protocol, ProtocolStream, Request};
use reqwest::header::HeaderMap;

use crate::endpoint::Endpoint;
use crate::http::{Head, KeyHeader};
use crate::payload::Writers;
use crate::stream;
use decode::ChatDecoder;
pub use flags::{Efforts, OpenAiChatFlags, OutputLimit, ReasoningParameter, ThinkingReplay};

const STYLE: &str = "openai-chat";

/// The protocol `openai-chat`.
#[derive(Debug, Clone)]
pub struct OpenAiChat {
    endpoint: Endpoint,
    flags: OpenAiChatFlags,
}

impl OpenAiChat {
    /// Where OpenAI itself is reached.
    pub const BASE_URL: &str = "https://api.openai.com/v1";

    /// The protocol at `endpoint`.
    ///
    /// Its base URL is written as for other clients: `/chat/completions` follows it. To one
    /// without any path `/v1` is added.
    pub fn new(endpoint: Endpoint, flags: OpenAiChatFlags) -> Self {
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
        stream::read(request, body, ChatDecoder::new)
    }
}

#[async_trait]
impl Protocol for OpenAiChat {
    fn name(&self) -> &str {
        STYLE
    }

    async fn open(&self, request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        let path = match self.endpoint.base_url.has_path() {
            true => "/chat/completions",
            false => "/v1/chat/completions",
        };
        let head = Head {
            path: path.into(),
            query: None,
            headers: HeaderMap::new(),
            key: KeyHeader::Bearer,
        };
        let flags = self.flags;
        let build = move |request: &Request| request::body(request, flags, Writers::Several);
        stream::open(&self.endpoint, head, request, build, ChatDecoder::new).await
    }
}
