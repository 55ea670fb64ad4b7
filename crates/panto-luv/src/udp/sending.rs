//! Sending datagrams.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use mlua::{AnyUserData, Table, Value};
use rustix::net::SendFlags;
use tokio::io::Interest;

use super::{Udp, WHAT};
use crate::address;
use crate::api::Api;
use crate::call::Call;
use crate::callback::Callback;
use crate::errno::UvError;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::outcomes::{Outcomes, tell};
use crate::request::{Request, RequestKind};
use crate::tasks::TaskGuard;

/// What is to be sent.
#[derive(Default)]
pub(super) struct Sending {
    queue: RefCell<VecDeque<Datagram>>,
    watch: RefCell<Option<TaskGuard>>,
    outcomes: Rc<Outcomes>,
}

/// Something to send. The loop is alive until it is sent.
struct Datagram {
    data: Vec<u8>,
    to: Option<SocketAddr>,
    callback: Option<Callback>,
}

impl Sending {
    pub(super) fn unwatch(&self) {
        self.watch.take();
    }

    /// Tells what is over, and settles what is under way as cancelled.
    pub(super) fn cancel(&self, uv: &Uv) {
        self.outcomes.tell_all(uv);
        let datagrams = std::mem::take(&mut *self.queue.borrow_mut());
        for datagram in datagrams {
            tell(uv, datagram.callback, Err(UvError::named("ECANCELED")));
        }
    }
}

impl Udp {
    fn send(self: &Rc<Self>, uv: &Uv, datagram: Datagram) {
        uv.add_alive();
        let is_first = self.sending.queue.borrow().is_empty();
        self.sending.queue.borrow_mut().push_back(datagram);
        if is_first {
            self.flush(uv);
        }
    }

    fn flush(self: &Rc<Self>, uv: &Uv) {
        loop {
            let next = self.sending.queue.borrow_mut().pop_front();
            let Some(datagram) = next else { return };
            let outcome = match self.send_now(&datagram.data, datagram.to) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.sending.queue.borrow_mut().push_front(datagram);
                    self.watch_sending(uv);
                    return;
                }
                outcome => outcome.map(drop).map_err(UvError::from),
            };
            self.sending.outcomes.add(uv, datagram.callback, outcome);
        }
    }

    fn send_now(&self, data: &[u8], to: Option<SocketAddr>) -> io::Result<usize> {
        let Some(fd) = self.fd.borrow().clone() else {
            return Err(rustix::io::Errno::BADF.into());
        };
        let send = |fd: &OwnedFd| -> io::Result<usize> {
            Ok(match to {
                Some(to) => rustix::net::sendto(fd, data, SendFlags::empty(), &to)?,
                None => rustix::net::send(fd, data, SendFlags::empty())?,
            })
        };
        match send(fd.get_ref()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                fd.try_io(Interest::WRITABLE, send)
            }
            outcome => outcome,
        }
    }

    fn watch_sending(self: &Rc<Self>, uv: &Uv) {
        let Some(fd) = self.fd.borrow().clone() else {
            return;
        };
        let queue = Rc::clone(uv.queue());
        let udp = Rc::clone(self);
        let guard = uv.tasks().spawn(async move {
            if fd.ready(Interest::WRITABLE).await.is_ok() {
                queue.push(move |uv| {
                    if !udp.base.is_closing() {
                        udp.flush(uv);
                    }
                });
            }
        });
        self.sending.watch.replace(Some(guard));
        uv.queue().inbox.ring();
    }
}

pub(super) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("udp_send", send)?;
    api.function("udp_try_send", |call| {
        let udp = call.open_handle::<Udp>(1, WHAT)?;
        let data = call.buffer(2)?;
        let to = destination(call, &udp, 3)?;
        // What is queued goes first.
        if !udp.sending.queue.borrow().is_empty() {
            return Err(call.system("EAGAIN"));
        }
        Ok(udp.send_now(&data, to)?)
    })?;
    api.function("udp_try_send2", try_send_many)?;
    api.function("udp_get_send_queue_count", |call| {
        Ok(call.handle::<Udp>(1, WHAT)?.sending.queue.borrow().len())
    })?;
    api.function("udp_get_send_queue_size", |call| {
        let udp = call.handle::<Udp>(1, WHAT)?;
        let queue = udp.sending.queue.borrow();
        Ok(queue.iter().map(|one| one.data.len()).sum::<usize>())
    })?;
    Ok(())
}

fn send(call: &Call<'_>) -> Result<AnyUserData, Failure> {
    let udp = call.open_handle::<Udp>(1, WHAT)?;
    let data = call.buffer(2)?;
    let to = destination(call, &udp, 3)?;
    let callback = call.optional_callback(5)?;
    udp.send(call.uv, Datagram { data, to, callback });
    Request::new(RequestKind::UdpSend).into_userdata(call.lua)
}

/// Sends datagrams until one cannot be sent, and answers how many were. The first one's failure is the call's.
fn try_send_many(call: &Call<'_>) -> Result<i64, Failure> {
    let udp = call.open_handle::<Udp>(1, WHAT)?;
    let messages = call
        .optional_table(2)?
        .ok_or_else(|| call.bad(2, "table expected, got nil"))?;
    let mut datagrams = Vec::new();
    for message in messages.sequence_values::<Table>() {
        let message = message.map_err(|_| call.bad(2, "a list of messages expected"))?;
        let data: Vec<u8> = match message.get::<Value>("data")? {
            Value::String(data) => data.as_bytes().to_vec(),
            Value::Table(parts) => parts
                .sequence_values::<mlua::LuaString>()
                .collect::<mlua::Result<Vec<_>>>()?
                .iter()
                .flat_map(|part| part.as_bytes().to_vec())
                .collect(),
            _ => return Err(call.bad(2, "each message needs data")),
        };
        let to = match message.get::<Option<Table>>("addr")? {
            None if udp.connected.get() => None,
            Some(to) if !udp.connected.get() => {
                let (ip, port): (String, u16) = (to.get("ip")?, to.get("port")?);
                let to = address::parse(&ip, port);
                Some(to.ok_or_else(|| call.bad(2, "invalid IP address or port"))?)
            }
            _ => return Err(call.system("EINVAL")),
        };
        datagrams.push((data, to));
    }
    let mut sent = 0;
    for (data, to) in datagrams {
        if let Some(to) = to {
            udp.socket_for(call.uv, to)?;
        }
        match udp.send_now(&data, to) {
            Ok(_) => sent += 1,
            Err(error) if sent == 0 => return Err(error.into()),
            Err(_) => break,
        }
    }
    Ok(sent)
}

/// Where to send: an address, unless the socket is connected. Makes the socket, if there is none.
fn destination(call: &Call<'_>, udp: &Udp, position: usize) -> Result<Option<SocketAddr>, Failure> {
    match (call.is_nil(position), udp.connected.get()) {
        (true, true) => Ok(None),
        (true, false) => Err(call.system("EDESTADDRREQ")),
        (false, true) => Err(call.system("EISCONN")),
        (false, false) => {
            let address = address::argument(call, position)?;
            udp.socket_for(call.uv, address)?;
            Ok(Some(address))
        }
    }
}
