//! `panto.agent { … }`.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use mlua::{Function, Lua, Value};
use pantograph::session::{NullStore, SessionError};
use pantograph::{Agent, Model, SessionStore, ToolSet};

use super::local::LocalRouter;
use super::{LuaAgent, Owned};
use crate::args::{Arg, Args};
use crate::class::Class;
use crate::config::Config;
use crate::fault::{Fault, Reply, values};
use crate::module::State;
use crate::store::{Reach, Store, session_id};

const FIELDS: &[&str] = &["config", "store", "session_id", "cwd", "system", "label"];

/// The longest name for people, in bytes.
const LONGEST_LABEL: usize = 100;

/// `panto.agent { config, store, session_id?, cwd?, system?, label? }`.
pub(crate) fn constructor(lua: &Lua, state: &Rc<State>) -> mlua::Result<Function> {
    let weak = Rc::downgrade(state);
    state.shim.function(lua, "agent", move |lua, args| {
        make(lua, &*State::alive(&weak)?, args)
    })
}

fn make(lua: &Lua, state: &State, mut args: Args) -> Reply {
    let options = args.options(FIELDS)?;
    let config = options.get("config")?;
    let config = config.object::<Config>(Config::NAME)?.0.clone();
    let system = options.given("system")?;
    let system = system.map(|field| field.text()).transpose()?;
    let label = options.given("label")?;
    let label = label.map(|field| read_label(&field)).transpose()?;
    let cwd = match options.given("cwd")? {
        Some(field) => PathBuf::from(field.text()?),
        None => state.embedding.cwd.clone(),
    };
    let id = options.given("session_id")?;
    let id = id.map(|field| session_id(&field)).transpose()?;
    let (store, reach, is_null) = store(lua, state, &options.get("store")?)?;

    let router = Arc::new(LocalRouter::new(Arc::clone(&state.embedding.tools)));
    let mut builder = Agent::builder(config.protocol, Model::clone(&config.model))
        .tool_choice(config.tool_choice)
        .tool_source(Arc::clone(&router) as Arc<_>)
        .tools(ToolSet::default())
        .hooks(Arc::clone(&state.embedding.hooks))
        .options(state.embedding.options);
    if let Some(system) = system {
        builder = builder.system_prompt(system);
    }
    if let Some(label) = label {
        builder = builder.label(label);
    }
    let wrap = move |agent: Agent| {
        LuaAgent::owned(Owned {
            agent: RefCell::new(Some(agent)),
            reach,
            router,
            job: RefCell::new(Weak::new()),
        })
    };
    if is_null && id.is_none() {
        return values(lua, wrap(builder.ephemeral()));
    }
    let begin = async move {
        match id {
            Some(id) => builder.open(&*store, id).await,
            None => builder.create(&*store, cwd).await,
        }
    };
    state.run(
        lua,
        reach,
        begin,
        move |lua, begun: Result<_, SessionError>| match begun {
            Ok(agent) => values(lua, wrap(agent)),
            Err(error) => Err(Fault::of(&error)),
        },
    )
}

/// What names the agent for people, on one line.
fn read_label(argument: &Arg) -> Result<String, Fault> {
    let label = argument.text()?;
    if label.is_empty() || label.len() > LONGEST_LABEL || label.contains(char::is_control) {
        return Err(argument.wrong(format!(
            "from 1 to {LONGEST_LABEL} bytes without control characters expected"
        )));
    }
    Ok(label)
}

/// The store that an argument is, how it is reached, and whether it keeps nothing.
fn store(
    lua: &Lua,
    state: &State,
    argument: &Arg,
) -> Result<(Arc<dyn SessionStore>, Reach, bool), Fault> {
    if let Value::Table(table) = &argument.value {
        let Some(stores) = &state.embedding.table_stores else {
            return Err(Fault::expected(
                "this host takes no Lua tables as stores; use panto.null_store or \
                 panto.file_system_jsonl_store",
            ));
        };
        let store = stores.adopt(lua, table.clone());
        let store = store.map_err(|message| argument.wrong(message))?;
        return Ok((store, Reach::Host, false));
    }
    let store = argument.object::<Store>(Store::NAME)?;
    match store.is_null {
        true => Ok((Arc::new(NullStore), Reach::Files, true)),
        false => Ok((Arc::clone(&store.store), store.reach, false)),
    }
}
