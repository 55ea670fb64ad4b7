//! What a child is started with.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;

use mlua::{LuaString, Table, Value};
use rustix::net::SocketType;

use super::children::Whole;
use crate::call::Call;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::raw;
use crate::sockets;
use crate::stream::Stream;

/// A child that is not started yet.
pub(super) struct Child {
    command: Command,
    /// The descriptors that it gets, by number; `None` for what is to be empty.
    descriptors: Vec<Option<OwnedFd>>,
    /// The streams that get our end of a new conversation with it, and its end.
    ends: Vec<Ends>,
    detached: bool,
}

/// Both ends of a new conversation.
struct Ends {
    stream: Rc<Stream>,
    ours: OwnedFd,
    theirs: OwnedFd,
}

/// Reads path and options of a call of `spawn`.
pub(super) fn read(call: &Call<'_>) -> Result<Child, Failure> {
    let path = call.os_string(1)?;
    let options = call
        .optional_table(2)?
        .ok_or_else(|| call.bad(2, "table expected, got nil"))?;
    let mut command = Command::new(&path);
    command.args(strings(call, options, "args")?.unwrap_or_default());
    command.env_clear();
    match strings(call, options, "env")? {
        None => command.envs(&*call.uv.environment().borrow()),
        Some(entries) => command.envs(variables(&entries)),
    };
    if let Some(folder) = options.get::<Option<LuaString>>("cwd")? {
        command.current_dir(PathBuf::from(OsString::from_vec(
            folder.as_bytes().to_vec(),
        )));
    }
    if let Some(user) = id(call, options, "uid")? {
        command.uid(user);
    }
    if let Some(group) = id(call, options, "gid")? {
        command.gid(group);
    }
    let mut child = Child {
        command,
        descriptors: Vec::new(),
        ends: Vec::new(),
        detached: truth(options, "detached")?,
    };
    child.read_stdio(call, options)?;
    Ok(child)
}

fn truth(options: &Table, field: &str) -> Result<bool, Failure> {
    let value: Value = options.get(field)?;
    Ok(!matches!(value, Value::Nil | Value::Boolean(false)))
}

fn wrong(call: &Call<'_>, field: &str, what: &str) -> Failure {
    call.bad(2, format_args!("option '{field}' must be {what}"))
}

/// A list of strings, if the field is there.
fn strings(
    call: &Call<'_>,
    options: &Table,
    field: &str,
) -> Result<Option<Vec<OsString>>, Failure> {
    let list = match options.get::<Value>(field)? {
        Value::Nil => return Ok(None),
        Value::Table(list) => list,
        _ => return Err(wrong(call, field, "a list of strings")),
    };
    let mut strings = Vec::new();
    for string in list.sequence_values::<LuaString>() {
        let string = string.map_err(|_| wrong(call, field, "a list of strings"))?;
        strings.push(OsString::from_vec(string.as_bytes().to_vec()));
    }
    Ok(Some(strings))
}

fn id(call: &Call<'_>, options: &Table, field: &str) -> Result<Option<u32>, Failure> {
    let value = options.get::<Value>(field)?;
    if value.is_nil() {
        return Ok(None);
    }
    let id = call.lua.coerce_integer(value)?;
    id.and_then(|id| u32::try_from(id).ok())
        .map(Some)
        .ok_or_else(|| wrong(call, field, "an id"))
}

/// `NAME=VALUE` entries; what has no value is left out.
fn variables(entries: &[OsString]) -> BTreeMap<&OsStr, &OsStr> {
    entries
        .iter()
        .filter_map(|entry| {
            let bytes = entry.as_bytes();
            let at = bytes.iter().position(|byte| *byte == b'=')?;
            Some((
                OsStr::from_bytes(&bytes[..at]),
                OsStr::from_bytes(&bytes[at + 1..]),
            ))
        })
        .collect()
}

/// The number of standard streams.
const STANDARD: usize = 3;

impl Child {
    pub(super) fn whole(&self) -> Whole {
        match self.detached {
            true => Whole::Group,
            false => Whole::Process,
        }
    }

    fn read_stdio(&mut self, call: &Call<'_>, options: &Table) -> Result<(), Failure> {
        let what = "a list of descriptors and streams";
        let list = match options.get::<Value>("stdio")? {
            Value::Nil => return Ok(()),
            Value::Table(list) => list,
            _ => return Err(wrong(call, "stdio", what)),
        };
        for position in 1..=last_position(&list)? {
            let descriptor = match list.raw_get::<Value>(position)? {
                Value::Nil => None,
                Value::Integer(number) => {
                    let number = i32::try_from(number).map_err(|_| wrong(call, "stdio", what))?;
                    Some(call.uv.descriptors().duplicate(number)?)
                }
                Value::UserData(userdata) => {
                    let handle = call.uv.handles().unwrap(&userdata);
                    let stream = handle
                        .and_then(|handle| handle.stream())
                        .ok_or_else(|| wrong(call, "stdio", what))?;
                    Some(self.end_of(stream)?)
                }
                _ => return Err(wrong(call, "stdio", what)),
            };
            self.descriptors.push(descriptor);
        }
        Ok(())
    }

