//! The network interfaces of the machine.

use std::collections::HashMap;

use mlua::Table;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;

use crate::api::Api;
use crate::call::Call;
use crate::errno::UvError;
use crate::failure::Failure;

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("interface_addresses", addresses)?;
    for name in ["if_indextoname", "if_indextoiid"] {
        api.function(name, |call| {
            let index = call.narrow::<u32>(1)?;
            let name = nix::net::if_::if_indextoname(index)
                .map_err(|error| UvError::from_raw(error as i32))?;
            // nix takes the null that libc answers with for a name.
            if name.is_empty() {
                return Err(call.system("ENXIO"));
            }
            Ok(call.lua.create_string(name.as_bytes())?)
        })?;
    }
    Ok(())
}

fn addresses(call: &Call<'_>) -> Result<Table, Failure> {
    let all: Vec<_> = getifaddrs()
        .map_err(|error| UvError::from_raw(error as i32))?
        .collect();
    let hardware: HashMap<&str, [u8; 6]> = all
        .iter()
        .filter_map(|one| {
            let mac = one.address.as_ref()?.as_link_addr()?.addr()?;
            Some((one.interface_name.as_str(), mac))
        })
        .collect();
    let table = call.lua.create_table()?;
    for one in &all {
        let running = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
        let Some((ip, family)) = one.address.as_ref().and_then(ip_and_family) else {
            continue;
        };
        if !one.flags.contains(running) {
            continue;
        }
        let entry = call.lua.create_table()?;
        entry.raw_set("ip", ip)?;
        entry.raw_set("family", family)?;
        let netmask = one.netmask.as_ref().and_then(ip_and_family);
        entry.raw_set("netmask", netmask.map(|(mask, _)| mask))?;
        let is_loopback = one.flags.contains(InterfaceFlags::IFF_LOOPBACK);
        entry.raw_set("internal", is_loopback)?;
        let mac = hardware.get(one.interface_name.as_str()).copied();
        entry.raw_set("mac", call.lua.create_string(mac.unwrap_or_default())?)?;
        let of_interface = match table.raw_get::<Option<Table>>(one.interface_name.as_str())? {
            Some(list) => list,
            None => {
                let list = call.lua.create_table()?;
                table.raw_set(one.interface_name.as_str(), &list)?;
                list
            }
        };
        of_interface.raw_push(entry)?;
    }
    Ok(table)
}

fn ip_and_family(address: &SockaddrStorage) -> Option<(String, &'static str)> {
    if let Some(v4) = address.as_sockaddr_in() {
        return Some((v4.ip().to_string(), "inet"));
    }
    let v6 = address.as_sockaddr_in6()?;
    Some((v6.ip().to_string(), "inet6"))
}
