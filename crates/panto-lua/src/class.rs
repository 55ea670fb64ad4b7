//! The module's userdata classes: a table of methods each, all of them through the shim.

use std::rc::Rc;

use mlua::{Lua, MetaMethod, Table, UserDataFields, Value};

use crate::args::{Args, this};
use crate::fault::{Fault, Reply};
use crate::module::State;

/// A userdata type of the module.
pub(crate) trait Class: 'static + Sized {
    /// The name that messages and `tostring` show.
    const NAME: &'static str;

    /// Adds the methods.
    fn methods(methods: &Methods<'_, Self>) -> mlua::Result<()>;
}

/// Collects the methods of a class.
pub(crate) struct Methods<'a, T> {
    lua: &'a Lua,
    state: &'a Rc<State>,
    table: Table,
    class: std::marker::PhantomData<T>,
}

impl<T: Class> Methods<'_, T> {
    /// Adds a method. The object is borrowed while `body` runs, so `body` shares it.
    pub(crate) fn add(
        &self,
        name: &'static str,
        body: impl Fn(&Lua, &Rc<State>, &T, Args) -> Reply + 'static,
    ) -> mlua::Result<()> {
        let state = Rc::downgrade(self.state);
        let function = self
            .state
            .shim
            .function(self.lua, name, move |lua, mut args| {
                let this = args.this::<T>(T::NAME)?;
                body(lua, &State::alive(&state)?, &this, args)
            })?;
        self.table.raw_set(name, function)
    }

    /// Adds a method without arguments that gives one value, and makes no lists of values.
    pub(crate) fn add_lean(
        &self,
        name: &'static str,
        body: impl Fn(&Lua, &T) -> Result<Value, Fault> + 'static,
    ) -> mlua::Result<()> {
        let function = self.state.shim.lean(self.lua, move |lua, object| {
            body(lua, &*this::<T>(name, &object, T::NAME)?)
        })?;
        self.table.raw_set(name, function)
    }

    pub(crate) fn lua(&self) -> &Lua {
        self.lua
    }
}

/// Makes the methods of a class, for the objects of this Lua state.
pub(crate) fn define<T: Class>(lua: &Lua, state: &Rc<State>) -> mlua::Result<()> {
    let methods = Methods {
        lua,
        state,
        table: lua.create_table()?,
        class: std::marker::PhantomData::<T>,
    };
    T::methods(&methods)?;
    lua.set_named_registry_value(&registry_key::<T>(), methods.table)
}

/// The metatable of a class; to be called by its `UserData::add_fields`.
pub(crate) fn fields<T: Class, F: UserDataFields<T>>(fields: &mut F) {
    fields.add_meta_field(MetaMethod::Type, T::NAME);
    fields.add_meta_field_with(MetaMethod::Index, |lua| {
        lua.named_registry_value::<Table>(&registry_key::<T>())
    });
}

/// The method tables are kept under names that no other module has.
fn registry_key<T: Class>() -> String {
    format!("{} methods", T::NAME)
}
