//! Rocks as sources of extensions.

use std::fs;
use std::path::{Path, PathBuf};

use super::name::RockName;
use super::tree::RocksTree;
use crate::config::{Source, Sourced};
use crate::extensions::{Diagnostic, LayerName, Rank, ResourceLayer, SourceFile};

/// Where rocks are looked for.
#[derive(Debug, Clone, Copy)]
pub struct RocksRequest<'a> {
    /// The layers that count.
    pub layers: &'a [ResourceLayer],
    /// `extensions.rocks`.
    pub named: &'a Sourced<Vec<String>>,
    /// The tree of those that are installed; a bundle has none.
    pub tree: Option<&'a RocksTree>,
    /// The directory of what panto ships. The base layer is in it, and is no rock.
    pub staged: Option<&'a Path>,
}

/// Adds the rocks that are shipped, and those that the configuration names, to the sources that
/// were found; gives them in the order of precedence.
///
/// One that is not installed is there too, so that loading it says so.
pub fn with_rocks(
    request: &RocksRequest<'_>,
    mut sources: Vec<SourceFile>,
) -> (Vec<SourceFile>, Vec<Diagnostic>) {
    let has = |name| request.layers.iter().any(|layer| layer.name == name);
    let layer = match &request.named.source {
        _ if has(LayerName::Bundle) => LayerName::Bundle,
        Source::File { layer, .. } => LayerName::from(*layer),
        Source::Default => LayerName::User,
    };
    let mut diagnostics = Vec::new();
    if has(layer) {
        let (named, wrong) = named(request.named, request.tree, layer);
        sources.extend(named);
        diagnostics = wrong;
    }
    let base = request.layers.iter().find(|it| it.name == LayerName::Base);
    if let (Some(staged), Some(base)) = (request.staged, base) {
        sources.extend(shipped(staged, &base.dir));
    }
    sources.sort_by_key(|source| (source.layer, source.rank));
    (sources, diagnostics)
}

fn named(
    names: &[String],
    tree: Option<&RocksTree>,
    layer: LayerName,
) -> (Vec<SourceFile>, Vec<Diagnostic>) {
    let mut sources: Vec<SourceFile> = Vec::new();
    let mut diagnostics = Vec::new();
    for text in names {
        let wrong =
            |wrong: String| Diagnostic::error(format!("`extensions.rocks`: {wrong}")).of(text);
        match (text.parse::<RockName>(), tree) {
            (Err(error), _) => diagnostics.push(wrong(error.to_string())),
            (Ok(_), None) => {
                diagnostics.push(wrong(
                    "a bundle has no rocks that were installed".to_owned(),
                ));
            }
            (Ok(rock), Some(tree)) => {
                let source = installed(rock.name(), &tree.modules(), layer);
                if !sources.iter().any(|other| other.stem == source.stem) {
                    sources.push(source);
                }
            }
        }
    }
    (sources, diagnostics)
}

/// A rock `panto-NAME` may have its module under NAME alone.
fn installed(name: &str, modules: &Path, layer: LayerName) -> SourceFile {
    let whole = source(name, modules, layer);
    match name.strip_prefix("panto-") {
        Some(rest) if !whole.file.is_file() => {
            let short = source(rest, modules, layer);
            if short.file.is_file() { short } else { whole }
        }
        _ => whole,
    }
}

/// Every directory of `staged` with an `init.lua`, but the base layer's.
fn shipped(staged: &Path, base: &Path) -> Vec<SourceFile> {
    let Ok(entries) = fs::read_dir(staged) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| staged.join(name) != base).collect();
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
