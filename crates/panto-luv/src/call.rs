//! One call of a function of the API: its arguments, checked as they are asked for.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::rc::Rc;

use mlua::{AnyUserData, Function, Lua, MultiValue, Table, Value};

use crate::callback::Callback;
use crate::errno::UvError;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Handle, Shell};

/// A call under way. Arguments are counted from 1; what is not there is nil.
pub(crate) struct Call<'a> {
    pub(crate) uv: &'a Uv,
    pub(crate) lua: &'a Lua,
    name: &'static str,
    arguments: &'a MultiValue,
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        uv: &'a Uv,
        lua: &'a Lua,
        name: &'static str,
        arguments: &'a MultiValue,
    ) -> Self {
        Self {
            uv,
            lua,
            name,
            arguments,
        }
    }

    pub(crate) fn value(&self, position: usize) -> &Value {
        self.arguments.get(position - 1).unwrap_or(&Value::Nil)
    }

    pub(crate) fn is_nil(&self, position: usize) -> bool {
        self.value(position).is_nil()
    }

    /// All arguments from this one on.
    pub(crate) fn rest(&self, position: usize) -> impl Iterator<Item = &Value> {
        self.arguments.iter().skip(position - 1)
    }

    pub(crate) fn count(&self) -> usize {
        self.arguments.len()
    }

    /// Says that an argument is wrong, in the words of Lua's own library.
    pub(crate) fn bad(&self, position: usize, complaint: impl std::fmt::Display) -> Failure {
        Failure::Misuse(format!(
            "bad argument #{position} to '{}' ({complaint})",
            self.name
        ))
    }

    fn expected(&self, position: usize, what: &str) -> Failure {
        let got = match self.arguments.get(position - 1) {
            None => "no value",
            Some(value) => value.type_name(),
        };
        self.bad(position, format_args!("{what} expected, got {got}"))
    }

    /// A failure by its libuv name.
    pub(crate) fn system(&self, name: &str) -> Failure {
        Failure::system(UvError::named(name))
    }

    pub(crate) fn integer(&self, position: usize) -> Result<i64, Failure> {
        self.as_integer(position)
            .ok_or_else(|| self.expected(position, "integer"))
    }

    /// An integer, if the argument can be read as one.
    pub(crate) fn as_integer(&self, position: usize) -> Option<i64> {
        match self.value(position) {
            Value::Nil | Value::Boolean(_) => None,
            value => self.lua.coerce_integer(value.clone()).ok().flatten(),
        }
    }

    pub(crate) fn optional_integer(&self, position: usize) -> Result<Option<i64>, Failure> {
        if self.is_nil(position) {
            return Ok(None);
        }
        self.integer(position).map(Some)
    }

    /// An integer of a narrower type.
    pub(crate) fn narrow<T: TryFrom<i64>>(&self, position: usize) -> Result<T, Failure> {
        T::try_from(self.integer(position)?).map_err(|_| self.bad(position, "out of range"))
    }

    pub(crate) fn boolean(&self, position: usize) -> Result<bool, Failure> {
        match self.value(position) {
            Value::Boolean(value) => Ok(*value),
            _ => Err(self.expected(position, "boolean")),
        }
    }

    /// As Lua judges truth.
    pub(crate) fn truth(&self, position: usize) -> bool {
        !matches!(self.value(position), Value::Nil | Value::Boolean(false))
    }

    pub(crate) fn bytes(&self, position: usize) -> Result<Vec<u8>, Failure> {
        self.as_bytes(position)
            .ok_or_else(|| self.expected(position, "string"))
    }

    fn as_bytes(&self, position: usize) -> Option<Vec<u8>> {
        match self.value(position) {
            value @ (Value::String(_) | Value::Integer(_) | Value::Number(_)) => {
                let text = self.lua.coerce_string(value.clone()).ok()??;
                Some(text.as_bytes().to_vec())
            }
            _ => None,
        }
    }

    /// Text that is compared with names; what is not UTF-8 is none of them.
    pub(crate) fn text(&self, position: usize) -> Result<String, Failure> {
        let bytes = self.bytes(position)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(crate) fn optional_text(&self, position: usize) -> Result<Option<String>, Failure> {
        if self.is_nil(position) {
            return Ok(None);
        }
        self.text(position).map(Some)
    }

    /// A string for the system, which ends at a zero byte.
    pub(crate) fn os_string(&self, position: usize) -> Result<OsString, Failure> {
        Ok(OsString::from_vec(self.bytes(position)?))
    }

    pub(crate) fn path(&self, position: usize) -> Result<PathBuf, Failure> {
        self.os_string(position).map(PathBuf::from)
    }

    /// Data to write: a string, or a list of strings.
    pub(crate) fn buffer(&self, position: usize) -> Result<Vec<u8>, Failure> {
        let Value::Table(list) = self.value(position) else {
            return self.as_bytes(position).ok_or_else(|| {
                self.expected(position, "data must be string or table of strings, string")
            });
        };
        let mut data = Vec::new();
        for (index, part) in list.sequence_values::<Value>().enumerate() {
            let text = part
                .ok()
                .filter(|part| {
                    matches!(
                        part,
                        Value::String(_) | Value::Integer(_) | Value::Number(_)
                    )
                })
                .and_then(|part| self.lua.coerce_string(part).ok().flatten());
            let Some(text) = text else {
                let index = index + 1;
                return Err(self.bad(position, format_args!("expected a string at index {index}")));
            };
            data.extend_from_slice(&text.as_bytes());
        }
        Ok(data)
    }

    pub(crate) fn optional_table(&self, position: usize) -> Result<Option<&Table>, Failure> {
        match self.value(position) {
            Value::Nil => Ok(None),
            Value::Table(table) => Ok(Some(table)),
            _ => Err(self.expected(position, "table")),
        }
    }

    /// A function, or what can be called like one.
    pub(crate) fn function(&self, position: usize) -> Result<Function, Failure> {
        let expected = || self.expected(position, "function");
        let callable = match self.value(position) {
            Value::Function(function) => return Ok(function.clone()),
            Value::Table(table) => table
                .metatable()
                .is_some_and(|meta| meta.contains_key("__call").unwrap_or(false)),
            Value::UserData(userdata) => userdata
                .metatable()
                .is_ok_and(|meta| meta.contains("__call").unwrap_or(false)),
            _ => false,
        };
        if !callable {
            return Err(expected());
        }
        Ok(self.uv.callable().call(self.value(position).clone())?)
    }

    /// A function to be called later, with what is ambient now.
    pub(crate) fn callback(&self, position: usize) -> Result<Callback, Failure> {
        let function = self.function(position)?;
        let context = self.uv.door().context.as_ref();
        let token = context.map(|context| context.capture(self.lua));
        Ok(Callback::new(function, token, self.name))
    }

    pub(crate) fn optional_callback(&self, position: usize) -> Result<Option<Callback>, Failure> {
        if self.is_nil(position) {
            return Ok(None);
        }
        self.callback(position).map(Some)
    }

    pub(crate) fn userdata(&self, position: usize, what: &str) -> Result<&AnyUserData, Failure> {
        match self.value(position) {
            Value::UserData(userdata) => Ok(userdata),
            _ => Err(self.expected(position, what)),
        }
    }

    /// A handle of any kind.
    pub(crate) fn any_handle(&self, position: usize) -> Result<Rc<dyn Handle>, Failure> {
        let userdata = self.userdata(position, "uv_handle")?;
        self.uv
            .handles()
            .unwrap(userdata)
            .ok_or_else(|| self.expected(position, "uv_handle"))
    }

    /// A handle of one kind.
    pub(crate) fn handle<T: Handle>(&self, position: usize, what: &str) -> Result<Rc<T>, Failure> {
        let userdata = self.userdata(position, what)?;
        match userdata.borrow::<Shell<T>>() {
            Ok(shell) => Ok(Rc::clone(&shell.0)),
            Err(_) => Err(self.expected(position, what)),
        }
    }

    /// A handle of one kind that is not closing: nothing can be started on one that is.
    pub(crate) fn open_handle<T: Handle>(
        &self,
        position: usize,
        what: &str,
    ) -> Result<Rc<T>, Failure> {
        let handle = self.handle::<T>(position, what)?;
        if handle.base().is_closing() {
            return Err(self.system("EINVAL"));
        }
        Ok(handle)
    }

    /// Takes a new handle in, and answers with its userdata.
    pub(crate) fn adopt<T: Handle>(&self, handle: T) -> Result<AnyUserData, Failure> {
        Ok(self.uv.handles().adopt(self.lua, Rc::new(handle))?)
    }
}
