//! The loop for a host with a loop of its own: one pass at a time.

use super::run::AlreadyRunning;
use super::{State, Uv};

/// The right to drive a loop, pass by pass; at most one exists. `uv.run` is refused while it does.
///
/// ```text
/// loop {
///     select! {
///         () = driver.ready() => {}
///         message = inbox.recv() => { … }
///     }
///     driver.pass();
/// }
/// ```
pub struct Driver(Uv);

impl Uv {
    /// Takes the right to drive the loop.
    ///
    /// # Errors
    ///
    /// [`AlreadyRunning::Running`] if there is a driver, or a call of `run` is under way.
    pub fn driver(&self) -> Result<Driver, AlreadyRunning> {
        if self.0.state.get() != State::Resting {
            return Err(AlreadyRunning::Running);
        }
        self.0.state.set(State::Driven);
        Ok(Driver(self.clone()))
    }
}

impl Driver {
    /// The loop.
    pub fn uv(&self) -> &Uv {
        &self.0
    }

    /// Whether there is anything left to wait for, as [`Uv::is_alive`].
    pub fn is_alive(&self) -> bool {
        self.0.is_alive()
    }

    /// Resolves when a [`pass`](Self::pass) has something to do.
    ///
    /// Descriptors, children and signals are watched only while this is polled. It must be polled on the runtime
    /// whose handle the loop was installed with. Dropping it loses nothing: ask anew after each pass. If
    /// nothing is alive it waits for what another thread posts.
    pub async fn ready(&self) {
        let uv = &self.0;
        loop {
            uv.poll_tasks().await;
            if uv.must_not_wait() {
                // An idle handle makes every pass due, and must not keep the runtime from looking for events.
                tokio::task::yield_now().await;
                uv.poll_tasks().await;
                return;
            }
            // What the host runs meanwhile may start a timer that is due earlier; that rings the bell.
            let timeout = uv.clock().until_due();
            tokio::select! {
                biased;
                () = uv.stirred() => {}
                () = super::phases::sleep(timeout) => return,
            }
        }
    }

    /// Reads the clock, as a [`pass`](Self::pass) does. Timers that Lua starts count from the last reading: a host
    /// that runs Lua code between its waits and a pass calls this first.
    pub fn update_time(&self) {
        self.0.clock().update();
    }

    /// One iteration of the loop, without waiting: timers, pending, idle, prepare, check, closing.
    ///
    /// Callbacks run on the calling thread, which must be the one that owns the Lua state.
    pub fn pass(&mut self) {
        let uv = &self.0;
        uv.timers_phase();
        uv.before_wait();
        uv.after_wait();
        uv.0.stopped.set(false);
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.0.state.set(State::Resting);
    }
}
