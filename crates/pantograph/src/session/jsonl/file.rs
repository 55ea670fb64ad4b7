//! A session that is open for writing. All work on files runs on tokio's blocking threads.

use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::attachments::{self, Attachments};
use super::disk::{self, io_error};
use super::encode::Form;
use super::lock::LockedFile;
use super::marks::Marks;
use super::places::Places;
use super::read::Loaded;
use super::{blocking, encode};
use crate::ids::SessionId;
use crate::session::{Backlog, Header, Record, Session, SessionError, SessionTree};

/// A session of a [`super::FileSystemJsonlStore`].
pub(super) struct FileSession {
    id: SessionId,
    appends: u64,
    /// What no writer has looked at yet. Apart from the writer, so that an append whose future
    /// was dropped is not overtaken by the next one.
    incoming: Arc<Mutex<VecDeque<Batch>>>,
    writer: Arc<Mutex<Writer>>,
}

/// The records of one append.
struct Batch {
    number: u64,
    records: Vec<Record>,
}

impl FileSession {
    /// A session that has no file before its first assistant message.
    pub(super) fn create(places: Places, header: Header) -> Self {
        Self::new(Writer {
            places,
            marks: Marks::default(),
            backlog: Backlog::of_new(),
            file: Place::Waiting(Box::new(header)),
        })
    }

    /// A session whose file is there; gives what it held, too.
    pub(super) fn open(
        places: Places,
        file: LockedFile,
        loaded: Loaded,
    ) -> (Box<Self>, SessionTree) {
        let Loaded {
            tree,
            marks,
            length,
        } = loaded;
        let file = OpenFile {
            file,
            length,
            dirty: tree.torn_bytes() > 0,
        };
        let session = Self::new(Writer {
            places,
            marks,
            backlog: Backlog::of_stored(),
            file: Place::Open(file),
        });
        (Box::new(session), tree)
    }

    fn new(writer: Writer) -> Self {
        Self {
            id: writer.places.id,
            appends: 0,
            incoming: Arc::default(),
            writer: Arc::new(Mutex::new(writer)),
        }
    }
}

#[async_trait]
impl Session for FileSession {
    fn id(&self) -> SessionId {
        self.id
    }

    async fn append(&mut self, records: Vec<Record>) -> Result<(), SessionError> {
        self.appends += 1;
        let number = self.appends;
        self.incoming.lock().push_back(Batch { number, records });
        let incoming = Arc::clone(&self.incoming);
        let writer = Arc::clone(&self.writer);
        blocking(move || {
            let mut writer = writer.lock();
            writer.take(&incoming, number)?;
            writer.flush()
        })
        .await
    }
}

struct Writer {
    places: Places,
    marks: Marks,
    /// What is not on disk yet. It waits for the disk alone: all in it can be stored.
    backlog: Backlog<Record>,
    file: Place,
}

enum Place {
    /// Nothing is on disk.
    Waiting(Box<Header>),
    /// The file is there and locked.
    Open(OpenFile),
}

impl Writer {
    /// Takes the records of the appends up to the one of this number, in order.
    ///
    /// # Errors
    ///
    /// [`SessionError::Refused`] if those of this number are not taken.
    fn take(&mut self, incoming: &Mutex<VecDeque<Batch>>, number: u64) -> Result<(), SessionError> {
        let is_due = |batch: &mut Batch| batch.number <= number;
        loop {
            // The guard must not live as long as the records are looked at.
            let Some(batch) = incoming.lock().pop_front_if(is_due) else {
                return Ok(());
            };
            let refused = match self.storable(batch.records) {
                Ok(records) => {
                    for record in records {
                        let is_answer = record.is_answer();
                        self.backlog.push(record, is_answer);
                    }
                    continue;
                }
                Err(refused) => refused,
            };
            if batch.number == number {
                return Err(refused);
            }
            // Whoever appended this no longer waits for an answer.
            let error = crate::error::with_causes(&refused);
            tracing::warn!(id = %self.places.id, %error, "records were left out");
        }
    }

    /// Refuses what would never be written: if it waited, nothing after it could be written.
    fn storable(&self, mut records: Vec<Record>) -> Result<Vec<Record>, SessionError> {
        for record in &mut records {
            encode::check(record)?;
            attachments::resolve(record, &self.places.files)?;
        }
        Ok(records)
    }

