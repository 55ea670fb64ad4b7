//! `anthropic-messages`: the Messages API of Anthropic, and of what speaks like it.
//!
//! Written after the public documentation of the API, version `2023-06-01`.

mod binding;
mod decode;
mod event;
mod request;
mod thinking;

use std::io;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use pantograph::ProviderError;
use pantograph::protocol::{Protocol, ProtocolStream, Request};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use crate::endpoint::Endpoint;
use crate::http::{Head, KeyHeader};
use crate::payload::Writers;
use crate::stream;
use decode::MessagesDecoder;

const STYLE: &str = "anthropic-messages";

/// The version of the API that this speaks.
const VERSION: &str = "2023-06-01";

/// How a server deviates from Anthropic's own. Serialised as a map; fields may be left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnthropicFlags {
    /// Takes the key as `authorization: Bearer …` instead of `x-api-key`.
    pub bearer: bool,
    /// Knows no `cache_control`.
    pub no_cache_marks: bool,
    /// Wants its thinking back although it does not sign it.
    pub unsigned_thinking: bool,
}

/// The protocol `anthropic-messages`.
#[derive(Debug, Clone)]
pub struct AnthropicMessages {
    endpoint: Endpoint,
    flags: AnthropicFlags,
}

impl AnthropicMessages {
    /// Where Anthropic itself is reached.
    pub const BASE_URL: &str = "https://api.anthropic.com";

    /// The protocol at `endpoint`.
    pub fn new(endpoint: Endpoint, flags: AnthropicFlags) -> Self {
        Self { endpoint, flags }
    }

    /// The body that is sent for a request. Blocks on attachments that lie in files.
    pub fn encode(&self, request: &Request) -> Vec<u8> {
        request::body(request, self.flags, Writers::One)
            .0
            .into_vec()
    }

    /// Reads an answer to `request` that came in another way, such as a recorded one. Blocks on
    /// attachments that lie in files, since thinking is held to what it was thought after.
    pub fn decode(
        &self,
        request: &Request,
        body: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Box<dyn ProtocolStream> {
        let (_, after) = request::body(request, self.flags, Writers::One);
        let after = Arc::new(OnceLock::from(after));
        stream::read(request, body, |names| MessagesDecoder::new(names, after))
    }
}

#[async_trait]
impl Protocol for AnthropicMessages {
    fn name(&self) -> &str {
        STYLE
    }

    async fn open(&self, request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        let head = Head {
            path: "/v1/messages".into(),
            query: None,
            headers: HeaderMap::from_iter([(
                HeaderName::from_static("anthropic-version"),
                HeaderValue::from_static(VERSION),
            )]),
            key: match self.flags.bearer {
                true => KeyHeader::Bearer,
                false => KeyHeader::Named("x-api-key"),
            },
        };
        let flags = self.flags;
        let after = Arc::new(OnceLock::new());
        let written = Arc::clone(&after);
        let build = move |request: &Request| {
            let (body, after) = request::body(request, flags, Writers::Several);
            written.get_or_init(|| after);
            body
        };
        let decoder = |names| MessagesDecoder::new(names, after);
        stream::open(&self.endpoint, head, request, build, decoder).await
    }
}
