//! The frame below every handler: it calls the handler, and reports its end from inside the
//! coroutine, whoever resumes that last.
//!
//! All of it is one C function with a continuation. A Lua function that calls `xpcall` would need
//! a frame more and twice the stack, which is most of what a parked handler weighs.
//!
//! At the bottom of the frame lies the handler's context, to be closed: when somebody closes the
//! coroutine, that is how the call hears of it. So a context is alive, and its address its own,
//! until its handler has ended.
#![allow(
    unsafe_code,
    reason = "a protected call that may be yielded across is only in Lua's C API"
)]

use std::ffi::{c_int, c_void};
use std::ptr::null;

use mlua::ffi::{self, lua_State};
use mlua::{Function, IntoLuaMulti, LightUserData, Lua, Table, Thread};

/// Names the context of a handler that has not ended: by its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ContextId(usize);

impl ContextId {
    pub(crate) fn of(context: &Table) -> Self {
        Self(context.to_pointer() as usize)
    }

    /// What [`Callbacks`] get.
    pub(crate) fn at(address: LightUserData) -> Self {
        Self(address.0 as usize)
    }
}

/// What the frame calls.
pub(crate) struct Callbacks {
    /// Takes the context's address, whether the handler returned, and what it returned or raised.
    pub(crate) ended: Function,
    /// Takes the context's address: somebody has closed the coroutine.
    pub(crate) closed: Function,
    /// Takes what was raised, where it was raised; gives what `ended` is to get.
    pub(crate) on_error: Function,
    /// The `__index` of contexts.
    pub(crate) index: Function,
}

/// Makes coroutines of handlers.
pub(crate) struct Frame {
    body: Function,
    /// That of all contexts.
    metatable: Table,
}

impl Frame {
    pub(crate) fn new(lua: &Lua, callbacks: Callbacks) -> mlua::Result<Self> {
        // SAFETY: each takes the upvalues that are pushed as arguments, and leaves the closure.
        let (body, close) = unsafe {
            (
                lua.exec_raw::<Function>((callbacks.ended, callbacks.on_error), |state| {
                    ffi::lua_pushcclosure(state, body, 2);
                })?,
                lua.exec_raw::<Function>(callbacks.closed, |state| {
                    ffi::lua_pushcclosure(state, close, 1);
                })?,
            )
        };
        let metatable = lua.create_table()?;
        metatable.raw_set("__index", callbacks.index)?;
        metatable.raw_set("__close", close)?;
        metatable.raw_set("__metatable", false)?;
        Ok(Self { body, metatable })
    }

    /// A coroutine that will call `handler` when it is first resumed, with nothing. With `names`
    /// the last argument is its context, a table that has them as `tool_call_id` and `tool_name`.
    pub(crate) fn coroutine(
        &self,
        lua: &Lua,
        handler: Function,
        arguments: impl IntoLuaMulti,
        names: Option<(&str, &str)>,
    ) -> mlua::Result<(Thread, ContextId)> {
        let mut address: *const c_void = null();
        let pushed = (&self.body, &self.metatable, handler, arguments);
        // SAFETY: the closure runs in a protected call whose stack holds what was pushed, and it
        // holds no value to drop when Lua raises an error. Values of one state are moved between
        // its coroutines, with the space that is checked.
        let thread = unsafe {
            lua.exec_raw::<Thread>(pushed, |state| {
                ffi::luaL_checkstack(state, 6, null());
                new_context(state, names);
                ffi::lua_pushvalue(state, 2);
                ffi::lua_setmetatable(state, -2);
                address = ffi::lua_topointer(state, -1);
                // It takes the place of the metatable, and stays behind the arguments of a tool.
                ffi::lua_copy(state, -1, 2);
                if names.is_none() {
                    ffi::lua_pop(state, 1);
                }
                let count = ffi::lua_gettop(state);
                let coroutine = ffi::lua_newthread(state);
                if ffi::lua_checkstack(coroutine, count) == 0 {
                    ffi::lua_pushstring(state, c"too many arguments".as_ptr());
                    ffi::lua_error(state);
                }
                ffi::lua_insert(state, 1);
                ffi::lua_xmove(state, coroutine, count);
            })?
        };
        Ok((thread, ContextId(address as usize)))
    }
}