    /// Writes what is due, or leaves it so.
    fn flush(&mut self) -> Result<(), SessionError> {
        let batch = self.backlog.take();
        if batch.is_empty() {
            return Ok(());
        }
        self.write(&batch)
            .inspect_err(|_| self.backlog.put_back(batch))
    }

    fn write(&mut self, batch: &[Record]) -> Result<(), SessionError> {
        let mut out = Vec::new();
        let base = match &self.file {
            Place::Open(open) => {
                open.check(&self.places)?;
                open.length
            }
            Place::Waiting(header) => {
                disk::create_directory(&self.places.directory)?;
                encode::header(&mut out, header)?;
                0
            }
        };
        let mut attachments = Attachments::new(self.places.files.clone());
        let head = self.marks.head;
        let result = self.write_lines(batch, base, out, &mut attachments);
        if result.is_err() {
            // The ids that the marks took in do no harm: the same records come again.
            self.marks.head = head;
            attachments.undo();
        }
        result
    }

    fn write_lines(
        &mut self,
        batch: &[Record],
        base: u64,
        mut out: Vec<u8>,
        attachments: &mut Attachments,
    ) -> Result<(), SessionError> {
        for record in batch {
            let mark = self.marks.apply(record, base + out.len() as u64);
            encode::record(&mut out, record, Form::Line(mark, attachments))?;
        }
        attachments.finish()?;
        match &mut self.file {
            Place::Open(open) => open.append(&out, &self.places),
            Place::Waiting(_) => {
                self.file = Place::Open(OpenFile::create(&out, &self.places)?);
                Ok(())
            }
        }
    }
}

struct OpenFile {
    file: LockedFile,
    /// Where the last whole line ends.
    length: u64,
    /// Whether something that is no whole line follows.
    dirty: bool,
}

impl OpenFile {
    /// Makes the file with all that it begins with: it has its name only once it is whole.
    fn create(contents: &[u8], places: &Places) -> Result<Self, SessionError> {
        let failed = |source| io_error("create", &places.path, source);
        let temporary = places
            .directory
            .join(format!(".{}.{}.tmp", places.id, std::process::id()));
        let create = || {
            let file = disk::create_file(&temporary).map_err(failed)?;
            file.write_all_at(contents, 0).map_err(failed)?;
            file.sync_all().map_err(failed)?;
            // Locked before it can be found, so that nobody else can be first.
            let file = LockedFile::new(file, &places.path, places.id)?;
            disk::rename_new(&temporary, &places.path).map_err(failed)?;
            Ok(file)
        };
        let file = create().inspect_err(|_| {
            let _ = std::fs::remove_file(&temporary);
        })?;
        disk::sync_directory(&places.directory).inspect_err(|_| {
            let _ = std::fs::remove_file(&places.path);
        })?;
        Ok(Self {
            file,
            length: contents.len() as u64,
            dirty: false,
        })
    }

    /// Checks that what is written will be found: the file still has its name, and nobody else
    /// wrote to it.
    fn check(&self, places: &Places) -> Result<(), SessionError> {
        let failed = |source| io_error("append to", &places.path, source);
        let file = self.file.file();
        if !disk::names(&places.path, file).map_err(failed)? {
            return Err(failed(io::Error::new(
                io::ErrorKind::NotFound,
                "the file was removed or replaced while the session was open",
            )));
        }
        let length = file.metadata().map_err(failed)?.size();
        if length < self.length || (length > self.length && !self.dirty) {
            return Err(failed(io::Error::other(
                "another program changed the file while the session was open",
            )));
        }
        Ok(())
    }

    fn append(&mut self, lines: &[u8], places: &Places) -> Result<(), SessionError> {
        let file = self.file.file();
        let mut write = || {
            if self.dirty {
                file.set_len(self.length)?;
            }
            self.dirty = true;
            file.write_all_at(lines, self.length)?;
            file.sync_data()
        };
        if let Err(source) = write() {
            // If this fails as well, the next append tries again.
            self.dirty = file.set_len(self.length).is_err();
            return Err(io_error("append to", &places.path, source));
        }
        self.length += lines.len() as u64;
        self.dirty = false;
        Ok(())
    }
}
