//! Lua protocols: providers whose wire format an extension speaks.
//!
//! A stream has two halves. Its reader is an ordinary [`ProtocolStream`] on whatever thread drives
//! the turn; the other half is the table that `open` returned, on the owner thread. Between them
//! is a channel: the reader asks when it has nothing left, and the owner then calls `next` until
//! that has nothing more.

mod channel;
mod event;
mod registry;
mod request;
mod stream;

use std::sync::Arc;

use async_trait::async_trait;
use pantograph::protocol::{ProtocolStream, Request};
use pantograph::{Protocol, ProviderError};

use crate::inbox::Inbox;

pub(crate) use registry::{Protocols, Registration};
pub(crate) use stream::Streams;

/// One of the labels that a protocol's models take for how much they are to think.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffortLevel {
    /// What a person chooses, and `open` is told.
    pub label: String,
    /// What it means.
    pub detail: Option<String>,
}

/// A protocol by its name: whatever is registered under it when a stream begins.
pub(crate) struct LuaProtocol {
    name: String,
    inbox: Arc<Inbox>,
}

#[async_trait]
impl Protocol for LuaProtocol {
    fn name(&self) -> &str {
        &self.name
    }

    /// Returns at once: what `open` does is waited for as the stream's first event.
    async fn open(&self, request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        Ok(Box::new(channel::Reader::open(
            &self.name,
            &self.inbox,
            request,
        )))
    }

    fn reset_context(&self, context: &str) {
        self.tell(context, |registration| &registration.reset_context);
    }

    fn release_context(&self, context: &str) {
        self.tell(context, |registration| &registration.release_context);
    }
}

impl LuaProtocol {
    fn tell(&self, context: &str, which: fn(&Registration) -> &Option<mlua::Function>) {
        let (name, context) = (self.name.clone(), context.to_owned());
        // Without an owner the protocol was closed, with all its contexts.
        let _ = self.inbox.post(move |executor, lua| {
            if let Some(registration) = executor.protocols.get(&name)
                && let Some(function) = which(&registration)
            {
                executor.tell(lua, &registration.what(), function, context);
            }
        });
    }
}
