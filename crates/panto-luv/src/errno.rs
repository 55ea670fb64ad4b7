//! Errors by their libuv names: one table of name, number and words, and the way into it from the system's.

use std::io;

use rustix::io::Errno;

/// One row of libuv's table of errors.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Negative, as in `uv.errno`.
    pub(crate) code: i32,
    pub(crate) message: &'static str,
}

/// An error that has a libuv name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UvError(&'static Row);

impl UvError {
    pub(crate) fn name(self) -> &'static str {
        self.0.name
    }

    /// Name and words: "ENOENT: no such file or directory".
    pub(crate) fn message(self) -> String {
        format!("{}: {}", self.0.name, self.0.message)
    }

    /// The row with this name; `UNKNOWN` if there is none.
    pub(crate) fn named(name: &str) -> Self {
        Self(ROWS.iter().find(|row| row.name == name).unwrap_or(UNKNOWN))
    }

    /// The row of a system error number; `UNKNOWN` if libuv has no name for it.
    pub(crate) fn from_raw(number: i32) -> Self {
        Self(
            ROWS.iter()
                .find(|row| row.code == -number)
                .unwrap_or(UNKNOWN),
        )
    }
}

impl PartialEq for UvError {
    fn eq(&self, other: &Self) -> bool {
        self.0.code == other.0.code
    }
}

impl From<Errno> for UvError {
    fn from(error: Errno) -> Self {
        Self::from_raw(error.raw_os_error())
    }
}

impl From<io::Error> for UvError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(number) => Self::from_raw(number),
            None => Self::named(match error.kind() {
                io::ErrorKind::NotFound => "ENOENT",
                io::ErrorKind::PermissionDenied => "EACCES",
                io::ErrorKind::InvalidInput => "EINVAL",
                io::ErrorKind::WouldBlock => "EAGAIN",
                io::ErrorKind::UnexpectedEof => "EOF",
                _ => "UNKNOWN",
            }),
        }
    }
}

/// Every row, in no particular order.
pub(crate) fn rows() -> &'static [Row] {
    ROWS
}

const UNKNOWN: &Row = &Row {
    name: "UNKNOWN",
    code: -4094,
    message: "unknown error",
};

const fn row(name: &'static str, error: Errno, message: &'static str) -> Row {
    Row {
        name,
        code: -error.raw_os_error(),
        message,
    }
}

/// A row whose number is libuv's own.
const fn own(name: &'static str, code: i32, message: &'static str) -> Row {
    Row {
        name,
        code,
        message,
    }
}

