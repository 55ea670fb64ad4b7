//! A line of a file.

use std::io::BufRead;

/// A line, without its line break. `B` are its bytes, borrowed or owned.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Line<B> {
    /// Counted from 1; 0 where it is not known.
    pub(super) number: u64,
    /// Where it begins in the file.
    pub(super) offset: u64,
    /// What it holds.
    pub(super) bytes: B,
    /// Whether a line break ends it.
    pub(super) complete: bool,
    /// Whether the file ends with it.
    pub(super) last: bool,
}

impl Line<()> {
    /// The same line with its contents, which may end in a line break.
    pub(super) fn with(self, contents: &[u8]) -> Line<&[u8]> {
        let content = contents.strip_suffix(b"\n");
        Line {
            number: self.number,
            offset: self.offset,
            bytes: content.unwrap_or(contents),
            complete: content.is_some(),
            last: self.last,
        }
    }
}

impl<B> Line<B> {
    /// The same line without its contents.
    pub(super) fn without(&self) -> Line<()> {
        Line {
            number: self.number,
            offset: self.offset,
            bytes: (),
            complete: self.complete,
            last: self.last,
        }
    }
}

impl<B: AsRef<[u8]>> Line<B> {
    /// Whether it holds nothing but white space, which means nothing.
    pub(super) fn is_blank(&self) -> bool {
        self.bytes.as_ref().trim_ascii().is_empty()
    }

    /// Whether it was cut off while it was written: no line break ends it, or it is of zeros, as
    /// a crash of the system leaves space that was never filled. A whole line with a bad byte was
    /// written once, and is not to be dropped in silence.
    pub(super) fn is_torn(&self) -> bool {
        let is_void =
            !self.bytes.as_ref().is_empty() && self.bytes.as_ref().iter().all(|&byte| byte == 0);
        self.last && (!self.complete || is_void)
    }
}

/// The lines of a file.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<&[u8]>> {
    let mut offset = 0;
    let mut number = 0;
    std::iter::from_fn(move || {
        let mut rest = &bytes[offset..];
        let start = rest;
        // Reading from memory cannot fail.
        let length = rest.skip_until(b'\n').unwrap_or(0);
        if length == 0 {
            return None;
        }
        number += 1;
        let place = Line {
            number,
            offset: offset as u64,
            last: rest.is_empty(),
            ..Line::default()
        };
        offset += length;
        Some(place.with(&start[..length]))
    })
}
