//! One file's text, and how places in it are shown.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::error::Problem;
use super::sourced::{Layer, Place, Source};

/// One file's text.
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    file: Arc<Path>,
    layer: Layer,
    /// Where each line starts: every value asks for its place, so lines are not counted anew.
    lines: Vec<usize>,
}

/// How much of a long line a message shows.
const SHOWN: usize = 120;

impl<'a> Document<'a> {
    pub(super) fn new(file: &Path, layer: Layer, text: &'a str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self {
            text,
            file: Arc::from(file),
            layer,
            lines: std::iter::once(0)
                .chain(breaks.map(|(at, _)| at + 1))
                .collect(),
        }
    }

    /// The place of a byte offset; past the end it is the end.
    pub(super) fn place(&self, offset: usize) -> Place {
        let offset = offset.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines[line - 1];
        let before = &self.text.as_bytes()[start..offset];
        Place {
            file: Arc::clone(&self.file),
            line,
            column: String::from_utf8_lossy(before).chars().count() + 1,
        }
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
        let line = match self.may_be_secret(place.line) {
            true => without_value(line),
            false => line.to_owned(),
        };
        let line = without_secret(visible(&line).collect());
        let column = (place.column - 1).min(line.len());
        let (line_text, caret) = window(&line, column);
        let left = line_text.chars().count().saturating_sub(caret);
        let marked = self.text.get(span).unwrap_or_default();
        let marked = marked.lines().next().unwrap_or_default().chars().count();
        Problem {
            place,
            message: message.into(),
            line_text,
            caret,
            width: marked.clamp(1, left.max(1)),
        }
    }
}

impl Document<'_> {
    /// Whether the values of a line may be secret by where they stand: in a table or a list
    /// that holds nothing else.
    ///
    /// Looks at lines, not at values, since the file may be broken.
    fn may_be_secret(&self, line: usize) -> bool {
        let names_secret = |name: &str| {
            let is_one = |word: &&str| matches!(*word, "headers" | "api_key_command");
            name.split(['.', '[', ']', '"', '\'', ' ', '\t'])
                .any(|word| is_one(&word))
        };
        let mut table = "";
        let mut key = "";
        for line in self.text.lines().take(line) {
            let line = line.trim_start();
            if line.starts_with('[') && !line.starts_with("[\"") {
                (table, key) = (line, "");
            } else if let Some(name) = key_of(line) {
                key = name;
            }
        }
        names_secret(table) || names_secret(key)
    }
}

/// The key that a line gives a value to.
fn key_of(line: &str) -> Option<&str> {
    let (name, _) = line.split_once('=')?;
    let is_key = |c: char| c.is_alphanumeric() || " \t._-\"'".contains(c);
    name.chars().all(is_key).then_some(name)
}

/// The line up to its value; a line that only goes on with one has nothing to show.
fn without_value(line: &str) -> String {
    if line.trim_start().starts_with('[') && !line.contains(['"', '\'', '=']) {
        return line.to_owned();
    }
    key_of(line).map_or_else(|| "…".to_owned(), |name| format!("{name}= …"))
}

/// Text that can neither move a cursor nor turn a line round: one character for each.
pub(super) fn visible(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| match c {
        '\t' => ' ',
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
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

/// The line up to a value that may be a secret: somebody may have put a key into the file.
fn without_secret(mut line: Vec<char>) -> Vec<char> {
    const SECRET: [&str; 7] = [
        "key",
        "token",
        "secret",
        "password",
        "authorization",
        "headers",
        "base_url",
    ];
    const NO_SECRET: [&str; 1] = ["api_key_env"];
    let mut start = 0;
    for at in 0..line.len() {
        if line[at] != '=' {
            continue;
        }
        let name: String = line[start..at].iter().collect();
        let name = name.trim().to_lowercase();
        let plain = NO_SECRET.iter().any(|plain| name.ends_with(plain));
        if !plain && SECRET.iter().any(|word| name.contains(word)) {
            line.truncate(at + 1);
            line.extend([' ', '…']);
            break;
        }
        start = at + 1;
    }
    line
}
