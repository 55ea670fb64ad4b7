//! What leads a provider to what it keeps of a conversation's earlier requests.

use std::borrow::Cow;

use pantograph::protocol::{Purpose, Request};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// How long a key may be. Source: developers.openai.com, "Prompt caching".
const MAX_KEY_BYTES: usize = 64;

/// The key that the requests of one conversation have in common: its name, or its hash if it is
/// too long. A compaction's request is never continued.
pub(crate) fn key(request: &Request) -> Option<Cow<'_, str>> {
    let context = &*request.context;
    match request.purpose {
        Purpose::Compaction => None,
        Purpose::Turn if context.is_empty() => None,
        Purpose::Turn if context.len() <= MAX_KEY_BYTES => Some(Cow::Borrowed(context)),
        Purpose::Turn => {
            let digest = Sha256::digest(context);
            Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
        }
    }
}

/// A mark up to which the provider keeps the request.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct CacheControl {
    r#type: &'static str,
}

/// The mark that every provider with marks takes.
pub(crate) const EPHEMERAL: CacheControl = CacheControl {
    r#type: "ephemeral",
};
