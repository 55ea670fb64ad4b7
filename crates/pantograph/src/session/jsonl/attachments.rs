//! Attachments that are too large for a line lie beside the session, each once.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::directory::hex;
use super::disk::{self, io_error};
use crate::attachment::Attachment;
use crate::message::{Block, ToolContent};
use crate::session::{Record, SessionError};

/// Attachments up to this size stand in the line itself.
const MAX_INLINE_BYTES: usize = 64 * 1024;

/// Reads what a record's attachments refer to, so that storing them can fail for the store's
/// reasons alone. What lies in `directory` already is stored by its name.
///
/// # Errors
///
/// [`SessionError::Refused`] if one cannot be read.
pub(super) fn resolve(record: &mut Record, directory: &Path) -> Result<(), SessionError> {
    let Record::Message(message) = record else {
        return Ok(());
    };
    for block in &mut message.blocks {
        match block {
            Block::Attachment(attachment) => load(attachment, directory)?,
            Block::ToolResult(result) => {
                for part in &mut result.content {
                    if let ToolContent::Attachment(attachment) = part {
                        load(attachment, directory)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The attachments of a record.
pub(super) fn of(record: &Record) -> Vec<&Attachment> {
    let Record::Message(message) = record else {
        return Vec::new();
    };
    let mut attachments = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Attachment(attachment) => attachments.push(attachment),
            Block::ToolResult(result) => {
                attachments.extend(result.content.iter().filter_map(|part| match part {
                    ToolContent::Attachment(attachment) => Some(attachment),
                    ToolContent::Text(_) => None,
                }));
            }
            _ => {}
        }
    }
    attachments
}

fn load(attachment: &mut Attachment, directory: &Path) -> Result<(), SessionError> {
    let Some(path) = attachment.path() else {
        return Ok(());
    };
    if stored_name(path, directory).is_some() {
        return Ok(());
    }
    let data = read_now(attachment)?;
    *attachment = Attachment::new(std::mem::take(&mut attachment.media_type), data);
    Ok(())
}

/// The bytes of an attachment, wherever they lie.
///
/// # Errors
///
/// [`SessionError::Refused`] if they cannot be read.
pub(super) fn read_now(attachment: &Attachment) -> Result<Bytes, SessionError> {
    attachment.bytes().map_err(|error| SessionError::Refused {
        reason: match attachment.path() {
            Some(path) => format!(
                "could not read the attachment `{}`: {error}",
                path.display()
            ),
            None => format!("could not read an attachment: {error}"),
        },
    })
}

/// The name of a file that this session holds already.
fn stored_name<'a>(path: &'a Path, directory: &Path) -> Option<&'a str> {
    let name = path.file_name()?.to_str()?;
    (path.parent() == Some(directory) && is_name(name)).then_some(name)
}

/// Where an attachment's bytes went.
pub(super) enum Stored {
    /// They belong into the line.
    Inline(Bytes),
    /// They are in the file of this name in the session's directory for attachments.
    File(String),
}

/// Stores the attachments of one append.
pub(super) struct Attachments {
    directory: PathBuf,
    made_directory: bool,
    /// Whether lines will name a file whose name may not be durable yet.
    names_files: bool,
    written: Vec<PathBuf>,
}

impl Attachments {
    /// Attachments go to `directory`, which is made when the first one needs it.
    pub(super) fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            made_directory: false,
            names_files: false,
            written: Vec::new(),
        }
    }

    /// Stores an attachment, which [`resolve`] has read, if it is large and not there yet.
    pub(super) fn store(&mut self, attachment: &Attachment) -> Result<Stored, SessionError> {
        let stored = attachment.path();
        if let Some(name) = stored.and_then(|path| stored_name(path, &self.directory)) {
            return Ok(Stored::File(name.to_owned()));
        }
        let data = attachment.bytes().map_err(|source| SessionError::Io {
            action: "read the attachment",
            path: attachment.path().unwrap_or(&self.directory).to_owned(),
            source,
        })?;
        if data.len() <= MAX_INLINE_BYTES {
            return Ok(Stored::Inline(data));
        }
        let name = hex(&Sha256::digest(&data));
        // A file that was there already may be of a process that was killed before it synced.
        self.names_files = true;
        self.write(&name, &data)?;
        Ok(Stored::File(name))
    }

    /// Makes the names durable. The bytes are so already.
    pub(super) fn finish(&self) -> Result<(), SessionError> {
        if !self.names_files {
            return Ok(());
        }
        disk::sync_directory(&self.directory)
    }

    /// Removes what this append stored, for its lines were not written.
    pub(super) fn undo(&self) {
        for path in &self.written {
            let _ = std::fs::remove_file(path);
        }
        if self.made_directory {
            let _ = std::fs::remove_dir(&self.directory);
        }
    }

    fn write(&mut self, name: &str, data: &[u8]) -> Result<(), SessionError> {
        let path = self.directory.join(name);
        self.made_directory |= disk::create_directory(&self.directory)?;
        let is_own = std::fs::symlink_metadata(&self.directory).is_ok_and(|own| own.is_dir());
        if !is_own {
            let source = io::Error::other("a link stands in the place of its directory");
            return Err(io_error("write the attachment", &path, source));
        }
        let stored = std::fs::symlink_metadata(&path);
        if stored.is_ok_and(|stored| stored.is_file() && stored.len() == data.len() as u64) {
            return Ok(());
        }
        let temporary = self
            .directory
            .join(format!(".{name}.{}.tmp", std::process::id()));
        let result = disk::create_file(&temporary)
            .and_then(|mut file| {
                file.write_all(data)?;
                file.sync_all()
            })
            .and_then(|()| std::fs::rename(&temporary, &path));
        if let Err(source) = result {
            let _ = std::fs::remove_file(&temporary);
            return Err(io_error("write the attachment", &path, source));
        }
        self.written.push(path);
        Ok(())
    }
}

/// Reads a stored attachment. Links are not followed: whoever can write a link beside a session
/// must not decide what is sent to a model.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    disk::open_beside(path)?.read_to_end(&mut data)?;
    Ok(data)
}

/// Whether `name` is one that [`Attachments`] gives, and so safe to make a path of.
pub(super) fn is_name(name: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.len() == 64 && name.bytes().all(is_hex)
}
