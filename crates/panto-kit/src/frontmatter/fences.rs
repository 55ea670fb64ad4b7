//! The cut between frontmatter and body.

use super::lines::{Line, Place, lines};
use super::{Code, MAX_BYTES, Notes};
use crate::position::Position;

/// How many bytes may stand between the fences.
pub const MAX_BLOCK_BYTES: usize = 64 * 1024;

/// In how many lines an opening fence that comes too late is looked for.
const LOOKED_AT: usize = 10;

pub(super) enum Split<'a> {
    /// Nothing of the text can be used.
    Unusable,
    /// All of it is body.
    Body(&'a str),
    Both {
        /// The text without a byte order mark.
        whole: &'a str,
        block: Block<'a>,
        /// What is behind the closing fence.
        body: &'a str,
    },
}

/// What stands between the fences.
pub(super) struct Block<'a> {
    pub(super) text: &'a str,
    /// How many lines come before it.
    pub(super) lines_before: usize,
}

impl Block<'_> {
    /// A place of the block as one of the text.
    pub(super) fn place(&self, line: usize, column: usize) -> Place {
        Place {
            line: line + self.lines_before,
            column,
        }
    }
}

pub(super) fn split<'a>(bytes: &'a [u8], notes: &mut Notes) -> Split<'a> {
    let Some(whole) = decoded(bytes, notes) else {
        return Split::Unusable;
    };
    let mut rest = lines(whole).skip_while(|line| line.text.trim().is_empty());
    let Some(first) = rest.next() else {
        return Split::Body(whole);
    };
    match Fence::of(first.text) {
        Some(Fence::Yaml) => {}
        Some(Fence::Other(language)) if closes(whole, first) => {
            let message = format!("a header in {language}; only YAML between `---` is read");
            notes.error(Code::Language, Place::line(first.number), message);
            return Split::Unusable;
        }
        _ => {
            fence_below(whole, first, notes);
            return Split::Body(whole);
        }
    }
    if first.number > 1 {
        let message = "empty lines before the opening `---`";
        notes.info(Code::BeforeFence, Place::line(1), message);
    }
    between(whole, first, rest, notes)
}

/// Finds the closing fence.
fn between<'a>(
    whole: &'a str,
    first: Line<'a>,
    rest: impl Iterator<Item = Line<'a>>,
    notes: &mut Notes,
) -> Split<'a> {
    let opening = Place::line(first.number);
    for line in rest {
        if line.start - first.next > MAX_BLOCK_BYTES {
            let message = format!("more than {MAX_BLOCK_BYTES} bytes without a closing `---`");
            notes.error(Code::TooLarge, opening, message);
            return Split::Unusable;
        }
        if is_closing(line.text) {
            let block = Block {
                text: &whole[first.next..line.start],
                lines_before: first.number,
            };
            let body = &whole[line.next..];
            return Split::Both { whole, block, body };
        }
    }
    notes.error(Code::Unclosed, opening, "the opening `---` is never closed");
    Split::Unusable
}

/// The text, if it is text and not too much of it.
fn decoded<'a>(bytes: &'a [u8], notes: &mut Notes) -> Option<&'a str> {
    let top = Place::line(1);
    if bytes.len() > MAX_BYTES {
        let message = format!(
            "{} bytes, of which at most {MAX_BYTES} are read",
            bytes.len()
        );
        notes.error(Code::TooLarge, top, message);
        return None;
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        notes.error(Code::Encoding, top, "UTF-16 text; save it as UTF-8");
        return None;
    }
    if let Some(offset) = bytes.iter().position(|byte| *byte == 0) {
        let message = "a NUL byte: this is no UTF-8 text";
        notes.error(Code::Encoding, place(bytes, offset), message);
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let place = place(bytes, error.valid_up_to());
            notes.error(Code::Encoding, place, "bytes that are not UTF-8");
            None
        }
    }
}

fn place(bytes: &[u8], offset: usize) -> Place {
    let Position { line, column } = Position::of(bytes, offset);
    Place { line, column }
}

enum Fence {
    Yaml,
    Other(&'static str),
}

impl Fence {
    fn of(line: &str) -> Option<Self> {
        match line.trim_end() {
            "---" | "---yaml" | "---yml" => Some(Fence::Yaml),
            "---toml" | "+++" => Some(Fence::Other("TOML")),
            "---json" | ";;;" => Some(Fence::Other("JSON")),
            "---js" | "---javascript" => Some(Fence::Other("JavaScript")),
            _ => None,
        }
    }
}

fn is_closing(line: &str) -> bool {
    matches!(line.trim_end(), "---" | "...")
}

/// Whether the header of another language ends, so that it is one.
fn closes(whole: &str, first: Line<'_>) -> bool {
    let fence = first.text.trim_end().get(..3);
    lines(whole)
        .skip(first.number)
        .any(|line| Some(line.text.trim_end()) == fence)
}

/// Says that what looks like frontmatter comes too late to be some.
fn fence_below(whole: &str, first: Line<'_>, notes: &mut Notes) {
    let is_key = |line: Line<'_>| {
        let key = line.text.split_once(':').map(|(key, _)| key);
        key.is_some_and(|key| {
            let named = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
            !key.is_empty() && key.bytes().all(named)
        })
    };
    let mut near = lines(whole).skip(first.number).take(LOOKED_AT);
    while let Some(line) = near.next() {
        if line.text.trim_end() != "---" {
            continue;
        }
        if near.next().is_some_and(is_key) {
            let message = "text before the opening `---`, so that this is no frontmatter";
            notes.warning(Code::BeforeFence, Place::line(first.number), message);
        }
        return;
    }
}
