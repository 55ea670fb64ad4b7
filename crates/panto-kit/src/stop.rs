//! A sign that work on another thread is wanted no longer.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that long work looks at; clones are the same flag.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Tells the work to end.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the work is to end.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// A reader that ends with an error once the work is to end.
    pub(crate) fn reader<R: Read>(&self, inner: R) -> impl Read {
        Stoppable {
            inner,
            stop: self.clone(),
        }
    }
}

struct Stoppable<R> {
    inner: R,
    stop: Stop,
}

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.is_asked() {
            true => Err(io::Error::other("stopped")),
            false => self.inner.read(buffer),
        }
    }
}
