//! Poll handles: level-triggered readiness of any descriptor, over tokio's edge-triggered readiness.
//!
//! A poll handle never owns the descriptor that it was made for; it watches a duplicate.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::rc::Rc;

use mlua::AnyUserData;
use rustix::event::{PollFd, PollFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::api::Api;
use crate::call::Call;
use crate::callback::Callback;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Base, Handle, Kind};
use crate::raw;
use crate::tasks::TaskGuard;

/// A poll handle.
pub(crate) struct Poll {
    base: Base,
    number: RawFd,
    fd: RefCell<Option<Rc<AsyncFd<OwnedFd>>>>,
    wanted: Cell<PollFlags>,
    callback: RefCell<Option<Callback>>,
    watch: RefCell<Option<TaskGuard>>,
    /// Tells a job that was queued for an earlier start from one for this.
    generation: Cell<u64>,
}

impl Handle for Poll {
    fn base(&self) -> &Base {
        &self.base
    }

    fn shut(&self, uv: &Uv) {
        self.stop(uv);
        self.fd.take();
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.fd.borrow().is_some().then_some(self.number)
    }
}

impl Poll {
    fn stop(&self, uv: &Uv) {
        self.generation.set(self.generation.get() + 1);
        self.watch.take();
        self.callback.take();
        self.base.set_active(uv, false);
    }

    /// Waits for the descriptor, then queues a visit.
    fn watch(self: &Rc<Self>, uv: &Uv) {
        let Some(fd) = self.fd.borrow().clone() else {
            return;
        };
        let interest = interest_of(self.wanted.get());
        let generation = self.generation.get();
        let queue = Rc::clone(uv.queue());
        let poll = Rc::clone(self);
        let guard = uv.tasks().spawn(async move {
            // An error here is the runtime's end.
            if fd.ready(interest).await.is_ok() {
                queue.push(move |uv| poll.visit(uv, generation));
            }
        });
        self.watch.replace(Some(guard));
    }

    /// Calls back with what is ready now, and watches on.
    fn visit(self: &Rc<Self>, uv: &Uv, generation: u64) {
        if self.generation.get() != generation {
            return;
        }
        let callback = self.callback.borrow().clone();
        match (self.ready_now(), callback) {
            (Ok(ready), Some(callback)) if !ready.is_empty() => {
                uv.invoke(&callback, (mlua::Value::Nil, names_of(ready)));
            }
            (Err(error), Some(callback)) => {
                self.stop(uv);
                uv.invoke(&callback, (error.name(), mlua::Value::Nil));
            }
            _ => {}
        }
        if self.generation.get() == generation {
            self.watch(uv);
        }
    }

