//! UDP.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;

use mlua::{AnyUserData, Table, Value};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::address;
use crate::api::Api;
use crate::call::Call;
use crate::callback::Callback;
use crate::constants::{FAMILIES, UDP_IPV6ONLY, UDP_REUSEADDR};
use crate::errno::UvError;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Base, Handle, Kind};
use crate::poll;
use crate::request::{Request, RequestKind};
use crate::tasks::TaskGuard;
use crate::tcp;

mod membership;
mod receiving;

/// A UDP socket.
pub(crate) struct Udp {
    base: Base,
    fd: RefCell<Option<Rc<AsyncFd<OwnedFd>>>>,
    connected: Cell<bool>,
    receiving: receiving::Receiving,
    queue: RefCell<VecDeque<Datagram>>,
    watch: RefCell<Option<TaskGuard>>,
}

/// Something to send. The loop is alive until it is sent.
struct Datagram {
    data: Vec<u8>,
    to: Option<SocketAddr>,
    callback: Option<Callback>,
}

impl Handle for Udp {
    fn base(&self) -> &Base {
        &self.base
    }

    fn shut(&self, uv: &Uv) {
        self.stop_receiving(uv);
        self.watch.take();
        self.fd.take();
    }

    fn settle(&self, uv: &Uv) {
        let datagrams = std::mem::take(&mut *self.queue.borrow_mut());
        for datagram in datagrams {
            tell(uv, datagram.callback, Err(UvError::named("ECANCELED")));
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.fd.borrow().as_ref().map(|fd| fd.as_raw_fd())
    }
}

fn tell(uv: &Uv, callback: Option<Callback>, outcome: Result<(), UvError>) {
    uv.drop_alive();
    if let Some(callback) = callback {
        uv.invoke(&callback, outcome.err().map(UvError::name));
    }
}

impl Udp {
    fn attach(&self, uv: &Uv, fd: OwnedFd) -> Result<(), Failure> {
        if self.fd.borrow().is_some() {
            return Err(rustix::io::Errno::BUSY.into());
        }
        let fd = poll::register_fd(uv, fd)?;
        self.fd.replace(Some(Rc::new(fd)));
        Ok(())
    }

    fn fd(&self) -> Result<Rc<AsyncFd<OwnedFd>>, Failure> {
        let fd = self.fd.borrow().clone();
        fd.ok_or_else(|| rustix::io::Errno::BADF.into())
    }

    fn socket(&self, uv: &Uv, family: AddressFamily) -> Result<(), Failure> {
        if self.fd.borrow().is_some() {
            return Ok(());
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = rustix::net::socket_with(family, SocketType::DGRAM, flags, None)?;
        self.attach(uv, fd)
    }

    fn socket_for(&self, uv: &Uv, address: SocketAddr) -> Result<(), Failure> {
        self.socket(
            uv,
            match address {
                SocketAddr::V4(_) => AddressFamily::INET,
                SocketAddr::V6(_) => AddressFamily::INET6,
            },
        )
    }

    fn send(self: &Rc<Self>, uv: &Uv, datagram: Datagram) {
        uv.add_alive();
        let is_first = self.queue.borrow().is_empty();
        self.queue.borrow_mut().push_back(datagram);
        if is_first {
            self.flush(uv);
        }
    }

    fn flush(self: &Rc<Self>, uv: &Uv) {
        loop {
            let next = self.queue.borrow_mut().pop_front();
            let Some(datagram) = next else { return };
            let outcome = match self.send_now(&datagram.data, datagram.to) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.queue.borrow_mut().push_front(datagram);
                    self.watch_sending(uv);
                    return;
                }
                outcome => outcome.map(drop).map_err(UvError::from),
            };
            let callback = datagram.callback;
            uv.queue().push(move |uv| tell(uv, callback, outcome));
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
        self.watch.replace(Some(guard));
        uv.queue().inbox.ring();
    }
}

const WHAT: &str = "uv_udp";

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_udp", new_udp)?;
    api.function("udp_open", |call| {
        let udp = call.open_handle::<Udp>(1, WHAT)?;
        let fd = call.uv.descriptors().give_away(call.narrow(2)?)?;
        udp.attach(call.uv, fd)?;
        Ok(0)
    })?;
    api.function("udp_bind", bind)?;
    api.function("udp_connect", connect)?;
    api.function("udp_getsockname", |call| {
        let fd = call.open_handle::<Udp>(1, WHAT)?.fd()?;
        tcp::name(call, rustix::net::getsockname(fd.as_ref())?)
    })?;
    api.function("udp_getpeername", |call| {
        let fd = call.open_handle::<Udp>(1, WHAT)?.fd()?;
        let peer = rustix::net::getpeername(fd.as_ref())?;
        tcp::name(call, peer.ok_or_else(|| call.system("ENOTCONN"))?)
    })?;
    api.function("udp_send", send)?;
    api.function("udp_try_send", |call| {
        let udp = call.open_handle::<Udp>(1, WHAT)?;
        let data = call.buffer(2)?;
        let to = destination(call, &udp, 3)?;
        // What is queued goes first.
        if !udp.queue.borrow().is_empty() {
            return Err(call.system("EAGAIN"));
        }
        Ok(udp.send_now(&data, to)?)
    })?;
    api.function("udp_try_send2", try_send_many)?;
    api.function("udp_get_send_queue_count", |call| {
        Ok(call.handle::<Udp>(1, WHAT)?.queue.borrow().len())
    })?;
    api.function("udp_get_send_queue_size", |call| {
        let udp = call.handle::<Udp>(1, WHAT)?;
        let queue = udp.queue.borrow();
        Ok(queue.iter().map(|one| one.data.len()).sum::<usize>())
    })?;
    receiving::register(api)?;
    membership::register(api)?;
    let own = [
        ("open", "udp_open"),
        ("bind", "udp_bind"),
        ("connect", "udp_connect"),
        ("getsockname", "udp_getsockname"),
        ("getpeername", "udp_getpeername"),
        ("send", "udp_send"),
        ("try_send", "udp_try_send"),
        ("try_send2", "udp_try_send2"),
        ("get_send_queue_count", "udp_get_send_queue_count"),
        ("get_send_queue_size", "udp_get_send_queue_size"),
        ("recv_start", "udp_recv_start"),
        ("recv_stop", "udp_recv_stop"),
        ("send_buffer_size", "send_buffer_size"),
        ("recv_buffer_size", "recv_buffer_size"),
    ];
    api.handle::<Udp>("uv_udp_t", &[&own[..], membership::METHODS].concat())
}

