//! Reading a whole session.

use std::fs::File;
use std::io::{BufRead, Read, Seek, SeekFrom};
use std::path::Path;

use super::decode::{self, Context, HeaderFault};
use super::disk::io_error;
use super::encode::VERSION;
use super::marks::Marks;
use super::places::Places;
use crate::session::{Header, Record, SessionError, SessionTree};

/// What a session's file holds.
pub(super) struct Loaded {
    /// The records.
    pub(super) tree: SessionTree,
    /// Where they lie.
    pub(super) marks: Marks,
    /// Where the next record belongs: after the last whole line.
    pub(super) length: u64,
}

/// A line of a file, without its line break.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawLine<'a> {
    /// Counted from 1.
    pub(super) number: u64,
    /// Where it begins in the file.
    pub(super) offset: u64,
    /// What it holds.
    pub(super) bytes: &'a [u8],
    /// Whether a line break ends it.
    pub(super) complete: bool,
    /// Whether the file ends with it.
    pub(super) last: bool,
}

impl RawLine<'_> {
    /// Whether it holds nothing but white space, which means nothing.
    pub(super) fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }

    /// Whether it was cut off while it was written.
    pub(super) fn is_torn(&self) -> bool {
        self.last && (!self.complete || !(self.is_blank() || decode::is_json(self.bytes)))
    }
}

/// The lines of a file.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = RawLine<'_>> {
    let mut offset = 0;
    let mut number = 0;
    std::iter::from_fn(move || {
        let mut rest = &bytes[offset..];
        let start = rest;
        // Reading from memory cannot fail.
        let length = rest.skip_until(b'\n').unwrap_or(0);
        if length == 0 {
            return None;
        }
        let line = &start[..length];
        let content = line.strip_suffix(b"\n");
        number += 1;
        let line = RawLine {
            number,
            offset: offset as u64,
            bytes: content.unwrap_or(line),
            complete: content.is_some(),
            last: rest.is_empty(),
        };
        offset += length;
        Some(line)
    })
}

/// Reads a file from its beginning.
pub(super) fn bytes(mut file: &File, path: &Path) -> Result<Vec<u8>, SessionError> {
    let read = |file: &mut &File| {
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(0);
        let mut bytes = Vec::with_capacity(length + 1);
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read(&mut file).map_err(|source| io_error("read", path, source))
}

/// Reads the first line.
pub(super) fn header(line: Option<RawLine<'_>>, places: &Places) -> Result<Header, SessionError> {
    let corrupt = |column, message: &str| SessionError::Corrupt {
        path: places.path.clone(),
        line: 1,
        column,
        message: message.to_owned(),
    };
    let line = line.ok_or_else(|| corrupt(1, "the file is empty"))?;
    if !line.complete {
        let column = line.bytes.len() as u64 + 1;
        return Err(corrupt(column, "the first line is cut off"));
    }
    match decode::header(line.bytes, places.id) {
        Ok(header) => Ok(header),
        Err(HeaderFault::Newer(found)) => Err(SessionError::NewerVersion {
            path: places.path.clone(),
            found,
            supported: VERSION,
        }),
        Err(HeaderFault::Bad(fault)) => Err(corrupt(fault.column, &fault.message)),
    }
}

/// Reads a file's contents.
///
/// # Errors
///
/// A line cannot be read, unless it is the last and was cut off.
pub(super) fn session(bytes: &[u8], places: &Places) -> Result<Loaded, SessionError> {
    let mut lines = lines(bytes);
    let header = header(lines.next(), places)?;
    let created = header.created;
    let mut tree = SessionTree::new(header);
    let mut marks = Marks::default();
    let mut previous = None;
    let mut length = bytes.len() as u64;
    for line in lines {
        let context = Context {
            files: &places.files,
            previous: previous.as_ref(),
            created,
        };
        if !line.complete {
            length = line.offset;
            break;
        }
        if line.is_blank() {
            continue;
        }
        match decode::record(line.bytes, &context) {
            Ok(Some(record)) => {
                previous = id_of(&record).cloned().or(previous);
                marks.apply(&record, line.offset);
                tree.apply(record);
            }
            Ok(None) => {}
            Err(_) if line.is_torn() => length = line.offset,
            Err(fault) => {
                return Err(SessionError::Corrupt {
                    path: places.path.clone(),
                    line: line.number,
                    column: fault.column,
                    message: fault.message,
                });
            }
        }
    }
    let torn_bytes = bytes.len() as u64 - length;
    if torn_bytes > 0 {
        tree.set_torn_bytes(torn_bytes);
        let path = places.path.display();
        tracing::warn!(%path, torn_bytes, "the last record was cut off and is left out");
    }
    Ok(Loaded {
        tree,
        marks,
        length,
    })
}

/// The id that later records can name as their parent.
pub(super) fn id_of(record: &Record) -> Option<&crate::ids::MessageId> {
    match record {
        Record::Message(message) => Some(&message.id),
        Record::Compaction(compaction) => Some(&compaction.id),
        Record::Metadata { .. } | Record::Head { .. } => None,
    }
}
