//! UTF-16 and back, by way of WTF-8, in which halves of pairs that stand alone are encoded as if they were characters.

use mlua::LuaString;

use crate::api::Api;
use crate::call::Call;
use crate::failure::Failure;

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("utf16_length_as_wtf8", |call| {
        Ok(to_wtf8(&units(call)?).len())
    })?;
    api.function("utf16_to_wtf8", |call| -> Result<LuaString, Failure> {
        Ok(call.lua.create_string(to_wtf8(&units(call)?))?)
    })?;
    api.function("wtf8_length_as_utf16", |call| {
        Ok(to_utf16(call, &call.bytes(1)?)?.len())
    })?;
    api.function("wtf8_to_utf16", |call| {
        let units = to_utf16(call, &call.bytes(1)?)?;
        let bytes: Vec<u8> = units.into_iter().flat_map(u16::to_ne_bytes).collect();
        Ok(call.lua.create_string(bytes)?)
    })
}

/// The units of a UTF-16 string in the byte order of the machine.
fn units(call: &Call<'_>) -> Result<Vec<u16>, Failure> {
    let bytes = call.bytes(1)?;
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(call.bad(1, "a UTF-16 string has an even number of bytes"));
    }
    Ok(pairs.iter().copied().map(u16::from_ne_bytes).collect())
}

fn to_wtf8(units: &[u16]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(units.len());
    for unit in char::decode_utf16(units.iter().copied()) {
        match unit {
            Ok(letter) => bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(alone) => bytes.extend(three_bytes(alone.unpaired_surrogate())),
        }
    }
    bytes
}

/// A unit from the range of three bytes.
fn three_bytes(unit: u16) -> [u8; 3] {
    let low = |bits: u16| 0x80 | (bits & 0x3f) as u8;
    [0xe0 | (unit >> 12) as u8, low(unit >> 6), low(unit)]
}

fn to_utf16(call: &Call<'_>, bytes: &[u8]) -> Result<Vec<u16>, Failure> {
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        let valid = match std::str::from_utf8(rest) {
            Ok(text) => text,
            // What is valid before the error, which is then looked at alone.
            Err(error) => std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default(),
        };
        units.extend(valid.encode_utf16());
        rest = &rest[valid.len()..];
        match rest {
            [] => {}
            [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, more @ ..] => {
                units.push(0xd000 | u16::from(second & 0x3f) << 6 | u16::from(third & 0x3f));
                rest = more;
            }
            _ => return Err(call.bad(1, "not a WTF-8 string")),
        }
    }
    Ok(units)
}
