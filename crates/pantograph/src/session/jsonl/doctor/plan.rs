//! What is wrong with a file's lines, and what to do about each.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::edit::{column_of, with_field};
use super::known::Known;
use super::{Problem, Report, attached, salvage};
use crate::ids::{MessageId, SessionId};
use crate::message::{Message, Metadata};
use crate::session::jsonl::attachments::Attachments;
use crate::session::jsonl::decode::{self, Context, Fault};
use crate::session::jsonl::encode::{self, Form};
use crate::session::jsonl::line::{Line as FileLine, lines};
use crate::session::jsonl::marks::{Mark, Marks};
use crate::session::jsonl::places::Places;
use crate::session::jsonl::read;
use crate::session::{Compaction, Header, Record, SessionError};

/// What is wrong with a file, and the lines that a repaired one has.
pub(super) struct Plan<'a> {
    files: PathBuf,
    header: Header,
    problems: Vec<Problem>,
    lines: Vec<Line<'a>>,
    records: u64,
    /// Whether a repaired file differs.
    changes: bool,
    /// Whether offsets or parents change, so that what the last line says of them is wrong.
    moves: bool,
    known: Known,
    attached: attached::Checked,
    head: Option<MessageId>,
    last_at: Timestamp,
}

/// A line of the repaired file.
enum Line<'a> {
    /// One that was there and means nothing here.
    Ignored(&'a [u8]),
    /// One that was there, with the record that it holds.
    Verbatim(&'a [u8], Record),
    /// One that was there, with fields changed.
    Edited(Vec<u8>, Record),
    /// A message in the place of one that is damaged.
    Stub(Record),
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
        let mut lines = lines(bytes).peekable();
        let first = lines.peek().copied();
        let read = read::header(first.as_ref(), places);
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
            changes: false,
            moves: false,
            known: Known::default(),
            attached: attached::Checked::default(),
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
                plan.moves();
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
            repairable: self.changes,
            kept: None,
        }
    }

    /// The contents of the repaired file.
    pub(super) fn repaired(self) -> Result<Vec<u8>, SessionError> {
        let mut out = Vec::new();
        let mut marks = Marks::default();
        let mut attachments = Attachments::new(self.files);
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
                Line::Stub(record) => {
                    let mark = marks.apply(&record, offset);
                    encode::record(&mut out, &record, Form::Line(mark, &mut attachments))?;
                }
            }
        }
        if self.moves {
            let head = Record::Head {
                target: self.head,
                at: self.last_at,
            };
            let mark: Mark = marks.apply(&head, out.len() as u64);
            encode::record(&mut out, &head, Form::Line(mark, &mut attachments))?;
        }
        Ok(out)
    }

    fn line(&mut self, line: FileLine<&'a [u8]>) {
        if line.is_torn() {
            self.changes = true;
            let what = format!("the last record was cut off ({} bytes)", line.bytes.len());
            return self.problem(line.number, 1, what, "it is left out".to_owned());
        }
        if line.is_blank() {
            return self.lines.push(Line::Ignored(line.bytes));
        }
        match self.read(line) {
            Ok(Some(record)) => {
                self.records += 1;
                self.attachments(line, &record);
                let (record, edited) = self.record(line, record);
                self.lines.push(match edited {
                    Some(edited) => Line::Edited(edited, record),
                    None => Line::Verbatim(line.bytes, record),
                });
            }
            Ok(None) => self.lines.push(Line::Ignored(line.bytes)),
            Err(fault) => self.damaged(line, fault),
        }
    }

    fn damaged(&mut self, line: FileLine<&'a [u8]>, fault: Fault) {
        self.moves();
        let stub = salvage::stub(line.bytes, self.known.previous(), self.header.created)
            .filter(|stub| self.known.line_of(&stub.id).is_none());
        if let Some(stub) = stub {
            let repair = "a message that says so takes its place".to_owned();
            self.problem(line.number, fault.column, fault.message, repair);
            let (record, _) = self.record(line, Record::Message(stub));
            return self.lines.push(Line::Stub(record));
        }
        match salvage::id_and_parent(line.bytes) {
            Some((id, parent)) => self.known.lose(id, parent),
            None => self.known.lose_unnamed(),
        }
        let repair = "the line is left out".to_owned();
        self.problem(line.number, fault.column, fault.message, repair);
    }

    /// A missing attachment stays missing: it cannot be brought back, and the record that names it
    /// says at least what was there.
    fn attachments(&mut self, line: FileLine<&[u8]>, record: &Record) {
        for fault in self.attached.faults(record) {
            let column = column_of(line.bytes, &fault.name);
            self.problem(
                line.number,
                column,
                fault.what,
                fault.consequence.to_owned(),
            );
        }
    }

    fn read(&self, line: FileLine<&[u8]>) -> Result<Option<Record>, Fault> {
        let context = Context {
            files: Some(&self.files),
            previous: self.known.previous(),
            created: self.header.created,
        };
        decode::record(line.bytes, &context)
    }

    /// Takes a record into the tree, with other references where its own lead nowhere; then the
    /// line with these, too.
    fn record(&mut self, line: FileLine<&[u8]>, mut record: Record) -> (Record, Option<Vec<u8>>) {
        let (Record::Message(Message { at, .. })
        | Record::Metadata { at, .. }
        | Record::Compaction(Compaction { at, .. })
        | Record::Head { at, .. }) = &record;
        self.last_at = *at;
        let (field, reference) = match &mut record {
            Record::Message(message) => ("parent", &mut message.parent),
            Record::Compaction(compaction) => ("parent", &mut compaction.parent),
            Record::Head { target, .. } => ("target", target),
            // For a message that is lost it does nothing.
            Record::Metadata { .. } => return (record, None),
        };
        let missing = reference.take_if(|id| self.known.line_of(id).is_none());
        let mut edited = None;
        if let Some(missing) = &missing {
            *reference = self.known.instead_of(missing);
            let instead = reference.clone();
            edited = Some(with_field(line.bytes, field, instead.as_ref()));
            self.misnamed(line, field, missing, instead.as_ref());
        }
        let reference = reference.clone();
        if let Record::Compaction(compaction) = &mut record
            && let Some(kept) = self.known.kept_instead(compaction)
        {
            let missing = std::mem::replace(&mut compaction.first_kept, kept.clone());
            self.misnamed(line, "first_kept", &missing, Some(&kept));
            let bytes = edited.as_deref().unwrap_or(line.bytes);
            edited = Some(with_field(bytes, "first_kept", Some(&kept)));
        }
        match read::id_of(&record) {
            Some(id) => {
                self.duplicate(line, id);
                self.known.add(&record, line.number, missing.as_ref());
                self.head = Some(id.clone());
            }
            None => self.head = reference,
        }
        (record, edited)
    }

    fn misnamed(
        &mut self,
        line: FileLine<&[u8]>,
        field: &str,
        missing: &MessageId,
        instead: Option<&MessageId>,
    ) {
        self.moves();
        let column = column_of(line.bytes, &format!("\"{field}\""));
        let repair = match instead {
            Some(id) => format!("it names `{id}` instead"),
            None => "it becomes the beginning of a conversation".to_owned(),
        };
        let what = format!("its {field} `{missing}` is not there");
        self.problem(line.number, column, what, repair);
    }

    fn duplicate(&mut self, line: FileLine<&[u8]>, id: &MessageId) {
        if let Some(first) = self.known.line_of(id) {
            let column = column_of(line.bytes, "\"id\"");
            let what = format!("its id `{id}` is that of line {first}, too");
            let repair = "both stay; records after it that name the id mean this one".to_owned();
            self.problem(line.number, column, what, repair);
        }
    }

    fn moves(&mut self) {
        self.changes = true;
        self.moves = true;
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
    Header {
        id,
        created: id.time().unwrap_or(Timestamp::UNIX_EPOCH),
        cwd: PathBuf::new(),
        metadata: Metadata::new(),
    }
}

fn push(out: &mut Vec<u8>, line: &[u8]) {
    out.extend_from_slice(line);
    out.push(b'\n');
}
