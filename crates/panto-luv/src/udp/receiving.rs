//! Receiving datagrams.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mlua::{BString, Value};
use rustix::buffer::spare_capacity;
use rustix::net::RecvFlags;
use tokio::io::Interest;

use super::{ANY, Udp, WHAT};
use crate::address;
use crate::api::Api;
use crate::callback::Callback;
use crate::errno::UvError;
use crate::event_loop::Uv;
use crate::tasks::TaskGuard;

/// The state of receiving.
#[derive(Default)]
pub(super) struct Receiving {
    callback: RefCell<Option<Callback>>,
    watch: RefCell<Option<TaskGuard>>,
    generation: Cell<u64>,
}

/// No datagram is larger.
const ROOM: usize = 64 * 1024;
/// After so many datagrams others have their turn.
const DATAGRAMS_A_VISIT: usize = 32;

impl Udp {
    pub(super) fn stop_receiving(&self, uv: &Uv) {
        let receiving = &self.receiving;
        receiving.generation.set(receiving.generation.get() + 1);
        receiving.callback.take();
        receiving.watch.take();
        self.base.set_active(uv, false);
    }

    fn watch_receiving(self: &Rc<Self>, uv: &Uv) {
        let Some(fd) = self.fd.borrow().clone() else {
            return;
        };
        let generation = self.receiving.generation.get();
        let queue = Rc::clone(uv.queue());
        let udp = Rc::clone(self);
        let guard = uv.tasks().spawn(async move {
            if fd.ready(Interest::READABLE).await.is_ok() {
                queue.push(move |uv| udp.visit_receiving(uv, generation));
            }
        });
        self.receiving.watch.replace(Some(guard));
        uv.queue().inbox.ring();
    }

    fn visit_receiving(self: &Rc<Self>, uv: &Uv, generation: u64) {
        for _ in 0..DATAGRAMS_A_VISIT {
            if self.receiving.generation.get() != generation {
                return;
            }
            let (fd, callback) = (
                self.fd.borrow().clone(),
                self.receiving.callback.borrow().clone(),
            );
            let (Some(fd), Some(callback), Some(lua)) = (fd, callback, uv.lua()) else {
                return;
            };
            let mut data = Vec::with_capacity(ROOM);
            let received = fd.try_io(Interest::READABLE, |fd| {
                let room = spare_capacity(&mut data);
                Ok(rustix::net::recvfrom(fd, room, RecvFlags::empty())?)
            });
            match received {
                Ok((_, _, from)) => {
                    let from = from.and_then(address::from_system);
                    let from = from.and_then(|from| address::table(&lua, from).ok());
                    let flags = lua.create_table().ok();
                    uv.invoke(&callback, (Value::Nil, BString::from(data), from, flags));
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) => uv.invoke(&callback, UvError::from(error).name()),
            }
        }
        if self.receiving.generation.get() == generation {
            self.watch_receiving(uv);
        }
    }
}

pub(super) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("udp_recv_start", |call| {
        let udp = call.open_handle::<Udp>(1, WHAT)?;
        let callback = call.callback(2)?;
        if udp.base.is_active() {
            return Err(call.system("EALREADY"));
        }
        if udp.fd.borrow().is_none() {
            udp.socket_for(call.uv, ANY)?;
            rustix::net::bind(udp.fd()?.as_ref(), &ANY)?;
        }
        udp.receiving.callback.replace(Some(callback));
        udp.base.set_active(call.uv, true);
        udp.watch_receiving(call.uv);
        Ok(0)
    })?;
    api.function("udp_recv_stop", |call| {
        call.open_handle::<Udp>(1, WHAT)?.stop_receiving(call.uv);
        Ok(0)
    })
}