/// Pushes a context without its metatable.
unsafe fn new_context(state: *mut lua_State, names: Option<(&str, &str)>) {
    // SAFETY: the caller has checked the stack, and runs in a protected call.
    unsafe {
        let Some((id, tool_name)) = names else {
            return ffi::lua_createtable(state, 0, 0);
        };
        ffi::lua_createtable(state, 0, 2);
        for (field, text) in [(c"tool_call_id", id), (c"tool_name", tool_name)] {
            ffi::lua_pushlstring(state, text.as_ptr().cast(), text.len());
            ffi::lua_setfield(state, -2, field.as_ptr());
        }
    }
}

/// Where things are on the stack of the frame.
const CONTEXT: c_int = 1;
const ON_ERROR: c_int = 2;

/// The body of a coroutine: context, handler, arguments.
unsafe extern "C-unwind" fn body(state: *mut lua_State) -> c_int {
    // SAFETY: `Frame::coroutine` has pushed what is expected here, and the upvalues are those of
    // `Frame::new`. No Rust value is live when Lua raises an error or yields.
    unsafe {
        ffi::lua_toclose(state, CONTEXT);
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(2));
        ffi::lua_insert(state, ON_ERROR);
        let arguments = ffi::lua_gettop(state) - ON_ERROR - 1;
        let status = ffi::lua_pcallk(
            state,
            arguments,
            ffi::LUA_MULTRET,
            ON_ERROR,
            0,
            Some(returned),
        );
        returned(state, status, 0)
    }
}

/// The handler has returned or raised; what it gave lies behind the error handler.
unsafe extern "C-unwind" fn returned(
    state: *mut lua_State,
    status: c_int,
    _: ffi::lua_KContext,
) -> c_int {
    // SAFETY: as in `body`; the space for what is pushed is checked.
    unsafe {
        ffi::luaL_checkstack(state, 3, null());
        let is_ok = status == ffi::LUA_OK || status == ffi::LUA_YIELD;
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        push_address(state);
        ffi::lua_pushboolean(state, is_ok.into());
        ffi::lua_rotate(state, ON_ERROR + 1, 3);
        ffi::lua_call(state, ffi::lua_gettop(state) - ON_ERROR - 1, 0);
    }
    0
}

/// The `__close` of contexts. At the end of the frame, or of a scope in which Lua code closes its
/// context, there is nothing to tell.
unsafe extern "C-unwind" fn close(state: *mut lua_State) -> c_int {
    // SAFETY: `ar` is written only if there is a level; the upvalue is that of `Frame::new`.
    unsafe {
        let mut ar: ffi::lua_Debug = std::mem::zeroed();
        if ffi::lua_getstack(state, 1, &mut ar) != 0 {
            return 0;
        }
        ffi::luaL_checkstack(state, 2, null());
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        push_address(state);
        ffi::lua_call(state, 1, 0);
    }
    0
}

/// Pushes the address of the context, as Rust knows it.
unsafe fn push_address(state: *mut lua_State) {
    // SAFETY: the caller has checked the stack; the address is never written through.
    unsafe { ffi::lua_pushlightuserdata(state, ffi::lua_topointer(state, CONTEXT).cast_mut()) };
}

/// `coroutine.yield`, which asks `refused` where nothing can be yielded across: when that is true,
/// it raises `message` at its caller's place instead of Lua's own words.
pub(crate) fn yield_function(
    lua: &Lua,
    refused: Function,
    message: &str,
) -> mlua::Result<Function> {
    // SAFETY: it takes the two arguments as upvalues, and leaves the closure.
    unsafe {
        lua.exec_raw((refused, message), |state| {
            ffi::lua_pushcclosure(state, yield_values, 2);
        })
    }
}

unsafe extern "C-unwind" fn yield_values(state: *mut lua_State) -> c_int {
    // SAFETY: as in Lua's own, of which this is the last frame; the upvalues are those of
    // `yield_function`, and no Rust value is live when an error is raised.
    unsafe {
        if ffi::lua_isyieldable(state) == 0 {
            ffi::luaL_checkstack(state, 3, null());
            ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
            ffi::lua_call(state, 0, 1);
            let is_refused = ffi::lua_toboolean(state, -1) != 0;
            ffi::lua_pop(state, 1);
            if is_refused {
                ffi::luaL_where(state, 1);
                ffi::lua_pushvalue(state, ffi::lua_upvalueindex(2));
                ffi::lua_concat(state, 2);
                ffi::lua_error(state);
            }
        }
        ffi::lua_yield(state, ffi::lua_gettop(state))
    }
}
