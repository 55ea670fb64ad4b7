//! What files give, from text to values, warnings and errors.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::dirs::{Dirs, Environment};

mod layers;
mod mistakes;
mod trust;

/// A home, a project in it, and what to load from them.
struct Desk {
    base: tempfile::TempDir,
    explicit: Option<PathBuf>,
    trusted: bool,
}

const USER: &str = "home/.config/panto/config.toml";
const PROJECT: &str = "project/.panto/config.toml";
const LOCAL: &str = "project/.panto/local/config.toml";

impl Desk {
    fn new() -> Self {
        Self {
            base: tempfile::tempdir().unwrap(),
            explicit: None,
            trusted: true,
        }
    }

    fn untrusted() -> Self {
        Self {
            trusted: false,
            ..Self::new()
        }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.base.path().join(file)
    }

    fn file(self, file: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn load(&self) -> Result<Loaded, ConfigError> {
        let environment = Environment {
            cwd: self.path("project"),
            home: Some(self.path("home").into_os_string()),
            ..Environment::default()
        };
        Config::load(&LoadConfig {
            dirs: &Dirs::new(&environment),
            project_root: self.path("project"),
            explicit: self.explicit.clone(),
            trusted: self.trusted,
            bundle: None,
        })
    }

    fn plain(&self, text: &str) -> String {
        text.replace(&self.base.path().display().to_string(), "")
    }

    /// The error, with its causes, or the warnings.
    fn told(&self) -> String {
        let told = match self.load() {
            Err(error) => pantograph::with_causes(&error),
            Ok(loaded) => {
                let warnings = loaded.warnings.iter().map(ToString::to_string);
                warnings.collect::<Vec<_>>().join("\n")
            }
        };
        self.plain(&told)
    }

    fn config(&self) -> Config {
        self.load().unwrap().config
    }

    /// Where a value came from.
    fn from<T>(&self, value: &Sourced<T>) -> String {
        self.plain(&value.source.to_string())
    }
}

/// What the user hears about a file of theirs.
fn told(text: impl AsRef<[u8]>) -> String {
    Desk::new().file(USER, text).told()
}
