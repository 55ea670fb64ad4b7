//! What a person should hear once about a file or an extension.

use std::fmt;
use std::path::PathBuf;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// Good to know.
    Info,
    /// Something is not as its author meant it, and the rest works.
    Warning,
    /// Something does not work, and the rest does.
    Error,
}

impl Level {
    /// Its name: `info`, `warning` or `error`.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }

    /// The level of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Level::Info, Level::Warning, Level::Error]
            .into_iter()
            .find(|level| level.as_str() == name)
    }
}

/// A place in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Position {
    /// The file.
    pub file: PathBuf,
    /// From 1.
    pub line: Option<u64>,
    /// From 1, in characters.
    pub column: Option<u64>,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        Ok(())
    }
}

/// What a person should hear once. Its text is from outside: make it harmless before it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// How bad it is.
    pub level: Level,
    /// The extension that it is about, or that says it.
    pub extension: Option<String>,
    /// What happened, and what to do about it.
    pub message: String,
    /// Where.
    pub position: Option<Position>,
}

/// No message is longer, in characters: what an extension says has any length.
const LONGEST: usize = 2000;

fn shortened(mut message: String) -> String {
    if let Some((end, _)) = message.char_indices().nth(LONGEST) {
        message.truncate(end);
        message.push('…');
    }
    message
}

impl Diagnostic {
    /// Something is not as its author meant it.
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Level::Warning, message)
    }

    /// Something does not work.
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Level::Error, message)
    }

    /// Good to know.
    pub fn info(message: impl Into<String>) -> Self {
        Self::new(Level::Info, message)
    }

    fn new(level: Level, message: impl Into<String>) -> Self {
        Self {
            level,
            extension: None,
            message: shortened(message.into()),
            position: None,
        }
    }

    /// The same about a file.
    #[must_use]
    pub fn at(mut self, file: impl Into<PathBuf>) -> Self {
        self.position = Some(Position {
            file: file.into(),
            ..Position::default()
        });
        self
    }

    /// The same about an extension.
    #[must_use]
    pub fn of(mut self, extension: impl Into<String>) -> Self {
        self.extension = Some(extension.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    /// `FILE:LINE: extension `NAME`: MESSAGE`, as far as these are known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = &self.position {
            write!(f, "{position}: ")?;
        }
        if let Some(extension) = &self.extension {
            write!(f, "extension `{extension}`: ")?;
        }
        f.write_str(&self.message)
    }
}
