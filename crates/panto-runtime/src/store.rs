//! Lua tables as session stores.
//!
//! A table's methods are called on the owner thread, one at a time, and must not wait. What
//! crosses threads is JSON text: records are written and read off the owner thread, which only
//! makes tables of the text, and text of tables. What each method takes and gives is in
//! `docs/lua.md`.

mod method;
mod session;
mod shapes;
mod tables;

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use mlua::MultiValue;
use pantograph::session::{
    Backlog, Header, LoadOptions, OpenSession, Session, SessionError, SessionInfo, SessionTree,
};
use pantograph::{Message, SessionId, SessionStore, async_trait};
use parking_lot::Mutex;

use self::method::{Answer, Method, OnOwner};
use self::session::{LuaSession, Open};
pub(crate) use self::tables::{Stores, Tables};
use crate::inbox::Inbox;

/// What a store and its sessions have in common.
struct Shared {
    key: usize,
    inbox: Arc<Inbox>,
    /// The sessions that somebody writes to.
    open: Mutex<HashSet<SessionId>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let key = self.key;
        // Without an owner the table is gone already.
        let _ = self
            .inbox
            .post(move |executor, _| executor.stores.forget(key));
    }
}

impl Shared {
    /// Has a method called on the owner thread; `read` looks at what it gave there.
    async fn ask<T: Send + 'static>(
        &self,
        method: Method,
        arguments: impl FnOnce(&OnOwner<'_>) -> mlua::Result<MultiValue> + Send + 'static,
        read: impl FnOnce(&OnOwner<'_>, Answer) -> Result<T, SessionError> + Send + 'static,
    ) -> Result<T, SessionError> {
        let key = self.key;
        let asked = self.inbox.call(move |executor, lua| {
            let owner = OnOwner::new(executor, lua, key).ok_or_else(|| method.gone())?;
            let arguments = arguments(&owner).map_err(|error| method.unasked(&error))?;
            let answer = owner.call(method, arguments)?;
            read(&owner, answer)
        });
        asked.await.unwrap_or_else(|_| Err(method.gone()))
    }
}

/// A table as a store.
struct LuaStore {
    shared: Arc<Shared>,
}

impl LuaStore {
    async fn tree(&self, id: SessionId) -> Result<SessionTree, SessionError> {
        let stored = self.shared.ask(
            Method::Load,
            move |owner| owner.arguments([id.to_string()]),
            move |owner, answer| shapes::stored(owner, id, answer),
        );
        let stored = stored.await?;
        blocking(move || stored.into_tree(id)).await
    }
}

#[async_trait]
impl SessionStore for LuaStore {
    /// The table hears of the session with its first answer.
    async fn create(&self, header: Header) -> Result<Box<dyn Session>, SessionError> {
        let text = session::fitting(header.to_json()?)?;
        let open = Open::new(&self.shared, header.id, Backlog::of_new(), Some(text))?;
        Ok(Box::new(LuaSession::new(open)))
    }

    async fn open(&self, id: SessionId) -> Result<OpenSession, SessionError> {
        // Locked first, so that nobody writes after it was read.
        let open = Open::new(&self.shared, id, Backlog::of_stored(), None)?;
        let tree = self.tree(id).await?;
        Ok(OpenSession {
            session: Box::new(LuaSession::new(open)),
            tree,
        })
    }

    async fn load(&self, id: SessionId) -> Result<SessionTree, SessionError> {
        self.tree(id).await
    }

    async fn load_messages(
        &self,
        id: SessionId,
        options: &LoadOptions,
    ) -> Result<Vec<Message>, SessionError> {
        let asked = options.clone();
        let given = self.shared.ask(
            Method::LoadMessages,
            move |owner| shapes::load_arguments(owner, id, &asked),
            move |owner, answer| shapes::messages(owner, id, answer),
        );
        match given.await? {
            Some(texts) => blocking(move || shapes::read_messages(&texts)).await,
            None => Ok(self.tree(id).await?.some_messages(options)),
        }
    }

    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        let given = self.shared.ask(
            Method::List,
            |_| Ok(MultiValue::new()),
            |owner, answer| shapes::infos(owner, Method::List, answer),
        );
        Ok(sorted(given.await?.unwrap_or_default()))
    }

    async fn list_bounded(&self, limit: usize) -> Result<Vec<SessionInfo>, SessionError> {
        let given = self.shared.ask(
            Method::ListBounded,
            move |owner| owner.arguments([i64::try_from(limit).unwrap_or(i64::MAX)]),
            |owner, answer| shapes::infos(owner, Method::ListBounded, answer),
        );
        let mut infos = match given.await? {
            Some(infos) => sorted(infos),
            None => self.list().await?,
        };
        infos.truncate(limit);
        Ok(infos)
    }

    async fn resolve(&self, id_or_prefix: &str) -> Result<SessionId, SessionError> {
        let wanted = id_or_prefix.to_owned();
        let found = self.shared.ask(
            Method::Resolve,
            move |owner| owner.arguments([wanted]),
            |_, answer| shapes::id(Method::Resolve, answer),
        );
        found.await?.ok_or_else(|| not_found(id_or_prefix))
    }

    async fn latest(&self) -> Result<Option<SessionId>, SessionError> {
        let found = self.shared.ask(
            Method::Latest,
            |_| Ok(MultiValue::new()),
            |_, answer| shapes::id(Method::Latest, answer),
        );
        found.await
    }
}

fn not_found(wanted: impl ToString) -> SessionError {
    SessionError::NotFound {
        wanted: wanted.to_string(),
        nearest: Vec::new(),
    }
}

/// Last modified first. A store that does not know when its sessions were modified has an order
/// of its own.
fn sorted(mut infos: Vec<shapes::Described>) -> Vec<SessionInfo> {
    if infos.iter().all(|described| described.has_modified) {
        infos.sort_by_key(|described| Reverse(described.info.modified));
    }
    infos.into_iter().map(|described| described.info).collect()
}

/// Runs what reads or writes much where that delays nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SessionError> + Send + 'static,
) -> Result<T, SessionError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(SessionError::Store("the runtime is shutting down".into())),
        },
    }
}
