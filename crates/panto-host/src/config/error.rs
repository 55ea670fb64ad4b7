//! What can be wrong with configuration, in words for people.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::document::visible;
use super::sourced::Place;

/// Why the configuration could not be loaded; nothing of it is in force.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// `--config` names a file that does not exist.
    #[error("the configuration file `{}` does not exist; check the path after `--config`", .0.display())]
    Missing(PathBuf),
    /// A file is larger than any configuration.
    #[error("the configuration file `{}` is larger than {} MiB; is it the right file?", .0.display(), super::read::MOST_BYTES >> 20)]
    TooLarge(PathBuf),
    /// The file system refused.
    #[error("could not read the configuration file `{}`", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// The bytes at the place are no text.
    #[error("{0}: not UTF-8; save the file as UTF-8")]
    NotUtf8(Place),
    /// A file is no TOML, or a value does not fit its key.
    #[error("{0}")]
    Invalid(Problem),
}

/// Something wrong at one place of a file, with the line it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What, and what was expected.
    pub message: String,
    /// The line's text; secrets are left out.
    pub line_text: String,
    /// How many characters of the line stand before the mark.
    pub caret: usize,
    /// How many characters are marked.
    pub width: usize,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.place.line.to_string();
        let gutter = " ".repeat(number.len());
        let indent = " ".repeat(self.caret);
        let mark = "^".repeat(self.width);
        writeln!(f, "{}: {}", self.place, self.message)?;
        writeln!(f, "{gutter} |")?;
        writeln!(f, "{number} | {}", self.line_text)?;
        write!(f, "{gutter} | {indent}{mark}")
    }
}

/// What the person should hear about a configuration that loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigWarning {
    /// A key that panto does not know; it is left out.
    #[error("{place}: unknown key `{key}`, ignored{hint}")]
    UnknownKey {
        /// Where the key is.
        place: Place,
        /// The whole key, dotted.
        key: String,
        /// What was probably meant: empty, or a clause that follows the message.
        hint: String,
    },
    /// An untrusted project's file sets what it may not.
    #[error(
        "{}: ignored {} until you trust this project (`panto trust`)",
        .file.display(),
        some(.keys)
    )]
    Untrusted {
        /// The file.
        file: PathBuf,
        /// The keys that were left out, dotted.
        keys: Vec<String>,
    },
    /// An untrusted project's file could not be understood; all of it is left out.
    #[error("ignored the configuration of this untrusted project: {0}")]
    UntrustedBroken(String),
}

/// `` `a`, `b` ``.
pub(crate) fn listed<T: fmt::Display>(names: impl IntoIterator<Item = T>) -> String {
    let quoted: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// The first few of them.
pub(crate) fn some(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = listed(names.iter().take(SHOWN));
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

/// A key as TOML has it: dotted, and quoted where it must be.
pub(crate) fn key_path(path: &[String]) -> String {
    let segments = path.iter().map(|segment| {
        let bare = !segment.is_empty()
            && segment
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if bare {
            shown(segment)
        } else {
            format!("{:?}", shown(segment))
        }
    });
    segments.collect::<Vec<_>>().join(".")
}

/// Text of a file as a message may repeat it: short, and unable to move a cursor.
pub(crate) fn shown(text: &str) -> String {
    const SHOWN: usize = 100;
    let mut shown: String = visible(text).take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
