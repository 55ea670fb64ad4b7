//! The prompt of `panto -p`: from the command line, from standard input, or both.

use std::io::{self, Read, Write};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::failure::{Exit, Failure};

/// How long standard input may be silent before a person hears what is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// No prompt is larger; something else is being piped.
pub(crate) const MOST_BYTES: u64 = 64 << 20;

/// Where the prompt comes from.
pub(crate) struct PromptSource<R> {
    /// What stands behind `-p`; empty if nothing does.
    pub(crate) argument: String,
    /// Standard input, unless a person would have to type there.
    pub(crate) piped: Option<R>,
}

impl<R: Read + Send + 'static> PromptSource<R> {
    /// Reads the prompt, if there is one in either place.
    ///
    /// A thread of its own reads, so that a signal need not wait for standard input. Dropping
    /// the future leaves that thread to the end of the process.
    ///
    /// # Errors
    ///
    /// Standard input cannot be read, or does not end.
    pub(crate) async fn read(self) -> Result<Option<Prompt>, Failure> {
        let Some(reader) = self.piped else {
            return Ok(both(self.argument, String::new()));
        };
        let (sender, mut text) = oneshot::channel();
        let read = move || sender.send(read_text(reader, MOST_BYTES, &mut io::stderr()));
        let spawned = thread::Builder::new().name("stdin".to_owned()).spawn(read);
        spawned.map_err(|error| {
            let error = anyhow::Error::new(error).context("could not start a thread");
            Failure::new(Exit::TurnFailed, "internal", error)
        })?;
        let text = tokio::select! {
            text = &mut text => text,
            () = tokio::time::sleep(PATIENCE) => {
                // A script that inherits an open pipe would otherwise wait without a word.
                let _ = writeln!(
                    io::stderr(),
                    "panto: reading standard input until it ends; `< /dev/null` gives none"
                );
                text.await
            }
        };
        let text = text.unwrap_or_else(|_| {
            let error = anyhow::anyhow!("the thread that reads standard input is gone");
            Err(Failure::new(Exit::TurnFailed, "internal", error))
        })?;
        Ok(both(self.argument, text))
    }
}

/// What is to be said to the model, or the command that is to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    /// What stands behind `-p`, or all of standard input if nothing does.
    pub(crate) text: String,
    /// What was piped beside it, marked so that a model can tell one from the other.
    pub(crate) piped: Option<String>,
}

impl Prompt {
    /// One that has nothing beside it.
    pub(crate) fn of(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            piped: None,
        }
    }

    /// All of it: the text, then what was piped.
    pub(crate) fn whole(&self) -> String {
        match &self.piped {
            Some(piped) => format!("{}\n\n{piped}", self.text),
            None => self.text.clone(),
        }
    }
}

/// The prompt of both places, if either has one.
fn both(argument: String, piped: String) -> Option<Prompt> {
    match (argument.trim().is_empty(), piped.trim().is_empty()) {
        (true, true) => None,
        (false, true) => Some(Prompt::of(&argument)),
        (true, false) => Some(Prompt::of(&piped)),
        (false, false) => {
            let newline = if piped.ends_with('\n') { "" } else { "\n" };
            Some(Prompt {
                text: argument,
                piped: Some(format!("<stdin>\n{piped}{newline}</stdin>")),
            })
        }
    }
}

/// Reads text of at most `most` bytes; what a person should know goes to `notes`.
fn read_text(reader: impl Read, most: u64, notes: &mut impl Write) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let outcome = reader.take(most + 1).read_to_end(&mut bytes);
    outcome.map_err(|error| {
        let error = anyhow::Error::new(error).context("could not read standard input");
        Failure::new(Exit::Usage, "usage", error)
    })?;
    if bytes.len() as u64 > most {
        return Err(too_large("standard input", most));
    }
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

/// Something to be said to a model is larger than anything that a model takes.
pub(crate) fn too_large(what: &str, most: u64) -> Failure {
    Failure::usage(format!("{what} is larger than {} MiB", most >> 20))
        .with_hint("no model takes so much; name the files in the prompt instead of piping them")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(argument: &str, piped: &str) -> Option<String> {
        both(argument.to_owned(), piped.to_owned()).map(|prompt| prompt.whole())
    }

    #[test]
    fn a_prompt_comes_from_either_place_or_both() {
        let both = Some("ask\n\n<stdin>\ndata\n</stdin>".to_owned());
        assert_eq!(prompt("ask", "").as_deref(), Some("ask"));
        assert_eq!(prompt("", "piped\n").as_deref(), Some("piped\n"));
        assert_eq!(prompt("ask", "data\n"), both);
        assert_eq!(prompt("ask", "data"), both);
        assert_eq!(prompt(" ", ""), None);
        assert_eq!(prompt("", " \n"), None);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_said() {
        let mut notes = Vec::new();
        let text = read_text(&b"a\xff\xfeb"[..], 4, &mut notes).unwrap();
        assert_eq!(text, "a\u{fffd}\u{fffd}b");
        insta::assert_snapshot!(String::from_utf8(notes).unwrap(), @"panto: standard input is not UTF-8 at byte 2; what cannot be read is replaced by U+FFFD");
    }

    #[test]
    fn what_does_not_end_is_refused_rather_than_collected() {
        let failure = read_text(io::repeat(b'x'), 1 << 20, &mut io::sink()).unwrap_err();
        let message = failure.to_run_error().message;
        assert_eq!(message, "standard input is larger than 1 MiB");
    }
}
