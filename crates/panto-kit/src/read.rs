//! Files that are read whole, and windows of their lines.

use std::fmt;
use std::fs::{File, FileType, Metadata};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::stop::Stop;

/// What a file held: two are equal if the bytes were. Good within this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    len: u64,
    hash: u64,
}

impl Fingerprint {
    /// That of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        Self {
            len: bytes.len() as u64,
            hash: hasher.finish(),
        }
    }

    /// Reads what its `Display` wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let (len, hash) = text.split_once('-')?;
        Some(Self {
            len: u64::from_str_radix(len, 16).ok()?,
            hash: u64::from_str_radix(hash, 16).ok()?,
        })
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.len, self.hash)
    }
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is nothing of that name.
    #[error("`{}` does not exist", .0.display())]
    NotFound(PathBuf),
    /// It is a directory.
    #[error("`{}` is a directory", .0.display())]
    IsDirectory(PathBuf),
    /// It is something whose reading may never end.
    #[error("`{}` is {kind}, not a file", .path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// It is larger than was asked for.
    #[error("`{}` has {size} bytes; at most {max} are read at once", .path.display())]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// How large it is.
        size: u64,
        /// How large it may be.
        max: u64,
    },
    /// The system refuses it.
    #[error("could not read `{}`", .0.display())]
    Io(PathBuf, #[source] io::Error),
}

impl ReadError {
    /// A name that tells it from the others.
    pub fn code(&self) -> &'static str {
        match self {
            ReadError::NotFound(_) => "not_found",
            ReadError::IsDirectory(_) => "is_directory",
            ReadError::NotAFile { .. } => "not_a_file",
            ReadError::TooLarge { .. } => "too_large",
            ReadError::Io(..) => "io",
        }
    }

    pub(crate) fn of(path: &Path, error: io::Error) -> Self {
        match error.kind() {
            // A path below a file is as little there.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                ReadError::NotFound(path.to_owned())
            }
            io::ErrorKind::IsADirectory => ReadError::IsDirectory(path.to_owned()),
            _ => ReadError::Io(path.to_owned(), error),
        }
    }
}

/// Refuses what is no regular file.
pub(crate) fn regular(path: &Path, metadata: &Metadata) -> Result<(), ReadError> {
    let kind = metadata.file_type();
    if kind.is_file() {
        Ok(())
    } else if kind.is_dir() {
        Err(ReadError::IsDirectory(path.to_owned()))
    } else {
        Err(ReadError::NotAFile {
            path: path.to_owned(),
            kind: named(kind),
        })
    }
}

fn named(kind: FileType) -> &'static str {
    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// Opens a file so that no read waits: the system makes up files that are regular by name, and
/// wait for what has not happened yet.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    File::options().read(true).custom_flags(flags).open(path)
}

/// Reads a regular file whole. A link is followed.
///
/// # Errors
///
/// [`ReadError`]; nothing is read of what is not a regular file, nor of one that has more than
/// `max_bytes`.
pub fn read(path: &Path, max_bytes: u64, stop: &Stop) -> Result<Vec<u8>, ReadError> {
    let failed = |error| ReadError::of(path, error);
    // Before it is opened: to open a pipe may take for ever.
    regular(path, &std::fs::metadata(path).map_err(failed)?)?;
    let file = open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    regular(path, &metadata)?;
    let too_large = |size| ReadError::TooLarge {
        path: path.to_owned(),
        size,
        max: max_bytes,
    };
    if metadata.len() > max_bytes {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    // It may grow meanwhile, and what the system makes up has no size beforehand.
    let mut reader = stop.reader(file).take(max_bytes.saturating_add(1));
    reader.read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > max_bytes {
        true => Err(too_large(bytes.len() as u64)),
        false => Ok(bytes),
    }
}

/// Which lines of a text are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// How many lines are left out before the first.
    pub skip: usize,
    /// How many lines there may be.
    pub max_lines: usize,
    /// How many bytes they may have together; one line is always there.
    pub max_bytes: usize,
    /// How many bytes a line may have; longer ones are cut.
    pub max_line_bytes: usize,
}

/// Some lines of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window<'a> {
    /// The lines, without what ends them.
    pub lines: Vec<&'a str>,
    /// How many lines the text has.
    pub total: usize,
    /// The lines that were cut: their place in `lines`, and how many bytes they have.
    pub cut: Vec<(usize, usize)>,
}

/// The wanted lines of a text. What ends the last line begins no other.
pub fn window(text: &str, wanted: Wanted) -> Window<'_> {
    let mut window = Window {
        lines: Vec::new(),
        total: 0,
        cut: Vec::new(),
    };
    let mut bytes = 0;
    let mut is_full = false;
    for line in text.lines() {
        window.total += 1;
        if window.total <= wanted.skip || is_full {
            continue;
        }
        let shown = head(line, wanted.max_line_bytes);
        bytes += shown.len() + 1;
        is_full = window.lines.len() >= wanted.max_lines
            || (bytes > wanted.max_bytes && !window.lines.is_empty());
        if is_full {
            continue;
        }
        if shown.len() < line.len() {
            window.cut.push((window.lines.len(), line.len()));
        }
        window.lines.push(shown);
    }
    window
}

/// The beginning of a text, cut between characters.
pub(crate) fn head(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(skip: usize, max_lines: usize) -> Wanted {
        Wanted {
            skip,
            max_lines,
            max_bytes: 1000,
            max_line_bytes: 10,
        }
    }

    #[test]
    fn a_window_counts_all_lines_and_gives_those_that_are_wanted() {
        let text = "one\r\ntwo\nthree\n\nfive";
        let window = window(text, wanted(1, 2));
        assert_eq!(window.lines, ["two", "three"]);
        assert_eq!(window.total, 5);
        assert_eq!(super::window("", wanted(0, 5)).total, 0);
        assert_eq!(super::window("\n", wanted(0, 5)).lines, [""]);
    }

    #[test]
    fn a_long_line_is_cut_between_characters_and_is_there_whatever_the_bound() {
        let text = "\u{e9}".repeat(100);
        let window = window(
            &text,
            Wanted {
                max_bytes: 1,
                max_line_bytes: 5,
                ..wanted(0, 5)
            },
        );
        assert_eq!(window.lines, ["\u{e9}\u{e9}"]);
        assert_eq!(window.cut, [(0, 200)]);
    }

    #[test]
    fn a_fingerprint_is_that_of_the_bytes() {
        let one = Fingerprint::of(b"one");
        assert_eq!(Fingerprint::parse(&one.to_string()), Some(one));
        assert_ne!(one, Fingerprint::of(b"two"));
        assert_eq!(Fingerprint::parse("nonsense"), None);
    }

    #[test]
    fn nothing_is_read_of_what_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "12345").unwrap();
        let code = |path: &Path, max| match read(path, max, &Stop::default()) {
            Ok(bytes) => format!("{} bytes", bytes.len()),
            Err(error) => error.code().to_owned(),
        };
        assert_eq!(code(&path, 5), "5 bytes");
        assert_eq!(code(&path, 4), "too_large");
        assert_eq!(code(&path.join("below"), 4), "not_found");
        assert_eq!(code(&folder.path().join("no"), 4), "not_found");
        assert_eq!(code(folder.path(), 4), "is_directory");
        assert_eq!(code(Path::new("/dev/zero"), 4), "not_a_file");
    }
}
