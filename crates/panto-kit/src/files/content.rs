//! `read`, `lines`, `decode`, `encode`, `replace` and `diff`.

use std::time::Duration;

use mlua::{Lua, Table, Value};
use panto_lua::{Arg, Args, Fault, Module, Options, Reply, values};

use super::arguments::{flag, number, path, shown};
use super::work::{Work, failed, failure};
use crate::diff::{self, Difference, diff};
use crate::read::{Fingerprint, Wanted, read, window};
use crate::replace::{Expected, Parents, replace};
use crate::text::{Encoding, Newline, decode, encode, media_type};

/// How many bytes a file may have that is read whole.
const MAX_BYTES: usize = 64 * 1024 * 1024;
const LINES: usize = 2000;
const LINE_BYTES: usize = 2000;
const WINDOW_BYTES: usize = 64 * 1024;

pub(super) fn define(lua: &Lua, module: &Module, work: &Work, table: &Table) -> mlua::Result<()> {
    let with = work.clone();
    let function = move |lua: &Lua, args: Args| read_file(lua, &with, args);
    table.raw_set("read", module.function(lua, "read", function)?)?;
    let with = work.clone();
    let function = move |lua: &Lua, args: Args| read_lines(lua, &with, args);
    table.raw_set("lines", module.function(lua, "lines", function)?)?;
    let with = work.clone();
    let function = move |lua: &Lua, args: Args| replace_file(lua, &with, args);
    table.raw_set("replace", module.function(lua, "replace", function)?)?;
    let with = work.clone();
    let function = move |lua: &Lua, args: Args| difference(lua, &with, args);
    table.raw_set("diff", module.function(lua, "diff", function)?)?;
    table.raw_set("decode", module.function(lua, "decode", decode_bytes)?)?;
    table.raw_set("encode", module.function(lua, "encode", encode_text)?)
}

fn no_options(args: &mut Args, keys: &'static [&'static str]) -> Result<Option<Options>, Fault> {
    let argument = args.next("options").given();
    argument.map(|argument| argument.options(keys)).transpose()
}

fn given(options: Option<&Options>, name: &'static str, default: usize) -> Result<usize, Fault> {
    options.map_or(Ok(default), |options| number(options, name, default))
}

fn read_file(lua: &Lua, work: &Work, mut args: Args) -> Reply {
    let path = path(&args.next("path"))?;
    let options = no_options(&mut args, &["max_bytes"])?;
    let max = given(options.as_ref(), "max_bytes", MAX_BYTES)? as u64;
    work.run(
        lua,
        move |stop| {
            let bytes = read(&path, max, stop)?;
            let fingerprint = Fingerprint::of(&bytes);
            Ok((bytes, fingerprint))
        },
        |lua, read: Result<_, crate::read::ReadError>| match read {
            Ok((bytes, fingerprint)) => {
                let bytes = lua.create_string(&bytes)?;
                values(lua, (bytes, fingerprint.to_string()))
            }
            Err(error) => failed(lua, &error, error.code()),
        },
    )
}

/// Some lines of a file, or what else it is.
enum Lines {
    Text {
        lines: Vec<String>,
        total: usize,
        cut: Vec<(usize, usize)>,
        encoding: Encoding,
        newline: Newline,
        is_lossy: bool,
        ends_with_newline: bool,
    },
    Media(&'static str, Vec<u8>),
    Binary,
}

fn read_lines(lua: &Lua, work: &Work, mut args: Args) -> Reply {
    let path = path(&args.next("path"))?;
    let options = no_options(
        &mut args,
        &["offset", "limit", "max_bytes", "max_line_bytes"],
    )?;
    let options = options.as_ref();
    let offset = match options {
        Some(options) => options.given("offset")?,
        None => None,
    };
    let wanted = Wanted {
        skip: offset.map_or(Ok(0), |offset| offset.position())?,
        max_lines: given(options, "limit", LINES)?,
        max_bytes: given(options, "max_bytes", WINDOW_BYTES)?,
        max_line_bytes: given(options, "max_line_bytes", LINE_BYTES)?,
    };
    work.run(
        lua,
        move |stop| {
            let bytes = read(&path, MAX_BYTES as u64, stop)?;
            let (size, fingerprint) = (bytes.len(), Fingerprint::of(&bytes));
            Ok((lines_of(bytes, wanted), size, fingerprint))
        },
        move |lua, read: Result<_, crate::read::ReadError>| match read {
            Ok((lines, size, fingerprint)) => {
                let table = lines_table(lua, &lines, wanted.skip)?;
                table.raw_set("size", size)?;
                table.raw_set("fingerprint", fingerprint.to_string())?;
                values(lua, table)
            }
            Err(error) => failed(lua, &error, error.code()),
        },
    )
}

fn lines_of(bytes: Vec<u8>, wanted: Wanted) -> Lines {
    if let Some(media_type) = media_type(&bytes) {
        return Lines::Media(media_type, bytes);
    }
    let Some(decoded) = decode(&bytes) else {
        return Lines::Binary;
    };
    let window = window(&decoded.text, wanted);
    Lines::Text {
        lines: window.lines.iter().map(|line| (*line).to_owned()).collect(),
        total: window.total,
        cut: window.cut,
        encoding: decoded.encoding,
        newline: Newline::of(decoded.text.as_bytes()),
        is_lossy: decoded.is_lossy,
        ends_with_newline: decoded.text.ends_with('\n'),
    }
}

fn lines_table(lua: &Lua, lines: &Lines, skipped: usize) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    match lines {
        Lines::Text {
            lines,
            total,
            cut,
            encoding,
            newline,
            is_lossy,
            ends_with_newline,
        } => {
            table.raw_set("kind", "text")?;
            table.raw_set("first", skipped + 1)?;
            table.raw_set("total", *total)?;
            table.raw_set(
                "lines",
                lua.create_sequence_from(lines.iter().map(String::as_str))?,
            )?;
            let lengths = lua.create_table()?;
            for (position, bytes) in cut {
                lengths.raw_set(position + 1, *bytes)?;
            }
            table.raw_set("cut", lengths)?;
            described(&table, *encoding, *newline, *is_lossy)?;
            table.raw_set("ends_with_newline", *ends_with_newline)?;
        }
        Lines::Media(media_type, bytes) => {
            table.raw_set("kind", "media")?;
            table.raw_set("media_type", *media_type)?;
            table.raw_set("data", lua.create_string(bytes)?)?;
        }
        Lines::Binary => table.raw_set("kind", "binary")?,
    }
    Ok(table)
}

