//! Session stores as Lua has them.

use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, IntoLua, Lua, Table, UserData, UserDataFields, Value};
use pantograph::session::{Holder, LoadOptions, NullStore, SessionInfo};
use pantograph::{FileSystemJsonlStore, Role, SessionId, SessionStore};

use crate::args::{Arg, Args};
use crate::class::{self, Class, Methods};
use crate::conversation::LuaConversation;
use crate::fault::{Fault, Reply, values};
use crate::message::message_table;
use crate::module::State;

/// What it takes to reach a store, and so how Lua waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Some work on files, for which the owner thread blocks: a synchronous handler may use it.
    Files,
    /// Perhaps the owner thread itself: only the host knows how to wait.
    Host,
}

/// A session store.
pub(crate) struct Store {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) reach: Reach,
    /// Whether it keeps nothing, so that an agent needs no wait to begin.
    pub(crate) is_null: bool,
}

impl Store {
    pub(crate) fn new(store: Arc<dyn SessionStore>, reach: Reach) -> Self {
        Self {
            store,
            reach,
            is_null: false,
        }
    }

    /// Asks the store something, and makes Lua values of the answer.
    fn ask<T, E, F>(
        &self,
        lua: &Lua,
        state: &State,
        question: impl FnOnce(Arc<dyn SessionStore>) -> F,
        finish: impl FnOnce(&Lua, T) -> Reply + 'static,
    ) -> Reply
    where
        T: Send + 'static,
        E: std::error::Error + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let future = question(Arc::clone(&self.store));
        state.run(lua, self.reach, future, |lua, answer| match answer {
            Ok(answer) => finish(lua, answer),
            Err(error) => Err(Fault::of(&error)),
        })
    }
}

/// `panto.null_store()`.
pub(crate) fn null(lua: &Lua, state: &Rc<State>) -> mlua::Result<Function> {
    state.shim.function(lua, "null_store", |lua, _| {
        let mut store = Store::new(Arc::new(NullStore), Reach::Files);
        store.is_null = true;
        values(lua, store)
    })
}

/// `panto.file_system_jsonl_store { dir = … }`.
pub(crate) fn files(lua: &Lua, state: &Rc<State>) -> mlua::Result<Function> {
    state
        .shim
        .function(lua, "file_system_jsonl_store", |lua, mut args| {
            let options = args.options(&["dir"])?;
            let dir = options.get("dir")?;
            let path = dir.text()?;
            if path.is_empty() || path.contains('\0') {
                return Err(dir.wrong("a path expected"));
            }
            let store = Arc::new(FileSystemJsonlStore::new(path));
            values(lua, Store::new(store, Reach::Files))
        })
}

impl UserData for Store {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        class::fields(fields);
    }
}

impl Class for Store {
    const NAME: &'static str = "panto.Store";

