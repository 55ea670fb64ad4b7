//! Writing to a stream, and the end of writing.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use mlua::AnyUserData;
use rustix::net::Shutdown;
use tokio::io::Interest;

use super::{Stream, any_stream, open_stream, would_block};
use crate::api::Api;
use crate::call::Call;
use crate::callback::Callback;
use crate::errno::UvError;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::outcomes::{Outcomes, tell};
use crate::request::{Request, RequestKind};
use crate::sockets;
use crate::tasks::TaskGuard;

/// What is to be written, and whether that is the last of it.
#[derive(Default)]
pub(super) struct Writing {
    queue: RefCell<VecDeque<Write>>,
    queued_bytes: Cell<usize>,
    watch: RefCell<Option<TaskGuard>>,
    /// The end, once it is asked for.
    end: RefCell<Option<Pending>>,
    outcomes: Rc<Outcomes>,
}

struct Write {
    data: Vec<u8>,
    written: usize,
    pending: Pending,
}

/// A request that waits to be told. The loop is alive until it is.
type Pending = Option<Callback>;

impl Writing {
    pub(super) fn unwatch(&self) {
        self.watch.take();
    }

    /// Tells what is over, and settles what is under way as cancelled.
    pub(super) fn cancel(&self, uv: &Uv) {
        self.outcomes.tell_all(uv);
        let cancelled = || Err(UvError::named("ECANCELED"));
        self.queued_bytes.set(0);
        let writes = std::mem::take(&mut *self.queue.borrow_mut());
        for write in writes {
            tell(uv, write.pending, cancelled());
        }
        let end = self.end.take();
        if let Some(end) = end {
            tell(uv, end, cancelled());
        }
    }
}

impl Stream {
    fn write(self: &Rc<Self>, uv: &Uv, data: Vec<u8>, pending: Pending) {
        uv.add_alive();
        let queue = &self.writing.queue;
        let is_first = queue.borrow().is_empty() && !self.connecting.is_on();
        self.writing
            .queued_bytes
            .set(self.writing.queued_bytes.get() + data.len());
        queue.borrow_mut().push_back(Write {
            data,
            written: 0,
            pending,
        });
        if is_first {
            self.flush(uv);
        }
    }

    /// Writes what can be written now, and watches for the rest.
    pub(super) fn flush(self: &Rc<Self>, uv: &Uv) {
        loop {
            let next = self.writing.queue.borrow_mut().pop_front();
            let Some(mut write) = next else { break };
            let outcome = match self.write_now(&write.data[write.written..]) {
                Ok(count) => {
                    self.forget(count);
                    write.written += count;
                    if write.written < write.data.len() {
                        self.writing.queue.borrow_mut().push_front(write);
                        continue;
                    }
                    Ok(())
                }
                Err(error) if would_block(&error) => {
                    self.writing.queue.borrow_mut().push_front(write);
                    self.watch_writing(uv);
                    return;
                }
                Err(error) => {
                    self.forget(write.data.len() - write.written);
                    Err(UvError::from(error))
                }
            };
            self.writing.outcomes.add(uv, write.pending, outcome);
        }
        self.end_if_asked(uv);
    }

    fn forget(&self, bytes: usize) {
        let queued = &self.writing.queued_bytes;
        queued.set(queued.get().saturating_sub(bytes));
    }

    fn write_now(&self, data: &[u8]) -> io::Result<usize> {
        let Some(fd) = self.fd.borrow().clone() else {
            return Err(rustix::io::Errno::BADF.into());
        };
        let is_socket = self.is_socket.get();
        let write = |fd: &OwnedFd| -> io::Result<usize> {
            Ok(if is_socket {
                // A peer that is gone is an error of this write, and no signal to the process.
                rustix::net::send(fd, data, sockets::without_signal())?
            } else {
                rustix::io::write(fd, data)?
            })
        };
        // Tokio may not have looked at a new descriptor yet, so its word is asked for only after a refusal.
        match write(fd.get_ref()) {
            Err(error) if would_block(&error) => fd.try_io(Interest::WRITABLE, write),
            outcome => outcome,
        }
    }

    fn watch_writing(self: &Rc<Self>, uv: &Uv) {
        let Some(fd) = self.fd.borrow().clone() else {
            return;
        };
        let queue = Rc::clone(uv.queue());
        let stream = Rc::clone(self);
        let guard = uv.tasks().spawn(async move {
            if fd.ready(Interest::WRITABLE).await.is_ok() {
                queue.push(move |uv| stream.visit_writing(uv));
            }
        });
        self.writing.watch.replace(Some(guard));
        uv.queue().inbox.ring();
    }

    fn visit_writing(self: &Rc<Self>, uv: &Uv) {
        if !self.base.is_closing() {
            self.writing.unwatch();
            self.flush(uv);
        }
    }

    pub(super) fn writing_has_ended(&self) -> bool {
        self.writing.end.borrow().is_some()
    }

    fn end_if_asked(&self, uv: &Uv) {
        let end = self.writing.end.take();
        if let Some(end) = end {
            let outcome = match self.fd.borrow().as_ref() {
                Some(fd) => {
                    rustix::net::shutdown(fd.as_ref(), Shutdown::Write).map_err(UvError::from)
                }
                None => Err(UvError::named("ENOTCONN")),
            };
            self.writing.outcomes.add(uv, end, outcome);
        }
    }
}

pub(super) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("write", |call| {
        let stream = any_stream(call, 1)?;
        let data = call.buffer(2)?;
        let callback = call.optional_callback(3)?;
        check_writable(call, &stream)?;
        stream.write(call.uv, data, callback);
        request(call, RequestKind::Write)
    })?;
    api.function("try_write", |call| {
        let stream = any_stream(call, 1)?;
        let data = call.buffer(2)?;
        check_writable(call, &stream)?;
        // What is queued goes first.
        if stream.connecting.is_on() || !stream.writing.queue.borrow().is_empty() {
            return Err(call.system("EAGAIN"));
        }
        Ok(stream.write_now(&data)?)
    })?;
    api.function("shutdown", |call| {
        let stream = open_stream(call, 1)?;
        let callback = call.optional_callback(2)?;
        let may_end = stream.writable.get() || stream.connecting.is_on();
        if !may_end || stream.writing_has_ended() {
            return Err(call.system("ENOTCONN"));
        }
        stream.writable.set(false);
        call.uv.add_alive();
        stream.writing.end.replace(Some(callback));
        if stream.writing.queue.borrow().is_empty() && !stream.connecting.is_on() {
            stream.end_if_asked(call.uv);
        }
        request(call, RequestKind::Shutdown)
    })?;
    for name in ["stream_get_write_queue_size", "tcp_write_queue_size"] {
        api.function(name, |call| {
            Ok(any_stream(call, 1)?.writing.queued_bytes.get())
        })?;
    }
    Ok(())
}

fn check_writable(call: &Call<'_>, stream: &Stream) -> Result<(), Failure> {
    if stream.base.is_closing() || !stream.has_fd() {
        return Err(call.system("EBADF"));
    }
    if !stream.writable.get() && !stream.connecting.is_on() {
        return Err(call.system("EPIPE"));
    }
    Ok(())
}

fn request(call: &Call<'_>, kind: RequestKind) -> Result<AnyUserData, Failure> {
    Request::new(kind).into_userdata(call.lua)
}
