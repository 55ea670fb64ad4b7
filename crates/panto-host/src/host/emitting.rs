//! `emit`: events that extensions make up.

use std::rc::Rc;
use std::sync::Arc;

use mlua::Lua;
use panto_lua::{Args, Reply, values};

use super::events::{Event, NAMES};
use super::shared::{Out, Owner, Shared};

/// `emit(name, data?)`: tells listeners, and with data whoever reads the session.
pub(super) fn emit(shared: &Rc<Shared>, _: &Owner, lua: &Lua, mut args: Args) -> Reply {
    let argument = args.next("name");
    let name = argument.text()?;
    if NAMES.contains(&name.as_str()) && name != "agent_submission" {
        return Err(argument.wrong(format_args!("`{name}` is an event of panto's own")));
    }
    let data = match args.next("data").given() {
        Some(data) => Some(shared.module.json().argument(&data)?),
        None => None,
    };
    let name: Arc<str> = name.into();
    if let Some(data) = &data {
        // Without a session nobody reads it.
        shared.tell(Out::Custom {
            name: Arc::clone(&name),
            data: data.clone(),
        });
    }
    shared.fire(Event::custom(lua, &name, data.as_ref(), shared)?);
    values(lua, ())
}
