//! How functions come into the module: each is wrapped so that misuse is raised as a plain string at its caller.

use std::ffi::c_void;

use mlua::{Function, IntoLuaMulti, LightUserData, Lua, MultiValue, Table, Value};

use crate::call::Call;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{self, Handle, Shell};

/// The module as it is being built.
pub(crate) struct Api<'a> {
    pub(crate) lua: &'a Lua,
    pub(crate) uv: &'a Uv,
    module: Table,
    guarded: Function,
}

static MARKER: u8 = 0;

/// What a function answers first if what follows is to be raised. No value of Lua's is equal to it.
pub(crate) fn fail_marker() -> Value {
    let address = std::ptr::addr_of!(MARKER).cast_mut().cast::<c_void>();
    Value::LightUserData(LightUserData(address))
}

impl<'a> Api<'a> {
    pub(crate) fn new(lua: &'a Lua, uv: &'a Uv, guarded: Function) -> mlua::Result<Self> {
        Ok(Self {
            lua,
            uv,
            module: lua.create_table()?,
            guarded,
        })
    }

    pub(crate) fn into_module(self) -> Table {
        self.module
    }

    /// Adds a function.
    pub(crate) fn function<R: IntoLuaMulti>(
        &mut self,
        name: &'static str,
        body: impl Fn(&Call<'_>) -> Result<R, Failure> + 'static,
    ) -> mlua::Result<()> {
        let guarded = self.wrap(name, body)?;
        self.module.raw_set(name, guarded)
    }

    /// Makes a function that is in no table.
    pub(crate) fn wrap<R: IntoLuaMulti>(
        &self,
        name: &'static str,
        body: impl Fn(&Call<'_>) -> Result<R, Failure> + 'static,
    ) -> mlua::Result<Function> {
        let uv = self.uv.clone();
        let function = self
            .lua
            .create_function(move |lua, arguments: MultiValue| {
                let call = Call::new(&uv, lua, name, &arguments);
                match body(&call) {
                    Ok(result) => result.into_lua_multi(lua),
                    Err(failure) => answer(lua, failure),
                }
            })?;
        self.guarded.call(function)
    }

    /// Adds what is no function.
    pub(crate) fn value(&mut self, name: &str, value: impl mlua::IntoLua) -> mlua::Result<()> {
        self.module.raw_set(name, value)
    }

    /// Declares a kind of handle with its methods, each a name and the function of the module that it is.
    pub(crate) fn handle<T: Handle>(
        &mut self,
        type_name: &'static str,
        methods: &[(&str, &str)],
    ) -> mlua::Result<()> {
        self.uv.handles().know::<T>();
        let all: Vec<_> = handle::METHODS.iter().chain(methods).copied().collect();
        self.class::<Shell<T>>(type_name, &all)
    }

    /// Declares a type of userdata with its methods.
    pub(crate) fn class<T: 'static>(
        &mut self,
        type_name: &'static str,
        methods: &[(&str, &str)],
    ) -> mlua::Result<()> {
        let index = self.lua.create_table()?;
        for (method, function) in methods {
            let function: Function = self.module.raw_get(*function)?;
            index.raw_set(*method, function)?;
        }
        self.lua.register_userdata_type::<T>(|registry| {
            use mlua::{MetaMethod, UserDataFields, UserDataMethods};
            registry.add_meta_field(MetaMethod::Index.name(), index);
            registry.add_meta_field(MetaMethod::Type.name(), type_name);
            registry.add_meta_function(
                MetaMethod::ToString.name(),
                move |_, this: mlua::AnyUserData| {
                    Ok(format!("{type_name}: {:p}", this.to_pointer()))
                },
            );
        })
    }
}

/// What Lua gets for a failure.
fn answer(lua: &Lua, failure: Failure) -> mlua::Result<MultiValue> {
    match failure {
        Failure::Misuse(message) => (fail_marker(), message, 2).into_lua_multi(lua),
        Failure::Raised(message) => (fail_marker(), message, 0).into_lua_multi(lua),
        Failure::Refused(message) => (Value::Nil, message).into_lua_multi(lua),
        Failure::System { error, subject } => {
            let mut message = error.message().into_bytes();
            if let Some(subject) = subject {
                message.extend_from_slice(b": ");
                message.extend_from_slice(&subject);
            }
            (Value::Nil, lua.create_string(message)?, error.name()).into_lua_multi(lua)
        }
    }
}
