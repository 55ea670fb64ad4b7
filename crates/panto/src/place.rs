//! Where a command works: the directory, the configuration, the sessions.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, io, thread};

use panto_host::config::{Config, LoadConfig};
use panto_host::dirs::{Dirs, Environment, project_root};
use panto_host::extensions::TrustStore;
use pantograph::session::{FileSystemJsonlStore, SessionStore};
use pantograph::{SessionId, with_causes};
use tokio::runtime::Handle;

use crate::args::{CommonArgs, HostArgs};
use crate::failure::{Exit, Failure};
use crate::{panics, signals, streams};

/// The directory that a command works in, and what follows from it.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) dirs: Dirs,
    /// Of the project.
    pub(crate) root: PathBuf,
    /// Whether the project may bring code.
    pub(crate) trusted: bool,
    /// The home directory.
    pub(crate) home: Option<PathBuf>,
    /// The directory that stands in for all layers.
    pub(crate) bundle: Option<PathBuf>,
}

impl Place {
    /// Finds the place that the arguments name.
    ///
    /// # Errors
    ///
    /// There is no such directory.
    pub(crate) fn find(common: &CommonArgs) -> Result<Self, Failure> {
        let cwd = match &common.cwd {
            Some(directory) => given_directory(directory, "--cwd")?,
            None => env::current_dir().map_err(|error| {
                let error = anyhow::Error::new(error)
                    .context("the current directory is gone, or cannot be read");
                Failure::new(Exit::Usage, "usage", error)
                    .with_hint("change to another directory, or name one with --cwd DIR")
            })?,
        };
        let root = project_root(&cwd);
        let environment = Environment::read(cwd, |name| env::var_os(name));
        let dirs = Dirs::new(&environment);
        let trusted = match TrustStore::new(&dirs).map(|store| store.is_trusted(&root)) {
            Ok(Ok(trusted)) => trusted,
            Ok(Err(error)) => {
                streams::warn(with_causes(&error));
                false
            }
            // Without a home nothing is trusted.
            Err(_) => false,
        };
        Ok(Self {
            dirs,
            root,
            trusted,
            home: environment.home.map(PathBuf::from),
            bundle: None,
        })
    }

    /// The same for a command that runs extensions.
    ///
    /// # Errors
    ///
    /// There is no such directory.
    pub(crate) fn find_for(common: &CommonArgs, host: &HostArgs) -> Result<Self, Failure> {
        let mut place = Self::find(common)?;
        place.trusted |= host.trust;
        place.bundle = match &host.bundle {
            Some(dir) => Some(given_directory(dir, "--bundle")?),
            None => None,
        };
        Ok(place)
    }

    /// Reads the configuration, and passes its warnings on.
    ///
    /// # Errors
    ///
    /// A file that counts is broken.
    pub(crate) fn load_config(&self, common: &CommonArgs) -> Result<Arc<Config>, Failure> {
        let explicit = match &common.config {
            // Relative to where the person is, whatever `--cwd` says.
            Some(file) => Some(std::path::absolute(file).map_err(|error| {
                Failure::config(anyhow::Error::new(error).context("`--config` names no file"))
            })?),
            None => None,
        };
        let loaded = Config::load(&LoadConfig {
            dirs: &self.dirs,
            project_root: self.root.clone(),
            explicit,
            trusted: self.trusted,
            bundle: self.bundle.clone(),
        })
        .map_err(Failure::config)?;
        for warning in &loaded.warnings {
            streams::warn(warning);
        }
        Ok(Arc::new(loaded.config))
    }

    /// The sessions of the directory.
    ///
    /// # Errors
    ///
    /// No variable says where sessions lie.
    pub(crate) fn store(&self) -> Result<FileSystemJsonlStore, Failure> {
        Ok(FileSystemJsonlStore::new(self.session_directory()?))
    }

    /// Where the sessions of the directory lie.
    ///
    /// # Errors
    ///
    /// As [`Place::store`].
    pub(crate) fn session_directory(&self) -> Result<PathBuf, Failure> {
        self.dirs
            .session_directory(self.dirs.cwd())
            .map_err(Failure::config)
    }

    /// Finds a session of the directory by its id, or the beginning of it.
    ///
    /// # Errors
    ///
    /// There is none, or more than one. If the session belongs to another directory, the hint
    /// says so.
    pub(crate) async fn resolve(
        &self,
        store: &FileSystemJsonlStore,
        wanted: &str,
    ) -> Result<SessionId, Failure> {
        let error = match store.resolve(wanted).await {
            Ok(id) => return Ok(id),
            Err(error) => error,
        };
        let failure = Failure::from(error);
        match self.elsewhere(wanted).await {
            Some(cwd) => Err(failure.with_hint(format!(
                "it belongs to another directory: add --cwd {}",
                shell_word(&cwd.to_string_lossy())
            ))),
            None => Err(failure),
        }
    }

