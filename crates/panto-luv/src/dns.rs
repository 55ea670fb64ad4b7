//! Names of hosts and services, by the system's resolver.

use std::net::SocketAddr;

use dns_lookup::{AddrInfoHints, LookupError};
use mlua::{IntoLuaMulti, Lua, MultiValue, Table, Value};
use nix::libc;

use crate::address;
use crate::api::Api;
use crate::call::Call;
use crate::constants::{FAMILIES, SOCKET_TYPES};
use crate::errno::UvError;
use crate::failure::Failure;
use crate::request::RequestKind;

/// One answer of the resolver.
struct Found {
    address: SocketAddr,
    socket_type: i32,
    protocol: i32,
    canonical: Option<String>,
}

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("getaddrinfo", getaddrinfo)?;
    api.function("getnameinfo", getnameinfo)
}

fn getaddrinfo(call: &Call<'_>) -> Result<MultiValue, Failure> {
    let host = call.optional_text(1)?;
    let service = call.optional_text(2)?;
    if host.is_none() && service.is_none() {
        return Err(Failure::misuse("either host or service is needed"));
    }
    let hints = hints(call, 3)?;
    let work = move || resolve(host.as_deref(), service.as_deref(), hints);
    answer(call, 4, RequestKind::GetAddrInfo, work, |lua, found| {
        let list = lua.create_table()?;
        for one in found {
            list.raw_push(one.into_table(lua)?)?;
        }
        list.into_lua_multi(lua)
    })
}

fn getnameinfo(call: &Call<'_>) -> Result<MultiValue, Failure> {
    let table = call
        .optional_table(1)?
        .ok_or_else(|| call.bad(1, "table expected, got nil"))?;
    let family = number(call, 1, table, "family", FAMILIES)?;
    let ip: Option<String> = table.get("ip")?;
    let ip = ip.unwrap_or_else(|| match family {
        libc::AF_INET6 => "::".to_owned(),
        _ => "0.0.0.0".to_owned(),
    });
    let port: Option<u16> = table.get("port")?;
    let address = address::parse(&ip, port.unwrap_or(0))
        .ok_or_else(|| call.bad(1, format_args!("invalid ip address '{ip}'")))?;
    let work = move || dns_lookup::getnameinfo(&address, 0).map_err(|error| of_lookup(&error));
    answer(call, 2, RequestKind::GetNameInfo, work, |lua, names| {
        names.into_lua_multi(lua)
    })
}

/// Asks the resolver at once, or on the thread pool if there is a callback.
fn answer<T: Send + 'static>(
    call: &Call<'_>,
    callback: usize,
    kind: RequestKind,
    work: impl FnOnce() -> Result<T, UvError> + Send + 'static,
    into_lua: fn(&Lua, T) -> mlua::Result<MultiValue>,
) -> Result<MultiValue, Failure> {
    let Some(callback) = call.optional_callback(callback)? else {
        return Ok(into_lua(call.lua, work()?)?);
    };
    let request = call.uv.request(kind, work, move |uv, result| {
        let Some(lua) = uv.lua() else { return };
        let arguments = match result {
            Ok(value) => into_lua(&lua, value).map(|mut results| {
                results.push_front(Value::Nil);
                results
            }),
            Err(error) => error.name().into_lua_multi(&lua),
        };
        uv.invoke(&callback, arguments.unwrap_or_default());
    })?;
    Ok(request.into_userdata(call.lua)?.into_lua_multi(call.lua)?)
}

/// Options of the hints that are single bits.
const FLAGS: &[(&str, i32)] = &[
    ("addrconfig", libc::AI_ADDRCONFIG),
    ("v4mapped", libc::AI_V4MAPPED),
    ("all", libc::AI_ALL),
    ("numerichost", libc::AI_NUMERICHOST),
    ("passive", libc::AI_PASSIVE),
    ("numericserv", libc::AI_NUMERICSERV),
    ("canonname", libc::AI_CANONNAME),
];

