//! A session that is open for writing. All work on files runs on tokio's blocking threads.

use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::{io, mem};

use async_trait::async_trait;
use parking_lot::Mutex;

use super::attachments::Attachments;
use super::disk::{self, io_error};
use super::lock::LockedFile;
use super::marks::Marks;
use super::places::Places;
use super::read::Loaded;
use super::{blocking, encode};
use crate::ids::SessionId;
use crate::message::Role;
use crate::session::{Header, Record, Session, SessionError, SessionTree};

/// A session of a [`super::FileSystemJsonlStore`].
pub(super) struct FileSession {
    id: SessionId,
    /// What is not on disk yet. Apart from the writer, so that an append whose future was dropped
    /// is not overtaken by the next one.
    pending: Arc<Mutex<Vec<Record>>>,
    writer: Arc<Mutex<Writer>>,
}

impl FileSession {
    /// A session that has no file before its first assistant message.
    pub(super) fn create(places: Places, header: Header) -> Self {
        Self::new(Writer {
            places,
            marks: Marks::default(),
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
            file: Place::Open(file),
        });
        (Box::new(session), tree)
    }

    fn new(writer: Writer) -> Self {
        Self {
            id: writer.places.id,
            pending: Arc::default(),
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
        // Refused before it is taken: waiting would not make it better.
        records.iter().try_for_each(encode::check)?;
        self.pending.lock().extend(records);
        let pending = Arc::clone(&self.pending);
        let writer = Arc::clone(&self.writer);
        blocking(move || writer.lock().flush(&pending)).await
    }
}

struct Writer {
    places: Places,
    marks: Marks,
    file: Place,
}

enum Place {
    /// Nothing is on disk.
    Waiting(Box<Header>),
    /// The file is there and locked.
    Open(OpenFile),
}

impl Writer {
    /// Writes what is pending, or leaves it so.
    fn flush(&mut self, pending: &Mutex<Vec<Record>>) -> Result<(), SessionError> {
        let batch = mem::take(&mut *pending.lock());
        let due = match self.file {
            Place::Waiting(_) => batch.iter().any(is_answer),
            Place::Open(_) => !batch.is_empty(),
        };
        let result = if due { self.write(&batch) } else { Ok(()) };
        if !due || result.is_err() {
            let mut pending = pending.lock();
            let later = mem::replace(&mut *pending, batch);
            pending.extend(later);
        }
        result
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
            encode::record(&mut out, record, mark, attachments)?;
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

fn is_answer(record: &Record) -> bool {
    matches!(record, Record::Message(message) if message.role == Role::Assistant)
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
