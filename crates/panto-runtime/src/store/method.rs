//! The methods of a store, and what a call of one may come to.

use mlua::{IntoLua, Lua, MultiValue, Table, Value};
use panto_lua::Json;
use pantograph::session::SessionError;

use crate::entry::MUST_NOT_WAIT;
use crate::executor::Executor;
use crate::failure::named;

/// What a table does as a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Create,
    Load,
    Append,
    List,
    Resolve,
    Latest,
    ListBounded,
    LoadMessages,
}

impl Method {
    /// What a table must have to be a store.
    pub(super) const REQUIRED: [Self; 6] = [
        Self::Create,
        Self::Load,
        Self::Append,
        Self::List,
        Self::Resolve,
        Self::Latest,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Load => "load",
            Self::Append => "append",
            Self::List => "list",
            Self::Resolve => "resolve",
            Self::Latest => "latest",
            Self::ListBounded => "list_bounded",
            Self::LoadMessages => "load_messages",
        }
    }

    /// The names of those that a store must have, for a message.
    pub(super) fn list_of_required() -> String {
        Self::REQUIRED
            .map(|it| format!("`{}`", it.name()))
            .join(", ")
    }

    /// The failure of a call, which `what` tells of.
    pub(super) fn failed(self, what: impl std::fmt::Display) -> SessionError {
        SessionError::Store(format!("its `{}` {what}", self.name()))
    }

    /// It gave something else than it should.
    pub(super) fn gave(self, what: impl std::fmt::Display) -> SessionError {
        self.failed(format_args!("gave {what}"))
    }

    pub(super) fn gone(self) -> SessionError {
        self.failed("was not called: the Lua state is gone")
    }

    /// Its arguments could not be made.
    pub(super) fn unasked(self, error: &mlua::Error) -> SessionError {
        self.failed(format_args!("was not called: {error}"))
    }
}

/// What a method gave that neither raised nor gave `nil, message`.
pub(super) enum Answer {
    /// There is no such method.
    Absent,
    /// It returned, and gave no value at all.
    Nothing,
    /// nil, or false, and no message.
    Nil,
    Value(Value),
}

/// A store's table on the owner thread.
pub(super) struct OnOwner<'a> {
    executor: &'a Executor,
    pub(super) lua: &'a Lua,
    store: Table,
    pub(super) json: &'a Json,
}

impl<'a> OnOwner<'a> {
    pub(super) fn new(executor: &'a Executor, lua: &'a Lua, key: usize) -> Option<Self> {
        Some(Self {
            executor,
            lua,
            store: executor.stores.table(key)?,
            json: executor.module.json(),
        })
    }

    pub(super) fn arguments<T: IntoLua>(
        &self,
        values: impl IntoIterator<Item = T>,
    ) -> mlua::Result<MultiValue> {
        let values = values.into_iter().map(|value| value.into_lua(self.lua));
        values.collect()
    }

    /// Calls a method, to its end.
    pub(super) fn call(
        &self,
        method: Method,
        mut arguments: MultiValue,
    ) -> Result<Answer, SessionError> {
        let name = self.lua.create_string(method.name());
        let name = name.map_err(|error| method.unasked(&error))?;
        arguments.push_front(Value::String(name));
        arguments.push_front(Value::Table(self.store.clone()));
        let stores = &self.executor.stores;
        let what = format!("`{}` of a session store", method.name());
        let called = self.executor.call(self.lua, &what, &stores.call, arguments);
        let mut values = called.map_err(|failure| {
            // Its author wants to know where.
            self.executor.reports.error(&failure);
            match failure.message.ends_with(MUST_NOT_WAIT) {
                true => method.failed(MUST_NOT_WAIT),
                false => method.failed(format_args!("raised an error: {}", failure.message)),
            }
        })?;
        let Some(value) = values.pop_front() else {
            return Ok(Answer::Nothing);
        };
        match value {
            Value::Nil | Value::Boolean(false) => match values.pop_front() {
                None | Some(Value::Nil) => Ok(Answer::Nil),
                Some(Value::String(message)) => {
                    Err(method.failed(format_args!("failed: {}", message.to_string_lossy())))
                }
                Some(other) => Err(method.gave(format_args!(
                    "nil, and {} where a message belongs",
                    a(&other)
                ))),
            },
            Value::Table(table) if table == stores.absent => Ok(Answer::Absent),
            value => Ok(Answer::Value(value)),
        }
    }

    /// Calls a method that gives nothing of use.
    pub(super) fn run(&self, method: Method, arguments: MultiValue) -> Result<(), SessionError> {
        match self.call(method, arguments)? {
            Answer::Nothing | Answer::Value(_) => Ok(()),
            Answer::Nil => Err(method.gave("nil without a message")),
            Answer::Absent => Err(method.failed("is gone from the table")),
        }
    }
}

/// A value's type, for a message.
pub(super) fn a(value: &Value) -> String {
    match value {
        Value::Nil => "nil".to_owned(),
        value if value.is_null() => "`json.null`".to_owned(),
        other => named(other),
    }
}
