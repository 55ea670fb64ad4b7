//! The layers of resources: whose files count, from the lowest to the highest.

use std::fmt;
use std::path::{Path, PathBuf};

use super::diagnostic::Diagnostic;
use crate::config::Layer;
use crate::dirs::Dirs;

/// Whose resources a layer has; a later one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LayerName {
    /// What panto ships.
    Base,
    /// The user's.
    User,
    /// The project's.
    Project,
    /// What in the project belongs to the user alone.
    Local,
    /// A directory that stands in for all of them.
    Bundle,
}

impl LayerName {
    /// Its name, as `panto.ext.dirs.layers` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            LayerName::Base => "base",
            LayerName::User => "user",
            LayerName::Project => "project",
            LayerName::Local => "local",
            LayerName::Bundle => "bundle",
        }
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Layer> for LayerName {
    fn from(layer: Layer) -> Self {
        match layer {
            Layer::Base => LayerName::Base,
            Layer::User => LayerName::User,
            Layer::Project => LayerName::Project,
            Layer::Local => LayerName::Local,
        }
    }
}

/// A layer and its directory, which need not be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceLayer {
    /// Whose it is.
    pub name: LayerName,
    /// Where its `extensions`, `tools`, `skills` and so on lie.
    pub dir: PathBuf,
}

/// What the layers are made of.
#[derive(Debug, Clone, Copy)]
pub struct LayersRequest<'a> {
    /// Where the user's layer lies.
    pub dirs: &'a Dirs,
    /// The root of the project.
    pub project_root: &'a Path,
    /// The home directory, whose shared skills need no trust.
    pub home: Option<&'a Path>,
    /// Where what panto ships lies, if it ships something.
    pub base: Option<&'a Path>,
    /// Whether the project may bring code.
    pub trusted: bool,
}

/// A layer that is left out because its project is not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedLayer {
    /// Whose it is.
    pub name: LayerName,
    /// Its directory, which is there and has something in it.
    pub dir: PathBuf,
    /// What of it would count: `extensions`, `skills` and so on.
    pub has: Vec<&'static str>,
}

/// What a layer may have that a project must be trusted for.
const RESOURCES: &[&str] = &[
    "extensions",
    "tools",
    "skills",
    "commands",
    "agents",
    "workflows",
];

/// The layers that count, lowest first; those that are left out; and what there is to say.
///
/// A layer whose place cannot be known is not there. So are the project's layers until it is
/// trusted.
pub fn layers(
    request: &LayersRequest<'_>,
) -> (Vec<ResourceLayer>, Vec<SkippedLayer>, Vec<Diagnostic>) {
    let mut found = Vec::new();
    let mut skipped = Vec::new();
    let mut diagnostics = Vec::new();
    let mut add = |name, dir: &Path| {
        found.push(ResourceLayer {
            name,
            dir: dir.to_owned(),
        });
    };
    if let Some(base) = request.base {
        add(LayerName::Base, base);
    }
    if let Ok(user) = request.dirs.config_home() {
        add(LayerName::User, user);
    }
    let project = request.project_root.join(".panto");
    // The user's own directory is no project's.
    let is_user = found.iter().any(|layer| same_place(&layer.dir, &project));
    if project.symlink_metadata().is_ok() && !project.is_dir() {
        diagnostics.push(
            Diagnostic::warning(
                "this is no directory, so the project has no extensions, skills or configuration",
            )
            .at(project),
        );
        return (found, skipped, diagnostics);
    }
    let is_home = request
        .home
        .is_some_and(|home| same_place(home, request.project_root));
    let local = project.join("local");
    for (name, dir) in [(LayerName::Project, project), (LayerName::Local, local)] {
        if is_user && name == LayerName::Project {
            continue;
        }
        if request.trusted {
            found.push(ResourceLayer { name, dir });
            continue;
        }
        let has: Vec<_> = RESOURCES
            .iter()
            .copied()
            .filter(|resource| has_entries(&dir.join(resource)))
            .collect();
        if !has.is_empty() {
            skipped.push(SkippedLayer { name, dir, has });
        }
    }
    // What other programs share counts as the project's layer does.
    let shared = request.project_root.join(".agents");
    if !request.trusted && !is_home && has_entries(&shared.join("skills")) {
        skipped.push(SkippedLayer {
            name: LayerName::Project,
            dir: shared,
            has: vec!["skills"],
        });
    }
    (found, skipped, diagnostics)
}

fn same_place(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

fn has_entries(dir: &Path) -> bool {
    std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some())
}