static ROWS: &[Row] = &[
    row("E2BIG", Errno::TOOBIG, "argument list too long"),
    row("EACCES", Errno::ACCESS, "permission denied"),
    row("EADDRINUSE", Errno::ADDRINUSE, "address already in use"),
    row(
        "EADDRNOTAVAIL",
        Errno::ADDRNOTAVAIL,
        "address not available",
    ),
    row(
        "EAFNOSUPPORT",
        Errno::AFNOSUPPORT,
        "address family not supported",
    ),
    row("EAGAIN", Errno::AGAIN, "resource temporarily unavailable"),
    own("EAI_ADDRFAMILY", -3000, "address family not supported"),
    own("EAI_AGAIN", -3001, "temporary failure"),
    own("EAI_BADFLAGS", -3002, "bad ai_flags value"),
    own("EAI_BADHINTS", -3013, "invalid value for hints"),
    own("EAI_CANCELED", -3003, "request canceled"),
    own("EAI_FAIL", -3004, "permanent failure"),
    own("EAI_FAMILY", -3005, "ai_family not supported"),
    own("EAI_MEMORY", -3006, "out of memory"),
    own("EAI_NODATA", -3007, "no address"),
    own("EAI_NONAME", -3008, "unknown node or service"),
    own("EAI_OVERFLOW", -3009, "argument buffer overflow"),
    own("EAI_PROTOCOL", -3014, "resolved protocol is unknown"),
    own(
        "EAI_SERVICE",
        -3010,
        "service not available for socket type",
    ),
    own("EAI_SOCKTYPE", -3011, "socket type not supported"),
    row("EALREADY", Errno::ALREADY, "connection already in progress"),
    row("EBADF", Errno::BADF, "bad file descriptor"),
    row("EBUSY", Errno::BUSY, "resource busy or locked"),
    row("ECANCELED", Errno::CANCELED, "operation canceled"),
    own("ECHARSET", -4080, "invalid Unicode character"),
    row(
        "ECONNABORTED",
        Errno::CONNABORTED,
        "software caused connection abort",
    ),
    row("ECONNREFUSED", Errno::CONNREFUSED, "connection refused"),
    row("ECONNRESET", Errno::CONNRESET, "connection reset by peer"),
    row(
        "EDESTADDRREQ",
        Errno::DESTADDRREQ,
        "destination address required",
    ),
    row("EEXIST", Errno::EXIST, "file already exists"),
    row(
        "EFAULT",
        Errno::FAULT,
        "bad address in system call argument",
    ),
    row("EFBIG", Errno::FBIG, "file too large"),
    row("EHOSTUNREACH", Errno::HOSTUNREACH, "host is unreachable"),
    row("EINTR", Errno::INTR, "interrupted system call"),
    row("EINVAL", Errno::INVAL, "invalid argument"),
    row("EIO", Errno::IO, "i/o error"),
    row("EISCONN", Errno::ISCONN, "socket is already connected"),
    row("EISDIR", Errno::ISDIR, "illegal operation on a directory"),
    row("ELOOP", Errno::LOOP, "too many symbolic links encountered"),
    row("EMFILE", Errno::MFILE, "too many open files"),
    row("EMSGSIZE", Errno::MSGSIZE, "message too long"),
    row("ENAMETOOLONG", Errno::NAMETOOLONG, "name too long"),
    row("ENETDOWN", Errno::NETDOWN, "network is down"),
    row("ENETUNREACH", Errno::NETUNREACH, "network is unreachable"),
    row("ENFILE", Errno::NFILE, "file table overflow"),
    row("ENOBUFS", Errno::NOBUFS, "no buffer space available"),
    row("ENODEV", Errno::NODEV, "no such device"),
    row("ENOENT", Errno::NOENT, "no such file or directory"),
    row("ENOMEM", Errno::NOMEM, "not enough memory"),
    #[cfg(target_os = "linux")]
    row("ENONET", Errno::NONET, "machine is not on the network"),
    row("ENOPROTOOPT", Errno::NOPROTOOPT, "protocol not available"),
    row("ENOSPC", Errno::NOSPC, "no space left on device"),
    row("ENOSYS", Errno::NOSYS, "function not implemented"),
    row("ENOTCONN", Errno::NOTCONN, "socket is not connected"),
    row("ENOTDIR", Errno::NOTDIR, "not a directory"),
    row("ENOTEMPTY", Errno::NOTEMPTY, "directory not empty"),
    row("ENOTSOCK", Errno::NOTSOCK, "socket operation on non-socket"),
    row("ENOTSUP", Errno::OPNOTSUPP, "operation not supported"),
    row(
        "EOVERFLOW",
        Errno::OVERFLOW,
        "value too large for defined data type",
    ),
    row("EPERM", Errno::PERM, "operation not permitted"),
    row("EPIPE", Errno::PIPE, "broken pipe"),
    row("EPROTO", Errno::PROTO, "protocol error"),
    row(
        "EPROTONOSUPPORT",
        Errno::PROTONOSUPPORT,
        "protocol not supported",
    ),
    row(
        "EPROTOTYPE",
        Errno::PROTOTYPE,
        "protocol wrong type for socket",
    ),
    row("ERANGE", Errno::RANGE, "result too large"),
    row("EROFS", Errno::ROFS, "read-only file system"),
    row(
        "ESHUTDOWN",
        Errno::SHUTDOWN,
        "cannot send after transport endpoint shutdown",
    ),
    row("ESPIPE", Errno::SPIPE, "invalid seek"),
    row("ESRCH", Errno::SRCH, "no such process"),
    row("ETIMEDOUT", Errno::TIMEDOUT, "connection timed out"),
    row("ETXTBSY", Errno::TXTBSY, "text file is busy"),
    row("EXDEV", Errno::XDEV, "cross-device link not permitted"),
    own("UNKNOWN", -4094, "unknown error"),
    own("EOF", -4095, "end of file"),
    row("ENXIO", Errno::NXIO, "no such device or address"),
    row("EMLINK", Errno::MLINK, "too many links"),
    row("ENOTTY", Errno::NOTTY, "inappropriate ioctl for device"),
    own("EFTYPE", -4028, "inappropriate file type or format"),
    row("EILSEQ", Errno::ILSEQ, "illegal byte sequence"),
    row(
        "ESOCKTNOSUPPORT",
        Errno::SOCKTNOSUPPORT,
        "socket type not supported",
    ),
    #[cfg(target_os = "linux")]
    row("EUNATCH", Errno::UNATCH, "protocol driver not attached"),
    row("ENODATA", Errno::NODATA, "no data available"),
];
