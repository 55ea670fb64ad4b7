//! Which projects the user trusts: a list of directories in the data home.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::dirs::{Dirs, NoHome};

/// The projects that may bring code, by their root directories.
#[derive(Debug, Clone)]
pub struct TrustStore {
    file: PathBuf,
}

/// Why the list could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The directory is not there.
    #[error("there is no directory `{0}`")]
    NoDirectory(PathBuf, #[source] io::Error),
    /// The list could not be read or written.
    #[error("could not use the list of trusted projects, `{0}`")]
    File(PathBuf, #[source] io::Error),
    /// The list is no such list.
    #[error("`{0}` is damaged; delete it, and trust your projects again")]
    Damaged(PathBuf, #[source] serde_json::Error),
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct List {
    /// By root: which directory had that path when it was trusted.
    #[serde(default)]
    directories: BTreeMap<String, String>,
}

impl TrustStore {
    /// The list in the data home.
    ///
    /// # Errors
    ///
    /// There is no data home.
    pub fn new(dirs: &Dirs) -> Result<Self, NoHome> {
        Ok(Self {
            file: dirs.data_home()?.join("trust.json"),
        })
    }

    /// Whether the project with this root is trusted. A link to it is the same project; what lies
    /// below or above it is not, and neither is another directory that has its path by now.
    ///
    /// # Errors
    ///
    /// [`TrustError`]; then nothing is trusted.
    pub fn is_trusted(&self, root: &Path) -> Result<bool, TrustError> {
        let list = self.read()?;
        if list.directories.is_empty() {
            return Ok(false);
        }
        let Ok(root) = root.canonicalize() else {
            return Ok(false);
        };
        let trusted = list.directories.get(&key(&root));
        let is_same = |trusted: &String| identity(&root).is_ok_and(|identity| identity == *trusted);
        Ok(trusted.is_some_and(is_same))
    }

    /// Trusts the project; gives whether it was not trusted before.
    ///
    /// # Errors
    ///
    /// [`TrustError`]; the list is as it was.
    pub fn trust(&self, root: &Path) -> Result<bool, TrustError> {
        let none = |error| TrustError::NoDirectory(root.to_owned(), error);
        let root = root.canonicalize().map_err(none)?;
        let identity = identity(&root).map_err(none)?;
        self.change(|directories| {
            let before = directories.insert(key(&root), identity.clone());
            before.as_ref() != Some(&identity)
        })
    }

    /// Trusts the project no more; gives whether it was trusted.
    ///
    /// # Errors
    ///
    /// [`TrustError`]; the list is as it was.
    pub fn revoke(&self, root: &Path) -> Result<bool, TrustError> {
        // What is gone can still be taken from the list.
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        self.change(|directories| directories.remove(&key(&root)).is_some())
    }

    /// The trusted projects, sorted.
    ///
    /// # Errors
    ///
    /// [`TrustError`].
    pub fn list(&self) -> Result<Vec<PathBuf>, TrustError> {
        let directories = self.read()?.directories.into_keys();
        Ok(directories.map(|key| path_of(&key)).collect())
    }

    fn read(&self) -> Result<List, TrustError> {
        // Reading a pipe would wait for whoever writes.
        let kind = fs::metadata(&self.file).map(|metadata| metadata.is_file());
        let read = match kind {
            Ok(false) => Err(io::Error::other("it is no file")),
            _ => fs::read(&self.file),
        };
        match read {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| TrustError::Damaged(self.file.clone(), error)),
            // Nothing is below a file.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(List::default())
            }
            Err(error) => Err(TrustError::File(self.file.clone(), error)),
        }
    }

    fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, String>) -> bool,
    ) -> Result<bool, TrustError> {
        let failed = |error| TrustError::File(self.file.clone(), error);
        let dir = self.file.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(dir).map_err(failed)?;
        let lock = fs::File::create(self.file.with_extension("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut list = self.read()?;
        let changed = change(&mut list.directories);
        if changed {
            let text = serde_json::to_vec_pretty(&list)
                .map_err(|error| failed(io::Error::other(error)))?;
            let mut file = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
            file.write_all(&text).map_err(failed)?;
            file.as_file().sync_data().map_err(failed)?;
            file.persist(&self.file)
                .map_err(|error| failed(error.error))?;
        }
        Ok(changed)
    }
}

/// What a directory keeps when it is moved, and another one at its path does not have.
fn identity(dir: &Path) -> io::Result<String> {
    let metadata = fs::metadata(dir)?;
    let born = metadata.created().ok();
    let born = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    Ok(match born {
        // Numbers of devices may change when the system starts anew.
        Some(born) => format!("{} born {}", metadata.ino(), born.as_nanos()),
        None => format!("{} on {}", metadata.ino(), metadata.dev()),
    })
}

/// A path as text, one to one: bytes that are no UTF-8 are written as hexadecimal.
fn key(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => {
            let bytes = path.as_os_str().as_encoded_bytes().iter();
            format!(
                "bytes:{}",
                bytes.map(|byte| format!("{byte:02x}")).collect::<String>()
            )
        }
    }
}

fn path_of(key: &str) -> PathBuf {
    PathBuf::from(key)
}
