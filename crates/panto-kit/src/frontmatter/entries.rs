//! A block that is no YAML as a whole: each top-level `key:` with its lines by itself, as YAML if
//! it is some, else as text.

use super::fences::Block;
use super::lines::{Line, lines};
use super::words::clean;
use super::yaml::{Parsed, Refused, parse};
use super::{Code, Data, Notes};

/// How many entries are read one by one.
const MAX_ENTRIES: usize = 256;

/// The pairs that were found; `None` if there is not one key.
pub(super) fn read(block: &Block<'_>, notes: &mut Notes) -> Option<Vec<(String, Data)>> {
    let (entries, stray) = cut(block.text);
    if entries.is_empty() {
        return None;
    }
    for line in stray {
        let message = "a line that belongs to no key; it is left out";
        notes.warning(Code::StrayLine, block.place(line, 1), message);
    }
    let mut pairs: Vec<(String, Data)> = Vec::new();
    for entry in &entries {
        let place = block.place(entry.line(), 1);
        let key = clean(entry.key(), place, notes);
        if pairs.iter().any(|(known, _)| *known == key) {
            let message = format!("`{key}` is there twice; this one counts");
            notes.warning(Code::DuplicateKey, place, message);
            pairs.retain(|(known, _)| *known != key);
        }
        let value = entry.value(block, notes);
        pairs.extend(value.map(|value| (key, value)));
    }
    Some(pairs)
}

/// A line with a key, and what follows it up to the next one.
struct Entry<'a> {
    lines: Vec<Line<'a>>,
    /// Where the key's colon is in the first line.
    colon: usize,
}

/// The entries of a text, and the numbers of lines that come before all of them.
fn cut(text: &str) -> (Vec<Entry<'_>>, Vec<usize>) {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut stray = Vec::new();
    for line in lines(text) {
        let colon = colon(line.text).filter(|_| entries.len() < MAX_ENTRIES);
        match (colon, entries.last_mut()) {
            (Some(colon), _) => {
                let lines = vec![line];
                entries.push(Entry { lines, colon });
            }
            (_, Some(entry)) => entry.lines.push(line),
            (_, None) if is_blank(line.text) => {}
            (_, None) => stray.push(line.number),
        }
    }
    (entries, stray)
}

/// Where the colon of a key at the beginning of a line is.
fn colon(line: &str) -> Option<usize> {
    let colon = line.find(':')?;
    let (key, rest) = (&line[..colon], &line[colon + 1..]);
    let first = key.chars().next()?;
    let is_name = first.is_alphabetic() || matches!(first, '_' | '"' | '\'');
    let no_more = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | '[' | ']' | '#' | '<');
    let is_key = is_name && !key.trim_end().contains(no_more) && key.len() <= 128;
    let is_pair = rest.is_empty() || rest.starts_with([' ', '\t']);
    // `name:x` is meant, `https://x` is not.
    (is_key && (is_pair || !rest.starts_with("//"))).then_some(colon)
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

impl<'a> Entry<'a> {
    fn line(&self) -> usize {
        self.lines.first().map_or(1, |line| line.number)
    }

    fn first(&self) -> &'a str {
        self.lines.first().map_or("", |line| line.text)
    }

    fn key(&self) -> String {
        let key = self.first()[..self.colon].trim();
        key.trim_matches(['"', '\'']).to_owned()
    }

    /// What stands behind the colon.
    fn rest(&self) -> &'a str {
        self.first()[self.colon + 1..].trim()
    }

    fn value(&self, block: &Block<'_>, notes: &mut Notes) -> Option<Data> {
        let text = self.text();
        let alone = Block {
            text: &text,
            lines_before: block.lines_before + self.line() - 1,
        };
        let mut found = Notes::default();
        match parse(&alone, &mut found) {
            Ok(Parsed::Map(mut pairs)) if pairs.len() <= 1 => {
                notes.0.append(&mut found.0);
                pairs.pop().map(|(_, value)| value)
            }
            Ok(_) => self.as_text(&alone, None, notes),
            Err(refused) => self.as_text(&alone, Some(refused), notes),
        }
    }

    /// The entry's lines, with a space behind the colon.
    fn text(&self) -> String {
        let mut text = format!("{}: {}\n", &self.first()[..self.colon], self.rest());
        for line in self.lines.iter().skip(1) {
            text.push_str(line.text);
            text.push('\n');
        }
        text
    }

    /// The value as it is written.
    fn as_text(&self, alone: &Block<'_>, why: Option<Refused>, notes: &mut Notes) -> Option<Data> {
        let key: String = self.key().chars().take(60).collect();
        let mut place = alone.place(1, 1);
        let mut message = format!("`{key}` is taken as plain text");
        if let Some(refused) = why {
            place = alone.place(refused.line.min(self.lines.len().max(1)), refused.column);
            message = format!("{message}: {}", refused.message);
        }
        notes.warning(Code::NotYaml, place, message);

        let mut text = |value: String| Data::Text(clean(value, place, notes));
        let following = || self.lines.iter().skip(1).map(|line| line.text.trim());
        let mut items = following().filter(|line| !is_blank(line)).peekable();
        let is_list = self.rest().is_empty() && items.peek().is_some();
        if is_list && items.clone().all(|item| item.starts_with('-')) {
            let bare = items.map(|item| item.trim_start_matches('-').trim().to_owned());
            return Some(Data::List(bare.map(text).collect()));
        }
        let (first, between) = match self.rest().bytes().next() {
            // The marker of a block is no part of its text.
            Some(b'|') if is_marker(self.rest()) => ("", "\n"),
            Some(b'>') if is_marker(self.rest()) => ("", " "),
            _ => (self.rest(), " "),
        };
        let parts: Vec<&str> = std::iter::once(first).chain(following()).collect();
        let joined = parts.join(between).trim().to_owned();
        (!joined.is_empty()).then(|| text(joined))
    }
}

fn is_marker(rest: &str) -> bool {
    rest.len() <= 3
        && rest[1..]
            .bytes()
            .all(|b| matches!(b, b'+' | b'-' | b'1'..=b'9'))
}
