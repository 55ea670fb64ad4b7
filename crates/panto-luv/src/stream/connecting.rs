//! A stream on its way to its peer.

use std::cell::RefCell;
use std::rc::Rc;

use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use tokio::io::Interest;

use super::Stream;
use crate::callback::Callback;
use crate::errno::UvError;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::tasks::TaskGuard;

/// The connection that is being made.
#[derive(Default)]
pub(super) struct Connecting {
    /// Whom to tell. The loop is alive until then.
    pending: RefCell<Option<Option<Callback>>>,
    watch: RefCell<Option<TaskGuard>>,
}

impl Connecting {
    pub(super) fn is_on(&self) -> bool {
        self.pending.borrow().is_some()
    }

    pub(super) fn unwatch(&self) {
        self.watch.take();
    }

    pub(super) fn cancel(&self, uv: &Uv) {
        self.settle(uv, Some(UvError::named("ECANCELED")));
    }

    /// Tells whoever waits; nothing if nobody does.
    fn settle(&self, uv: &Uv, failure: Option<UvError>) {
        self.unwatch();
        let pending = self.pending.take();
        let Some(callback) = pending else { return };
        uv.drop_alive();
        if let Some(callback) = callback {
            uv.invoke(&callback, failure.map(UvError::name));
        }
    }
}

impl Stream {
    /// Connects the attached socket. What fails is told to the callback, never before this returns.
    pub(crate) fn connect(
        self: &Rc<Self>,
        uv: &Uv,
        address: &impl SocketAddrArg,
        callback: Option<Callback>,
    ) -> Result<(), Failure> {
        if self.connecting.is_on() {
            return Err(Errno::ALREADY.into());
        }
        if self.readable.get() || self.writable.get() {
            return Err(Errno::ISCONN.into());
        }
        let fd = self.fd()?;
        let begun = rustix::net::connect(fd.as_ref(), address);
        self.connecting.pending.replace(Some(callback));
        uv.add_alive();
        match begun {
            // The edge of a connection that was made before tokio looked may never come.
            Ok(()) => self.tell_connected(uv, None),
            Err(Errno::INPROGRESS | Errno::INTR) => self.watch_connecting(uv),
            Err(error) => self.tell_connected(uv, Some(error.into())),
        }
        Ok(())
    }

    fn tell_connected(self: &Rc<Self>, uv: &Uv, failure: Option<UvError>) {
        let stream = Rc::clone(self);
        uv.queue().push(move |uv| stream.connected(uv, failure));
    }

    fn watch_connecting(self: &Rc<Self>, uv: &Uv) {
        let Some(fd) = self.fd.borrow().clone() else {
            return;
        };
        let queue = Rc::clone(uv.queue());
        let stream = Rc::clone(self);
        let guard = uv.tasks().spawn(async move {
            let outcome = loop {
                let Ok(mut ready) = fd.ready(Interest::WRITABLE).await else {
                    return;
                };
                // A socket that was never connected is writable at first, as one that hung up.
                match rustix::net::getpeername(fd.as_ref()) {
                    Ok(Some(_)) => break None,
                    _ => match rustix::net::sockopt::socket_error(fd.as_ref()) {
                        Ok(Ok(())) => ready.clear_ready(),
                        Ok(Err(error)) | Err(error) => break Some(error.into()),
                    },
                }
            };
            queue.push(move |uv| stream.connected(uv, outcome));
        });
        self.connecting.watch.replace(Some(guard));
        uv.queue().inbox.ring();
    }

    fn connected(self: &Rc<Self>, uv: &Uv, failure: Option<UvError>) {
        if !self.connecting.is_on() {
            return;
        }
        if failure.is_none() {
            self.set_directions(true, !self.writing_has_ended());
        }
        self.connecting.settle(uv, failure);
        if self.base.is_closing() {
            return;
        }
        match failure {
            None => self.flush(uv),
            Some(_) => self.writing.cancel(uv),
        }
    }
}
