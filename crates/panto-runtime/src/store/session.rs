//! A session of a store that is a table, open for writing.

use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use mlua::{Lua, MultiValue, Value};
use panto_lua::Json;
use pantograph::session::{Backlog, Record, Session, SessionError};
use pantograph::{Cancel, SessionId, async_trait};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::method::{Method, OnOwner};
use super::{Shared, blocking};
use crate::executor::Executor;

/// How long a turn that was forced to stop waits for the owner thread. That is usually there at
/// once, so what the turn came to is kept; a thread that is busy does not hold the turn up.
const PATIENCE: Duration = Duration::from_secs(1);

/// The right to write to a session, and what is still to be written.
///
/// What was posted to the owner thread holds it, too: nobody else opens the session before the
/// last append has come to its end.
pub(super) struct Open {
    shared: Arc<Shared>,
    id: SessionId,
    writing: Mutex<Writing>,
}

struct Writing {
    /// Records as JSON text.
    backlog: Backlog<String>,
    /// The header of a session that the table has not heard of.
    header: Option<String>,
}

impl Open {
    pub(super) fn new(
        shared: &Arc<Shared>,
        id: SessionId,
        backlog: Backlog<String>,
        header: Option<String>,
    ) -> Result<Arc<Self>, SessionError> {
        if !shared.open.lock().insert(id) {
            return Err(SessionError::InUse {
                id,
                holder: Some(std::process::id()),
            });
        }
        Ok(Arc::new(Self {
            shared: Arc::clone(shared),
            id,
            writing: Mutex::new(Writing { backlog, header }),
        }))
    }

    /// Writes what is due, on the owner thread, or leaves it so.
    fn flush(&self, executor: &Executor, lua: &Lua) -> Result<(), SessionError> {
        let owner =
            OnOwner::new(executor, lua, self.shared.key).ok_or_else(|| Method::Append.gone())?;
        let mut due = Due {
            records: self.writing.lock().backlog.take(),
            writing: &self.writing,
        };
        if due.records.is_empty() {
            return Ok(());
        }
        // Nothing is locked while Lua runs.
        self.write(&owner, &due.records)?;
        due.records.clear();
        Ok(())
    }

    fn write(&self, owner: &OnOwner<'_>, records: &[String]) -> Result<(), SessionError> {
        let header = self.writing.lock().header.clone();
        if let Some(header) = header {
            let header = decoded(owner, Method::Create, &header)?;
            owner.run(Method::Create, MultiValue::from_iter([header]))?;
            self.writing.lock().header = None;
        }
        let made = |error: mlua::Error| Method::Append.unasked(&error);
        let list = owner.lua.create_table_with_capacity(records.len(), 0);
        let list = list.map_err(made)?;
        for record in records {
            let record = decoded(owner, Method::Append, record)?;
            list.raw_push(record).map_err(made)?;
        }
        let mut arguments = owner.arguments([self.id.to_string()]).map_err(made)?;
        arguments.push_back(Value::Table(list));
        owner.run(Method::Append, arguments)
    }
}

/// What is being written. Whatever it fails of, a panic too, it comes first the next time.
struct Due<'a> {
    records: Vec<String>,
    writing: &'a Mutex<Writing>,
}

impl Drop for Due<'_> {
    fn drop(&mut self) {
        let records = std::mem::take(&mut self.records);
        self.writing.lock().backlog.put_back(records);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.open.lock().remove(&self.id);
    }
}

fn decoded(owner: &OnOwner<'_>, method: Method, text: &str) -> Result<Value, SessionError> {
    let value = owner.json.decode(owner.lua, text.as_bytes());
    value.map_err(|error| method.failed(format_args!("was not called: {error}")))
}

/// A session of a [`super::LuaStore`].
pub(super) struct LuaSession {
    open: Arc<Open>,
}

impl LuaSession {
    pub(super) fn new(open: Arc<Open>) -> Self {
        Self { open }
    }

    /// Appends, and waits for that until `given_up`. What was given up is written as soon as the
    /// owner thread gets to it.
    async fn append_until(
        &self,
        records: Vec<Record>,
        given_up: impl Future<Output = ()> + Send,
    ) -> Result<(), SessionError> {
        let texts = blocking(move || texts(&records)).await?;
        {
            let mut writing = self.open.writing.lock();
            for (text, is_answer) in texts {
                writing.backlog.push(text, is_answer);
            }
            if !writing.backlog.is_due() {
                return Ok(());
            }
        }
        let (sender, receiver) = oneshot::channel();
        let open = Arc::clone(&self.open);
        let posted = self.open.shared.inbox.post(move |executor, lua| {
            // Whoever waited may have gone meanwhile.
            let _ = sender.send(open.flush(executor, lua));
        });
        posted.map_err(|_| Method::Append.gone())?;
        tokio::select! {
            biased;
            written = receiver => written.unwrap_or_else(|_| Err(Method::Append.gone())),
            () = given_up => Err(Method::Append.failed(
                "was not called in time: the Lua thread is busy, and the turn had to stop",
            )),
        }
    }
}

#[async_trait]
impl Session for LuaSession {
    fn id(&self) -> SessionId {
        self.open.id
    }

    async fn append(&mut self, records: Vec<Record>) -> Result<(), SessionError> {
        self.append_until(records, pending()).await
    }

    async fn append_for_turn(
        &mut self,
        records: Vec<Record>,
        cancel: &Cancel,
    ) -> Result<(), SessionError> {
        let given_up = async {
            cancel.forced().await;
            tokio::time::sleep(PATIENCE).await;
        };
        self.append_until(records, given_up).await
    }
}

/// The records as text, each with whether it is an answer.
fn texts(records: &[Record]) -> Result<Vec<(String, bool)>, SessionError> {
    let texts = records.iter().map(|record| {
        let text = fitting(record.to_json()?)?;
        Ok((text, record.is_answer()))
    });
    texts.collect()
}

/// Refuses a text that Lua could never be given: if it waited, nothing after it could be written.
pub(super) fn fitting(text: String) -> Result<String, SessionError> {
    if text.len() <= Json::MAX_BYTES {
        return Ok(text);
    }
    Err(SessionError::Refused {
        reason: format!(
            "{} bytes of JSON are more than the {} that a store in Lua is given at once",
            text.len(),
            Json::MAX_BYTES
        ),
    })
}
