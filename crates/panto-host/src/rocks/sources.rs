//! Rocks as sources of extensions.

use std::fs;
use std::path::{Path, PathBuf};

use super::name::RockName;
use super::tree::RocksTree;
use crate::extensions::{Diagnostic, LayerName, Rank, SourceFile};

/// The rocks that a configuration names, and the tree that they are looked for in.
#[derive(Debug, Clone)]
pub struct InstalledRocks<'a> {
    /// The tree; a bundle has none.
    pub tree: Option<&'a RocksTree>,
    /// Whose they are.
    pub layer: LayerName,
    /// Their names.
    pub names: &'a [String],
}

impl InstalledRocks<'_> {
    /// The entry file of each. One that is not installed is there too, so that loading it says so.
    pub fn sources(&self) -> (Vec<SourceFile>, Vec<Diagnostic>) {
        let mut sources: Vec<SourceFile> = Vec::new();
        let mut diagnostics = Vec::new();
        for text in self.names {
            let wrong =
                |wrong: String| Diagnostic::error(format!("`extensions.rocks`: {wrong}")).of(text);
            match (text.parse::<RockName>(), self.tree) {
                (Err(error), _) => diagnostics.push(wrong(error.to_string())),
                (Ok(_), None) => {
                    diagnostics.push(wrong(
                        "a bundle has no rocks that were installed".to_owned(),
                    ));
                }
                (Ok(rock), Some(tree)) => {
                    let source = source(rock.name(), &tree.modules(), self.layer);
                    if !sources.iter().any(|other| other.stem == source.stem) {
                        sources.push(source);
                    }
                }
            }
        }
        (sources, diagnostics)
    }
}

/// The rocks that panto ships: every directory of `staged` with an `init.lua`, but `but`.
pub fn shipped_rocks(staged: &Path, but: &str) -> Vec<SourceFile> {
    let Ok(entries) = fs::read_dir(staged) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name != but).collect();
    names.sort();
    names
        .iter()
        .filter(|name| staged.join(name).join("init.lua").is_file())
        .map(|name| source(name, staged, LayerName::Base))
        .collect()
}

fn source(name: &str, modules: &Path, layer: LayerName) -> SourceFile {
    let base = modules.join(name.replace('.', "/"));
    let file = PathBuf::from(format!("{}.lua", base.display()));
    let init = base.join("init.lua");
    SourceFile {
        stem: name.to_owned(),
        file: if !file.is_file() && init.is_file() {
            init
        } else {
            file
        },
        dir: modules.to_owned(),
        layer,
        rank: Rank::Rock,
        module: Some(name.to_owned()),
    }
}
