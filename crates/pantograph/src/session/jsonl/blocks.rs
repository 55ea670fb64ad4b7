//! A file's lines, many at a time.

use std::io::{self, BufRead};
use std::ops::Range;

use super::line::Line;

/// Reads whole lines, so that the file is never in memory as a whole.
pub(super) struct Lines<R> {
    reader: R,
    number: u64,
    /// After what was read.
    end: u64,
    torn_bytes: u64,
    /// Memory for blocks to come.
    spare: Vec<Block>,
}

/// Some lines and the memory that they lie in.
#[derive(Default)]
pub(super) struct Block {
    bytes: Vec<u8>,
    lines: Vec<(Line<()>, Range<usize>)>,
}

impl Block {
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<&[u8]>> {
        let lines = self.lines.iter();
        lines.map(|(line, range)| line.with(&self.bytes[range.clone()]))
    }
}

impl<R: BufRead> Lines<R> {
    /// The lines of `reader`, which is at the beginning of the file.
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            number: 0,
            end: 0,
            torn_bytes: 0,
            spare: Vec::new(),
        }
    }

    /// The next lines of together at least `least` bytes, or all that are left; `None` at the end.
    ///
    /// A last line that was cut off is left out, unless it is the only one.
    pub(super) fn block(&mut self, least: usize) -> io::Result<Option<Block>> {
        let mut block = self.spare.pop().unwrap_or_default();
        // Its last line may reach beyond what was asked for.
        block.bytes.reserve(least + least / 8);
        while block.bytes.len() < least && !self.reader.fill_buf()?.is_empty() {
            let start = block.bytes.len();
            self.read_line(&mut block.bytes)?;
            let range = start..block.bytes.len();
            self.number += 1;
            let line = Line {
                number: self.number,
                offset: self.end,
                last: self.reader.fill_buf()?.is_empty(),
                ..Line::default()
            };
            self.end += range.len() as u64;
            if line.number > 1 && line.with(&block.bytes[range.clone()]).is_torn() {
                self.torn_bytes = range.len() as u64;
                break;
            }
            block.lines.push((line, range));
        }
        Ok((!block.lines.is_empty()).then_some(block))
    }

    /// Takes a block back, so that the next is read into memory that was used before: new memory
    /// costs more than what is read into it.
    pub(super) fn recycle(&mut self, mut block: Block) {
        block.bytes.clear();
        block.lines.clear();
        self.spare.push(block);
    }

    /// Adds what is left up to the next line break, and that.
    fn read_line(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let buffer = self.reader.fill_buf()?;
            let found = memchr::memchr(b'\n', buffer);
            let length = found.map_or(buffer.len(), |at| at + 1);
            bytes.extend_from_slice(&buffer[..length]);
            self.reader.consume(length);
            if found.is_some() || length == 0 {
                return Ok(());
            }
        }
    }

    /// Whether all was read.
    pub(super) fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.reader.fill_buf()?.is_empty())
    }

    /// Where what was read ends, what was cut off included.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The bytes of a last line that was cut off.
    pub(super) fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }
}
