//! Sessions as files: one JSON object a line, append only.
//!
//! The format, and what is durable when, is described in `docs/sessions.md`.

mod ahead;
mod attachments;
mod blocks;
mod decode;
mod directory;
mod disk;
pub mod doctor;
mod encode;
mod file;
mod json;
mod line;
mod list;
mod lock;
mod lookup;
mod marks;
mod messages;
mod outline;
mod places;
mod read;
mod window;

use std::path::{Path, PathBuf};

use async_trait::async_trait;

use self::disk::{Access, io_error};
use self::file::FileSession;
use self::lock::LockedFile;
use self::places::Places;
use super::{
    Header, Holder, LoadOptions, OpenSession, Session, SessionError, SessionInfo, SessionStore,
    SessionTree,
};
use crate::ids::SessionId;
use crate::message::Message;

pub(crate) use attachments::read as read_stored;
pub use directory::directory_name;
pub use json::InvalidJson;
pub(super) use json::message_bytes;
pub use list::Survey;

/// A directory of sessions, each a file `<id>.jsonl`.
///
/// The directory is made with the first session that has an assistant message. Only its direct
/// files with a session's id as their name count; links, directories and other names are left
/// alone, so a directory may hold other stores below it.
///
/// Needs a tokio runtime; files are read and written on its blocking threads.
///
/// ```
/// use pantograph::session::{FileSystemJsonlStore, SessionStore};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = FileSystemJsonlStore::new("/nowhere/sessions");
/// assert_eq!(store.latest().await?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FileSystemJsonlStore {
    directory: PathBuf,
}

impl FileSystemJsonlStore {
    /// The sessions in `directory`, which need not exist.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// Where the sessions lie.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The file of a session, whether it is there or not.
    pub fn path(&self, id: SessionId) -> PathBuf {
        self.places(id).path
    }

    /// Describes every session that can be read, and says why the others cannot.
    ///
    /// As in a listing, a session whose ends are well counts as one that can be read.
    ///
    /// # Errors
    ///
    /// As [`SessionStore::list`].
    pub async fn survey(&self) -> Result<Survey, SessionError> {
        let directory = self.directory.clone();
        blocking(move || list::survey(&directory)).await
    }

    fn places(&self, id: SessionId) -> Places {
        Places::new(&self.directory, id)
    }
}

#[async_trait]
impl SessionStore for FileSystemJsonlStore {
    /// Fails if the session is there already, or its metadata nests deeper than 100 levels.
    async fn create(&self, header: Header) -> Result<Box<dyn Session>, SessionError> {
        encode::check_metadata(&header.metadata)?;
        let places = self.places(header.id);
        blocking(move || match std::fs::symlink_metadata(&places.path) {
            Ok(_) => {
                let source = std::io::ErrorKind::AlreadyExists.into();
                Err(io_error("create", &places.path, source))
            }
            Err(_) => Ok(Box::new(FileSession::create(places, header)) as Box<dyn Session>),
        })
        .await
    }

    async fn open(&self, id: SessionId) -> Result<OpenSession, SessionError> {
        let places = self.places(id);
        blocking(move || {
            let file = LockedFile::open(&places.path, id)?
                .ok_or_else(|| lookup::not_found(&places.directory, &id.to_string()))?;
            let loaded = read::file(file.file(), &places)?;
            let (session, tree) = FileSession::open(places, file, loaded);
            Ok(OpenSession { session, tree })
        })
        .await
    }

    async fn load(&self, id: SessionId) -> Result<SessionTree, SessionError> {
        let places = self.places(id);
        blocking(move || {
            let file = open_to_read(&places)?;
            Ok(read::file(&file, &places)?.tree)
        })
        .await
    }

    /// From the end the file is read backwards, no further than needed. From the beginning every
    /// line is looked at, since its end says which branch is the current one, but only the
    /// messages that are given are decoded.
    async fn load_messages(
        &self,
        id: SessionId,
        options: &LoadOptions,
    ) -> Result<Vec<Message>, SessionError> {
        let places = self.places(id);
        let options = options.clone();
        blocking(move || messages::load(open_to_read(&places)?, &places, &options)).await
    }

    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        Ok(self.survey().await?.logged())
    }

    /// The order is that of [`SessionInfo::modified`], as in [`SessionStore::list`]: the time on
    /// the last record, which copying a file does not change.
    async fn list_bounded(&self, limit: usize) -> Result<Vec<SessionInfo>, SessionError> {
        let directory = self.directory.clone();
        blocking(move || list::list_bounded(&directory, limit)).await
    }

    async fn resolve(&self, id_or_prefix: &str) -> Result<SessionId, SessionError> {
        let directory = self.directory.clone();
        let wanted = id_or_prefix.to_owned();
        blocking(move || lookup::resolve(&directory, &wanted)).await
    }

    /// The first of [`SessionStore::list_bounded`]; but its error, if the file of a session that
    /// cannot be read was modified later than that one's.
    async fn latest(&self) -> Result<Option<SessionId>, SessionError> {
        let directory = self.directory.clone();
        blocking(move || list::latest(&directory)).await
    }

    async fn holder(&self, id: SessionId) -> Result<Option<Holder>, SessionError> {
        let places = self.places(id);
        blocking(move || lock::holder_of(&open_to_read(&places)?, &places.path)).await
    }
}

fn open_to_read(places: &Places) -> Result<std::fs::File, SessionError> {
    disk::open_file(&places.path, Access::Read).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            lookup::not_found(&places.directory, &places.id.to_string())
        }
        _ => io_error("open", &places.path, error),
    })
}

/// Runs work on files where blocking is allowed. It goes on if the future is dropped.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SessionError> + Send + 'static,
) -> Result<T, SessionError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(SessionError::Store("the runtime is shutting down".into())),
        },
    }
}
