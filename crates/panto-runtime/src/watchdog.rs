//! The watchdog: stops a step of Lua that keeps the owner thread too long.
//!
//! A thread sleeps while Lua does. It looks at the clock of the step that runs, and interrupts
//! the owner when that step has had its time; again and again, since a `pcall` in Lua can catch
//! one interruption.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::raw::{self, OwnerThread};

/// How often a step that does not end is interrupted again.
const AGAIN: Duration = Duration::from_millis(20);

/// Times the steps of one owner thread.
pub(crate) struct Watchdog {
    shared: Arc<Shared>,
    /// Steps inside steps count as the outermost.
    depth: Cell<usize>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    base: Instant,
    limit: Duration,
    owner: OwnerThread,
    /// The number of the step that runs; 0 while none does.
    step: AtomicU64,
    /// When it began, in nanoseconds from `base`.
    began: AtomicU64,
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    is_asleep: bool,
    is_over: bool,
}

impl Watchdog {
    /// Watches the thread that calls.
    ///
    /// # Errors
    ///
    /// The system gives no thread or takes no signal handler.
    pub(crate) fn start(limit: Duration) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            base: Instant::now(),
            limit,
            owner: OwnerThread::current()?,
            step: AtomicU64::new(0),
            began: AtomicU64::new(0),
            state: Mutex::default(),
            bell: Condvar::new(),
        });
        let watching = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("lua-watchdog".to_owned())
            .spawn(move || watching.watch())?;
        Ok(Self {
            shared,
            depth: Cell::new(0),
            thread: Some(thread),
        })
    }

    /// A step begins.
    pub(crate) fn enter(&self) {
        let depth = self.depth.get();
        self.depth.set(depth + 1);
        if depth == 0 {
            self.shared.begin();
        }
    }

    /// The step that was entered last ends.
    pub(crate) fn leave(&self) {
        let depth = self.depth.get() - 1;
        self.depth.set(depth);
        if depth == 0 {
            self.shared.step.store(0, Ordering::SeqCst);
            raw::end_step();
        }
    }
}

impl Shared {
    fn now(&self) -> u64 {
        u64::try_from(self.base.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn begin(&self) {
        self.began.store(self.now(), Ordering::SeqCst);
        self.step.store(raw::begin_step(), Ordering::SeqCst);
        let mut state = self.state.lock();
        if state.is_asleep {
            state.is_asleep = false;
            self.bell.notify_one();
        }
    }

    fn watch(&self) {
        let mut state = self.state.lock();
        while !state.is_over {
            let step = self.step.load(Ordering::SeqCst);
            if step == 0 {
                state.is_asleep = true;
                self.bell.wait(&mut state);
                continue;
            }
            let began = self.began.load(Ordering::SeqCst);
            let due = Duration::from_nanos(began) + self.limit;
            let now = Duration::from_nanos(self.now());
            if let Some(rest) = due.checked_sub(now).filter(|rest| !rest.is_zero()) {
                self.bell.wait_for(&mut state, rest);
            } else {
                // With the lock held the owner cannot be gone: it takes it to stop this.
                self.owner.interrupt(step);
                self.bell.wait_for(&mut state, AGAIN);
            }
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.state.lock().is_over = true;
        self.shared.bell.notify_one();
        if let Some(thread) = self.thread.take() {
            // A watcher that panicked watches no longer, which is all that is wanted here.
            let _ = thread.join();
        }
    }
}
