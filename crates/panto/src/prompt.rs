//! The prompt of `panto -p`: from the command line, from standard input, or both.

use std::io::{self, Read, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::failure::Failure;

/// How long standard input may be silent before a person hears what is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where the prompt comes from.
pub(crate) struct PromptSource<R> {
    /// What stands behind `-p`; empty if nothing does.
    pub(crate) argument: String,
    /// Standard input, unless a person would have to type there.
    pub(crate) piped: Option<R>,
}

impl<R: Read> PromptSource<R> {
    /// Reads the prompt, if there is one in either place; what a person should know goes to
    /// `notes`.
    ///
    /// # Errors
    ///
    /// Standard input cannot be read.
    pub(crate) fn read(self, notes: &mut impl Write) -> Result<Option<String>, Failure> {
        let piped = match self.piped {
            Some(reader) => read_text(reader, notes)?,
            None => String::new(),
        };
        Ok(
            match (self.argument.trim().is_empty(), piped.trim().is_empty()) {
                (true, true) => None,
                (false, true) => Some(self.argument),
                (true, false) => Some(piped),
                (false, false) => Some(join(&self.argument, &piped)),
            },
        )
    }
}

/// The argument, then what was piped, marked so that a model can tell one from the other.
fn join(argument: &str, piped: &str) -> String {
    let newline = if piped.ends_with('\n') { "" } else { "\n" };
    format!("{argument}\n\n<stdin>\n{piped}{newline}</stdin>")
}

fn read_text(mut reader: impl Read, notes: &mut impl Write) -> Result<String, Failure> {
    let waiting = say_if_silent();
    let mut bytes = Vec::new();
    let outcome = reader.read_to_end(&mut bytes);
    drop(waiting);
    outcome.map_err(|error| {
        let error = anyhow::Error::new(error).context("could not read standard input");
        Failure::new(crate::failure::Exit::Usage, "usage", error)
    })?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            // A note that nobody can read changes nothing about the prompt.
            let _ = writeln!(
                notes,
                "panto: standard input is not UTF-8 at byte {}; what cannot be read is replaced by U+FFFD",
                error.utf8_error().valid_up_to() + 1
            );
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
    })
}

/// Tells a person, until the sender is dropped, that standard input has not ended: a script
/// that inherits an open pipe would otherwise wait without a word.
fn say_if_silent() -> mpsc::Sender<()> {
    let (waiting, done) = mpsc::channel();
    thread::spawn(move || {
        if done.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = writeln!(
                io::stderr(),
                "panto: reading standard input until it ends; `< /dev/null` gives none"
            );
        }
    });
    waiting
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(argument: &str, piped: Option<&[u8]>) -> (String, String) {
        let mut notes = Vec::new();
        let source = PromptSource {
            argument: argument.to_owned(),
            piped,
        };
        let prompt = match source.read(&mut notes) {
            Ok(prompt) => prompt.unwrap_or_else(|| "none".to_owned()),
            Err(failure) => failure.to_run_error().message,
        };
        (prompt, String::from_utf8(notes).unwrap())
    }

    #[test]
    fn a_prompt_comes_from_either_place_or_both() {
        let prompt =
            |argument, piped: Option<&'static str>| read(argument, piped.map(str::as_bytes)).0;
        assert_eq!(prompt("ask", None), "ask");
        assert_eq!(prompt("ask", Some("")), "ask");
        assert_eq!(prompt("", Some("from a pipe\n")), "from a pipe\n");
        assert_eq!(
            prompt("ask", Some("data\n")),
            "ask\n\n<stdin>\ndata\n</stdin>"
        );
        assert_eq!(
            prompt("ask", Some("data")),
            "ask\n\n<stdin>\ndata\n</stdin>"
        );
        assert_eq!(prompt(" ", None), "none");
        assert_eq!(prompt("", Some(" \n")), "none");
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_said() {
        let (prompt, notes) = read("", Some(b"a\xff\xfeb"));
        assert_eq!(prompt, "a\u{fffd}\u{fffd}b");
        insta::assert_snapshot!(notes, @"panto: standard input is not UTF-8 at byte 2; what cannot be read is replaced by U+FFFD");
    }
}
