//! Fs event handles: what happens to a path, as the system tells it.
//!
//! All handles of a loop share one inotify descriptor, of which a user has few. Two that watch the same file share its
//! watch, too. Elsewhere than on Linux starting one fails with `ENOSYS`.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;

use crate::api::Api;
use crate::call::Call;
use crate::callback::Callback;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Base, Handle, Kind};

#[cfg(target_os = "linux")]
mod inotify;
#[cfg(target_os = "linux")]
pub(crate) use inotify::Watches;

/// A watcher of one path.
pub(crate) struct FsEvent {
    base: Base,
    path: RefCell<PathBuf>,
    callback: RefCell<Option<Callback>>,
    /// The watch that it has a part in.
    watch: Cell<Option<i32>>,
}

impl Handle for FsEvent {
    fn base(&self) -> &Base {
        &self.base
    }

    fn shut(&self, uv: &Uv) {
        self.stop(uv);
    }
}

impl FsEvent {
    fn stop(&self, uv: &Uv) {
        if let Some(watch) = self.watch.take() {
            uv.watches().remove(watch, self.base.id());
        }
        self.callback.take();
        self.base.set_active(uv, false);
    }
}

const WHAT: &str = "uv_fs_event";

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_fs_event", |call| {
        call.adopt(FsEvent {
            base: Base::new(Kind::FsEvent),
            path: RefCell::default(),
            callback: RefCell::new(None),
            watch: Cell::new(None),
        })
    })?;
    api.function("fs_event_start", start)?;
    api.function("fs_event_stop", |call| {
        call.handle::<FsEvent>(1, WHAT)?.stop(call.uv);
        Ok(0)
    })?;
    api.function("fs_event_getpath", |call| {
        let handle = call.handle::<FsEvent>(1, WHAT)?;
        if !handle.base.is_active() {
            return Err(call.system("EINVAL"));
        }
        let path = handle.path.borrow();
        let path = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
        Ok(call.lua.create_string(path)?)
    })?;
    api.handle::<FsEvent>(
        "uv_fs_event_t",
        &[
            ("start", "fs_event_start"),
            ("stop", "fs_event_stop"),
            ("getpath", "fs_event_getpath"),
        ],
    )
}

fn start(call: &Call<'_>) -> Result<i64, Failure> {
    let handle = call.open_handle::<FsEvent>(1, WHAT)?;
    let path = call.path(2)?;
    // Its flags mean nothing to libuv on Linux either.
    call.optional_table(3)?;
    let callback = call.callback(4)?;
    if handle.base.is_active() {
        return Err(call.system("EINVAL"));
    }
    let watch = call.uv.watches().add(call.uv, &path, handle.base.id())?;
    handle.watch.set(Some(watch));
    handle.path.replace(path);
    handle.callback.replace(Some(callback));
    handle.base.set_active(call.uv, true);
    Ok(0)
}

/// Stands for the watches where there are none.
#[cfg(not(target_os = "linux"))]
#[derive(Default)]
pub(crate) struct Watches;

#[cfg(not(target_os = "linux"))]
impl Watches {
    fn add(&self, _: &Uv, _: &std::path::Path, _: u64) -> Result<i32, Failure> {
        Err(crate::errno::UvError::named("ENOSYS").into())
    }

    fn remove(&self, _: i32, _: u64) {}
}
