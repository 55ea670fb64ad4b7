//! Addresses of sockets, between Lua and the system.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use mlua::{Lua, Table};
use rustix::net::SocketAddrAny;

use crate::call::Call;
use crate::failure::Failure;

/// The address that two arguments name: an IP address as text, which may have a zone, and a port.
pub(crate) fn argument(call: &Call<'_>, position: usize) -> Result<SocketAddr, Failure> {
    let host = call.text(position)?;
    let port = call.integer(position + 1)?;
    u16::try_from(port)
        .ok()
        .and_then(|port| parse(&host, port))
        .ok_or_else(|| Failure::misuse(format!("invalid IP address or port [{host}:{port}]")))
}

pub(crate) fn parse(host: &str, port: u16) -> Option<SocketAddr> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Some(SocketAddr::new(ip, port));
    }
    let (ip, zone) = host.split_once('%')?;
    let ip: Ipv6Addr = ip.parse().ok()?;
    let scope = match zone.parse() {
        Ok(index) => index,
        Err(_) => nix::net::if_::if_nametoindex(zone).ok()?,
    };
    Some(SocketAddrV6::new(ip, port, 0, scope).into())
}

/// What the system says, if it is of a family that Lua is told of.
pub(crate) fn from_system(address: SocketAddrAny) -> Option<SocketAddr> {
    SocketAddr::try_from(address).ok()
}

/// An address as Lua gets it.
pub(crate) fn table(lua: &Lua, address: SocketAddr) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("ip", address.ip().to_string())?;
    table.raw_set("port", address.port())?;
    table.raw_set("family", family(address))?;
    Ok(table)
}

pub(crate) fn family(address: SocketAddr) -> &'static str {
    match address {
        SocketAddr::V4(_) => "inet",
        SocketAddr::V6(_) => "inet6",
    }
}
