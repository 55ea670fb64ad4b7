//! TCP: servers and clients.

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::RawFd;
use std::rc::Rc;
use std::time::Duration;

use mlua::{AnyUserData, Table, Value};
use rustix::net::{AddressFamily, Protocol, SocketAddrAny, SocketType, ipproto, sockopt};

use crate::address;
use crate::api::Api;
use crate::call::Call;
use crate::closing;
use crate::constants::{FAMILIES, SOCKET_TYPES};
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Base, Handle, Kind};
use crate::pipe;
use crate::request::{Request, RequestKind};
use crate::sockets;
use crate::stream::{self, Stream};

/// A TCP socket.
pub(crate) struct Tcp {
    stream: Rc<Stream>,
    /// What was set before there was a socket.
    nodelay: Cell<bool>,
    keepalive: Cell<Option<Duration>>,
}

impl Handle for Tcp {
    fn base(&self) -> &Base {
        &self.stream.base
    }

    fn shut(&self, uv: &Uv) {
        self.stream.shut(uv);
    }

    fn settle(&self, uv: &Uv) {
        self.stream.settle(uv);
    }

    fn stream(&self) -> Option<Rc<Stream>> {
        Some(Rc::clone(&self.stream))
    }

    fn before_listen(&self, uv: &Uv) -> Result<(), Failure> {
        if self.stream.has_fd() {
            return Ok(());
        }
        // As libuv: who did not bind gets any port of any address.
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        self.socket(uv, any)?;
        rustix::net::bind(self.stream.fd()?.as_ref(), &any)?;
        Ok(())
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.stream.descriptor()
    }
}

impl Tcp {
    /// Makes the socket, if there is none yet, for an address.
    fn socket(&self, uv: &Uv, address: SocketAddr) -> Result<(), Failure> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        self.socket_of(uv, family)
    }

    fn socket_of(&self, uv: &Uv, family: AddressFamily) -> Result<(), Failure> {
        if self.stream.has_fd() {
            return Ok(());
        }
        let fd = sockets::socket(family, SocketType::STREAM, Some(ipproto::TCP))?;
        self.stream.attach(uv, fd)?;
        self.apply_options()
    }

    /// Sets what was asked for before there was a socket.
    fn apply_options(&self) -> Result<(), Failure> {
        let fd = self.stream.fd()?;
        if self.nodelay.get() {
            sockopt::set_tcp_nodelay(fd.as_ref(), true)?;
        }
        if let Some(delay) = self.keepalive.get() {
            sockopt::set_socket_keepalive(fd.as_ref(), true)?;
            set_keepalive_delay(fd.as_ref(), delay)?;
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn set_keepalive_delay(fd: &impl std::os::fd::AsFd, delay: Duration) -> Result<(), Failure> {
    Ok(sockopt::set_tcp_keepidle(fd, delay)?)
}

#[cfg(not(target_os = "linux"))]
fn set_keepalive_delay(_: &impl std::os::fd::AsFd, _: Duration) -> Result<(), Failure> {
    Ok(())
}

const WHAT: &str = "uv_tcp";

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_tcp", new_tcp)?;
    api.function("tcp_open", |call| {
        let tcp = call.open_handle::<Tcp>(1, WHAT)?;
        let fd = call.uv.descriptors().give_away(call.narrow(2)?)?;
        tcp.stream.open(call.uv, fd)?;
        Ok(0)
    })?;
    api.function("tcp_nodelay", |call| {
        let tcp = call.open_handle::<Tcp>(1, WHAT)?;
        let on = call.boolean(2)?;
        tcp.nodelay.set(on);
        if tcp.stream.has_fd() {
            sockopt::set_tcp_nodelay(tcp.stream.fd()?.as_ref(), on)?;
        }
        Ok(0)
    })?;
    api.function("tcp_keepalive", keepalive)?;
    api.function("tcp_simultaneous_accepts", |call| {
        // A setting of Windows.
        call.open_handle::<Tcp>(1, WHAT)?;
        call.boolean(2)?;
        Ok(0)
    })?;
    api.function("tcp_bind", bind)?;
    api.function("tcp_getsockname", |call| {
        let fd = call.open_handle::<Tcp>(1, WHAT)?.stream.fd()?;
        name(call, rustix::net::getsockname(fd.as_ref())?)
    })?;
    api.function("tcp_getpeername", |call| {
        let fd = call.open_handle::<Tcp>(1, WHAT)?.stream.fd()?;
        let peer = rustix::net::getpeername(fd.as_ref())?;
        name(call, peer.ok_or_else(|| call.system("ENOTCONN"))?)
    })?;
    api.function("tcp_connect", |call| {
        let tcp = call.open_handle::<Tcp>(1, WHAT)?;
        let address = address::argument(call, 2)?;
        let callback = call.callback(4)?;
        tcp.socket(call.uv, address)?;
        tcp.stream.connect(call.uv, &address, Some(callback))?;
        Request::new(RequestKind::Connect).into_userdata(call.lua)
    })?;
    api.function("tcp_close_reset", |call| {
        let tcp = call.open_handle::<Tcp>(1, WHAT)?;
        let callback = call.optional_callback(2)?;
        sockopt::set_socket_linger(tcp.stream.fd()?.as_ref(), Some(Duration::ZERO))?;
        closing::begin(call.uv, tcp, callback);
        Ok(0)
    })?;
    api.function("socketpair", socketpair)?;
    let own = [
        ("open", "tcp_open"),
        ("nodelay", "tcp_nodelay"),
        ("keepalive", "tcp_keepalive"),
        ("simultaneous_accepts", "tcp_simultaneous_accepts"),
        ("bind", "tcp_bind"),
        ("getsockname", "tcp_getsockname"),
        ("getpeername", "tcp_getpeername"),
        ("connect", "tcp_connect"),
        ("close_reset", "tcp_close_reset"),
        ("write_queue_size", "tcp_write_queue_size"),
    ];
    api.handle::<Tcp>("uv_tcp_t", &[stream::METHODS, &own].concat())
}

fn new_tcp(call: &Call<'_>) -> Result<AnyUserData, Failure> {
    let family = family_argument(call, 1)?;
    let tcp = Tcp {
        stream: Stream::new(Kind::Tcp),
        nodelay: Cell::new(false),
        keepalive: Cell::new(None),
    };
    if let Some(family) = family {
        tcp.socket_of(call.uv, family)?;
    }
    call.adopt(tcp)
}

/// A family of addresses, by name or number; `None` if the argument is not there.
pub(crate) fn family_argument(
    call: &Call<'_>,
    position: usize,
) -> Result<Option<AddressFamily>, Failure> {
    let family = match call.value(position) {
        Value::Nil => return Ok(None),
        Value::Integer(0) => return Ok(None),
        _ => named_number(call, position, FAMILIES)?,
    };
    let raw = u16::try_from(family).map_err(|_| call.bad(position, "invalid family"))?;
    Ok(Some(AddressFamily::from_raw(raw as _)))
}

/// A number, or the name of one.
pub(crate) fn named_number(
    call: &Call<'_>,
    position: usize,
    names: &[(&str, i32)],
) -> Result<i32, Failure> {
    if call.as_integer(position).is_some() {
        return call.narrow(position);
    }
    let name = call.text(position)?;
    names
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, number)| *number)
        .ok_or_else(|| call.bad(position, format_args!("invalid option '{name}'")))
}

