//! The watches of a loop, over one inotify descriptor that is there while any watch is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use mlua::Value;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::FsEvent;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Handle, Shell};
use crate::poll;
use crate::tasks::TaskGuard;

/// The watches of a loop.
#[derive(Default)]
pub(crate) struct Watches(RefCell<State>);

#[derive(Default)]
struct State {
    fd: Option<Rc<AsyncFd<OwnedFd>>>,
    task: Option<TaskGuard>,
    /// The handles that have a part in each watch, by their ids.
    parts: HashMap<i32, Vec<u64>>,
}

/// Something that happened to what a watch is on.
struct Event {
    watch: i32,
    flags: ReadFlags,
    name: Option<Vec<u8>>,
}

impl Watches {
    pub(super) fn add(&self, uv: &Uv, path: &Path, handle: u64) -> Result<i32, Failure> {
        let known = self.0.borrow().fd.clone();
        let (fd, is_new) = match known {
            Some(fd) => (fd, false),
            None => {
                let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
                (Rc::new(poll::register_fd(uv, fd)?), true)
            }
        };
        let wanted = WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO;
        let watch = inotify::add_watch(fd.as_ref(), path, wanted)?;
        let mut state = self.0.borrow_mut();
        state.parts.entry(watch).or_default().push(handle);
        if is_new {
            state.fd = Some(fd);
            drop(state);
            self.listen(uv);
        }
        Ok(watch)
    }

    pub(super) fn remove(&self, watch: i32, handle: u64) {
        let mut state = self.0.borrow_mut();
        let Some(parts) = state.parts.get_mut(&watch) else {
            return;
        };
        parts.retain(|part| *part != handle);
        if !parts.is_empty() {
            return;
        }
        state.parts.remove(&watch);
        if let Some(fd) = &state.fd {
            // It may be gone with its file.
            let _ = inotify::remove_watch(fd.as_ref(), watch);
        }
        if state.parts.is_empty() {
            state.task = None;
            state.fd = None;
        }
    }

    fn listen(&self, uv: &Uv) {
        let Some(fd) = self.0.borrow().fd.clone() else {
            return;
        };
        let queue = Rc::clone(uv.queue());
        let task = uv.tasks().spawn(async move {
            if fd.ready(Interest::READABLE).await.is_ok() {
                queue.push(visit);
            }
        });
        self.0.borrow_mut().task = Some(task);
        uv.queue().inbox.ring();
    }

    fn parts_of(&self, watch: i32) -> Vec<u64> {
        let state = self.0.borrow();
        state.parts.get(&watch).cloned().unwrap_or_default()
    }
}

fn visit(uv: &Uv) {
    let Some(fd) = uv.watches().0.borrow().fd.clone() else {
        return;
    };
    for event in read_all(&fd) {
        // The watch is gone; whoever had a part in it hears nothing more, as it heard of the deletion.
        if event.flags.contains(ReadFlags::IGNORED) {
            continue;
        }
        for id in uv.watches().parts_of(event.watch) {
            tell(uv, id, &event);
        }
    }
    uv.watches().listen(uv);
}

/// Everything that there is to read, so that tokio waits for more.
fn read_all(fd: &AsyncFd<OwnedFd>) -> Vec<Event> {
    let mut events = Vec::new();
    let mut room = [MaybeUninit::uninit(); 4096];
    loop {
        let more = fd.try_io(Interest::READABLE, |fd| -> io::Result<()> {
            let mut reader = Reader::new(fd, &mut room);
            loop {
                let event = reader.next()?;
                events.push(Event {
                    watch: event.wd(),
                    flags: event.events(),
                    name: event.file_name().map(|name| name.to_bytes().to_vec()),
                });
            }
        });
        match more {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return events,
        }
    }
}

fn tell(uv: &Uv, id: u64, event: &Event) {
    let Some(userdata) = uv.handles().userdata(id) else {
        return;
    };
    let Ok(handle) = userdata
        .borrow::<Shell<FsEvent>>()
        .map(|shell| Rc::clone(&shell.0))
    else {
        return;
    };
    // An earlier callback may have stopped it.
    if handle.watch.get() != Some(event.watch) || handle.base().is_closing() {
        return;
    }
    let callback = handle.callback.borrow().clone();
    let (Some(callback), Some(lua)) = (callback, uv.lua()) else {
        return;
    };
    let name = match &event.name {
        Some(name) => name.clone(),
        None => {
            let path = handle.path.borrow();
            path.file_name()
                .unwrap_or(path.as_os_str())
                .as_bytes()
                .to_vec()
        }
    };
    let changed = ReadFlags::ATTRIB | ReadFlags::MODIFY;
    let kinds = lua.create_table().and_then(|kinds| {
        if event.flags.intersects(changed) {
            kinds.raw_set("change", true)?;
        }
        if event.flags.intersects(!changed - ReadFlags::ISDIR) {
            kinds.raw_set("rename", true)?;
        }
        Ok(kinds)
    });
    uv.invoke(
        &callback,
        (Value::Nil, mlua::BString::from(name), kinds.ok()),
    );
}
