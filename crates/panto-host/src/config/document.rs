//! One file's text, and how places in it are shown.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::error::Problem;
use super::sourced::{Layer, Place, Source};

/// One file's text.
pub(super) struct Document<'a> {
    pub(super) file: Arc<Path>,
    pub(super) layer: Layer,
    pub(super) text: &'a str,
}

/// How much of a long line a message shows.
const SHOWN: usize = 120;

impl Document<'_> {
    /// The place of a byte offset.
    pub(super) fn place(&self, offset: usize) -> Place {
        place(&self.file, self.text, offset)
    }

    /// The source of a value that starts at a byte offset.
    pub(super) fn source(&self, offset: usize) -> Source {
        Source::File {
            layer: self.layer,
            place: self.place(offset),
        }
    }

    /// Something wrong at `span`.
    pub(super) fn problem(&self, span: Range<usize>, message: impl Into<String>) -> Problem {
        let place = self.place(span.start);
        let line = self.text.lines().nth(place.line - 1).unwrap_or_default();
        let line: Vec<char> = visible(line).collect();
        let marked = self.text.get(span).unwrap_or_default();
        let marked = marked.lines().next().unwrap_or_default().chars().count();
        let (line_text, caret) = window(&line, place.column - 1);
        let hidden = secret_after(&line_text).filter(|&start| start < line_text.chars().count());
        let line_text = match hidden {
            Some(start) => line_text.chars().take(start).chain("…".chars()).collect(),
            None => line_text,
        };
        let left = line_text.chars().count().saturating_sub(caret);
        Problem {
            place,
            message: message.into(),
            caret: caret.min(line_text.chars().count()),
            width: marked.clamp(1, left.max(1)),
            line_text,
        }
    }
}

/// The place of a byte offset in `text`.
pub(super) fn place(file: &Arc<Path>, text: &str, offset: usize) -> Place {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let start = before
        .iter()
        .rposition(|&b| b == b'\n')
        .map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    Place {
        file: Arc::clone(file),
        line: before.iter().filter(|&&b| b == b'\n').count() + 1,
        column,
    }
}

/// Text that cannot move a cursor: one visible character for each.
pub(super) fn visible(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    })
}

/// The part of a line round `column`, and where `column` is in it.
fn window(line: &[char], column: usize) -> (String, usize) {
    let start = if line.len() > SHOWN {
        column.saturating_sub(SHOWN / 2).min(line.len() - SHOWN)
    } else {
        0
    };
    let end = (start + SHOWN).min(line.len());
    (
        line[start..end].iter().collect(),
        column.saturating_sub(start),
    )
}

/// Where a line's value starts if it may be a secret: somebody may have put a key into the file.
fn secret_after(line: &str) -> Option<usize> {
    const SECRET: [&str; 5] = ["key", "token", "secret", "password", "authorization"];
    const NO_SECRET: [&str; 2] = ["api_key_env", "api_key_command"];
    let mut start = 0;
    for (at, c) in line.chars().enumerate() {
        if c == '=' {
            let name: String = line.chars().take(at).skip(start).collect();
            let name = name.to_lowercase();
            let name = name.trim();
            if !NO_SECRET.iter().any(|plain| name.ends_with(plain))
                && SECRET.iter().any(|word| name.contains(word))
            {
                return Some(at + 2);
            }
            start = at + 1;
        }
    }
    None
}
