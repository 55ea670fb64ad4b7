//! What extensions register: tools, protocols and listeners. Commands are in `commands`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use mlua::{Lua, Value};
use panto_lua::{Arg, Args, Fault, Reply, values};

use super::events::NAMES;
use super::shared::{Listener, Owner, Shared};
use crate::extensions::{Diagnostic, LayerName};
use crate::nearest::distance;

/// `register_tool{ name, description, schema, handler }`.
pub(super) fn register_tool(
    shared: &Rc<Shared>,
    owner: &Owner,
    lua: &Lua,
    mut args: Args,
) -> Reply {
    let argument = args.next("tool");
    shared.register_tool(owner, argument)?;
    values(lua, ())
}

/// `register_protocol{ name, open, … }`.
pub(super) fn register_protocol(
    shared: &Rc<Shared>,
    owner: &Owner,
    lua: &Lua,
    mut args: Args,
) -> Reply {
    let owner = shared.acting(owner);
    let argument = args.next("protocol");
    if let Ok(Value::String(name)) = argument.table()?.raw_get("name") {
        let name = name.to_string_lossy();
        if shared.options.models.has_protocol(&name) {
            return Err(argument.wrong(format_args!("the protocol `{name}` is panto's own")));
        }
    }
    let name = shared.handle.register_protocol(&owner, argument)?;
    shared.protocol_owners.borrow_mut().insert(name, owner);
    values(lua, ())
}

/// `unregister(kind, name)`: gives whether the caller had registered it.
pub(super) fn unregister(shared: &Rc<Shared>, owner: &Owner, lua: &Lua, mut args: Args) -> Reply {
    let kind = args.next("kind");
    let name = args.next("name").text()?;
    let owner = shared.acting(owner);
    let was_there = match kind.text()?.as_str() {
        "tool" => {
            let was_there = shared.handle.unregister_tool(&owner, &name);
            if was_there {
                shared.tool_owners.borrow_mut().remove(&name);
            }
            was_there
        }
        "protocol" => {
            let was_there = shared.handle.unregister_protocol(&owner, &name);
            if was_there {
                shared.protocol_owners.borrow_mut().remove(&name);
            }
            was_there
        }
        "command" => shared.remove_command(&owner, &name),
        _ => return Err(kind.wrong("`tool`, `command` or `protocol` expected")),
    };
    values(lua, was_there)
}

/// `on(name, handler)`: subscribes, behind those who did before.
pub(super) fn on(shared: &Rc<Shared>, owner: &Owner, lua: &Lua, mut args: Args) -> Reply {
    let name = args.next("name").text()?;
    let function = args.next("handler").function()?.clone();
    let meant = || NAMES.iter().find(|known| distance(known, &name) <= 2);
    if name.len() >= 6
        && !NAMES.contains(&name.as_str())
        && let Some(meant) = meant()
    {
        let message = format!(
            "it listens to `{name}`, which is no event of panto's own; did you mean `{meant}`?"
        );
        shared.say(Diagnostic::warning(message).of(&*shared.acting(owner)));
    }
    let listener = Listener {
        owner: shared.acting(owner),
        function,
    };
    let mut listeners = shared.listeners.borrow_mut();
    listeners.entry(name.clone()).or_default().push(listener);
    drop(listeners);
    shared.hooks_changed(&name);
    values(lua, ())
}

impl Shared {
    /// Whom a call counts for: an extension, or the one that is being activated when a module
    /// acts for it.
    pub(super) fn acting(&self, owner: &Owner) -> Owner {
        let active = self.active.borrow();
        match &*active {
            Some(active) if &**owner == super::shared::NOBODY => Rc::clone(active),
            _ => Rc::clone(owner),
        }
    }

    pub(super) fn register_tool(&self, owner: &Owner, argument: Arg) -> Result<(), Fault> {
        let owner = self.acting(owner);
        let (declaration, handler) = self.module.tool(argument)?;
        let name = declaration.name.to_string();
        self.handle
            .register_tool(&owner, declaration, handler)
            .map_err(|error| {
                Fault::misuse(match self.shipped_by(&name) {
                    Some(other) => format!(
                        "{error}; panto ships it: an extension named `{other}` takes its place"
                    ),
                    None => error.to_string(),
                })
            })?;
        self.tool_owners.borrow_mut().insert(name, owner);
        self.refresh_tools();
        Ok(())
    }

    /// The extension that ships the tool, if panto does.
    fn shipped_by(&self, tool: &str) -> Option<Owner> {
        let owner = self.tool_owners.borrow().get(tool).cloned()?;
        let layer = self.layers.borrow().get(&*owner).copied();
        (layer == Some(LayerName::Base)).then_some(owner)
    }

    /// Takes back everything that an extension registered.
    pub(super) fn forget(&self, owner: &Owner) {
        let own = |owners: &RefCell<BTreeMap<String, Owner>>| -> Vec<String> {
            let mut owners = owners.borrow_mut();
            let own = owners.extract_if(.., |_, other| other == owner);
            own.map(|(name, _)| name).collect()
        };
        // Nothing is borrowed while the runtime lets go of functions.
        for name in own(&self.tool_owners) {
            self.handle.unregister_tool(owner, &name);
        }
        for name in own(&self.protocol_owners) {
            self.handle.unregister_protocol(owner, &name);
        }
        let commands: Vec<_> = self.commands.borrow().keys().cloned().collect();
        for name in commands {
            self.remove_command(owner, &name);
        }
        for listeners in self.listeners.borrow_mut().values_mut() {
            listeners.retain(|listener| listener.owner != *owner);
        }
        self.sections
            .borrow_mut()
            .retain(|_, section| section.owner != *owner);
        self.prompt_changed();
    }
}
