//! Terminals.

use std::cell::RefCell;
use std::os::fd::{OwnedFd, RawFd};
use std::rc::Rc;

use mlua::{AnyUserData, Value};
use rustix::fs::{Mode as FileMode, OFlags};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios,
};

use crate::api::Api;
use crate::call::Call;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Base, Handle, Kind};
use crate::socket_options;
use crate::stream::{self, Stream};

/// A terminal.
pub(crate) struct Tty(Rc<Stream>);

impl Handle for Tty {
    fn base(&self) -> &Base {
        &self.0.base
    }

    fn shut(&self, uv: &Uv) {
        self.0.shut(uv);
    }

    fn settle(&self, uv: &Uv) {
        self.0.settle(uv);
    }

    fn stream(&self) -> Option<Rc<Stream>> {
        Some(Rc::clone(&self.0))
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.0.descriptor()
    }
}

/// How the terminal was before its mode was first set: what `tty_reset_mode` goes back to.
#[derive(Default)]
pub(crate) struct Original(RefCell<Option<(OwnedFd, Termios)>>);

const WHAT: &str = "uv_tty";

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_tty", new_tty)?;
    api.function("tty_set_mode", set_mode)?;
    api.function("tty_reset_mode", |call| {
        let original = call.uv.terminal().0.borrow();
        if let Some((fd, termios)) = &*original {
            rustix::termios::tcsetattr(fd, OptionalActions::Now, termios)?;
        }
        Ok(0)
    })?;
    api.function("tty_get_winsize", |call| {
        let fd = call.open_handle::<Tty>(1, WHAT)?.0.fd()?;
        let size = rustix::termios::tcgetwinsize(fd.as_ref())?;
        Ok((size.ws_col, size.ws_row))
    })?;
    api.function("tty_set_vterm_state", |call| {
        // A setting of Windows.
        call.text(1)?;
        Ok(())
    })?;
    api.function("tty_get_vterm_state", |call| -> Result<(), _> {
        Err(call.system("ENOTSUP"))
    })?;
    let own = [
        ("set_mode", "tty_set_mode"),
        ("get_winsize", "tty_get_winsize"),
    ];
    api.handle::<Tty>("uv_tty_t", &[stream::METHODS, &own].concat())
}

fn new_tty(call: &Call<'_>) -> Result<AnyUserData, Failure> {
    let given = call.uv.descriptors().duplicate(call.narrow(1)?)?;
    if matches!(socket_options::guess(&given), "file" | "unknown") {
        return Err(call.system("EINVAL"));
    }
    let stream = Stream::new(Kind::Tty);
    stream.open(call.uv, opened_anew(given))?;
    call.adopt(Tty(stream))
}

/// The same terminal, opened anew: what is set not to wait is then ours alone, and not the shell's, too.
fn opened_anew(given: OwnedFd) -> OwnedFd {
    let anew = || -> Result<OwnedFd, rustix::io::Errno> {
        let path = rustix::termios::ttyname(&given, Vec::new())?;
        let mode = rustix::fs::fcntl_getfl(&given)? & OFlags::RWMODE;
        let flags = mode | OFlags::NOCTTY | OFlags::CLOEXEC;
        rustix::fs::open(&path, flags, FileMode::empty())
    };
    anew().unwrap_or(given)
}

/// Modes by the names and numbers that Lua knows.
const MODES: &[(&str, i32)] = &[("normal", 0), ("raw", 1), ("io", 2), ("raw_vt", 3)];

fn set_mode(call: &Call<'_>) -> Result<i64, Failure> {
    let fd = call.open_handle::<Tty>(1, WHAT)?.0.fd()?;
    let number = match call.value(2) {
        Value::String(_) => {
            let name = call.text(2)?;
            let known = MODES.iter().find(|(known, _)| *known == name);
            known
                .map(|(_, number)| *number)
                .ok_or_else(|| call.bad(2, format_args!("invalid option '{name}'")))?
        }
        _ => call.narrow(2)?,
    };
    if call.uv.terminal_is_taken() {
        return Err(call.system("EBUSY"));
    }
    let now = rustix::termios::tcgetattr(fd.as_ref())?;
    let mut original = call.uv.terminal().0.borrow_mut();
    let (_, before) = match &mut *original {
        Some(original) => original,
        none => none.insert((rustix::io::fcntl_dupfd_cloexec(fd.as_ref(), 3)?, now)),
    };
    let mut wanted = before.clone();
    match number {
        0 => {}
        1 | 3 => make_raw(&mut wanted),
        2 => wanted.make_raw(),
        _ => return Err(call.system("EINVAL")),
    }
    rustix::termios::tcsetattr(fd.as_ref(), OptionalActions::Drain, &wanted)?;
    Ok(0)
}

/// libuv's raw mode, which leaves the translation of line ends in output on.
fn make_raw(termios: &mut Termios) {
    termios.input_modes -= InputModes::BRKINT
        | InputModes::ICRNL
        | InputModes::INPCK
        | InputModes::ISTRIP
        | InputModes::IXON;
    termios.output_modes |= OutputModes::ONLCR;
    termios.control_modes |= rustix::termios::ControlModes::CS8;
    termios.local_modes -=
        LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN | LocalModes::ISIG;
    termios.special_codes[SpecialCodeIndex::VMIN] = 1;
    termios.special_codes[SpecialCodeIndex::VTIME] = 0;
}
