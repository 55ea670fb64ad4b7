//! The tree that rocks are installed in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::name::RockName;

/// The tree of installed rocks, which need not be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RocksTree {
    root: PathBuf,
}

/// A rock of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledRock {
    /// Its name.
    pub name: String,
    /// Its version and revision, such as `1.2-1`.
    pub version: String,
}

impl RocksTree {
    /// The tree in a data home, for the embedded Lua.
    pub fn of_data_home(data_home: &Path) -> Self {
        let root = data_home
            .join("rocks")
            .join(format!("lua-{}", lua_version()));
        Self { root }
    }

    /// Its directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where modules in Lua lie.
    pub fn modules(&self) -> PathBuf {
        self.below("share/lua/")
    }

    /// Where modules in C lie.
    pub fn native_modules(&self) -> PathBuf {
        self.below("lib/lua/")
    }

    /// The rocks that are installed, by name.
    ///
    /// # Errors
    ///
    /// The tree is there and cannot be read.
    pub fn installed(&self) -> io::Result<Vec<InstalledRock>> {
        let mut found = Vec::new();
        for name in folders(&self.manifests())? {
            for version in folders(&self.manifests().join(&name))? {
                let name = name.clone();
                found.push(InstalledRock { name, version });
            }
        }
        found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        Ok(found)
    }

    /// Whether some version of the rock is installed.
    pub fn has(&self, rock: &RockName) -> bool {
        folders(&self.manifests().join(rock.name())).is_ok_and(|versions| !versions.is_empty())
    }

    fn manifests(&self) -> PathBuf {
        self.below("lib/luarocks/rocks-")
    }

    fn below(&self, beginning: &str) -> PathBuf {
        self.root.join(format!("{beginning}{}", lua_version()))
    }
}

/// The version of the embedded Lua without its release, such as `5.4`.
pub(super) fn lua_version() -> &'static str {
    let release = panto_runtime::LUA_RELEASE;
    release
        .rsplit_once('.')
        .map_or(release, |(version, _)| version)
}

/// The names of the directories in one that need not be there.
fn folders(dir: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}
