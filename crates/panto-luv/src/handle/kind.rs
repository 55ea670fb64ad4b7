//! The kinds of handles, by name and by libuv's number.

/// A kind of handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Async,
    Check,
    FsEvent,
    FsPoll,
    Idle,
    Pipe,
    Poll,
    Prepare,
    Process,
    Tcp,
    Timer,
    Tty,
    Udp,
    Signal,
}

impl Kind {
    /// As `handle:get_type()` says it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Async => "async",
            Self::Check => "check",
            Self::FsEvent => "fs_event",
            Self::FsPoll => "fs_poll",
            Self::Idle => "idle",
            Self::Pipe => "pipe",
            Self::Poll => "poll",
            Self::Prepare => "prepare",
            Self::Process => "process",
            Self::Tcp => "tcp",
            Self::Timer => "timer",
            Self::Tty => "tty",
            Self::Udp => "udp",
            Self::Signal => "signal",
        }
    }

    /// The value of libuv's enumeration.
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Async => 1,
            Self::Check => 2,
            Self::FsEvent => 3,
            Self::FsPoll => 4,
            Self::Idle => 6,
            Self::Pipe => 7,
            Self::Poll => 8,
            Self::Prepare => 9,
            Self::Process => 10,
            Self::Tcp => 12,
            Self::Timer => 13,
            Self::Tty => 14,
            Self::Udp => 15,
            Self::Signal => 16,
        }
    }

    /// Whether `fileno` may be asked of it.
    pub(crate) fn has_descriptor(self) -> bool {
        matches!(
            self,
            Self::Pipe | Self::Poll | Self::Tcp | Self::Tty | Self::Udp
        )
    }
}
