//! Scripts as files: TOML and JSON of the same shape, described in `docs/scripted.md`.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::script::Script;

mod checked;
mod item;
mod place;
mod step;

use checked::read_checked;
use place::Place;

/// Why a script could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file's name does not say what it holds.
    #[error("`{}` is neither a `.toml` nor a `.json` file", .0.display())]
    UnknownFormat(PathBuf),
    /// The file cannot be read.
    #[error("could not read the script `{}`", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// The text is not a script.
    #[error("{}:{line}:{column}: {message}{excerpt}", .file.as_deref().unwrap_or(Path::new("script")).display())]
    Parse {
        /// The file, if there is one.
        file: Option<PathBuf>,
        /// From one.
        line: usize,
        /// In characters, from one.
        column: usize,
        /// What is wrong.
        message: String,
        /// The line itself and a mark, after a line break; empty if it would not help.
        excerpt: String,
    },
}

/// The file as a whole.
struct File(Script);

read_checked!(File: FileKeys);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileKeys {
    #[serde(default)]
    allow_removed_tools: bool,
    steps: Vec<step::StepEntry>,
}

impl From<FileKeys> for File {
    fn from(keys: FileKeys) -> Self {
        let script = match keys.allow_removed_tools {
            true => Script::new().allow_removed_tools(),
            false => Script::new(),
        };
        Self(script.steps(keys.steps.into_iter().map(step::StepEntry::into_step)))
    }
}

pub(crate) fn load(path: &Path) -> Result<Script, ScriptError> {
    let parse = match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => from_toml,
        Some("json") => from_json,
        _ => return Err(ScriptError::UnknownFormat(path.to_owned())),
    };
    let text = read(path).map_err(|error| ScriptError::Read(path.to_owned(), error))?;
    parse(&text, Some(path))
}

/// The text of a regular file: a pipe or a device may never end.
fn read(path: &Path) -> io::Result<String> {
    // Asked before it is opened, since opening a named pipe waits for a writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    std::fs::read_to_string(path)
}

pub(crate) fn from_toml(text: &str, path: Option<&Path>) -> Result<Script, ScriptError> {
    toml::from_str::<File>(text)
        .map(|file| file.0)
        .map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            Place::at_offset(text, offset).error(path, error.message())
        })
}

pub(crate) fn from_json(text: &str, path: Option<&Path>) -> Result<Script, ScriptError> {
    serde_json::from_str::<File>(text)
        .map(|file| file.0)
        .map_err(|error| {
            let message = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let message = message.strip_suffix(&place).unwrap_or(&message);
            Place::at_line_and_byte(text, error.line(), error.column()).error(path, message)
        })
}
