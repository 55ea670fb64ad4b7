//! Options of UDP sockets: groups, their interfaces, and how far datagrams go.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::rc::Rc;

use rustix::net::sockopt;
use tokio::io::unix::AsyncFd;

use super::{ANY, Udp, WHAT};
use crate::address;
use crate::api::Api;
use crate::call::Call;
use crate::failure::Failure;

pub(super) const METHODS: &[(&str, &str)] = &[
    ("set_membership", "udp_set_membership"),
    ("set_source_membership", "udp_set_source_membership"),
    ("set_multicast_loop", "udp_set_multicast_loop"),
    ("set_multicast_ttl", "udp_set_multicast_ttl"),
    ("set_multicast_interface", "udp_set_multicast_interface"),
    ("set_broadcast", "udp_set_broadcast"),
    ("set_ttl", "udp_set_ttl"),
];

pub(super) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("udp_set_membership", set_membership)?;
    api.function("udp_set_source_membership", set_source_membership)?;
    api.function("udp_set_multicast_loop", |call| {
        let (fd, is_v6) = socket(call)?;
        let on = call.boolean(2)?;
        if is_v6 {
            sockopt::set_ipv6_multicast_loop(fd.as_ref(), on)?;
        } else {
            sockopt::set_ip_multicast_loop(fd.as_ref(), on)?;
        }
        Ok(0)
    })?;
    api.function("udp_set_multicast_ttl", |call| {
        let (fd, is_v6) = socket(call)?;
        let hops = hops(call)?;
        if is_v6 {
            sockopt::set_ipv6_multicast_hops(fd.as_ref(), u32::from(hops))?;
        } else {
            sockopt::set_ip_multicast_ttl(fd.as_ref(), u32::from(hops))?;
        }
        Ok(0)
    })?;
    api.function("udp_set_multicast_interface", |call| {
        let (fd, is_v6) = socket(call)?;
        match ip(call, 2)? {
            IpAddr::V4(interface) if !is_v6 => {
                sockopt::set_ip_multicast_if(fd.as_ref(), &interface)?;
            }
            IpAddr::V6(_) if is_v6 => {
                sockopt::set_ipv6_multicast_if(fd.as_ref(), scope(call, 2)?)?;
            }
            _ => return Err(call.system("EINVAL")),
        }
        Ok(0)
    })?;
    api.function("udp_set_broadcast", |call| {
        let (fd, _) = socket(call)?;
        sockopt::set_socket_broadcast(fd.as_ref(), call.boolean(2)?)?;
        Ok(0)
    })?;
    api.function("udp_set_ttl", |call| {
        let (fd, is_v6) = socket(call)?;
        let hops = hops(call)?;
        if is_v6 {
            sockopt::set_ipv6_unicast_hops(fd.as_ref(), Some(hops))?;
        } else {
            sockopt::set_ip_ttl(fd.as_ref(), u32::from(hops))?;
        }
        Ok(0)
    })
}

/// The socket, and whether it speaks IPv6. One that has none yet, gets one for IPv4.
fn socket(call: &Call<'_>) -> Result<(Rc<AsyncFd<OwnedFd>>, bool), Failure> {
    let udp = call.open_handle::<Udp>(1, WHAT)?;
    udp.socket_for(call.uv, ANY)?;
    let fd = udp.fd()?;
    let name = rustix::net::getsockname(fd.as_ref())?;
    let is_v6 = name.address_family() == rustix::net::AddressFamily::INET6;
    Ok((fd, is_v6))
}

fn hops(call: &Call<'_>) -> Result<u8, Failure> {
    match call.narrow::<u8>(2)? {
        0 => Err(call.system("EINVAL")),
        hops => Ok(hops),
    }
}

fn ip(call: &Call<'_>, position: usize) -> Result<IpAddr, Failure> {
    let text = call.text(position)?;
    let address = address::parse(&text, 0);
    Ok(address.ok_or_else(|| call.system("EINVAL"))?.ip())
}

/// The index of the interface that an IPv6 address names by its zone.
fn scope(call: &Call<'_>, position: usize) -> Result<u32, Failure> {
    if call.is_nil(position) {
        return Ok(0);
    }
    match address::parse(&call.text(position)?, 0) {
        Some(std::net::SocketAddr::V6(address)) => Ok(address.scope_id()),
        _ => Err(call.system("EINVAL")),
    }
}

/// An IPv4 interface, or any.
fn interface(call: &Call<'_>, position: usize) -> Result<Ipv4Addr, Failure> {
    if call.is_nil(position) {
        return Ok(Ipv4Addr::UNSPECIFIED);
    }
    match ip(call, position)? {
        IpAddr::V4(interface) => Ok(interface),
        IpAddr::V6(_) => Err(call.system("EINVAL")),
    }
}

/// Whether to join, or to leave.
fn joins(call: &Call<'_>, position: usize) -> Result<bool, Failure> {
    match call.text(position)?.as_str() {
        "join" => Ok(true),
        "leave" => Ok(false),
        other => Err(call.bad(position, format_args!("invalid option '{other}'"))),
    }
}

fn set_membership(call: &Call<'_>) -> Result<i64, Failure> {
    let joins = joins(call, 4)?;
    let group = ip(call, 2)?;
    let (fd, _) = socket(call)?;
    let fd = fd.as_ref();
    match (group, joins) {
        (IpAddr::V4(group), true) => {
            sockopt::set_ip_add_membership(fd, &group, &interface(call, 3)?)?;
        }
        (IpAddr::V4(group), false) => {
            sockopt::set_ip_drop_membership(fd, &group, &interface(call, 3)?)?;
        }
        (IpAddr::V6(group), true) => {
            sockopt::set_ipv6_add_membership(fd, &group, scope(call, 3)?)?;
        }
        (IpAddr::V6(group), false) => {
            sockopt::set_ipv6_drop_membership(fd, &group, scope(call, 3)?)?;
        }
    }
    Ok(0)
}

/// For IPv4 only: the system's calls for IPv6 have no safe form yet.
fn set_source_membership(call: &Call<'_>) -> Result<i64, Failure> {
    let joins = joins(call, 5)?;
    let (IpAddr::V4(group), IpAddr::V4(source)) = (ip(call, 2)?, ip(call, 4)?) else {
        return Err(call.system("ENOSYS"));
    };
    let interface = interface(call, 3)?;
    let (fd, _) = socket(call)?;
    if joins {
        sockopt::set_ip_add_source_membership(fd.as_ref(), &group, &interface, &source)?;
    } else {
        sockopt::set_ip_drop_source_membership(fd.as_ref(), &group, &interface, &source)?;
    }
    Ok(0)
}
