//! A store that keeps nothing.

use async_trait::async_trait;

use super::{
    Header, LoadOptions, OpenSession, Record, Session, SessionError, SessionInfo, SessionStore,
    SessionTree,
};
use crate::ids::SessionId;
use crate::message::Message;

/// A store that keeps nothing: its sessions end with their agents.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullStore;

impl NullStore {
    /// A session that keeps nothing.
    pub(crate) fn begin(self, id: SessionId) -> Box<dyn Session> {
        Box::new(NullSession(id))
    }
}

struct NullSession(SessionId);

#[async_trait]
impl Session for NullSession {
    fn id(&self) -> SessionId {
        self.0
    }

    async fn append(&mut self, _records: Vec<Record>) -> Result<(), SessionError> {
        Ok(())
    }
}

fn not_found(wanted: impl ToString) -> SessionError {
    SessionError::NotFound {
        wanted: wanted.to_string(),
        nearest: Vec::new(),
    }
}

#[async_trait]
impl SessionStore for NullStore {
    async fn create(&self, header: Header) -> Result<Box<dyn Session>, SessionError> {
        Ok(self.begin(header.id))
    }

    async fn open(&self, id: SessionId) -> Result<OpenSession, SessionError> {
        Err(not_found(id))
    }

    async fn load(&self, id: SessionId) -> Result<SessionTree, SessionError> {
        Err(not_found(id))
    }

    async fn load_messages(
        &self,
        id: SessionId,
        _options: &LoadOptions,
    ) -> Result<Vec<Message>, SessionError> {
        Err(not_found(id))
    }

    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        Ok(Vec::new())
    }

    async fn list_bounded(&self, _limit: usize) -> Result<Vec<SessionInfo>, SessionError> {
        Ok(Vec::new())
    }

    async fn resolve(&self, id_or_prefix: &str) -> Result<SessionId, SessionError> {
        Err(not_found(id_or_prefix))
    }

    async fn latest(&self) -> Result<Option<SessionId>, SessionError> {
        Ok(None)
    }
}