fn described(
    table: &Table,
    encoding: Encoding,
    newline: Newline,
    is_lossy: bool,
) -> mlua::Result<()> {
    table.raw_set("encoding", encoding.as_str())?;
    table.raw_set("newline", newline.as_str())?;
    table.raw_set("is_lossy", is_lossy)
}

fn decode_bytes(lua: &Lua, mut args: Args) -> Reply {
    let bytes = args.next("bytes");
    let bytes = bytes.string()?.as_bytes();
    let Some(decoded) = decode(&bytes) else {
        return failure(lua, "this is data, not text", "binary");
    };
    let table = lua.create_table()?;
    table.raw_set("text", &*decoded.text)?;
    let newline = Newline::of(decoded.text.as_bytes());
    described(&table, decoded.encoding, newline, decoded.is_lossy)?;
    values(lua, table)
}

fn encode_text(lua: &Lua, mut args: Args) -> Reply {
    let text = args.next("text").text()?;
    let name = args.next("encoding");
    let Some(encoding) = Encoding::parse(&name.text()?) else {
        let names: Vec<_> = Encoding::names().collect();
        return Err(name.wrong(format_args!("one of {} expected", names.join(", "))));
    };
    match encode(&text, encoding) {
        Ok(bytes) => values(lua, lua.create_string(&bytes)?),
        Err(error) => failed(lua, &error, "unencodable"),
    }
}

fn replace_file(lua: &Lua, work: &Work, mut args: Args) -> Reply {
    let path = path(&args.next("path"))?;
    let bytes = args.next("bytes").string()?.as_bytes().to_vec();
    let options = no_options(&mut args, &["expect", "create_parents", "mode"])?;
    let (mut expected, mut parents, mut mode) = (Expected::Anything, Parents::Required, None);
    if let Some(options) = &options {
        expected = expectation(options.given("expect")?)?;
        if flag(options, "create_parents")? {
            parents = Parents::Created;
        }
        if let Some(argument) = options.given("mode")? {
            let bits = u32::try_from(argument.count()?).ok();
            let bits = bits.filter(|bits| *bits <= 0o7777);
            mode = Some(bits.ok_or_else(|| argument.wrong("a mode expected"))?);
        }
    }
    work.run_whole(
        lua,
        move || replace(&path, &bytes, expected, parents, mode),
        |lua, replaced| match replaced {
            Ok(replaced) => {
                let table = lua.create_table()?;
                table.raw_set("path", shown(lua, &replaced.target)?)?;
                table.raw_set("fingerprint", replaced.fingerprint.to_string())?;
                table.raw_set("is_new", replaced.is_new)?;
                values(lua, table)
            }
            Err(error) => failed(lua, &error, error.code()),
        },
    )
}

/// A fingerprint, or false for nothing at all.
fn expectation(argument: Option<Arg>) -> Result<Expected, Fault> {
    let Some(argument) = argument else {
        return Ok(Expected::Anything);
    };
    if matches!(argument.value, Value::Boolean(false)) {
        return Ok(Expected::Absent);
    }
    let fingerprint = Fingerprint::parse(&argument.text()?);
    let wrong = || argument.wrong("a fingerprint, or false, expected");
    Ok(Expected::Bytes(fingerprint.ok_or_else(wrong)?))
}

fn difference(lua: &Lua, work: &Work, mut args: Args) -> Reply {
    let old = lossy(&args.next("old"))?;
    let new = lossy(&args.next("new"))?;
    let options = no_options(
        &mut args,
        &["context", "name", "max_bytes", "time_limit_ms"],
    )?;
    let mut wanted = diff::Options::default();
    if let Some(options) = &options {
        wanted.context = number(options, "context", wanted.context)?;
        wanted.max_bytes = number(options, "max_bytes", wanted.max_bytes)?;
        if let Some(argument) = options.given("time_limit_ms")? {
            wanted.time_limit = Duration::from_millis(argument.count()?);
        }
        if let Some(argument) = options.given("name")? {
            wanted.name = Some(lossy(&argument)?.replace(char::is_control, "?"));
        }
    }
    work.run(
        lua,
        move |_| diff(&old, &new, &wanted),
        |lua, difference| values(lua, difference_table(lua, &difference)?),
    )
}

/// A difference is for people: flaws in its UTF-8 are replaced.
fn lossy(argument: &Arg) -> Result<String, Fault> {
    Ok(argument.string()?.to_string_lossy())
}

fn difference_table(lua: &Lua, difference: &Difference) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, 4)?;
    table.raw_set("text", difference.text.as_str())?;
    table.raw_set("added", difference.added)?;
    table.raw_set("removed", difference.removed)?;
    table.raw_set("hunks_left_out", difference.hunks_left_out)?;
    Ok(table)
}