const PROTOCOLS: &[(&str, i32)] = &[
    ("ip", libc::IPPROTO_IP),
    ("icmp", libc::IPPROTO_ICMP),
    ("tcp", libc::IPPROTO_TCP),
    ("udp", libc::IPPROTO_UDP),
    ("ipv6-icmp", libc::IPPROTO_ICMPV6),
    ("raw", libc::IPPROTO_RAW),
];

fn hints(call: &Call<'_>, position: usize) -> Result<Option<AddrInfoHints>, Failure> {
    let Some(table) = call.optional_table(position)? else {
        return Ok(None);
    };
    let mut flags = 0;
    for (field, bit) in FLAGS {
        if table.get::<bool>(*field)? {
            flags |= bit;
        }
    }
    Ok(Some(AddrInfoHints {
        flags,
        address: number(call, position, table, "family", FAMILIES)?,
        socktype: number(call, position, table, "socktype", SOCKET_TYPES)?,
        protocol: number(call, position, table, "protocol", PROTOCOLS)?,
    }))
}

/// A field that is a number or the name of one; zero if it is not there.
fn number(
    call: &Call<'_>,
    position: usize,
    table: &Table,
    field: &str,
    names: &[(&str, i32)],
) -> Result<i32, Failure> {
    let value: Value = table.get(field)?;
    let number = match &value {
        Value::Nil => Some(0),
        Value::Integer(number) => i32::try_from(*number).ok(),
        Value::String(name) => names
            .iter()
            .find(|(known, _)| name.as_bytes() == known.as_bytes())
            .map(|(_, number)| *number),
        _ => None,
    };
    number.ok_or_else(|| call.bad(position, format_args!("invalid {field}")))
}

fn resolve(
    host: Option<&str>,
    service: Option<&str>,
    hints: Option<AddrInfoHints>,
) -> Result<Vec<Found>, UvError> {
    let found = dns_lookup::getaddrinfo(host, service, hints).map_err(|error| of_lookup(&error))?;
    // What is of another family than IP is an error to the crate, and of no use to Lua.
    Ok(found
        .filter_map(Result::ok)
        .map(|info| Found {
            address: info.sockaddr,
            socket_type: info.socktype,
            protocol: info.protocol,
            canonical: info.canonname,
        })
        .collect())
}

impl Found {
    fn into_table(self, lua: &Lua) -> mlua::Result<Table> {
        let name_of = |names: &[(&'static str, i32)], number: i32| {
            let known = names.iter().find(|(_, known)| *known == number);
            known.map_or("unknown", |(name, _)| name)
        };
        let table = lua.create_table()?;
        table.raw_set("addr", self.address.ip().to_string())?;
        table.raw_set("family", address::family(self.address))?;
        if self.address.port() != 0 {
            table.raw_set("port", self.address.port())?;
        }
        table.raw_set("socktype", name_of(SOCKET_TYPES, self.socket_type))?;
        table.raw_set("protocol", name_of(PROTOCOLS, self.protocol))?;
        table.raw_set("canonname", self.canonical)?;
        Ok(table)
    }
}

/// The resolver's numbers by libuv's names.
fn of_lookup(error: &LookupError) -> UvError {
    UvError::named(match error.error_num() {
        libc::EAI_AGAIN => "EAI_AGAIN",
        libc::EAI_BADFLAGS => "EAI_BADFLAGS",
        libc::EAI_FAIL => "EAI_FAIL",
        libc::EAI_FAMILY => "EAI_FAMILY",
        libc::EAI_MEMORY => "EAI_MEMORY",
        libc::EAI_NODATA => "EAI_NODATA",
        libc::EAI_NONAME => "EAI_NONAME",
        libc::EAI_OVERFLOW => "EAI_OVERFLOW",
        libc::EAI_SERVICE => "EAI_SERVICE",
        libc::EAI_SOCKTYPE => "EAI_SOCKTYPE",
        // A zero byte in a name, or an error of the system beneath.
        _ => "EAI_FAIL",
    })
}
