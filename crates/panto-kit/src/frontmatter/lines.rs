//! Lines of a text whose ends may be `\n`, `\r\n` or `\r`, each where it stands.

/// A place in a text, both from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Place {
    pub(super) fn line(line: usize) -> Self {
        Self { line, column: 1 }
    }
}

/// One line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// From 1.
    pub(super) number: usize,
    /// Without its end.
    pub(super) text: &'a str,
    /// Where it begins.
    pub(super) start: usize,
    /// Where the next one begins.
    pub(super) next: usize,
}

/// The lines of `text`; a last one without an end counts, an empty one does not.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    let mut number = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let len = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let end = match rest.as_bytes().get(len..) {
            Some([b'\r', b'\n', ..]) => 2,
            Some([_, ..]) => 1,
            _ => 0,
        };
        number += 1;
        let line = Line {
            number,
            text: &rest[..len],
            start,
            next: start + len + end,
        };
        start = line.next;
        Some(line)
    })
}