    /// The directory that a session belongs to, by its whole id.
    ///
    /// What cannot be read does not count: this is only for a hint.
    async fn elsewhere(&self, wanted: &str) -> Option<PathBuf> {
        let id = SessionId::parse(wanted).ok()?;
        let directories = std::fs::read_dir(self.dirs.session_base().ok()?).ok()?;
        let store = directories
            .filter_map(|entry| Some(FileSystemJsonlStore::new(entry.ok()?.path())))
            .find(|store| store.path(id).is_file())?;
        let tree = store.load(id).await.ok()?;
        Some(tree.header().cwd.clone()).filter(|cwd| cwd != self.cwd())
    }

    pub(crate) fn cwd(&self) -> &Path {
        self.dirs.cwd()
    }
}

/// A text as a shell reads it back.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

pub(crate) fn given_directory(directory: &Path, flag: &str) -> Result<PathBuf, Failure> {
    let found = directory.canonicalize().map_err(|error| {
        Failure::new(Exit::Usage, "usage", error).context(format!(
            "`{flag}` names `{}`, which cannot be entered",
            directory.display()
        ))
    })?;
    if found.is_dir() {
        Ok(found)
    } else {
        Err(Failure::usage(format!(
            "`{flag}` names `{}`, which is not a directory",
            directory.display()
        )))
    }
}

/// Drives `work` to its end on this thread, which may own a Lua state: in a runtime of its own.
/// Agents run on the workers of the other one, whose handle `work` gets.
///
/// # Errors
///
/// Those of `work`, or the system gives no more threads.
pub(crate) fn own<T>(work: impl AsyncFnOnce(Handle) -> Result<T, Failure>) -> Result<T, Failure> {
    let agents = panics::guarded(|| runtime(Workers::Few))??;
    let owner = panics::guarded(|| runtime(Workers::None))??;
    let outcome = panics::guarded(|| owner.block_on(work(agents.handle().clone())));
    owner.shutdown_background();
    agents.shutdown_background();
    outcome?
}

/// Drives `work` to its end; `workers` drive what it spawns.
///
/// # Errors
///
/// Those of `work`, or the system gives no more threads.
pub(crate) fn wait_for<T>(
    workers: Workers,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let runtime = panics::guarded(|| runtime(workers))??;
    let outcome = panics::guarded(|| runtime.block_on(work));
    // Whatever still blocks a thread, such as a tool that ignores its cancel, is not waited for.
    runtime.shutdown_background();
    outcome?
}

/// A runtime with these workers. It must be shut down in the background.
///
/// # Errors
///
/// The system gives no more threads or descriptors.
pub(crate) fn runtime(workers: Workers) -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = match workers {
        Workers::None => tokio::runtime::Builder::new_current_thread(),
        Workers::Few => {
            threads_can_start().map_err(|error| {
                let error = anyhow::Error::new(error).context("could not start a thread");
                Failure::new(Exit::TurnFailed, "internal", error)
            })?;
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(2);
            builder
        }
    };
    let runtime = builder.enable_all().build().map_err(|error| {
        let error = anyhow::Error::new(error).context("could not start the runtime");
        Failure::new(Exit::TurnFailed, "internal", error)
    })?;
    {
        let _inside = runtime.enter();
        signals::survive_file_limits();
    }
    Ok(runtime)
}

/// Tries whether the system gives the threads that a runtime with workers takes at once.
///
/// tokio panics if it does not, and then waits for ever for the workers that it has.
fn threads_can_start() -> io::Result<()> {
    /// The workers, and one each for files and standard input.
    const THREADS: usize = 4;
    let gate = parking_lot::Mutex::new(());
    thread::scope(|scope| {
        // Until it is dropped all of them are there.
        let _closed = gate.lock();
        for _ in 0..THREADS {
            thread::Builder::new().spawn_scoped(scope, || drop(gate.lock()))?;
        }
        Ok(())
    })
}

/// What a runtime is for.
pub(crate) enum Workers {
    /// One thing at a time.
    None,
    /// A session that goes on while its output is written.
    Few,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_a_hint_can_be_pasted() {
        assert_eq!(shell_word("/home/ada/x"), "/home/ada/x");
        assert_eq!(shell_word("/my files"), "'/my files'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
