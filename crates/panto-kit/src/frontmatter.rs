//! Frontmatter: the YAML between the fences at the head of a Markdown file, read leniently.
//!
//! For whatever people write by hand: skills, commands, profiles. What is plain in meaning is
//! recovered, and everything that was recovered is said, with its line. A value is text as it was
//! written, but for `true`, `false` and whole numbers in their usual form.

mod entries;
mod fences;
mod lines;
mod repair;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may unwrap")]
mod tests;
mod words;
mod yaml;

use std::fmt;

pub use fences::MAX_BLOCK_BYTES;

use fences::Split;
use lines::Place;

/// How many bytes a whole text may have.
pub const MAX_BYTES: usize = 1024 * 1024;

/// How many diagnostics one text gets.
const MAX_DIAGNOSTICS: usize = 32;

/// How bad what was found is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The text cannot be used.
    Error,
    /// Something was recovered, and may be meant otherwise.
    Warning,
    /// Something is worth knowing, and fine.
    Info,
}

impl Level {
    /// The level's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Info => "info",
        }
    }
}

/// What a diagnostic is about, for code that tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// More bytes than are read.
    TooLarge,
    /// UTF-16, or no text at all.
    Encoding,
    /// The opening fence has no closing one.
    Unclosed,
    /// A header in another language than YAML.
    Language,
    /// Text or empty lines stand before the opening fence.
    BeforeFence,
    /// What stands between the fences is no list of `key: value`.
    NotKeys,
    /// YAML refuses an entry, which was taken as text.
    NotYaml,
    /// A line belongs to no key.
    StrayLine,
    /// Tabs stood where YAML wants spaces.
    Tabs,
    /// A key is there twice; the later one counts.
    DuplicateKey,
    /// A key is a list or a map.
    OddKey,
    /// A tag such as `!!python/object`, which means nothing here.
    Tag,
    /// Text that YAML readers take for a number, a boolean or the like.
    Type,
    /// Control or direction characters were taken out.
    ControlCharacters,
    /// One word mixes letters of scripts that look alike.
    LookAlike,
}

impl Code {
    /// The code's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::TooLarge => "too_large",
            Code::Encoding => "encoding",
            Code::Unclosed => "unclosed",
            Code::Language => "language",
            Code::BeforeFence => "before_fence",
            Code::NotKeys => "not_keys",
            Code::NotYaml => "not_yaml",
            Code::StrayLine => "stray_line",
            Code::Tabs => "tabs",
            Code::DuplicateKey => "duplicate_key",
            Code::OddKey => "odd_key",
            Code::Tag => "tag",
            Code::Type => "type",
            Code::ControlCharacters => "control_characters",
            Code::LookAlike => "look_alike",
        }
    }
}

/// One thing that was found, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub level: Level,
    /// What it is about.
    pub code: Code,
    /// For people, in one line.
    pub message: String,
    /// Its line in the text, from 1.
    pub line: usize,
    /// Its column, in characters from 1.
    pub column: usize,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            level,
            code,
            message,
            line,
            column,
        } = self;
        let (level, code) = (level.as_str(), code.as_str());
        write!(f, "{line}:{column}: {level} {code}: {message}")
    }
}

/// A value of the frontmatter. What is empty or `null` is not there.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// `true` or `false`, unquoted.
    Boolean(bool),
    /// A whole number as it is usually written: no leading zero, no plus.
    Integer(i64),
    /// Everything else, as it was written, in Unicode's composed form (NFC).
    Text(String),
    /// A list.
    List(Vec<Data>),
    /// A map, in the order of the text.
    Map(Vec<(String, Data)>),
}

/// What a text is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Frontmatter<'a> {
    /// The pairs between the fences; `None` if there is no frontmatter.
    pub data: Option<Vec<(String, Data)>>,
    /// What is behind the closing fence, byte for byte, or the whole text if there is no
    /// frontmatter; `None` if the text cannot be used.
    pub body: Option<&'a str>,
    /// What was found, by line.
    pub diagnostics: Vec<Diagnostic>,
}

impl<'a> Frontmatter<'a> {
    /// Reads a text. Whatever it is, it is read in bounded time and memory.
    pub fn read(text: &'a [u8]) -> Self {
        let mut notes = Notes::default();
        let (data, body) = match fences::split(text, &mut notes) {
            Split::Unusable => (None, None),
            Split::Body(body) => (None, Some(body)),
            Split::Both { whole, block, body } => match repair::read(&block, &mut notes) {
                Some(data) => (Some(data), Some(body)),
                None => (None, Some(whole)),
            },
        };
        Self {
            data,
            body,
            diagnostics: notes.sorted(),
        }
    }
}

/// Diagnostics as they come.
#[derive(Debug, Default)]
struct Notes(Vec<Diagnostic>);

impl Notes {
    fn add(&mut self, level: Level, code: Code, place: Place, message: impl Into<String>) {
        if self.0.len() >= MAX_DIAGNOSTICS {
            return;
        }
        self.0.push(Diagnostic {
            level,
            code,
            message: message.into(),
            line: place.line,
            column: place.column,
        });
    }

    fn error(&mut self, code: Code, place: Place, message: impl Into<String>) {
        self.add(Level::Error, code, place, message);
    }

    fn warning(&mut self, code: Code, place: Place, message: impl Into<String>) {
        self.add(Level::Warning, code, place, message);
    }

    fn info(&mut self, code: Code, place: Place, message: impl Into<String>) {
        self.add(Level::Info, code, place, message);
    }

    fn sorted(mut self) -> Vec<Diagnostic> {
        self.0.sort_by_key(|note| (note.line, note.column));
        self.0.truncate(MAX_DIAGNOSTICS);
        self.0
    }
}
