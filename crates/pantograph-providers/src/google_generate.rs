//! `google-generate`: the Gemini API of Google, and of what speaks like it.
//!
//! Written after the public documentation of the API, version `v1beta`.

mod answer;
mod contents;
mod decode;
mod fresh_ids;
mod item;
mod plain;
mod request;
mod stopped;
mod thinking;

use std::io;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use pantograph::protocol::{Protocol, ProtocolStream, Request};
use pantograph::{ErrorClass, ProviderError};
use reqwest::header::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::endpoint::Endpoint;
use crate::http::{Head, KeyHeader};
use crate::payload::Writers;
use crate::stream;
use decode::GenerateDecoder;
use fresh_ids::FreshIds;

const STYLE: &str = "google-generate";

/// How a server deviates from Google's own. Serialised as a map; fields may be left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GoogleGenerateFlags {
    /// Takes the key as `authorization: Bearer …` instead of `x-goog-api-key`.
    pub bearer: bool,
    /// Refuses ids of function calls; calls and responses are then pairs by their order.
    pub no_call_ids: bool,
    /// Takes no files within the response of a function: they follow it. So do those for models
    /// that take no reasoning label as a word, which are older than files in responses.
    pub files_after_results: bool,
}

/// The protocol `google-generate`.
#[derive(Debug, Clone)]
pub struct GoogleGenerate {
    endpoint: Endpoint,
    flags: GoogleGenerateFlags,
}

impl GoogleGenerate {
    /// Where Google itself is reached.
    pub const BASE_URL: &str = "https://generativelanguage.googleapis.com";

    /// The protocol at `endpoint`.
    pub fn new(endpoint: Endpoint, flags: GoogleGenerateFlags) -> Self {
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
        let ids = FreshIds::of(request);
        stream::read(request, body, |names| GenerateDecoder::new(names, ids))
    }
}

#[async_trait]
impl Protocol for GoogleGenerate {
    fn name(&self) -> &str {
        STYLE
    }

    async fn open(&self, request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        let head = Head {
            path: path(&request.model.wire_model)?,
            query: Some(("alt", "sse")),
            headers: HeaderMap::new(),
            key: match self.flags.bearer {
                true => KeyHeader::Bearer,
                false => KeyHeader::Named("x-goog-api-key"),
            },
        };
        let ids = FreshIds::of(&request);
        let flags = self.flags;
        let build = move |request: &Request| request::body(request, flags, Writers::Several);
        let decoder = |names| GenerateDecoder::new(names, ids);
        stream::open(&self.endpoint, head, request, build, decoder).await
    }
}

/// The path of a model, whose name may already say what it is, as in `tunedModels/mine`.
///
/// # Errors
///
/// The name would lead elsewhere, where the key must not go.
fn path(model: &str) -> Result<String, ProviderError> {
    let is_part = |part: &str| {
        let is_plain = |c: char| c.is_alphanumeric() || "-_.:@".contains(c);
        !part.is_empty() && part.chars().all(is_plain) && !part.chars().all(|c| c == '.')
    };
    if !model.split('/').all(is_part) {
        return Err(ProviderError::new(
            ErrorClass::InvalidRequest,
            format!("`{model}` is not the name of a model"),
        ));
    }
    let collection = match model.contains('/') {
        true => "",
        false => "models/",
    };
    Ok(format!("/v1beta/{collection}{model}:streamGenerateContent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_name_leads_nowhere_else() {
        for (model, expected) in [
            ("gemini-x", "/v1beta/models/gemini-x:streamGenerateContent"),
            (
                "tunedModels/a",
                "/v1beta/tunedModels/a:streamGenerateContent",
            ),
        ] {
            assert_eq!(path(model).unwrap(), expected);
        }
        for model in [
            "",
            "../x",
            "a/../../x",
            "a//b",
            "a?b",
            "a#b",
            "a%2e",
            "a b",
            "/a",
        ] {
            assert_eq!(path(model).unwrap_err().class, ErrorClass::InvalidRequest);
        }
    }
}
