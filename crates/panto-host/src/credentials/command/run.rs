//! One run of a command that prints a key.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

use crate::credentials::key::{KeyProblem, KeyText};
use crate::headless::sanitize_line;

/// How long a command may take. It cannot ask anything, so it has nobody to wait for.
const PATIENCE: Duration = Duration::from_secs(60);

/// No answer is longer.
const MOST_BYTES: usize = 64 << 10;

/// How much of standard error is remembered: its last line is what may be repeated.
const REMEMBERED: usize = 4 << 10;

/// How much of a line is repeated.
const MOST_SHOWN: usize = 200;

/// Why a command gave no key. Holds nothing of its standard output.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("it names no program")]
    NoProgram,
    #[error("there is no program `{}`{}", .0, why_not_found(.0))]
    NotFound(String),
    #[error("`{0}` may not be executed")]
    NotExecutable(String),
    #[error("`{0}` could not be started: {1}")]
    NotStarted(String, io::Error),
    #[error("`{program}` {}{}", ended(.status), said(.says))]
    Failed {
        program: String,
        status: ExitStatus,
        says: String,
    },
    #[error("`{program}` printed nothing{}", said(.says))]
    Nothing { program: String, says: String },
    #[error("what `{program}` printed in its first line is no key: {problem}")]
    NoKey {
        program: String,
        problem: KeyProblem,
    },
    #[error("`{program}` printed more than {} KiB, which is no key", MOST_BYTES >> 10)]
    TooMuch { program: String },
    #[error(
        "`{program}` was ended since it had not come to an end after {} s; it cannot ask for \
         anything{}",
        PATIENCE.as_secs(),
        said(.says)
    )]
    TooSlow { program: String, says: String },
    #[error("what `{0}` does could not be followed: {1}")]
    Lost(String, io::Error),
}

/// Runs `arguments` without a shell, with the process's environment, no standard input, and no
/// terminal that it could read.
///
/// Dropping the future kills the command and what it has started.
pub(super) async fn run(arguments: &[String]) -> Result<KeyText, Problem> {
    let (program, rest) = arguments.split_first().ok_or(Problem::NoProgram)?;
    // Whoever wrote a whole command line there may have a secret in it.
    let named = || match program.split_once(' ') {
        Some((first, _)) => format!("{} …", shown(first)),
        None => shown(program),
    };
    let child = Command::new(program)
        .args(rest)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own, so that what it has started can be killed with it.
        .process_group(0)
        .spawn()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Problem::NotFound(named()),
            io::ErrorKind::PermissionDenied => Problem::NotExecutable(named()),
            _ => Problem::NotStarted(named(), error),
        })?;
    let mut printed = Printed::default();
    let mut running = Running { child: Some(child) };
    let ended = tokio::time::timeout(PATIENCE, running.follow(&mut printed)).await;
    drop(running);
    let program = named();
    let says = printed.last_words();
    match ended {
        Err(_) => Err(Problem::TooSlow { program, says }),
        Ok(Err(error)) => Err(Problem::Lost(program, error)),
        Ok(Ok(_)) if printed.output.len() > MOST_BYTES => Err(Problem::TooMuch { program }),
        Ok(Ok(status)) if !status.success() => Err(Problem::Failed {
            program,
            status,
            says,
        }),
        Ok(Ok(_)) if printed.output.trim_ascii().is_empty() => {
            Err(Problem::Nothing { program, says })
        }
        Ok(Ok(_)) => printed
            .key()
            .map_err(|problem| Problem::NoKey { program, problem }),
    }
}

/// A command that is killed, with all of its group, if it is dropped before its end.
struct Running {
    /// There until it is dropped.
    child: Option<Child>,
}

