//! Streams: what pipes, TCP sockets and terminals have in common.
//!
//! A task of a stream only waits until the descriptor can be read or written; the reading and writing itself happens in the
//! loop's pending phase, after a look at whether it is still wanted. So nothing is read and then lost.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;

use rustix::fs::{FileType, OFlags};
use tokio::io::unix::AsyncFd;

use crate::api::Api;
use crate::call::Call;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Base, Kind};
use crate::poll;

mod connecting;
mod listening;
mod reading;
mod writing;

/// One side of a conversation by bytes, or a server for such.
pub(crate) struct Stream {
    pub(crate) base: Base,
    fd: RefCell<Option<Rc<AsyncFd<OwnedFd>>>>,
    /// Whether it is connected, or can be read from for another reason.
    readable: Cell<bool>,
    writable: Cell<bool>,
    is_socket: Cell<bool>,
    reading: reading::Reading,
    writing: writing::Writing,
    connecting: connecting::Connecting,
    listening: listening::Listening,
}

impl Stream {
    pub(crate) fn new(kind: Kind) -> Rc<Self> {
        Rc::new(Self {
            base: Base::new(kind),
            fd: RefCell::new(None),
            readable: Cell::new(false),
            writable: Cell::new(false),
            is_socket: Cell::new(false),
            reading: Default::default(),
            writing: Default::default(),
            connecting: Default::default(),
            listening: Default::default(),
        })
    }

    /// Takes a descriptor that is no conversation yet: a socket to bind, connect or listen on.
    pub(crate) fn attach(&self, uv: &Uv, fd: OwnedFd) -> Result<(), Failure> {
        if self.fd.borrow().is_some() {
            return Err(rustix::io::Errno::BUSY.into());
        }
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode);
        self.is_socket.set(kind == FileType::Socket);
        let fd = poll::register_fd(uv, fd)?;
        self.fd.replace(Some(Rc::new(fd)));
        Ok(())
    }

    /// Takes a descriptor that can be read or written, as it was opened.
    pub(crate) fn open(&self, uv: &Uv, fd: OwnedFd) -> Result<(), Failure> {
        let mode = rustix::fs::fcntl_getfl(&fd)? & OFlags::RWMODE;
        self.attach(uv, fd)?;
        self.readable.set(mode != OFlags::WRONLY);
        self.writable.set(mode != OFlags::RDONLY);
        Ok(())
    }

    /// Lets go of what was attached, as if it never had been.
    pub(crate) fn detach(&self) {
        self.set_directions(false, false);
        self.fd.take();
    }

    /// Says which directions there are.
    pub(crate) fn set_directions(&self, readable: bool, writable: bool) {
        self.readable.set(readable);
        self.writable.set(writable);
    }

    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        self.fd.borrow().as_ref().map(|fd| fd.as_raw_fd())
    }

    /// The descriptor, for a function that cannot do without.
    pub(crate) fn fd(&self) -> Result<Rc<AsyncFd<OwnedFd>>, Failure> {
        let fd = self.fd.borrow().clone();
        fd.ok_or_else(|| rustix::io::Errno::BADF.into())
    }

    pub(crate) fn has_fd(&self) -> bool {
        self.fd.borrow().is_some()
    }

    fn update_active(&self, uv: &Uv) {
        let active = self.reading.is_on() || self.listening.is_on();
        self.base.set_active(uv, active);
    }

    pub(crate) fn shut(&self, uv: &Uv) {
        self.reading.stop();
        self.listening.stop();
        self.writing.unwatch();
        self.connecting.unwatch();
        self.set_directions(false, false);
        self.update_active(uv);
        self.fd.take();
    }

    /// Calls back what was under way when the stream was closed.
    pub(crate) fn settle(&self, uv: &Uv) {
        self.connecting.cancel(uv);
        self.writing.cancel(uv);
    }
}

/// Whether an attempt is to be made again when the descriptor is ready.
fn would_block(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// A stream of any kind that is not closing.
pub(crate) fn open_stream(call: &Call<'_>, position: usize) -> Result<Rc<Stream>, Failure> {
    let stream = any_stream(call, position)?;
    if stream.base.is_closing() {
        return Err(call.system("EINVAL"));
    }
    Ok(stream)
}

pub(crate) fn any_stream(call: &Call<'_>, position: usize) -> Result<Rc<Stream>, Failure> {
    let handle = call.any_handle(position)?;
    handle
        .stream()
        .ok_or_else(|| call.bad(position, "uv_stream expected, got another handle"))
}

/// The methods that every stream has beside its own.
pub(crate) const METHODS: &[(&str, &str)] = &[
    ("shutdown", "shutdown"),
    ("listen", "listen"),
    ("accept", "accept"),
    ("read_start", "read_start"),
    ("read_stop", "read_stop"),
    ("write", "write"),
    ("try_write", "try_write"),
    ("is_readable", "is_readable"),
    ("is_writable", "is_writable"),
    ("set_blocking", "stream_set_blocking"),
    ("get_write_queue_size", "stream_get_write_queue_size"),
    ("send_buffer_size", "send_buffer_size"),
    ("recv_buffer_size", "recv_buffer_size"),
];

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    reading::register(api)?;
    writing::register(api)?;
    listening::register(api)?;
    api.function("is_readable", |call| {
        Ok(any_stream(call, 1)?.readable.get())
    })?;
    api.function("is_writable", |call| {
        Ok(any_stream(call, 1)?.writable.get())
    })?;
    api.function("stream_set_blocking", |call| {
        // Writes never wait here; only on Windows does libuv do otherwise.
        open_stream(call, 1)?;
        call.boolean(2)?;
        Ok(0)
    })
}