    /// What the child gets of a stream: the same descriptor if it has one, else the other end of a new pair. A pair of
    /// sockets and not of pipes, so that both can write and either can end its side.
    fn end_of(&mut self, stream: Rc<Stream>) -> Result<OwnedFd, Failure> {
        if let Some(number) = stream.descriptor() {
            return Ok(raw::duplicate(number)?);
        }
        // One stream for two numbers, such as both outputs, is one conversation.
        if let Some(known) = self
            .ends
            .iter()
            .find(|ends| Rc::ptr_eq(&ends.stream, &stream))
        {
            return Ok(rustix::io::fcntl_dupfd_cloexec(&known.theirs, 3)?);
        }
        let (ours, theirs) = sockets::pair(SocketType::STREAM, None)?;
        let given = rustix::io::fcntl_dupfd_cloexec(&theirs, 3)?;
        self.ends.push(Ends {
            stream,
            ours,
            theirs,
        });
        Ok(given)
    }

    /// Starts it, and connects the streams to it.
    pub(super) fn start(mut self, uv: &Uv) -> Result<(tokio::process::Child, i32), Failure> {
        let mut descriptors = self.descriptors.into_iter();
        let mut standard = || match descriptors.next().flatten() {
            Some(fd) => Stdio::from(fd),
            None => Stdio::null(),
        };
        self.command.stdin(standard());
        self.command.stdout(standard());
        self.command.stderr(standard());
        let others: Vec<(OwnedFd, i32)> = descriptors
            .enumerate()
            .filter_map(|(index, fd)| Some((fd?, i32::try_from(index + STANDARD).ok()?)))
            .collect();
        let (others, _taken) = above_all_targets(others)?;
        raw::prepare_child(&mut self.command, others, self.detached);
        let streams: Vec<_> = self
            .ends
            .iter()
            .map(|ends| Rc::clone(&ends.stream))
            .collect();
        let child = attach(uv, self.ends)
            .and_then(|()| spawn(uv, self.command))
            .inspect_err(|_| streams.iter().for_each(|stream| stream.detach()))?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        Ok((child, pid.unwrap_or(0)))
    }
}

/// Gives the streams their ends. Before there is a child: once there is, nothing may fail any more.
fn attach(uv: &Uv, ends: Vec<Ends>) -> Result<(), Failure> {
    for Ends { stream, ours, .. } in ends {
        stream.attach(uv, ours)?;
        stream.set_directions(true, true);
    }
    Ok(())
}

fn spawn(uv: &Uv, command: Command) -> Result<tokio::process::Child, Failure> {
    let _runtime = uv.runtime().enter()?;
    Ok(tokio::process::Command::from(command).spawn()?)
}

/// Moves descriptors out of the way of the numbers that they are to be copied to: a copy must not overwrite one that is
/// yet to be copied. Returns also what takes those numbers up until the child is started, as std opens a descriptor of
/// its own for that, which must not be overwritten either.
fn above_all_targets(descriptors: Vec<(OwnedFd, i32)>) -> Result<Moved, Failure> {
    let highest = descriptors.iter().map(|(_, target)| *target).max();
    let (Some(highest), Some((any, _))) = (highest, descriptors.first()) else {
        return Ok((descriptors, Vec::new()));
    };
    let mut taken = Vec::new();
    loop {
        let next = rustix::io::fcntl_dupfd_cloexec(any, 0)?;
        if next.as_raw_fd() > highest {
            break;
        }
        taken.push(next);
    }
    let move_up = |(fd, target): (OwnedFd, i32)| {
        if fd.as_raw_fd() > highest {
            return Ok((fd, target));
        }
        Ok((rustix::io::fcntl_dupfd_cloexec(&fd, highest + 1)?, target))
    };
    let moved = descriptors.into_iter().map(move_up);
    let moved = moved.collect::<Result<_, rustix::io::Errno>>()?;
    Ok((moved, taken))
}

/// Descriptors with their targets, and what takes the targets up.
type Moved = (Vec<(OwnedFd, i32)>, Vec<OwnedFd>);

/// The last position of a list that may have holes.
fn last_position(list: &Table) -> Result<i64, Failure> {
    let mut last = 0;
    for pair in list.pairs::<Value, Value>() {
        if let (Value::Integer(position), _) = pair? {
            last = last.max(position);
        }
    }
    Ok(last.min(MAX_DESCRIPTORS))
}

/// No child needs more; a list with a huge position is not to be filled up.
const MAX_DESCRIPTORS: i64 = 1024;
