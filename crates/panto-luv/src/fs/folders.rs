//! What folders contain: all at once (`scandir`), or bit by bit (`opendir`).

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fs::{DirEntry, FileType, ReadDir};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{IntoLuaMulti, Lua, MultiValue, Table, Value};
use parking_lot::Mutex;

use super::{Operation, Output, Own, message, operation};
use crate::api::Api;
use crate::call::Call;
use crate::errno::UvError;
use crate::failure::Failure;
use crate::request::{self, Request, RequestKind};

/// Something in a folder.
pub(crate) struct Entry {
    name: OsString,
    kind: &'static str,
}

/// The userdata of an open folder; `None` once it is closed.
#[derive(Clone)]
pub(super) struct Folder {
    reader: Arc<Mutex<Option<ReadDir>>>,
    /// How many entries a reading gives at most.
    at_once: usize,
}

impl Entry {
    fn new(entry: &DirEntry) -> Self {
        Self {
            name: entry.file_name(),
            kind: entry.file_type().map_or("unknown", kind_of),
        }
    }

    fn name(&self, lua: &Lua) -> mlua::Result<mlua::LuaString> {
        lua.create_string(self.name.as_bytes())
    }
}

fn kind_of(file: FileType) -> &'static str {
    match file {
        _ if file.is_file() => "file",
        _ if file.is_dir() => "directory",
        _ if file.is_symlink() => "link",
        _ if file.is_fifo() => "fifo",
        _ if file.is_socket() => "socket",
        _ if file.is_char_device() => "char",
        _ if file.is_block_device() => "block",
        _ => "unknown",
    }
}

/// Entries as `readdir` gives them.
pub(super) fn list(lua: &Lua, entries: Vec<Entry>) -> mlua::Result<Table> {
    let list = lua.create_table()?;
    for entry in entries {
        let table = lua.create_table()?;
        table.raw_set("name", entry.name(lua)?)?;
        table.raw_set("type", entry.kind)?;
        list.raw_push(table)?;
    }
    Ok(list)
}

pub(super) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("fs_scandir", scandir)?;
    api.function("fs_scandir_next", |call| {
        let request = request::argument(call)?;
        let next = request.entries.borrow_mut().pop_front();
        Ok(match next {
            Some(entry) => (Some(entry.name(call.lua)?), Some(entry.kind)),
            None => (None, None),
        })
    })?;
    operation(api, "fs_opendir", |call| {
        let path = call.path(1)?;
        let at_once = match call.optional_integer(3)? {
            None => 1,
            Some(_) => call.narrow::<usize>(3)?.max(1),
        };
        let opened = path.clone();
        let open = move || {
            let reader = Arc::new(Mutex::new(Some(std::fs::read_dir(opened)?)));
            Ok(Output::Folder(Folder { reader, at_once }))
        };
        Ok(Operation::new(2, open).about(&path))
    })?;
    operation(api, "fs_readdir", |call| {
        let folder = folder(call)?;
        Ok(Operation::new(2, move || read_some(&folder)))
    })?;
    operation(api, "fs_closedir", |call| {
        let folder = folder(call)?;
        Ok(Operation::done(2, move || {
            match folder.reader.lock().take() {
                Some(_) => Ok(()),
                None => Err(UvError::named("EBADF")),
            }
        }))
    })?;
    api.class::<Folder>(
        "uv_dir_t",
        &[("readdir", "fs_readdir"), ("closedir", "fs_closedir")],
    )
}

fn folder(call: &Call<'_>) -> Result<Folder, Failure> {
    let userdata = call.userdata(1, "uv_dir")?;
    match userdata.borrow::<Folder>() {
        Ok(folder) => Ok(folder.clone()),
        Err(_) => Err(call.bad(1, "uv_dir expected, got another userdata")),
    }
}

fn read_some(folder: &Folder) -> Result<Output, UvError> {
    let mut reader = folder.reader.lock();
    let reader = reader.as_mut().ok_or_else(|| UvError::named("EBADF"))?;
    let mut entries = Vec::new();
    for entry in reader.by_ref().take(folder.at_once) {
        entries.push(Entry::new(&entry?));
    }
    Ok(if entries.is_empty() {
        Output::Nothing
    } else {
        Output::Entries(entries)
    })
}

/// All entries, by name.
fn read_all(path: &Path) -> Result<Vec<Entry>, UvError> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path)? {
        entries.push(Entry::new(&entry?));
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Unlike the others it always answers with its request, which the entries are then asked of.
fn scandir(call: &Call<'_>) -> Result<MultiValue, Failure> {
    let path = call.path(1)?;
    let subject = path.clone().into_os_string().into_vec();
    let Some(callback) = call.optional_callback(2)? else {
        let entries = read_all(&path).map_err(|error| Failure::System {
            error,
            subject: Some(subject),
        })?;
        let request = Request::new(RequestKind::Fs);
        request.entries.borrow_mut().extend(entries);
        return Ok(request.into_userdata(call.lua)?.into_lua_multi(call.lua)?);
    };
    let own: Own = Rc::new(OnceCell::new());
    let given = Rc::clone(&own);
    let request = call.uv.request(
        RequestKind::Fs,
        move || read_all(&path),
        move |uv, result| {
            let Some(lua) = uv.lua() else { return };
            let arguments = match result {
                Err(error) => message(error, Some(&subject), &lua),
                Ok(entries) => {
                    if let Some(request) =
                        own.get().and_then(|own| own.borrow::<Rc<Request>>().ok())
                    {
                        request.entries.borrow_mut().extend(entries);
                    }
                    (Value::Nil, own.get()).into_lua_multi(&lua)
                }
            };
            uv.invoke(&callback, arguments.unwrap_or_default());
        },
    )?;
    let userdata = request.into_userdata(call.lua)?;
    let userdata = given.get_or_init(|| userdata);
    Ok(userdata.into_lua_multi(call.lua)?)
}
