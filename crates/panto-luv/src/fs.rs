//! Files and folders. Every operation is written once, as a closure for any thread, and runs at once or, if a callback is
//! given, on the thread pool.

use std::cell::OnceCell;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use mlua::{AnyUserData, IntoLuaMulti, Lua, MultiValue, Value};

use crate::api::Api;
use crate::call::Call;
use crate::errno::UvError;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::request::RequestKind;

mod copy;
mod files;
mod folders;
mod metadata;
mod paths;
mod stat;
mod temporary;

pub(crate) use folders::Entry;
pub(crate) use stat::{Follow, Stat};

/// An operation with all that it needs.
struct Operation {
    run: Box<dyn FnOnce() -> Result<Output, UvError> + Send>,
    /// What a message about its failure ends with.
    subject: Option<Vec<u8>>,
    /// Which argument is the callback.
    callback: usize,
}

/// What an operation gives.
enum Output {
    /// It is done.
    Done,
    Nothing,
    Answer(bool),
    Integer(i64),
    Bytes(Vec<u8>),
    /// A descriptor for Lua to have, and the path that was chosen for it.
    File(OwnedFd, Option<Vec<u8>>),
    Stat(Box<Stat>),
    StatFs(stat::StatFs),
    Folder(folders::Folder),
    Entries(Vec<Entry>),
}

impl Operation {
    fn new(
        callback: usize,
        run: impl FnOnce() -> Result<Output, UvError> + Send + 'static,
    ) -> Self {
        Self {
            run: Box::new(run),
            subject: None,
            callback,
        }
    }

    /// An operation that gives nothing but its success.
    fn done(callback: usize, run: impl FnOnce() -> Result<(), UvError> + Send + 'static) -> Self {
        Self::new(callback, move || run().map(|()| Output::Done))
    }

    fn about(mut self, path: &Path) -> Self {
        self.subject = Some(path.as_os_str().as_bytes().to_vec());
        self
    }

    fn about_both(mut self, from: &Path, to: &Path) -> Self {
        let parts = [from.as_os_str().as_bytes(), to.as_os_str().as_bytes()];
        self.subject = Some(parts.join(&b" -> "[..]));
        self
    }
}

impl Output {
    fn into_lua(self, uv: &Uv, lua: &Lua) -> mlua::Result<MultiValue> {
        match self {
            Self::Done => true.into_lua_multi(lua),
            Self::Nothing => Value::Nil.into_lua_multi(lua),
            Self::Answer(answer) => answer.into_lua_multi(lua),
            Self::Integer(number) => number.into_lua_multi(lua),
            Self::Bytes(bytes) => lua.create_string(bytes)?.into_lua_multi(lua),
            Self::File(fd, None) => uv.descriptors().lend(fd).into_lua_multi(lua),
            Self::File(fd, Some(path)) => {
                let path = lua.create_string(path)?;
                (uv.descriptors().lend(fd), path).into_lua_multi(lua)
            }
            Self::Stat(stat) => stat.to_table(lua)?.into_lua_multi(lua),
            Self::StatFs(stat) => stat.into_table(lua)?.into_lua_multi(lua),
            Self::Folder(folder) => lua.create_any_userdata(folder)?.into_lua_multi(lua),
            Self::Entries(entries) => folders::list(lua, entries)?.into_lua_multi(lua),
        }
    }
}

/// Adds a function for an operation.
fn operation(
    api: &mut Api<'_>,
    name: &'static str,
    read: impl Fn(&Call<'_>) -> Result<Operation, Failure> + 'static,
) -> mlua::Result<()> {
    api.function(name, move |call| perform(call, read(call)?))
}

/// Runs an operation at once, or has it run if there is a callback.
fn perform(call: &Call<'_>, operation: Operation) -> Result<MultiValue, Failure> {
    let Operation {
        run,
        subject,
        callback,
    } = operation;
    let Some(callback) = call.optional_callback(callback)? else {
        return match run() {
            Ok(output) => Ok(output.into_lua(call.uv, call.lua)?),
            Err(error) => Err(Failure::System { error, subject }),
        };
    };
    let request = call.uv.request(RequestKind::Fs, run, move |uv, result| {
        let Some(lua) = uv.lua() else { return };
        let arguments = match result {
            Ok(output) => output.into_lua(uv, &lua).map(|mut results| {
                results.push_front(Value::Nil);
                results
            }),
            Err(error) => message(error, subject.as_deref(), &lua),
        };
        // What fails here is only the making of a value: the state is out of memory.
        uv.invoke(&callback, arguments.unwrap_or_default());
    })?;
    Ok(request.into_userdata(call.lua)?.into_lua_multi(call.lua)?)
}

/// What a callback gets for a failure.
fn message(error: UvError, subject: Option<&[u8]>, lua: &Lua) -> mlua::Result<MultiValue> {
    let mut message = error.message().into_bytes();
    if let Some(subject) = subject {
        message.extend_from_slice(b": ");
        message.extend_from_slice(subject);
    }
    lua.create_string(message)?.into_lua_multi(lua)
}

/// The userdata of a request that its own callback gets.
type Own = Rc<OnceCell<AnyUserData>>;

/// Which of two positions has the callback: the first if nothing follows what may be left out.
fn callback_after_optional(call: &Call<'_>, optional: usize) -> usize {
    let left_out = call.is_nil(optional + 1) && call.function(optional).is_ok();
    if left_out { optional } else { optional + 1 }
}

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    files::register(api)?;
    paths::register(api)?;
    temporary::register(api)?;
    folders::register(api)?;
    metadata::register(api)?;
    copy::register(api)
}
