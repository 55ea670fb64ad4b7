//! What a sandbox may use.

use std::time::{Duration, Instant};

/// What a chunk may use before it is stopped.
///
/// A *slice* is the time from one [`run`](crate::sandbox::Sandbox::run) or
/// [`resume`](crate::sandbox::Sandbox::resume) to the next outcome. The defaults suit Lua that decides
/// what to do next and leaves work to given functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of the virtual machine in one slice, those of the library included; a step of
    /// a pattern's matcher counts as one. 10,000,000 by default: under a second.
    pub instructions: u64,
    /// Time that a slice may take, without what given functions take. A slice never answers later
    /// than this. One second by default.
    pub time: Duration,
    /// Bytes of memory beside the library's own. 8 MiB by default. What a single instruction can
    /// take of the sandbox's own thread, after its slice was answered, grows with the square of this: half a minute
    /// at worst for the default.
    pub memory: usize,
    /// Bytes that may leave the sandbox in one slice: arguments of given functions, and results. Each
    /// value counts 32 bytes beside its text. 1 MiB by default.
    pub output: usize,
    /// Bytes of a chunk's source. 256 KiB by default.
    pub source: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            instructions: 10_000_000,
            time: Duration::from_secs(1),
            memory: 8 << 20,
            output: 1 << 20,
            source: 256 << 10,
        }
    }
}

impl Limits {
    /// When a slice that begins now has to be over.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.time.min(LONGEST)
    }
}

/// A time that is as good as none, and that clocks can still add up.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Which limit ended a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// [`Limits::instructions`].
    Instructions,
    /// [`Limits::time`].
    Time,
    /// [`Limits::memory`].
    Memory,
    /// Nobody waited any more: a [`Slice`](crate::sandbox::Slice) was dropped before its outcome.
    Abandoned,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Instructions => "it ran too many instructions without waiting",
            Self::Time => "it took too long without waiting",
            Self::Memory => "it used too much memory",
            Self::Abandoned => "nobody waited for it any more",
        })
    }
}
