//! A configuration file's bytes as text.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::document::Document;
use super::error::ConfigError;
use super::sourced::Layer;

/// No configuration is larger; something else is being read.
pub(super) const MOST_BYTES: u64 = 4 << 20;

/// The file's text; `None` if there is no such file.
///
/// A path through a file (`.panto` may be one) leads to no file either.
pub(super) fn read(file: &Path, layer: Layer) -> Result<Option<String>, ConfigError> {
    let bytes = match bytes(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound
                | io::ErrorKind::NotADirectory
                // Where no name may be so long there is no file of that name.
                | io::ErrorKind::InvalidFilename => Ok(None),
                _ => Err(ConfigError::Unreadable(file.to_owned(), error)),
            };
        }
    };
    if bytes.len() as u64 > MOST_BYTES {
        return Err(ConfigError::TooLarge(file.to_owned()));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(&error.as_bytes()[..good]);
            Err(ConfigError::NotUtf8(
                Document::new(file, layer, &text).place(good),
            ))
        }
    }
}

fn bytes(file: &Path) -> io::Result<Vec<u8>> {
    // Opening a named pipe would wait for a writer.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = File::options().read(true).custom_flags(flags).open(file)?;
    // A pipe, a terminal or a device: a project could make panto wait for it, or take what is
    // somebody else's, such as the prompt on standard input.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
