//! Which projects the user trusts: a list of directories in the data home.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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
    #[serde(default)]
    projects: BTreeSet<String>,
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
    /// below or above it is not.
    ///
    /// # Errors
    ///
    /// [`TrustError`]; then nothing is trusted.
    pub fn is_trusted(&self, root: &Path) -> Result<bool, TrustError> {
        let list = self.read()?;
        if list.projects.is_empty() {
            return Ok(false);
        }
        let root = root.canonicalize();
        Ok(root.is_ok_and(|root| list.projects.contains(&key(&root))))
    }

    /// Trusts the project; gives whether it was not trusted before.
    ///
    /// # Errors
    ///
    /// [`TrustError`]; the list is as it was.
    pub fn trust(&self, root: &Path) -> Result<bool, TrustError> {
        let root = root
            .canonicalize()
            .map_err(|error| TrustError::NoDirectory(root.to_owned(), error))?;
        self.change(|projects| projects.insert(key(&root)))
    }

    /// Trusts the project no more; gives whether it was trusted.
    ///
    /// # Errors
    ///
    /// [`TrustError`]; the list is as it was.
    pub fn revoke(&self, root: &Path) -> Result<bool, TrustError> {
        // What is gone can still be taken from the list.
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        self.change(|projects| projects.remove(&key(&root)))
    }

    /// The trusted projects, sorted.
    ///
    /// # Errors
    ///
    /// [`TrustError`].
    pub fn list(&self) -> Result<Vec<PathBuf>, TrustError> {
        let projects = self.read()?.projects.into_iter();
        Ok(projects.map(|key| path_of(&key)).collect())
    }

    fn read(&self) -> Result<List, TrustError> {
        match fs::read(&self.file) {
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
        change: impl FnOnce(&mut BTreeSet<String>) -> bool,
    ) -> Result<bool, TrustError> {
        let failed = |error| TrustError::File(self.file.clone(), error);
        let dir = self.file.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(dir).map_err(failed)?;
        let lock = fs::File::create(self.file.with_extension("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut list = self.read()?;
        let changed = change(&mut list.projects);
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