impl Running {
    /// Reads what the command prints until it ends; what it left running is not waited for.
    async fn follow(&mut self, printed: &mut Printed) -> io::Result<ExitStatus> {
        let Some(child) = &mut self.child else {
            return Ok(ExitStatus::default());
        };
        let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
        let (mut output, mut errors) = ([0; 4096], [0; 4096]);
        let status = loop {
            tokio::select! {
                read = next(&mut stdout, &mut output) => {
                    printed.add_output(&output[..read?]);
                    if printed.output.len() > MOST_BYTES {
                        return Ok(ExitStatus::default());
                    }
                }
                read = next(&mut stderr, &mut errors) => printed.add_errors(&errors[..read?]),
                status = child.wait() => break status?,
            }
        };
        // What it has printed is in the pipes by now; more can come only from what it left.
        if let Some(stdout) = stdout {
            drain(stdout.into_owned_fd()?, |bytes| printed.add_output(bytes))?;
        }
        if let Some(stderr) = stderr {
            drain(stderr.into_owned_fd()?, |bytes| printed.add_errors(bytes))?;
        }
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Known until its end has been seen, so the group can be no other's by now.
        let pid = self.child.as_ref().and_then(Child::id);
        let Some(pid) = pid.and_then(|id| Pid::from_raw(id.cast_signed())) else {
            return;
        };
        let _ = kill_process_group(pid, Signal::KILL);
        // Left to itself the runtime may miss the end, and keep a zombie until the next child's.
        if let (Some(mut child), Ok(runtime)) = (self.child.take(), Handle::try_current()) {
            runtime.spawn(async move { child.wait().await });
        }
    }
}

/// Reads some more of `stream`, which becomes `None` at its end; then it waits for ever.
async fn next(stream: &mut Option<impl AsyncRead + Unpin>, buffer: &mut [u8]) -> io::Result<usize> {
    let Some(open) = stream else {
        return std::future::pending().await;
    };
    let read = open.read(buffer).await?;
    if read == 0 {
        *stream = None;
    }
    Ok(read)
}

/// Takes what is in a pipe, and does not wait for more.
fn drain(pipe: std::os::fd::OwnedFd, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    let mut buffer = [0; 4096];
    // A pipe holds no more than this; whoever goes on writing is not listened to.
    for _ in 0..(2 * MOST_BYTES / buffer.len()) {
        match rustix::io::read(&pipe, &mut buffer) {
            Ok(0) | Err(rustix::io::Errno::AGAIN) => return Ok(()),
            Ok(read) => take(&buffer[..read]),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// What a command has printed, within bounds. Has no `Debug`: the key is in it.
#[derive(Default)]
struct Printed {
    output: Vec<u8>,
    errors: Vec<u8>,
}

impl Printed {
    fn add_output(&mut self, bytes: &[u8]) {
        let left = (MOST_BYTES + 1).saturating_sub(self.output.len());
        self.output
            .extend_from_slice(&bytes[..bytes.len().min(left)]);
    }

    fn add_errors(&mut self, bytes: &[u8]) {
        self.errors.extend_from_slice(bytes);
        let surplus = self.errors.len().saturating_sub(REMEMBERED);
        self.errors.drain(..surplus);
    }

    /// The first line: password managers print notes in the lines below.
    fn key(&self) -> Result<KeyText, KeyProblem> {
        let first = self.output.split(|byte| *byte == b'\n').next();
        let first = std::str::from_utf8(first.unwrap_or_default());
        KeyText::parse(first.map_err(|_| KeyProblem::NotAscii)?)
    }

    /// The last line of standard error, harmless, and without any word of standard output.
    fn last_words(&self) -> String {
        let errors = String::from_utf8_lossy(&self.errors);
        let output = String::from_utf8_lossy(&self.output);
        let last = errors.lines().rev().find(|line| !line.trim().is_empty());
        let mut last = last.unwrap_or_default().trim().to_owned();
        // Short words are no keys, and stand in any sentence.
        for word in output.split_whitespace().filter(|word| word.len() >= 4) {
            last = last.replace(word, "…");
        }
        shown(&last)
    }
}

/// Text of others, harmless and short.
fn shown(text: &str) -> String {
    sanitize_line(text, MOST_SHOWN)
}

/// The clause that says what is often behind it.
fn why_not_found(program: &str) -> &'static str {
    if program.starts_with('~') {
        "; `~` is for shells, and none is involved"
    } else if program.contains(' ') {
        "; each argument is an item of its own in the list"
    } else if program.contains('/') {
        ", or it names an interpreter that is not there"
    } else {
        ""
    }
}

/// The clause that repeats what a command says.
fn said(says: &str) -> String {
    match says {
        "" => String::new(),
        says => format!("; it says: {says}"),
    }
}

fn ended(status: &ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_line_is_the_key() {
        for script in [
            "echo a-key",
            "printf '  a-key \\r\\nuser: ada\\n'",
            "printf a-key",
            "cat; echo a-key",
            "echo a-key; sleep 1000 & exit 0",
            "echo a-key; echo a note >&2; head -c 60000 /dev/zero",
        ] {
            let arguments = ["sh", "-c", script].map(str::to_owned);
            let key = run(&arguments).await.unwrap();
            assert_eq!(key.expose(), "a-key", "{script}");
        }
    }
}