    /// What is ready of what is wanted. If nothing is, tokio is told to wait for the next edge; while
    /// anything is, its readiness stays set, which is what makes this level-triggered.
    fn ready_now(&self) -> Result<PollFlags, crate::errno::UvError> {
        let Some(fd) = self.fd.borrow().clone() else {
            return Ok(PollFlags::empty());
        };
        let mut ready = PollFlags::empty();
        for (interest, flags) in interests_of(self.wanted.get()) {
            let found = fd.try_io(interest, |fd| {
                let found = poll_once(fd, flags)?;
                if found.is_empty() {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Ok(found)
            });
            match found {
                Ok(found) => ready |= found,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(ready)
    }
}

/// Asks the system, without waiting. A descriptor in error, or hung up, is ready for all that is wanted.
fn poll_once(fd: &OwnedFd, wanted: PollFlags) -> io::Result<PollFlags> {
    let mut fds = [PollFd::new(fd, wanted)];
    let no_time = rustix::event::Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    rustix::event::poll(&mut fds, Some(&no_time))?;
    let ready = fds[0].revents();
    if ready.intersects(PollFlags::ERR | PollFlags::HUP) {
        return Ok(wanted);
    }
    Ok(ready & wanted)
}

#[cfg(target_os = "linux")]
const DISCONNECT: PollFlags = PollFlags::RDHUP;
#[cfg(not(target_os = "linux"))]
const DISCONNECT: PollFlags = PollFlags::HUP;

const LETTERS: [(char, PollFlags); 4] = [
    ('r', PollFlags::IN),
    ('w', PollFlags::OUT),
    ('d', DISCONNECT),
    ('p', PollFlags::PRI),
];

fn names_of(flags: PollFlags) -> String {
    LETTERS
        .iter()
        .filter(|(_, flag)| flags.intersects(*flag))
        .map(|(letter, _)| letter)
        .collect()
}

/// What tokio is asked for, each with what `poll` is asked for in turn.
fn interests_of(wanted: PollFlags) -> Vec<(Interest, PollFlags)> {
    let mut interests = vec![
        (Interest::READABLE, wanted & (PollFlags::IN | DISCONNECT)),
        (Interest::WRITABLE, wanted & PollFlags::OUT),
    ];
    #[cfg(target_os = "linux")]
    interests.push((Interest::PRIORITY, wanted & PollFlags::PRI));
    interests.retain(|(_, flags)| !flags.is_empty());
    interests
}

/// All of them as one.
fn interest_of(wanted: PollFlags) -> Interest {
    interests_of(wanted)
        .into_iter()
        .map(|(interest, _)| interest)
        .reduce(|all, interest| all | interest)
        .unwrap_or(Interest::READABLE)
}

/// Registers a duplicate with the runtime.
///
/// # Errors
///
/// `EPERM` for a regular file, which is always ready and cannot be watched.
pub(crate) fn register_fd(uv: &Uv, fd: OwnedFd) -> Result<AsyncFd<OwnedFd>, Failure> {
    let _runtime = uv.runtime().enter()?;
    rustix::io::ioctl_fionbio(&fd, true)?;
    let interest = Interest::READABLE | Interest::WRITABLE;
    #[cfg(target_os = "linux")]
    let interest = interest | Interest::PRIORITY;
    Ok(raw::watch(fd, interest)?)
}

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_poll", new_poll)?;
    api.function("new_socket_poll", new_poll)?;
    api.function("poll_start", start)?;
    api.function("poll_stop", |call| {
        call.handle::<Poll>(1, "uv_poll")?.stop(call.uv);
        Ok(0)
    })?;
    api.handle::<Poll>(
        "uv_poll_t",
        &[("start", "poll_start"), ("stop", "poll_stop")],
    )
}

fn new_poll(call: &Call<'_>) -> Result<AnyUserData, Failure> {
    let number = call.narrow::<RawFd>(1)?;
    let watched = call.uv.descriptors().duplicate(number)?;
    let fd = register_fd(call.uv, watched)?;
    call.adopt(Poll {
        base: Base::new(Kind::Poll),
        number,
        fd: RefCell::new(Some(Rc::new(fd))),
        wanted: Cell::new(PollFlags::empty()),
        callback: RefCell::new(None),
        watch: RefCell::new(None),
        generation: Cell::new(0),
    })
}

fn start(call: &Call<'_>) -> Result<i64, Failure> {
    let poll = call.handle::<Poll>(1, "uv_poll")?;
    let events = call.optional_text(2)?.unwrap_or_else(|| "rw".to_owned());
    let wanted = events
        .chars()
        .map(|letter| LETTERS.iter().find(|(known, _)| *known == letter))
        .map(|known| known.map(|(_, flag)| *flag))
        .collect::<Option<PollFlags>>()
        .filter(|wanted| !wanted.is_empty())
        .ok_or_else(|| call.bad(2, format_args!("invalid option '{events}'")))?;
    let callback = call.callback(3)?;
    if poll.base.is_closing() {
        return Err(call.system("EINVAL"));
    }
    poll.stop(call.uv);
    poll.wanted.set(wanted);
    poll.callback.replace(Some(callback));
    poll.base.set_active(call.uv, true);
    poll.watch(call.uv);
    call.uv.queue().inbox.ring();
    Ok(0)
}