    fn methods(methods: &Methods<'_, Self>) -> mlua::Result<()> {
        methods.add("list", |lua, state, this, _| {
            this.ask(
                lua,
                state,
                |store| async move { store.list().await },
                infos(state),
            )
        })?;
        methods.add("list_bounded", |lua, state, this, mut args| {
            let limit = limit(args.next("limit"))?;
            this.ask(
                lua,
                state,
                move |store| async move { store.list_bounded(limit).await },
                infos(state),
            )
        })?;
        methods.add("resolve", |lua, state, this, mut args| {
            let wanted = args.next("id").text()?;
            this.ask(
                lua,
                state,
                move |store| async move { store.resolve(&wanted).await },
                |lua, id: SessionId| values(lua, id.to_string()),
            )
        })?;
        methods.add("latest", |lua, state, this, _| {
            this.ask(
                lua,
                state,
                |store| async move { store.latest().await },
                |lua, id: Option<SessionId>| values(lua, id.map(|id| id.to_string())),
            )
        })?;
        methods.add("holder", |lua, state, this, mut args| {
            let id = session_id(&args.next("id"))?;
            this.ask(
                lua,
                state,
                move |store| async move { store.holder(id).await },
                |lua, holder| match holder {
                    Some(Holder::Process(process)) => values(lua, process),
                    Some(Holder::Unknown) => values(lua, true),
                    None => values(lua, Value::Nil),
                },
            )
        })?;
        methods.add("load", |lua, state, this, mut args| {
            let id = session_id(&args.next("id"))?;
            this.ask(
                lua,
                state,
                move |store| async move { store.load(id).await.map(|tree| tree.conversation()) },
                |lua, conversation| values(lua, LuaConversation::new(conversation)),
            )
        })?;
        methods.add("load_messages", |lua, state, this, mut args| {
            let id = session_id(&args.next("id"))?;
            let options = load_options(&mut args)?;
            let json = state.json.clone();
            this.ask(
                lua,
                state,
                move |store| async move { store.load_messages(id, &options).await },
                move |lua, messages| {
                    let list = lua.create_table_with_capacity(messages.len(), 0)?;
                    for message in &messages {
                        list.raw_push(message_table(lua, &json, message)?)?;
                    }
                    values(lua, list)
                },
            )
        })
    }
}

/// The id of a session; a text of another form is the id of none.
pub(crate) fn session_id(argument: &Arg) -> Result<SessionId, Fault> {
    SessionId::parse(&argument.text()?).map_err(|error| Fault::of(&error))
}

/// A number, or `{ limit = number }`.
fn limit(argument: Arg) -> Result<usize, Fault> {
    let count = match argument.value {
        Value::Table(_) => argument.options(&["limit"])?.get("limit")?.count()?,
        _ => argument.count()?,
    };
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

fn load_options(args: &mut Args) -> Result<LoadOptions, Fault> {
    let mut options = LoadOptions::default();
    let Some(given) = args.next("options").given() else {
        return Ok(options);
    };
    let given = given.options(&["limit", "max_bytes", "from_end", "role", "metadata_key"])?;
    if let Some(field) = given.given("limit")? {
        options.limit = Some(usize::try_from(field.count()?).unwrap_or(usize::MAX));
    }
    if let Some(field) = given.given("max_bytes")? {
        options.max_bytes = Some(field.count()?);
    }
    if let Some(field) = given.given("from_end")? {
        options.from_end = field.boolean()?;
    }
    if let Some(field) = given.given("role")? {
        options.role = Some(match field.text()?.as_str() {
            "system" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            _ => return Err(field.wrong("expected one of system, user, assistant, tool")),
        });
    }
    if let Some(field) = given.given("metadata_key")? {
        options.metadata_key = Some(field.text()?);
    }
    Ok(options)
}

fn infos(state: &Rc<State>) -> impl FnOnce(&Lua, Vec<SessionInfo>) -> Reply + 'static {
    let json = state.json.clone();
    move |lua, infos| {
        let list = lua.create_table_with_capacity(infos.len(), 0)?;
        for info in infos {
            let metadata = match &info.metadata {
                Some(metadata) => json.object_to_lua(lua, metadata)?,
                None => Value::Nil,
            };
            list.raw_push(info_table(lua, info, metadata)?)?;
        }
        values(lua, list)
    }
}

/// What a listing says. Times are RFC 3339 in UTC, to the last digit that is stored.
fn info_table(lua: &Lua, info: SessionInfo, metadata: impl IntoLua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("id", info.id.to_string())?;
    table.raw_set("created", info.created.to_string())?;
    table.raw_set("modified", info.modified.to_string())?;
    table.raw_set("metadata", metadata)?;
    table.raw_set("message_count", info.message_count)?;
    table.raw_set("last_user_message", info.last_user_message)?;
    table.raw_set("api_style", info.api_style)?;
    table.raw_set("base_url", info.base_url)?;
    table.raw_set("model", info.model)?;
    table.raw_set("reasoning", info.reasoning)?;
    Ok(table)
}
