//! Bytes with a media type, in memory or beside a stored session.

use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;

/// How many bytes an attachment may have that enters a conversation.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Bytes with a media type, such as an image; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Such as `image/png`.
    pub media_type: String,
    source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Memory(Bytes),
    File(PathBuf),
    /// Beside a session, where only a regular file counts.
    Stored(PathBuf),
}

impl Attachment {
    /// An attachment that is held in memory.
    pub fn new(media_type: impl Into<String>, data: impl Into<Bytes>) -> Self {
        Self {
            media_type: media_type.into(),
            source: Source::Memory(data.into()),
        }
    }

    /// An attachment that is read from `path` whenever it is needed.
    ///
    /// A session that is loaded from disk holds its large attachments so.
    pub fn from_file(media_type: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            media_type: media_type.into(),
            source: Source::File(path.into()),
        }
    }

    /// An attachment that a session store keeps at `path`: neither the file nor the directory
    /// that it lies in may be a link.
    pub(crate) fn stored(media_type: impl Into<String>, path: PathBuf) -> Self {
        Self {
            media_type: media_type.into(),
            source: Source::Stored(path),
        }
    }

    /// The type that the first bytes of an image show; `None` if they are of none that models take.
    pub fn image_type(bytes: &[u8]) -> Option<&'static str> {
        match bytes {
            [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
            [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
            [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
            _ if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") => {
                Some("image/webp")
            }
            _ => None,
        }
    }

    /// The file that holds the bytes, if they are not in memory.
    pub fn path(&self) -> Option<&Path> {
        match &self.source {
            Source::Memory(_) => None,
            Source::File(path) | Source::Stored(path) => Some(path),
        }
    }

    /// The same with its bytes in memory, or a text that stands in for it: its file cannot be
    /// read, or it is too large.
    pub(crate) async fn load(self) -> Result<Self, String> {
        let loaded = match self.path() {
            None => self,
            Some(path) => {
                let read = tokio::task::spawn_blocking({
                    let unread = self.clone();
                    move || unread.bytes()
                });
                let data = read.await.map_err(io::Error::other).flatten();
                let data = data.map_err(|error| {
                    format!(
                        "[attachment {} left out: could not read `{}`: {error}]",
                        self.media_type,
                        path.display()
                    )
                })?;
                Self::new(self.media_type, data)
            }
        };
        match &loaded.source {
            Source::Memory(data) if data.len() > MAX_BYTES => Err(format!(
                "[attachment {} left out: {} bytes are more than the {MAX_BYTES} allowed]",
                loaded.media_type,
                data.len()
            )),
            _ => Ok(loaded),
        }
    }

    /// The bytes. Blocks on the file system if they lie in a file.
    ///
    /// # Errors
    ///
    /// The file can no longer be read, or a link stands in the place of one that a session keeps.
    pub fn bytes(&self) -> io::Result<Bytes> {
        match &self.source {
            Source::Memory(data) => Ok(data.clone()),
            Source::File(path) => std::fs::read(path).map(Bytes::from),
            Source::Stored(path) => crate::session::read_stored(path).map(Bytes::from),
        }
    }
}
