//! Where a text stops being JSON, in words.

use std::fmt;

use serde_json::error::Category;

/// How many characters are quoted on each side of a position.
const EXCERPT_CHARS: usize = 40;

/// Where and why a text stops being JSON. The column counts characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Malformed {
    cause: String,
    line: usize,
    column: usize,
    excerpt: Excerpt,
}

impl Malformed {
    pub(super) fn new(input: &str, cause: &serde_json::Error) -> Self {
        let message = cause.to_string();
        let position = format!(" at line {} column {}", cause.line(), cause.column());
        let line_start = cause
            .line()
            .checked_sub(2)
            .and_then(|newline| input.match_indices('\n').nth(newline))
            .map_or(0, |(newline, _)| newline + 1);
        let offset = match cause.classify() {
            Category::Eof => input.len(),
            _ => input.floor_char_boundary(line_start + cause.column().saturating_sub(1)),
        };
        let before = input.get(line_start..offset).unwrap_or_default();
        Self {
            cause: message.strip_suffix(&position).unwrap_or(&message).into(),
            line: cause.line(),
            column: before.chars().count() + 1,
            excerpt: Excerpt::at(input, offset),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cause,
            line,
            column,
            excerpt: Excerpt { before, after },
        } = self;
        write!(f, "{cause} at line {line}, column {column}")?;
        match (before.is_empty(), after.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => write!(f, ", where it begins with `{after}`"),
            (false, true) => write!(f, ", where it ends after `{before}`"),
            (false, false) => write!(f, ", where `{before}` is followed by `{after}`"),
        }
    }
}

/// What stands around a position, on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) before: String,
    pub(super) after: String,
}

impl Excerpt {
    /// Quotes what is around `offset`, which is a character boundary.
    pub(super) fn at(input: &str, offset: usize) -> Self {
        let (head, tail) = input.split_at(offset);
        let start = head
            .char_indices()
            .rev()
            .nth(EXCERPT_CHARS)
            .map(|(cut, c)| cut + c.len_utf8());
        let end = tail.char_indices().nth(EXCERPT_CHARS).map(|(cut, _)| cut);
        Self {
            before: match start {
                Some(start) => format!("…{}", visible(&head[start..])),
                None => visible(head),
            },
            after: match end {
                Some(end) => format!("{}…", visible(&tail[..end])),
                None => visible(tail),
            },
        }
    }
}

/// Writes control characters and line separators as escapes.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                shown.extend(c.escape_default());
            }
            c => shown.push(c),
        }
    }
    shown
}
