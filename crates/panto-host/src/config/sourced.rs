//! A value and the place where it was written.

use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// A level of configuration; a later one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// What panto ships: the defaults.
    Base,
    /// The user's file, or the one that stands in for it.
    User,
    /// `.panto/config.toml` in the project.
    Project,
    /// `.panto/local/config.toml` in the project.
    Local,
}

/// A place in a configuration file; shown as `file:line:column`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<Path>,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Nobody set it.
    Default,
    /// A configuration file.
    File {
        /// The file's layer.
        layer: Layer,
        /// Where in the file.
        place: Place,
    },
}

impl Source {
    /// The place in a file, unless it is a default.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Source::Default => None,
            Source::File { place, .. } => Some(place),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("panto's defaults"),
            Source::File { place, .. } => place.fmt(f),
        }
    }
}

/// A value that remembers where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it was set.
    pub source: Source,
}

impl<T> Sourced<T> {
    /// A value that nobody set.
    pub fn default_value(value: T) -> Self {
        Self {
            value,
            source: Source::Default,
        }
    }

    /// Another value from the same place.
    pub(super) fn map<U>(self, read: impl FnOnce(T, &Source) -> U) -> Sourced<U> {
        Sourced {
            value: read(self.value, &self.source),
            source: self.source,
        }
    }
}

impl<T> Deref for Sourced<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
