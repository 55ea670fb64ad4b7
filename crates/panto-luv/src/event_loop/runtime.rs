//! The tokio runtime under the loop: its own, made when first needed, or the host's.

use std::cell::OnceCell;
use std::future::Future;
use std::io;

use tokio::runtime::{Builder, EnterGuard, Handle};

/// Where timers sleep, descriptors are watched, and blocking work runs.
pub(crate) enum Runtime {
    Own(OnceCell<tokio::runtime::Runtime>),
    /// Its own, on a thread of another runtime's that is there to be blocked.
    OnWorker(OnceCell<tokio::runtime::Runtime>),
    Host(Handle),
}

/// As many as libuv has by default.
const BLOCKING_THREADS: usize = 4;

impl Runtime {
    pub(crate) fn own() -> Self {
        Self::Own(OnceCell::new())
    }

    pub(crate) fn on_worker() -> Self {
        Self::OnWorker(OnceCell::new())
    }

    /// Whether it may be run although the thread is another runtime's.
    pub(crate) fn may_nest(&self) -> bool {
        matches!(self, Self::OnWorker(_))
    }

    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::Own(_) | Self::OnWorker(_))
    }

    /// In whose context descriptors, children and signals can be registered.
    pub(crate) fn enter(&self) -> io::Result<EnterGuard<'_>> {
        Ok(match self {
            Self::Own(cell) | Self::OnWorker(cell) => made(cell)?.enter(),
            Self::Host(handle) => handle.enter(),
        })
    }

    pub(crate) fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        match self {
            Self::Own(cell) | Self::OnWorker(cell) => drop(made(cell)?.spawn_blocking(work)),
            Self::Host(handle) => drop(handle.spawn_blocking(work)),
        }
        Ok(())
    }

    /// Runs a future to its end on this thread; `None` if the runtime is the host's to run.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> io::Result<Option<F::Output>> {
        match self {
            Self::Own(cell) | Self::OnWorker(cell) => Ok(Some(made(cell)?.block_on(future))),
            Self::Host(_) => Ok(None),
        }
    }
}

fn made(cell: &OnceCell<tokio::runtime::Runtime>) -> io::Result<&tokio::runtime::Runtime> {
    if let Some(runtime) = cell.get() {
        return Ok(runtime);
    }
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .build()?;
    Ok(cell.get_or_init(|| runtime))
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Dropped in the ordinary way it would wait for blocking work, and panic inside another runtime.
        if let Self::Own(cell) | Self::OnWorker(cell) = self
            && let Some(runtime) = cell.take()
        {
            runtime.shutdown_background();
        }
    }
}
