//! Signals by name and number, in the lower-case names that Lua knows.

use rustix::process::Signal;

use crate::call::Call;
use crate::failure::Failure;

/// Every signal that has a name here.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, i32)> {
    SIGNALS
        .iter()
        .map(|(name, signal)| (*name, signal.as_raw()))
}

/// The name of a signal, or "unknown".
pub(crate) fn name_of(number: i32) -> &'static str {
    all()
        .find(|(_, known)| *known == number)
        .map_or("unknown", |(name, _)| name)
}

/// A signal by name or number; `SIGTERM` if the argument is not there.
pub(crate) fn number_or_term(call: &Call<'_>, position: usize) -> Result<i32, Failure> {
    if call.is_nil(position) {
        return Ok(Signal::TERM.as_raw());
    }
    number(call, position)
}

/// A signal by name or number.
pub(crate) fn number(call: &Call<'_>, position: usize) -> Result<i32, Failure> {
    if call.as_integer(position).is_some() {
        return call.narrow(position);
    }
    let name = call.text(position)?;
    all()
        .find(|(known, _)| *known == name)
        .map(|(_, number)| number)
        .ok_or_else(|| call.bad(position, format_args!("invalid signal '{name}'")))
}

const SIGNALS: &[(&str, Signal)] = &[
    ("sighup", Signal::HUP),
    ("sigint", Signal::INT),
    ("sigquit", Signal::QUIT),
    ("sigill", Signal::ILL),
    ("sigtrap", Signal::TRAP),
    ("sigabrt", Signal::ABORT),
    ("sigbus", Signal::BUS),
    ("sigfpe", Signal::FPE),
    ("sigkill", Signal::KILL),
    ("sigusr1", Signal::USR1),
    ("sigsegv", Signal::SEGV),
    ("sigusr2", Signal::USR2),
    ("sigpipe", Signal::PIPE),
    ("sigalrm", Signal::ALARM),
    ("sigterm", Signal::TERM),
    ("sigchld", Signal::CHILD),
    ("sigcont", Signal::CONT),
    ("sigstop", Signal::STOP),
    ("sigtstp", Signal::TSTP),
    ("sigttin", Signal::TTIN),
    ("sigttou", Signal::TTOU),
    ("sigurg", Signal::URG),
    ("sigxcpu", Signal::XCPU),
    ("sigxfsz", Signal::XFSZ),
    ("sigvtalrm", Signal::VTALARM),
    ("sigprof", Signal::PROF),
    ("sigwinch", Signal::WINCH),
    ("sigio", Signal::IO),
    ("sigsys", Signal::SYS),
];
