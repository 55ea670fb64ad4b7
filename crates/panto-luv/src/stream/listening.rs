//! Waiting for peers to connect.

use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::Interest;

use super::{Stream, any_stream, open_stream, would_block};
use crate::api::Api;
use crate::callback::Callback;
use crate::errno::UvError;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::sockets;
use crate::tasks::TaskGuard;

/// A server, and the peer that waits to be accepted.
#[derive(Default)]
pub(super) struct Listening {
    callback: RefCell<Option<Callback>>,
    watch: RefCell<Option<TaskGuard>>,
    generation: Cell<u64>,
    waiting: RefCell<Option<OwnedFd>>,
}

/// After so many peers others have their turn.
const PEERS_A_VISIT: usize = 64;
/// How long a server that could not accept, as the process has no descriptor left, leaves it.
const PAUSE: Duration = Duration::from_millis(100);

impl Listening {
    pub(super) fn is_on(&self) -> bool {
        self.callback.borrow().is_some()
    }

    pub(super) fn stop(&self) {
        self.generation.set(self.generation.get() + 1);
        self.callback.take();
        self.watch.take();
        self.waiting.take();
    }
}

impl Stream {
    fn listen(self: &Rc<Self>, uv: &Uv, backlog: i32, callback: Callback) -> Result<(), Failure> {
        let fd = self.fd()?;
        rustix::net::listen(fd.as_ref(), backlog)?;
        self.listening.callback.replace(Some(callback));
        self.update_active(uv);
        self.watch_peers(uv, Duration::ZERO);
        Ok(())
    }

    fn watch_peers(self: &Rc<Self>, uv: &Uv, after: Duration) {
        let Some(fd) = self.fd.borrow().clone() else {
            return;
        };
        let generation = self.listening.generation.get();
        let queue = Rc::clone(uv.queue());
        let stream = Rc::clone(self);
        let guard = uv.tasks().spawn(async move {
            if !after.is_zero() {
                tokio::time::sleep(after).await;
            }
            if fd.ready(Interest::READABLE).await.is_ok() {
                queue.push(move |uv| stream.visit_peers(uv, generation));
            }
        });
        self.listening.watch.replace(Some(guard));
        uv.queue().inbox.ring();
    }

    /// Takes peers in, one for each callback. One that is not accepted by its callback holds up the others until it is.
    fn visit_peers(self: &Rc<Self>, uv: &Uv, generation: u64) {
        for _ in 0..PEERS_A_VISIT {
            if self.listening.generation.get() != generation
                || self.listening.waiting.borrow().is_some()
            {
                return;
            }
            let Some(fd) = self.fd.borrow().clone() else {
                return;
            };
            let Some(callback) = self.listening.callback.borrow().clone() else {
                return;
            };
            let peer = fd.try_io(Interest::READABLE, |fd| Ok(sockets::accept(fd)?));
            match peer {
                Ok(peer) => {
                    self.listening.waiting.replace(Some(peer));
                    uv.invoke(&callback, ());
                }
                Err(error) if would_block(&error) => break,
                // It was there, and went before it was accepted.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    uv.invoke(&callback, UvError::from(error).name());
                    if self.listening.generation.get() == generation {
                        self.watch_peers(uv, PAUSE);
                    }
                    return;
                }
            }
        }
        if self.listening.generation.get() == generation {
            self.watch_peers(uv, Duration::ZERO);
        }
    }

    /// Hands the peer that waits to another stream.
    fn accept(self: &Rc<Self>, uv: &Uv, client: &Stream) -> Result<(), Failure> {
        let peer = self.listening.waiting.take();
        let peer = peer.ok_or_else(|| UvError::named("EAGAIN"))?;
        client.attach(uv, peer)?;
        client.set_directions(true, true);
        self.watch_peers(uv, Duration::ZERO);
        Ok(())
    }
}

pub(super) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("listen", |call| {
        let handle = call.any_handle(1)?;
        let stream = any_stream(call, 1)?;
        let backlog = call.narrow(2)?;
        let callback = call.callback(3)?;
        if stream.base.is_closing() {
            return Err(call.system("EINVAL"));
        }
        handle.before_listen(call.uv)?;
        stream.listen(call.uv, backlog, callback)?;
        Ok(0)
    })?;
    api.function("accept", |call| {
        let server = open_stream(call, 1)?;
        let client = open_stream(call, 2)?;
        server.accept(call.uv, &client)?;
        Ok(0)
    })
}
