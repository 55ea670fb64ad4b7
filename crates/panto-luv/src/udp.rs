//! UDP.

use std::cell::{Cell, RefCell};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;

use mlua::{AnyUserData, Value};
use rustix::net::{AddressFamily, SocketType, sockopt};
use tokio::io::unix::AsyncFd;

use crate::address;
use crate::api::Api;
use crate::call::Call;
use crate::constants::{FAMILIES, UDP_IPV6ONLY, UDP_REUSEADDR};
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Base, Handle, Kind};
use crate::poll;
use crate::sockets;
use crate::tcp;

mod membership;
mod receiving;
mod sending;

/// A UDP socket.
pub(crate) struct Udp {
    base: Base,
    fd: RefCell<Option<Rc<AsyncFd<OwnedFd>>>>,
    connected: Cell<bool>,
    receiving: receiving::Receiving,
    sending: sending::Sending,
}

impl Handle for Udp {
    fn base(&self) -> &Base {
        &self.base
    }

    fn shut(&self, uv: &Uv) {
        self.stop_receiving(uv);
        self.sending.unwatch();
        self.fd.take();
    }

    fn settle(&self, uv: &Uv) {
        self.sending.cancel(uv);
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.fd.borrow().as_ref().map(|fd| fd.as_raw_fd())
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
        let fd = sockets::socket(family, SocketType::DGRAM, None)?;
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
    sending::register(api)?;
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
        sending: Default::default(),
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

/// Where a socket is bound that nobody bound.
const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
