//! What Ctrl+C, a request to terminate and a lost terminal do while a turn may run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use panto_host::host::Remains;
use panto_host::session::SessionHandle;
use parking_lot::Mutex;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

use crate::failure::{Exit, Failure};
use crate::streams;

/// Signals that come so soon after one another are one: `timeout` sends its signal to the
/// process and to its group, and a terminal that is lost may do so too.
const AT_ONCE: Duration = Duration::from_millis(150);

/// How long an interrupted process may take to end: a turn settles sooner, and what it still
/// writes then, nobody reads.
const PATIENCE: Duration = Duration::from_secs(4);

/// Listens for signals, for as long as its runtime lives.
///
/// The system's own handling does not come back, so the runtime must live until nothing is left
/// that can block, the last write included.
pub(crate) struct Signals {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    first: Notify,
}

#[derive(Default)]
struct State {
    heard: Option<(Exit, Instant)>,
    session: Option<SessionHandle>,
    /// The turn has settled: there is nothing left to interrupt.
    over: bool,
}

impl Signals {
    /// From now on the first signal interrupts the session, or is remembered until there is
    /// one, and the second ends the process at once. Must be called inside a runtime that has
    /// workers of its own.
    ///
    /// A signal that the process was started to ignore, as `nohup` does, is not listened for.
    ///
    /// # Errors
    ///
    /// The system refuses a handler.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let ignored = ignored();
        let listen = |kind: SignalKind| {
            if ignored & mask(kind) != 0 {
                return Ok(None);
            }
            signal(kind).map(Some).map_err(|error| {
                let error = anyhow::Error::new(error).context("could not listen for signals");
                Failure::new(Exit::TurnFailed, "internal", error)
            })
        };
        let interrupt = listen(SignalKind::interrupt())?;
        let terminate = listen(SignalKind::terminate())?;
        let hangup = listen(SignalKind::hangup())?;
        let shared = Arc::default();
        tokio::spawn(answer(interrupt, terminate, hangup, Arc::clone(&shared)));
        Ok(Self { shared })
    }

    /// Lets signals interrupt `session`; at once if one was heard before.
    pub(crate) fn watch(&self, session: &SessionHandle) {
        let mut state = self.shared.state.lock();
        state.session = Some(session.clone());
        if state.heard.is_some() {
            session.interrupt();
        }
    }

    /// Completes when a signal is heard, with what the process then ends with.
    pub(crate) async fn first(&self) -> Exit {
        loop {
            // Before the look, so that a signal between the two is not missed.
            let next = self.shared.first.notified();
            if let Some((exit, _)) = self.shared.state.lock().heard {
                return exit;
            }
            next.await;
        }
    }

    /// What the process ends with, if a signal was heard.
    pub(crate) fn heard(&self) -> Option<Exit> {
        self.shared.state.lock().heard.map(|(exit, _)| exit)
    }

    /// The turn has settled: from now on any signal ends the process at once. Gives what the
    /// process ends with because of a signal that was heard before.
    pub(crate) fn turn_is_over(&self) -> Option<Exit> {
        let mut state = self.shared.state.lock();
        state.over = true;
        state.session = None;
        state.heard.map(|(exit, _)| exit)
    }
}

/// What the process ends with if a Lua state cannot be closed.
static LEAVING: AtomicU8 = AtomicU8::new(1);

/// How long a Lua state may take to be closed.
const CLOSING: Duration = Duration::from_secs(5);

/// From now on a Lua state that cannot be closed does not keep the process.
pub(crate) fn leave_what_cannot_be_closed() {
    panto_runtime::when_closing_takes_longer(CLOSING, || {
        streams::warn("Lua did not end: a finalizer (`__gc`) does not come back");
        exit_now(LEAVING.load(Ordering::SeqCst));
    });
}

/// Closes what is left of a session's Lua side, once everything else is done. The process ends
/// with `exit`, also if that takes too long.
pub(crate) fn leave(exit: Exit, remains: Option<Remains>) -> Exit {
    LEAVING.store(exit.code(), Ordering::SeqCst);
    drop(remains);
    exit
}

/// Ends the process where it is, and programs that it has started.
fn exit_now(code: u8) -> ! {
    panto_runtime::kill_children();
    std::process::exit(i32::from(code))
}

async fn answer(
    mut interrupt: Option<Signal>,
    mut terminate: Option<Signal>,
    mut hangup: Option<Signal>,
    shared: Arc<Shared>,
) {
    loop {
        let exit = tokio::select! {
            Some(()) = next(&mut interrupt) => Exit::Interrupted,
            Some(()) = next(&mut terminate) => Exit::Terminated,
            Some(()) = next(&mut hangup) => Exit::HungUp,
            else => return,
        };
        let mut state = shared.state.lock();
        match state.heard {
            Some((_, first)) if first.elapsed() < AT_ONCE => continue,
            None if !state.over => state.heard = Some((exit, Instant::now())),
            // The session is safe: whatever was appended to it is on disk.
            _ => exit_now(exit.code()),
        }
        tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            exit_now(exit.code());
        });
        shared.first.notify_waiters();
        if let Some(session) = &state.session {
            session.interrupt();
        }
    }
}

async fn next(signal: &mut Option<Signal>) -> Option<()> {
    signal.as_mut()?.recv().await
}

/// The signals that the process was started to ignore, one bit each.
///
/// Only Linux tells without a system call that Rust's standard library does not make.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0)
}

fn mask(kind: SignalKind) -> u64 {
    let bit = u32::try_from(kind.as_raw_value() - 1).unwrap_or(u32::MAX);
    1_u64.checked_shl(bit).unwrap_or(0)
}

/// Lets a file that may not grow any more fail the write, as a full disk does, rather than end
/// the process. Must be called inside a runtime; holds for the life of the process.
pub(crate) fn survive_file_limits() {
    /// `SIGXFSZ`, the same on Linux and macOS.
    const FILE_SIZE: i32 = 25;
    // Without a handler it is as it was.
    let _ = signal(SignalKind::from_raw(FILE_SIZE));
}