fn new_udp(call: &Call<'_>) -> Result<AnyUserData, Failure> {
    let family = match call.value(1) {
        // How many datagrams to take at once is advice that is not followed.
        Value::Table(flags) => match flags.get::<Option<String>>("family")? {
            None => None,
            Some(name) => {
                let known = FAMILIES.iter().find(|(known, _)| *known == name);
                let (_, number) = known.ok_or_else(|| call.bad(1, "invalid family"))?;
                Some(AddressFamily::from_raw(*number as _))
            }
        },
        _ => tcp::family_argument(call, 1)?,
    };
    let udp = Udp {
        base: Base::new(Kind::Udp),
        fd: RefCell::new(None),
        connected: Cell::new(false),
        receiving: Default::default(),
        queue: RefCell::default(),
        watch: RefCell::new(None),
    };
    if let Some(family) = family {
        udp.socket(call.uv, family)?;
    }
    call.adopt(udp)
}

fn bind(call: &Call<'_>) -> Result<i64, Failure> {
    let udp = call.open_handle::<Udp>(1, WHAT)?;
    let address = address::argument(call, 2)?;
    let (mut ipv6_only, mut reuse) = (false, false);
    match call.value(4) {
        Value::Nil => {}
        Value::Table(flags) => {
            ipv6_only = flags.get("ipv6only")?;
            reuse = flags.get("reuseaddr")?;
        }
        _ => {
            let bits = call.narrow::<i32>(4)?;
            ipv6_only = bits & UDP_IPV6ONLY != 0;
            reuse = bits & UDP_REUSEADDR != 0;
        }
    }
    udp.socket_for(call.uv, address)?;
    let fd = udp.fd()?;
    if reuse {
        sockopt::set_socket_reuseaddr(fd.as_ref(), true)?;
    }
    if ipv6_only {
        sockopt::set_ipv6_v6only(fd.as_ref(), true)?;
    }
    rustix::net::bind(fd.as_ref(), &address)?;
    Ok(0)
}

fn connect(call: &Call<'_>) -> Result<i64, Failure> {
    let udp = call.open_handle::<Udp>(1, WHAT)?;
    if call.is_nil(2) {
        if !udp.connected.get() {
            return Err(call.system("ENOTCONN"));
        }
        rustix::net::connect_unspec(udp.fd()?.as_ref())?;
        udp.connected.set(false);
        return Ok(0);
    }
    let address = address::argument(call, 2)?;
    if udp.connected.get() {
        return Err(call.system("EISCONN"));
    }
    udp.socket_for(call.uv, address)?;
    rustix::net::connect(udp.fd()?.as_ref(), &address)?;
    udp.connected.set(true);
    Ok(0)
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

/// Where a socket is bound that nobody bound.
const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
