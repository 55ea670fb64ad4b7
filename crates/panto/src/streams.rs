//! The process's standard streams: the one place that knows them.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use clap::error::ErrorKind;
use panto_host::headless::{
    Detail, JsonOutput, Notes, Output, RunError, RunResult, StreamJsonOutput, TextFlow, TextOutput,
    json_pretty, sanitize,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::Serialize;

use crate::args::OutputFormat;
use crate::failure::{self, Exit, Failure};

/// Standard output, or another descriptor, that waits for its reader also where it was opened so
/// that it would not: a program that shares it may have had reason to.
struct Patient<W>(W);

impl<W: Write + AsFd> Patient<W> {
    fn insist<T>(&mut self, mut attempt: impl FnMut(&mut W) -> io::Result<T>) -> io::Result<T> {
        loop {
            match attempt(&mut self.0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut waited = [PollFd::new(&self.0, PollFlags::OUT)];
                    match poll(&mut waited, None) {
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                outcome => return outcome,
            }
        }
    }
}

impl<W: Write + AsFd> Write for Patient<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.insist(|inner| inner.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.insist(W::flush)
    }
}

/// The output of a run, in the format that was asked for.
pub(crate) fn output(format: OutputFormat, verbose: bool) -> Box<dyn Output> {
    let detail = if verbose {
        Detail::Verbose
    } else {
        Detail::Brief
    };
    let notes = Notes::new(io::stderr(), detail);
    let is_terminal = io::stdout().is_terminal();
    let stdout = Patient(io::stdout());
    match format {
        OutputFormat::Text => {
            let flow = if is_terminal {
                TextFlow::Streaming
            } else {
                TextFlow::Whole
            };
            Box::new(TextOutput::new(stdout, notes, flow))
        }
        OutputFormat::Json => Box::new(JsonOutput::new(stdout, notes)),
        OutputFormat::StreamJson => Box::new(StreamJsonOutput::new(stdout)),
    }
}

/// Writes what a command prints; a reader that has gone is no failure.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = Patient(io::stdout().lock());
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::output(error)),
        _ => Ok(()),
    }
}

/// As [`print()`], but made harmless if a terminal shows it.
pub(crate) fn print_text(text: &str) -> Result<(), Failure> {
    print_file(text.as_bytes())
}

/// Prints a file as it is, byte for byte, but made harmless if a terminal shows it.
pub(crate) fn print_file(bytes: &[u8]) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        print(sanitize(&String::from_utf8_lossy(bytes)).as_bytes())
    } else {
        print(bytes)
    }
}

/// Prints a value as JSON, which is harmless as it stands.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(json_pretty(value).map_err(Failure::output)?.as_bytes())
}

/// Tells people what failed; gives what the process ends with.
pub(crate) fn report(failure: &Failure) -> Exit {
    // Nothing is left to do if nobody can be told.
    let _ = failure.report(&mut io::stderr().lock());
    failure.exit
}

/// Tells people something that is no failure.
pub(crate) fn warn(message: impl std::fmt::Display) {
    let text = format!("warning: {}\n", failure::indented(&message.to_string()));
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Tells people what was done.
pub(crate) fn note(message: impl std::fmt::Display) {
    let text = format!("panto: {}\n", failure::indented(&message.to_string()));
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Tells people what Lua prints.
pub(crate) fn pass_on(text: &str) {
    let text = format!("{}\n", sanitize(text));
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Whether a text has no control sequences but for colours.
fn is_harmless(text: &str) -> bool {
    let mut pieces = text.split("\u{1b}[");
    let is_plain = |piece: &str| !piece.contains(|c: char| c.is_control() && c != '\n');
    let first = pieces.next().is_none_or(is_plain);
    first
        && pieces.all(|piece| {
            let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
            rest.starts_with('m') && is_plain(rest)
        })
}

/// Shows what the command line gave instead of a request: help, the version, or a mistake.
///
/// A program that asked for JSON gets its `result` for a mistake too.
pub(crate) fn refuse(error: &clap::Error, format: OutputFormat) -> Exit {
    let rendered = error.render();
    let printed = match is_harmless(&rendered.ansi().to_string()) {
        true => error.print().and_then(|()| io::stdout().flush()),
        // It repeats what was typed; as plain text it has no sequences.
        false => io::stderr()
            .lock()
            .write_all(sanitize(&rendered.to_string()).as_bytes()),
    };
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        return match printed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                report(&Failure::output(error))
            }
            _ => Exit::Done,
        };
    }
    if format != OutputFormat::Text {
        let text = error.render().to_string();
        let message = text.lines().next().unwrap_or_default();
        let error = RunError {
            kind: "usage".to_owned(),
            message: message.trim_start_matches("error: ").to_owned(),
            hint: Some("`panto --help` shows what there is".to_owned()),
            ..RunError::default()
        };
        let result = RunResult::failed_early(error, Exit::Usage.code());
        let _ = StreamJsonOutput::new(Patient(io::stdout())).finish(&result);
    }
    Exit::Usage
}
