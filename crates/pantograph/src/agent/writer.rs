//! The right to change an agent's conversation.

use std::sync::Arc;

use super::{Busy, Shared};
use crate::cancel::Cancel;
use crate::message::Message;
use crate::session::{Record, Session, SessionError};

/// The right to change the conversation; given back when it is dropped.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    session: Option<Box<dyn Session>>,
    /// Of the turn that writes, if one does.
    cancel: Option<Cancel>,
}

impl Writer {
    pub(super) fn take(shared: &Arc<Shared>) -> Result<Self, Busy> {
        let mut slot = shared.session.lock();
        let session = slot.take().ok_or(Busy)?;
        shared.busy.send_replace(true);
        Ok(Self {
            shared: Arc::clone(shared),
            session: Some(session),
            cancel: None,
        })
    }

    /// The same for a turn, which `cancel` may end.
    pub(crate) fn for_turn(mut self, cancel: &Cancel) -> Self {
        self.cancel = Some(cancel.clone());
        self
    }

    /// Makes records durable.
    pub(crate) async fn store(&mut self, records: Vec<Record>) -> Result<(), SessionError> {
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        match &self.cancel {
            Some(cancel) => session.append_for_turn(records, cancel).await,
            None => session.append(records).await,
        }
    }

    /// Adds a message on disk and in memory. A message that the store refuses is in neither;
    /// one that it could not store yet is in memory, and waits there for the next append.
    pub(crate) async fn append(&mut self, message: Message) -> Result<(), SessionError> {
        let stored = self.store(vec![Record::Message(message.clone())]).await;
        if !matches!(stored, Err(SessionError::Refused { .. })) {
            self.shared.conversation.lock().push(Arc::new(message));
        }
        stored
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut slot = self.shared.session.lock();
        *slot = self.session.take();
        self.shared.busy.send_replace(false);
    }
}
