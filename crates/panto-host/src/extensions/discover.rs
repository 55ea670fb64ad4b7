//! Which source files the layers have, before any of them is read.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::diagnostic::Diagnostic;
use super::layers::{LayerName, ResourceLayer};

/// Where in its layer a source lies; a later one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// A rock of `extensions.rocks`.
    Rock,
    /// Found by `extensions.paths`.
    Path,
    /// In the layer's `extensions` or `tools`.
    Canonical,
}

/// A source of extensions that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// What it is called until it says its own name: its file's name, or its directory's.
    pub stem: String,
    /// The Lua file.
    pub file: PathBuf,
    /// Where the modules lie that it may require by their bare names.
    pub dir: PathBuf,
    /// Whose it is.
    pub layer: LayerName,
    /// Where in the layer.
    pub rank: Rank,
    /// What `require` calls a rock's entry; then its value is that of the module, and it requires
    /// its own modules by their full names.
    pub module: Option<String>,
}

/// Finds the sources of the layers, lowest precedence first, and within one by name.
///
/// `paths` are more directories or files, each with the layer that names it. A file that two
/// layers have, as by a link, counts once, in the lower one.
pub fn discover(
    layers: &[ResourceLayer],
    paths: &[(LayerName, PathBuf)],
) -> (Vec<SourceFile>, Vec<Diagnostic>) {
    let mut found = Found::default();
    for layer in layers {
        for (_, path) in paths.iter().filter(|(name, _)| *name == layer.name) {
            found.path(path, layer.name);
        }
        for folder in ["extensions", "tools"] {
            let dir = layer.dir.join(folder);
            match found.directory(&dir, layer.name, Rank::Canonical) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    found.unreadable(&dir, &error)
                }
                _ => {}
            }
        }
    }
    (found.sources, found.diagnostics)
}

#[derive(Default)]
struct Found {
    sources: Vec<SourceFile>,
    /// Their real paths.
    seen: HashSet<PathBuf>,
    diagnostics: Vec<Diagnostic>,
}

impl Found {
    /// One of `extensions.paths`: a source itself, or a directory of them.
    fn path(&mut self, path: &Path, layer: LayerName) {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => return self.unreadable(path, &error),
        };
        if metadata.is_file() || path.join("init.lua").is_file() {
            self.entry(path, layer, Rank::Path);
        } else if let Err(error) = self.directory(path, layer, Rank::Path) {
            self.unreadable(path, &error);
        }
    }

    fn directory(&mut self, dir: &Path, layer: LayerName, rank: Rank) -> io::Result<()> {
        let mut names = fs::read_dir(dir)?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<io::Result<Vec<_>>>()?;
        names.sort();
        for name in names {
            let first = name.as_encoded_bytes().first();
            if !matches!(first, Some(b'.' | b'_')) {
                self.entry(&dir.join(name), layer, rank);
            }
        }
        Ok(())
    }

    /// A file or a directory that may be a source.
    fn entry(&mut self, path: &Path, layer: LayerName, rank: Rank) {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => return self.unreadable(path, &error),
        };
        let (file, dir, stem) = if metadata.is_dir() {
            let file = path.join("init.lua");
            match fs::symlink_metadata(&file) {
                Ok(_) if !file.is_file() => return self.no_file(&file),
                Ok(_) => {}
                Err(_) => return,
            }
            (file, path.to_owned(), path.file_name())
        } else if path.extension().is_some_and(|end| end == "lua") {
            if !metadata.is_file() {
                return self.no_file(path);
            }
            let dir = path.parent().unwrap_or(path);
            (path.to_owned(), dir.to_owned(), path.file_stem())
        } else {
            return;
        };
        let real = file.canonicalize().unwrap_or_else(|_| file.clone());
        if self.seen.insert(real) {
            self.sources.push(SourceFile {
                stem: stem.unwrap_or_default().to_string_lossy().into_owned(),
                file,
                dir,
                layer,
                rank,
                module: None,
            });
        }
    }

    fn no_file(&mut self, path: &Path) {
        let diagnostic = Diagnostic::warning("this is no file, so it is no extension");
        self.diagnostics.push(diagnostic.at(path));
    }

    fn unreadable(&mut self, path: &Path, error: &io::Error) {
        let diagnostic = Diagnostic::error(format!("no extension can be read here: {error}"));
        self.diagnostics.push(diagnostic.at(path));
    }
}
