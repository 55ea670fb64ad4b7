//! What is wrong with a file's lines, and what to do about each.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Problem, Report};
use crate::ids::{MessageId, SessionId};
use crate::message::Metadata;
use crate::session::jsonl::attachments::Attachments;
use crate::session::jsonl::decode::{self, Context, Fault, Text};
use crate::session::jsonl::encode;
use crate::session::jsonl::marks::{Mark, Marks};
use crate::session::jsonl::places::Places;
use crate::session::jsonl::read::{self, RawLine};
use crate::session::{Header, Record, SessionError};

/// What is wrong with a file, and the lines that a repaired one has.
pub(super) struct Plan<'a> {
    files: PathBuf,
    header: Header,
    problems: Vec<Problem>,
    lines: Vec<Line<'a>>,
    records: u64,
    /// Whether offsets or parents change, so that what the last line says of them is wrong.
    moves: bool,
    known: HashSet<MessageId>,
    /// Messages on lines that cannot be read, with what their children can follow instead.
    lost: HashMap<MessageId, Option<MessageId>>,
    previous: Option<MessageId>,
    head: Option<MessageId>,
    last_at: Timestamp,
}

/// A line of the repaired file.
enum Line<'a> {
    /// One that was there and means nothing here.
    Ignored(&'a [u8]),
    /// One that was there, with the record that it holds.
    Verbatim(&'a [u8], Record),
    /// One that was there, with one field changed.
    Edited(Vec<u8>, Record),
    /// A new header.
    Header,
}

impl<'a> Plan<'a> {
    /// Looks at a file's contents.
    ///
    /// # Errors
    ///
    /// [`SessionError::NewerVersion`].
    pub(super) fn new(bytes: &'a [u8], places: &Places) -> Result<Self, SessionError> {
        let mut lines = read::lines(bytes).peekable();
        let first = lines.peek().copied();
        let read = read::header(first, places);
        let (header, problem) = match read {
            Ok(header) => (header, None),
            Err(SessionError::Corrupt {
                column, message, ..
            }) => (substitute(places.id), Some((column, message))),
            Err(error) => return Err(error),
        };
        let mut plan = Plan {
            files: places.files.clone(),
            last_at: header.created,
            header,
            problems: Vec::new(),
            lines: Vec::new(),
            records: 0,
            moves: false,
            known: HashSet::new(),
            lost: HashMap::new(),
            previous: None,
            head: None,
        };
        match (problem, first) {
            (None, Some(line)) => {
                lines.next();
                plan.lines.push(Line::Ignored(line.bytes));
            }
            (problem, _) => {
                let (column, what) = problem.unwrap_or((1, "the file is empty".to_owned()));
                plan.lines.push(Line::Header);
                plan.moves = true;
                plan.problem(
                    1,
                    column,
                    format!("no session header: {what}"),
                    "a new one is written, without a working directory".to_owned(),
                );
                // What stands there may be a record: the header alone was lost.
                if first.is_some_and(|line| !matches!(plan.read(line), Ok(Some(_)))) {
                    lines.next();
                }
            }
        }
        for line in lines {
            plan.line(line);
        }
        Ok(plan)
    }

    /// What a person is told.
    pub(super) fn report(&self, path: &Path) -> Report {
        Report {
            path: path.to_owned(),
            records: self.records,
            problems: self.problems.clone(),
            kept: None,
        }
    }

    /// The contents of the repaired file.
    pub(super) fn repaired(self) -> Result<Vec<u8>, SessionError> {
        let mut out = Vec::new();
        let mut marks = Marks::default();
        for line in self.lines {
            let offset = out.len() as u64;
            match line {
                Line::Header => encode::header(&mut out, &self.header)?,
                Line::Ignored(bytes) => push(&mut out, bytes),
                Line::Verbatim(bytes, record) => {
                    marks.apply(&record, offset);
                    push(&mut out, bytes);
                }
                Line::Edited(bytes, record) => {
                    marks.apply(&record, offset);
                    push(&mut out, &bytes);
                }
            }
        }
        if self.moves {
            let head = Record::Head {
                target: self.head,
                at: self.last_at,
            };
            let mark: Mark = marks.apply(&head, out.len() as u64);
            encode::record(&mut out, &head, mark, &mut Attachments::new(self.files))?;
        }
        Ok(out)
    }

    fn line(&mut self, line: RawLine<'a>) {
        if line.is_torn() {
            let what = format!("the last record was cut off ({} bytes)", line.bytes.len());
            return self.problem(line.number, 1, what, "it is left out".to_owned());
        }
        if line.is_blank() {
            return self.lines.push(Line::Ignored(line.bytes));
        }
        match self.read(line) {
            Ok(Some(record)) => self.record(line, record),
            Ok(None) => self.lines.push(Line::Ignored(line.bytes)),
            Err(fault) => {
                self.moves = true;
                self.remember_lost(line.bytes);
                let repair = "the line is left out".to_owned();
                self.problem(line.number, fault.column, fault.message, repair);
            }
        }
    }

    fn read(&self, line: RawLine<'_>) -> Result<Option<Record>, Fault> {
        let context = Context {
            files: &self.files,
            previous: self.previous.as_ref(),
            created: self.header.created,
        };
        decode::record(line.bytes, &context)
    }

    fn record(&mut self, line: RawLine<'a>, mut record: Record) {
        self.records += 1;
        let (Record::Message(crate::message::Message { at, .. })
        | Record::Metadata { at, .. }
        | Record::Compaction(crate::session::Compaction { at, .. })
        | Record::Head { at, .. }) = &record;
        self.last_at = *at;
        let (field, reference) = match &mut record {
            Record::Message(message) => ("parent", &mut message.parent),
            Record::Compaction(compaction) => ("parent", &mut compaction.parent),
            Record::Head { target, .. } => ("target", target),
            // For a message that is lost it does nothing.
            Record::Metadata { .. } => {
                return self.lines.push(Line::Verbatim(line.bytes, record));
            }
        };
        let missing = reference.take_if(|id| !self.known.contains(id));
        let edited = missing.as_ref().map(|missing| {
            *reference = self.instead_of(missing);
            with_field(line.bytes, field, reference.as_ref())
        });
        let reference = reference.clone();
        if let Some(missing) = &missing {
            self.moves = true;
            let column = column_of(line.bytes, field);
            let repair = match &reference {
                Some(id) => format!("it names `{id}` instead"),
                None => "it becomes the beginning of a conversation".to_owned(),
            };
            let what = format!("its {field} `{missing}` is not there");
            self.problem(line.number, column, what, repair);
        }
        match read::id_of(&record) {
            Some(id) => {
                self.known.insert(id.clone());
                self.previous = Some(id.clone());
                self.head = Some(id.clone());
            }
            None => self.head = reference,
        }
        self.lines.push(match edited {
            Some(edited) => Line::Edited(edited, record),
            None => Line::Verbatim(line.bytes, record),
        });
    }

    /// What a record can name instead of a message that is not there.
    fn instead_of(&self, missing: &MessageId) -> Option<MessageId> {
        match self.lost.get(missing) {
            Some(ancestor) => ancestor.clone(),
            None => self.previous.clone(),
        }
    }

    /// Takes from a line that cannot be read what it may still tell: which message it was, and
    /// whose child.
    fn remember_lost(&mut self, line: &[u8]) {
        let Some(id) = text_field(line, b"\"id\":\"") else {
            return;
        };
        let ancestor = match text_field(line, b"\"parent\":\"") {
            Some(parent) if self.known.contains(&parent) => Some(parent),
            Some(parent) => self.instead_of(&parent),
            None => self.previous.clone(),
        };
        self.lost.insert(id, ancestor);
    }

    fn problem(&mut self, line: u64, column: u64, what: String, repair: String) {
        self.problems.push(Problem {
            line,
            column,
            what,
            repair,
        });
    }
}

/// A header for a file that has lost its own.
fn substitute(id: SessionId) -> Header {
    let time = id.as_uuid().get_timestamp().and_then(|time| {
        let (seconds, nanos) = time.to_unix();
        let seconds = i64::try_from(seconds).ok()?;
        Timestamp::new(seconds, i32::try_from(nanos).ok()?).ok()
    });
    Header {
        id,
        created: time.unwrap_or(Timestamp::UNIX_EPOCH),
        cwd: PathBuf::new(),
        metadata: Metadata::new(),
    }
}

fn push(out: &mut Vec<u8>, line: &[u8]) {
    out.extend_from_slice(line);
    out.push(b'\n');
}

/// The text that follows the first `key` up to the next quote.
fn text_field(line: &[u8], key: &[u8]) -> Option<MessageId> {
    let start = line.windows(key.len()).position(|part| part == key)? + key.len();
    let rest = &line[start..];
    let end = rest.iter().position(|&byte| byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok().map(MessageId::new)
}

fn column_of(line: &[u8], field: &str) -> u64 {
    let key = format!("\"{field}\"");
    line.windows(key.len())
        .position(|part| part == key.as_bytes())
        .map_or(1, |at| at as u64 + 1)
}

/// The line with one field replaced, all others byte for byte.
fn with_field(line: &[u8], field: &str, id: Option<&MessageId>) -> Vec<u8> {
    let value = serde_json::json!(id.map(|id| id.as_str())).to_string();
    let Ok(Fields(fields)) = serde_json::from_slice(line) else {
        return line.to_vec();
    };
    let parts: Vec<String> = fields
        .into_iter()
        .map(|(key, raw)| {
            let raw = if key.0 == field { &value } else { raw.get() };
            format!("{}:{raw}", serde_json::json!(key.0))
        })
        .collect();
    format!("{{{}}}", parts.join(",")).into_bytes()
}

/// A JSON object's fields in order, values as they are written.
struct Fields<'a>(Vec<(Text<'a>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}