fn keepalive(call: &Call<'_>) -> Result<i64, Failure> {
    let tcp = call.open_handle::<Tcp>(1, WHAT)?;
    let on = call.boolean(2)?;
    let delay = match call.optional_integer(3)? {
        None => Duration::from_secs(1),
        Some(_) => Duration::from_secs(u64::from(call.narrow::<u32>(3)?)),
    };
    if on && delay.is_zero() {
        return Err(call.system("EINVAL"));
    }
    tcp.keepalive.set(on.then_some(delay));
    if tcp.stream.has_fd() {
        if !on {
            sockopt::set_socket_keepalive(tcp.stream.fd()?.as_ref(), false)?;
        }
        tcp.apply_options()?;
    }
    Ok(0)
}

fn bind(call: &Call<'_>) -> Result<i64, Failure> {
    let tcp = call.open_handle::<Tcp>(1, WHAT)?;
    let address = address::argument(call, 2)?;
    let ipv6_only: bool = match call.optional_table(4)? {
        None => false,
        Some(flags) => flags.get("ipv6only")?,
    };
    tcp.socket(call.uv, address)?;
    let fd = tcp.stream.fd()?;
    sockopt::set_socket_reuseaddr(fd.as_ref(), true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(fd.as_ref(), ipv6_only)?;
    } else if ipv6_only {
        return Err(call.system("EINVAL"));
    }
    rustix::net::bind(fd.as_ref(), &address)?;
    Ok(0)
}

pub(crate) fn name(call: &Call<'_>, address: SocketAddrAny) -> Result<Table, Failure> {
    let address = address::from_system(address).ok_or_else(|| call.system("EAFNOSUPPORT"))?;
    Ok(address::table(call.lua, address)?)
}

fn socketpair(call: &Call<'_>) -> Result<Table, Failure> {
    let kind = match call.value(1) {
        Value::Nil => SocketType::STREAM.as_raw(),
        _ => named_number(call, 1, SOCKET_TYPES)? as u32,
    };
    let protocol = match call.optional_integer(2)? {
        None | Some(0) => None,
        Some(_) => {
            let number = call.narrow::<u32>(2)?;
            std::num::NonZero::new(number).map(Protocol::from_raw)
        }
    };
    let (one, other) = sockets::pair(SocketType::from_raw(kind), protocol)?;
    let one = pipe::lend(call, one, pipe::nonblocking(call, 3)?)?;
    let other = pipe::lend(call, other, pipe::nonblocking(call, 4)?)?;
    pipe::pair(call, [one, other])
}
