//! Reading parts of a file: a line at an offset, lines from the end.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::line::Line;

/// A file up to this size is read at once: that costs less than asking for its parts.
const SMALL_FILE: u64 = 32 * 1024;
/// How much of a larger one is read at first; a line that is longer takes more, each time twice as
/// much.
const FIRST_BLOCK: usize = 8 * 1024;
const MAX_BLOCK: usize = 1024 * 1024;

/// A file as long as it was when it was opened, of which parts are read.
pub(super) struct Window {
    file: File,
    length: u64,
    /// The beginning of the file: all of it, where it is small.
    start: Vec<u8>,
}

impl Window {
    /// Looks at an open file.
    pub(super) fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let mut start = match usize::try_from(length) {
            Ok(whole) if length <= SMALL_FILE => vec![0; whole],
            _ => vec![0; FIRST_BLOCK],
        };
        file.read_exact_at(&mut start, 0)?;
        Ok(Self {
            file,
            length,
            start,
        })
    }

    /// The file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// The line that begins at `offset`; `None` if none begins there.
    pub(super) fn line_at(&self, offset: u64) -> io::Result<Option<Line<Vec<u8>>>> {
        if offset >= self.length || (offset > 0 && *self.bytes(offset - 1, 1)? != *b"\n") {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let mut block = FIRST_BLOCK;
        loop {
            let at = offset + bytes.len() as u64;
            let piece = self.bytes(at, block)?;
            if let Some(end) = piece.iter().position(|&byte| byte == b'\n') {
                bytes.extend_from_slice(&piece[..end]);
                let last = offset + bytes.len() as u64 + 1 == self.length;
                return Ok(Some(Line {
                    number: 0,
                    offset,
                    bytes,
                    complete: true,
                    last,
                }));
            }
            bytes.extend_from_slice(&piece);
            if offset + bytes.len() as u64 >= self.length {
                return Ok(Some(Line {
                    number: 0,
                    offset,
                    bytes,
                    complete: false,
                    last: true,
                }));
            }
            block = (block * 2).min(MAX_BLOCK);
        }
    }

    /// The lines, last one first.
    pub(super) fn backwards(&self) -> Backwards<'_> {
        Backwards {
            window: self,
            block_at: self.length,
            block: Vec::new(),
            block_size: FIRST_BLOCK,
            tails: Vec::new(),
            next_is_complete: false,
            next_is_last: true,
            ended: self.length == 0,
        }
    }

    /// At most `length` bytes from `offset` on; fewer at the end of the file.
    fn bytes(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        let left = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let length = length.min(left);
        if let Ok(from) = usize::try_from(offset)
            && let Some(bytes) = self.start.get(from..from + length)
        {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(Cow::Owned(bytes))
    }
}

/// Reads lines from the end of a file to its beginning, each byte once.
pub(super) struct Backwards<'w> {
    window: &'w Window,
    /// Where `block` begins in the file; all after it has been given or is in `tails`.
    block_at: u64,
    block: Vec<u8>,
    block_size: usize,
    /// The later parts of the line that `block` ends in, last one first.
    tails: Vec<Vec<u8>>,
    next_is_complete: bool,
    next_is_last: bool,
    ended: bool,
}

impl Backwards<'_> {
    /// The line before.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<Vec<u8>>>> {
        while !self.ended {
            if let Some(at) = self.block.iter().rposition(|&byte| byte == b'\n') {
                let piece = self.block.split_off(at + 1);
                self.block.truncate(at);
                let offset = self.block_at + at as u64 + 1;
                if let Some(line) = self.line(offset, piece) {
                    return Ok(Some(line));
                }
                continue;
            }
            let piece = std::mem::take(&mut self.block);
            if self.block_at == 0 {
                self.ended = true;
                return Ok(self.line(0, piece));
            }
            self.tails.push(piece);
            let size = u64::try_from(self.block_size).unwrap_or(u64::MAX);
            let start = self.block_at.saturating_sub(size);
            let length = usize::try_from(self.block_at - start).unwrap_or(usize::MAX);
            self.block = self.window.bytes(start, length)?.into_owned();
            self.block_at = start;
            self.block_size = (self.block_size * 2).min(MAX_BLOCK);
        }
        Ok(None)
    }

    /// Puts a line together; `None` for the nothing after the last line break.
    fn line(&mut self, offset: u64, first: Vec<u8>) -> Option<Line<Vec<u8>>> {
        let mut bytes = first;
        for tail in self.tails.drain(..).rev() {
            bytes.extend_from_slice(&tail);
        }
        let complete = std::mem::replace(&mut self.next_is_complete, true);
        if !complete && bytes.is_empty() {
            return None;
        }
        let last = std::mem::replace(&mut self.next_is_last, false);
        Some(Line {
            number: 0,
            offset,
            bytes,
            complete,
            last,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::super::line::lines;
    use super::*;

    fn window(bytes: &[u8]) -> Window {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Window::new(file).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn backwards_gives_the_same_lines(
            text in proptest::collection::vec(
                prop_oneof![4 => Just(0_usize), 3 => 0_usize..50, 1 => 5_000_usize..40_000], 0..20,
            ),
            ends in any::<bool>(),
        ) {
            let mut bytes = Vec::new();
            for length in text {
                bytes.extend(std::iter::repeat_n(b'x', length));
                bytes.push(b'\n');
            }
            if !ends {
                bytes.pop();
            }
            let window = window(&bytes);
            let mut expected: Vec<_> = lines(&bytes).collect();
            let mut backwards = window.backwards();
            while let Some(line) = backwards.next().unwrap() {
                let wanted = expected.pop().unwrap();
                prop_assert_eq!(line.offset, wanted.offset);
                prop_assert_eq!(&line.bytes[..], wanted.bytes);
                prop_assert_eq!((line.complete, line.last), (wanted.complete, wanted.last));
                let again = window.line_at(line.offset).unwrap().unwrap();
                prop_assert_eq!(&again.bytes[..], wanted.bytes);
                prop_assert_eq!((again.complete, again.last), (wanted.complete, wanted.last));
            }
            prop_assert!(expected.is_empty());
        }
    }
}
