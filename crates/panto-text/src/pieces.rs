//! Text in the pieces that have a width of their own.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::TAB;

/// A part of a text that is never cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// What a reader sees as one character, and its width.
    Cluster(&'a str, usize),
    /// A blank, at which a line may break.
    Blank(&'a str),
    /// A tab.
    Tab,
    /// The end of a line: LF, CR or both.
    Break,
    /// An escape sequence, or a control character: without width.
    Escape(&'a str),
}

impl Piece<'_> {
    pub(crate) fn width(self) -> usize {
        match self {
            Piece::Cluster(_, width) => width,
            Piece::Blank(_) => 1,
            Piece::Tab => TAB,
            Piece::Break | Piece::Escape(_) => 0,
        }
    }

    /// Writes the piece as it goes to a terminal.
    pub(crate) fn write(self, out: &mut String) {
        match self {
            Piece::Cluster(text, _) | Piece::Blank(text) | Piece::Escape(text) => {
                out.push_str(text);
            }
            Piece::Tab => out.extend(std::iter::repeat_n(' ', TAB)),
            Piece::Break => out.push('\n'),
        }
    }
}

/// The pieces of a text, in order.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, len) = first(rest)?;
        rest = &rest[len..];
        Some(piece)
    })
}

fn first(text: &str) -> Option<(Piece<'_>, usize)> {
    let start = text.chars().next()?;
    let bytes = text.as_bytes();
    match start {
        '\n' => return Some((Piece::Break, 1)),
        '\r' => {
            return Some((
                Piece::Break,
                if bytes.get(1) == Some(&b'\n') { 2 } else { 1 },
            ));
        }
        '\t' => return Some((Piece::Tab, 1)),
        ' ' if !combines(text) => return Some((Piece::Blank(" "), 1)),
        '\u{1b}' | '\u{80}'..='\u{9f}' => {
            let len = sequence_len(text, start);
            return Some((Piece::Escape(&text[..len]), len));
        }
        start if start.is_control() => {
            let len = start.len_utf8();
            return Some((Piece::Escape(&text[..len]), len));
        }
        // The common case needs no tables.
        ' '..='~' if bytes.get(1).is_none_or(u8::is_ascii) => {
            return Some((Piece::Cluster(&text[..1], 1), 1));
        }
        _ => {}
    }
    let cluster = text.graphemes(true).next()?;
    Some((
        Piece::Cluster(cluster, cluster_width(cluster)),
        cluster.len(),
    ))
}

/// Whether the first character has marks on it.
fn combines(text: &str) -> bool {
    let next_is_ascii = text.as_bytes().get(1).is_none_or(u8::is_ascii);
    !next_is_ascii
        && text
            .graphemes(true)
            .next()
            .is_some_and(|first| first.len() > 1)
}

/// No cluster is wider than two columns on a terminal.
fn cluster_width(cluster: &str) -> usize {
    cluster.width().min(2)
}

/// How long the escape sequence is with which `text` begins; an unfinished one takes the rest of
/// its line.
///
/// Source: ECMA-48, sections 5.4 and 5.6; the bell as an end is xterm's.
fn sequence_len(text: &str, start: char) -> usize {
    let bytes = text.as_bytes();
    let (kind, from) = match start {
        '\u{1b}' => match bytes.get(1) {
            None => return 1,
            Some(kind @ 0x20..=0x7e) => (*kind, 2),
            // What follows is no part of a sequence.
            Some(_) => return 1,
        },
        // The same as two characters: ESC and one of `@` to `_`.
        control => (control as u32 as u8 - 0x40, control.len_utf8()),
    };
    match kind {
        b'[' => {
            let parameters = bytes[from..]
                .iter()
                .take_while(|b| matches!(b, 0x20..=0x3f));
            let end = from + parameters.count();
            match bytes.get(end) {
                Some(0x40..=0x7e) => end + 1,
                _ => end,
            }
        }
        b']' | b'P' | b'X' | b'^' | b'_' => string_len(text, from),
        // Intermediate bytes, then a final one.
        0x20..=0x2f => {
            let intermediate = bytes[from..]
                .iter()
                .take_while(|b| matches!(b, 0x20..=0x2f));
            let end = from + intermediate.count();
            match bytes.get(end) {
                Some(0x30..=0x7e) => end + 1,
                _ => end,
            }
        }
        _ => from,
    }
}

/// A control string ends with ST or a bell.
fn string_len(text: &str, from: usize) -> usize {
    for (at, c) in text[from..].char_indices() {
        let at = from + at;
        match c {
            '\u{7}' | '\u{9c}' => return at + c.len_utf8(),
            '\u{1b}' if text[at..].starts_with("\u{1b}\\") => return at + 2,
            '\u{1b}' | '\n' | '\r' => return at,
            _ => {}
        }
    }
    text.len()
}
