//! How a key is given: typed at a prompt, or piped in.

use std::fs::OpenOptions;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use super::silent::Silent;
use crate::failure::{Exit, Failure};
use crate::streams;

/// How long a pipe may be silent before a person hears what is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// No line with a key is longer.
const MOST_BYTES: u64 = 64 << 10;

/// From so many bytes on a terminal drops what else is typed in a line.
const TERMINAL_LINE: usize = 4095;

/// Where a key is read from.
pub(super) enum Entry {
    /// A person is asked with these words.
    Terminal(String),
    /// The first line of what is piped in.
    Pipe,
}

/// What came of it.
pub(super) enum Entered {
    /// One line; empty if none was given.
    Text(String),
    /// A signal came before.
    Interrupted(Exit),
}

impl Entry {
    /// Standard input, whatever it is; `question` is for a person.
    pub(super) fn from_stdin(question: String) -> Self {
        match io::stdin().is_terminal() {
            true => Entry::Terminal(question),
            false => Entry::Pipe,
        }
    }

    /// Reads one line.
    ///
    /// A thread of its own reads, so that a signal need not wait. Dropping the future leaves that
    /// thread to the end of the process, and the terminal as it was.
    ///
    /// # Errors
    ///
    /// The terminal does not hide what is typed, or standard input cannot be read.
    pub(super) async fn read(self) -> Result<Entered, Failure> {
        let line = match self {
            Entry::Terminal(question) => typed(&question).await?,
            Entry::Pipe => piped().await?,
        };
        let text = String::from_utf8(line).map_err(|_| {
            Failure::usage("this is no key: it is not text").with_hint("nothing was stored")
        })?;
        Ok(Entered::Text(text))
    }
}

async fn typed(question: &str) -> Result<Vec<u8>, Failure> {
    let silent = Silent::new().map_err(|error| {
        let error = anyhow::Error::new(error).context("the terminal cannot hide what is typed");
        Failure::new(Exit::Usage, "usage", error)
            .with_hint("pipe the key in: panto login PROVIDER < FILE")
    })?;
    let mut prompt = Prompt::new();
    prompt.ask(question);
    let line = line().await;
    drop(silent);
    drop(prompt);
    let line = line?;
    if line.len() >= TERMINAL_LINE {
        return Err(
            Failure::usage("a terminal takes no line that is so long; nothing was stored")
                .with_hint("pipe the key in: panto login PROVIDER < FILE"),
        );
    }
    // A terminal that goes away, or Ctrl+D, ends no line.
    Ok(if line.ends_with(b"\n") {
        line
    } else {
        Vec::new()
    })
}

async fn piped() -> Result<Vec<u8>, Failure> {
    let mut line = std::pin::pin!(line());
    tokio::select! {
        line = &mut line => line,
        () = tokio::time::sleep(PATIENCE) => {
            streams::note("reading the key from standard input");
            line.await
        }
    }
}

/// Reads one line of standard input.
async fn line() -> Result<Vec<u8>, Failure> {
    let (sender, line) = oneshot::channel();
    let read = move || {
        let mut line = Vec::new();
        let mut bounded = io::stdin().lock().take(MOST_BYTES);
        let _ = sender.send(bounded.read_until(b'\n', &mut line).map(|_| line));
    };
    let spawned = thread::Builder::new().name("stdin".to_owned()).spawn(read);
    spawned.map_err(|error| {
        let error = anyhow::Error::new(error).context("could not start a thread");
        Failure::new(Exit::TurnFailed, "internal", error)
    })?;
    let line = line.await.unwrap_or_else(|_| {
        let gone = "the thread that reads standard input is gone";
        Err(io::Error::other(gone))
    });
    line.map_err(|error| {
        let error = anyhow::Error::new(error).context("could not read standard input");
        Failure::new(Exit::Usage, "usage", error)
    })
}

/// Where the question stands; the line ends with its life, since Enter does not show.
struct Prompt(Box<dyn Write + Send>);

impl Prompt {
    /// Standard error, or the terminal itself if standard error goes elsewhere.
    fn new() -> Self {
        let stderr = io::stderr();
        if stderr.is_terminal() {
            return Self(Box::new(stderr));
        }
        match OpenOptions::new().write(true).open("/dev/tty") {
            Ok(terminal) => Self(Box::new(terminal)),
            Err(_) => Self(Box::new(stderr)),
        }
    }

    fn ask(&mut self, question: &str) {
        // A person who does not see the question may still know what to type.
        let _ = self.0.write_all(question.as_bytes());
        let _ = self.0.flush();
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        let _ = self.0.write_all(b"\n");
    }
}
