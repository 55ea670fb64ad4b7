//! `uv.run`: the loop driven to its end on its own runtime.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::runtime::Handle;

use super::{State, Uv};

/// How far [`Uv::run`] goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Until nothing is alive, or [`Uv::stop`].
    Default,
    /// One iteration, which waits for an event if none is there.
    Once,
    /// One iteration without waiting.
    NoWait,
}

impl Mode {
    /// The name that Lua knows.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Once => "once",
            Self::NoWait => "nowait",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Default, Self::Once, Self::NoWait]
            .into_iter()
            .find(|mode| mode.name() == name)
    }
}

/// Why the loop was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AlreadyRunning {
    /// A call of `run` is under way, or the host drives the loop.
    #[error("loop already running")]
    Running,
    /// The thread runs another tokio runtime, inside which none can be run.
    #[error(
        "another tokio runtime runs on this thread; install with its handle and drive the loop"
    )]
    InsideRuntime,
    /// The runtime could not be made.
    #[error("could not make the loop's runtime")]
    Runtime(#[source] io::Error),
}

/// Ends a run, also by panic.
struct Running<'a>(&'a Uv);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.0.state.set(State::Resting);
    }
}

impl Uv {
    /// Drives the loop, and returns whether something is still alive.
    ///
    /// # Errors
    ///
    /// [`AlreadyRunning`]; nothing was run.
    pub fn run(&self, mode: Mode) -> Result<bool, AlreadyRunning> {
        let _running = self.begin(mode)?;
        if mode == Mode::Default && self.is_alive() {
            self.timers_phase();
        }
        while self.is_alive() && !self.0.stopped.get() {
            self.before_wait();
            let timeout = match mode {
                Mode::NoWait => Some(Duration::ZERO),
                Mode::Default | Mode::Once => self.timeout(),
            };
            self.block_on(self.wait(timeout))?;
            self.after_wait();
            self.timers_phase();
            if mode != Mode::Default {
                break;
            }
        }
        self.flush()?;
        self.0.stopped.set(false);
        Ok(self.is_alive())
    }

    /// Drives the loop until a future resolves, and returns what it gave.
    ///
    /// The future runs on the loop's own runtime, between the iterations; the loop is served also while nothing
    /// in it is alive. This is how a host without a loop of its own waits for something that may need callbacks.
    ///
    /// # Errors
    ///
    /// [`AlreadyRunning`]; the future was dropped unpolled.
    pub fn run_until<F: Future>(&self, future: F) -> Result<F::Output, AlreadyRunning> {
        let _running = self.begin(Mode::Default)?;
        let mut future = std::pin::pin!(future);
        loop {
            self.timers_phase();
            self.before_wait();
            let timeout = match self.clock().until_due() {
                _ if self.must_not_wait() => Some(Duration::ZERO),
                until_due => until_due,
            };
            let output = self.block_on(async {
                tokio::select! {
                    biased;
                    output = future.as_mut() => Some(output),
                    () = self.wait(timeout) => None,
                }
            })?;
            self.after_wait();
            // There is no run that could be stopped, and while it is set no wait waits.
            self.0.stopped.set(false);
            if let Some(output) = output {
                return Ok(output);
            }
        }
    }

    fn begin(&self, mode: Mode) -> Result<Running<'_>, AlreadyRunning> {
        if self.0.state.get() != State::Resting || !self.runtime().is_own() {
            return Err(AlreadyRunning::Running);
        }
        if !self.runtime().may_nest() && Handle::try_current().is_ok() {
            return Err(AlreadyRunning::InsideRuntime);
        }
        self.0.state.set(State::Running(mode));
        Ok(Running(self))
    }

    /// Lets tasks go whose handles were closed, so that their descriptors are closed when this returns.
    fn flush(&self) -> Result<(), AlreadyRunning> {
        self.block_on(self.poll_tasks())
    }

    fn block_on<F: Future>(&self, future: F) -> Result<F::Output, AlreadyRunning> {
        match self.runtime().block_on(future) {
            Ok(Some(output)) => Ok(output),
            Ok(None) => Err(AlreadyRunning::Running),
            Err(error) => Err(AlreadyRunning::Runtime(error)),
        }
    }
}
