//! What a search takes of one file.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

use super::{Line, Query};

/// The lines of one file.
pub(super) struct Lines<'a> {
    pub(super) matcher: &'a RegexMatcher,
    pub(super) query: &'a Query,
    pub(super) lines: Vec<Line>,
    pub(super) matches: usize,
    pub(super) bytes: usize,
    pub(super) is_cut: bool,
    pub(super) is_binary: bool,
}

impl Lines<'_> {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_context: bool) {
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (text, is_cut) = self.shown(line, is_context);
        self.bytes += text.len();
        self.lines.push(Line {
            number: number.unwrap_or(0),
            text,
            is_context,
            is_cut,
        });
    }

    /// A line, or the part of a long one in which the match is.
    fn shown(&self, line: &[u8], is_context: bool) -> (String, bool) {
        let max = self.query.max_line_bytes;
        if line.len() <= max {
            return (String::from_utf8_lossy(line).into_owned(), false);
        }
        let at = match is_context {
            true => 0,
            false => match self.matcher.find(line) {
                Ok(Some(found)) => found.start(),
                _ => 0,
            },
        };
        let start = at.saturating_sub(max / 4).min(line.len() - max);
        let part = &line[start..start + max];
        // Bytes of a character that was cut in two go.
        let is_middle = |byte: &u8| (0x80..0xC0).contains(byte);
        let lead = part
            .iter()
            .take(3)
            .take_while(|byte| is_middle(byte))
            .count();
        let lead = if start == 0 { 0 } else { lead };
        let text = String::from_utf8_lossy(&part[lead..]);
        (text.trim_end_matches('\u{fffd}').to_owned(), true)
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        // One more is looked for, so that what stands behind the last is there.
        if self.matches >= self.query.max_matches || self.bytes >= self.query.max_bytes {
            self.is_cut = true;
            return Ok(false);
        }
        self.matches += 1;
        self.push(found.line_number(), found.bytes(), false);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        let is_enough = self.matches >= self.query.max_matches;
        if !(is_enough && *context.kind() == SinkContextKind::Before) {
            self.push(context.line_number(), context.bytes(), true);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }
}
