//! Random bytes from the system.

use mlua::{IntoLuaMulti, MultiValue, Value};

use crate::api::Api;
use crate::call::Call;
use crate::errno::UvError;
use crate::failure::Failure;
use crate::request::RequestKind;

/// libuv's own bound.
const MAX_BYTES: usize = 0x7fff_ffff;

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("random", random)
}

fn random(call: &Call<'_>) -> Result<MultiValue, Failure> {
    let length = call.narrow::<usize>(1)?;
    let flags_are_empty = match call.value(2) {
        Value::Nil | Value::Integer(0) => true,
        Value::Table(flags) => flags.is_empty(),
        _ => false,
    };
    if !flags_are_empty {
        return Err(call.bad(2, "flags must be nil, 0 or an empty table"));
    }
    if length > MAX_BYTES {
        return Err(call.system("E2BIG"));
    }
    let Some(callback) = call.optional_callback(3)? else {
        let bytes = bytes(length)?;
        return Ok(call.lua.create_string(bytes)?.into_lua_multi(call.lua)?);
    };
    call.uv.request(
        RequestKind::Random,
        move || bytes(length),
        move |uv, result| match result {
            Ok(bytes) => uv.invoke(&callback, (Value::Nil, mlua::BString::from(bytes))),
            Err(error) => uv.invoke(&callback, error.message()),
        },
    )?;
    Ok(0.into_lua_multi(call.lua)?)
}

/// As many bytes as asked for.
pub(crate) fn bytes(length: usize) -> Result<Vec<u8>, UvError> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(length)
        .map_err(|_| UvError::named("ENOMEM"))?;
    bytes.resize(length, 0);
    fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(target_os = "linux")]
fn fill(bytes: &mut [u8]) -> Result<(), UvError> {
    use rustix::rand::{GetRandomFlags, getrandom};
    let mut filled = 0;
    while filled < bytes.len() {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(more) => filled += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn fill(bytes: &mut [u8]) -> Result<(), UvError> {
    use std::io::Read;
    Ok(std::fs::File::open("/dev/urandom")?.read_exact(bytes)?)
}
