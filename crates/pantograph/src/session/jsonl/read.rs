//! Reading a whole session.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::ahead::{self, Stopped};
use super::blocks::Lines;
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
    session(BufReader::with_capacity(BLOCK, file), places)
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
pub(super) fn session(reader: impl BufRead, places: &Places) -> Result<Loaded, SessionError> {
    let failed = |source| io_error("read", &places.path, source);
    let mut lines = Lines::new(reader);
    let first = lines.block(1).map_err(failed)?;
    let first = first.as_ref().and_then(|block| block.lines().next());
    let header = header(first.as_ref(), places)?;
    let context = Context {
        files: Some(&places.files),
        previous: None,
        created: header.created,
    };
    let mut tree = SessionTree::new(header);
    let mut marks = Marks::default();
    let mut previous = None;
    ahead::decode(&mut lines, context, |line, decoded| match decoded {
        Ok(Some(unchained)) => {
            let record = unchained.after(previous.as_ref());
            previous = id_of(&record).cloned().or(previous.take());
            marks.apply(&record, line.offset);
            tree.apply(record);
            Ok(())
        }
        Ok(None) => Ok(()),
        Err(fault) => Err(SessionError::Corrupt {
            path: places.path.clone(),
            line: line.number,
            column: fault.column,
            message: fault.message,
        }),
    })
    .map_err(|stopped| match stopped {
        Stopped::Read(source) => failed(source),
        Stopped::Taken(error) => error,
    })?;
    let torn_bytes = lines.torn_bytes();
    if torn_bytes > 0 {
        tree.set_torn_bytes(torn_bytes);
        let path = places.path.display();
        tracing::warn!(%path, torn_bytes, "the last record was cut off and is left out");
    }
    Ok(Loaded {
        tree,
        marks,
        length: lines.end() - torn_bytes,
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
