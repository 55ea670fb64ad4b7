//! Reading a whole session.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::RangeInclusive;
use std::path::Path;

use super::decode::{self, Context, HeaderFault};
use super::disk::io_error;
use super::encode::VERSION;
use super::line::Line;
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

/// Reads a session's file from its beginning, which nobody has read from yet.
pub(super) fn file(file: &File, places: &Places) -> Result<Loaded, SessionError> {
    const BLOCK: usize = 256 * 1024;
    grow_heap(file.metadata().map_or(0, |metadata| metadata.len()));
    session(BufReader::with_capacity(BLOCK, file), places)
}

/// Has the allocator get as much memory as a file of `length` will need, in one step.
///
/// glibc grows the heap of a thread that is not the main one by no more than it needs at once,
/// so a long session would take a system call a message. The first block here is mapped, and
/// when it is given back glibc takes the next one of its size from the heap, which keeps it. No
/// page of either is touched.
fn grow_heap(length: u64) {
    /// Below, it is not worth it; above, glibc maps whatever was given back before.
    const LONG: RangeInclusive<usize> = 1024 * 1024..=31 * 1024 * 1024;
    let length = usize::try_from(length).map_or(*LONG.end(), |length| length.min(*LONG.end()));
    if LONG.contains(&length) {
        for _ in 0..2 {
            // Whether there is as much will show where it is needed.
            let mut block = Vec::<u8>::new();
            let _ = block.try_reserve_exact(length);
            drop(black_box(block));
        }
    }
}

/// Reads the first line.
pub(super) fn header<B: AsRef<[u8]>>(
    line: Option<&Line<B>>,
    places: &Places,
) -> Result<Header, SessionError> {
    let corrupt = |column, message: &str| SessionError::Corrupt {
        path: places.path.clone(),
        line: 1,
        column,
        message: message.to_owned(),
    };
    let line = line.ok_or_else(|| corrupt(1, "the file is empty"))?;
    if !line.complete {
        let column = line.bytes.as_ref().len() as u64 + 1;
        return Err(corrupt(column, "the first line is cut off"));
    }
    match decode::header(line.bytes.as_ref(), places.id) {
        Ok(header) => Ok(header),
        Err(HeaderFault::Newer(found)) => Err(SessionError::NewerVersion {
            path: places.path.clone(),
            found,
            supported: VERSION,
        }),
        Err(HeaderFault::Bad(fault)) => Err(corrupt(fault.column, &fault.message)),
    }
}

/// Reads a session from its beginning, line by line, so that the file is never in memory as a whole.
///
/// # Errors
///
/// A line cannot be read, unless it is the last and was cut off.
pub(super) fn session(mut reader: impl BufRead, places: &Places) -> Result<Loaded, SessionError> {
    let failed = |source| io_error("read", &places.path, source);
    let mut buffer = Vec::new();
    let mut next = Line::default();
    read_line(&mut reader, &mut buffer, &mut next).map_err(failed)?;
    let first = (!buffer.is_empty()).then(|| next.with(&buffer));
    let header = header(first.as_ref(), places)?;
    let created = header.created;
    let mut tree = SessionTree::new(header);
    let mut marks = Marks::default();
    let mut previous = None;
    let mut torn = None;
    while read_line(&mut reader, &mut buffer, &mut next).map_err(failed)? {
        let line = next.with(&buffer);
        let context = Context {
            files: &places.files,
            previous: previous.as_ref(),
            created,
        };
        if line.is_torn() {
            torn = Some(line.offset);
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
    let end = next.offset + buffer.len() as u64;
    let length = torn.unwrap_or(end);
    let torn_bytes = end - length;
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

/// Reads the next line, line break included, into `buffer`; says whether there is one. At the end
/// the last line stays in `buffer`.
fn read_line(
    reader: &mut impl BufRead,
    buffer: &mut Vec<u8>,
    line: &mut Line<()>,
) -> std::io::Result<bool> {
    if reader.fill_buf()?.is_empty() {
        return Ok(false);
    }
    line.offset += buffer.len() as u64;
    line.number += 1;
    buffer.clear();
    reader.read_until(b'\n', buffer)?;
    line.last = reader.fill_buf()?.is_empty();
    Ok(true)
}

/// The id that later records can name as their parent.
pub(super) fn id_of(record: &Record) -> Option<&crate::ids::MessageId> {
    match record {
        Record::Message(message) => Some(&message.id),
        Record::Compaction(compaction) => Some(&compaction.id),
        Record::Metadata { .. } | Record::Head { .. } => None,
    }
}
