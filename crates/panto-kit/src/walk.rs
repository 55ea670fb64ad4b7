//! The files of a tree, without those that version control ignores.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;

use crate::stop::Stop;

/// Where version control keeps what is its own. It counts as ignored.
const VERSION_CONTROL: &[&str] = &[".git", ".hg", ".jj", ".svn"];
/// How many names are looked at for those that are alike.
const MAX_NAMES: usize = 10_000;
/// How much names that are alike have in common, of 1.
const ALIKE: f32 = 0.6;

/// Which files of a tree are meant.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Patterns, one of which a file must match; those that begin with `!` must not match. One
    /// without a slash is for names, one with a slash for paths below the root.
    pub globs: Vec<String>,
    /// How deep below the root; `None` is all the way.
    pub depth: Option<usize>,
    /// Also what begins with a dot.
    pub hidden: bool,
    /// Also what `.gitignore`, `.ignore` and `.git/info/exclude` name, and `.git` itself.
    pub ignored: bool,
}

/// Why a tree cannot be walked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WalkError {
    /// A pattern is none.
    #[error("`{glob}` is not a pattern for paths")]
    Glob {
        /// The pattern.
        glob: String,
        /// What is wrong with it.
        #[source]
        source: globset::Error,
    },
    /// There is nothing of that name.
    #[error("`{}` does not exist", .0.display())]
    NotFound(PathBuf),
    /// The root is no directory, or cannot be read.
    #[error("could not look into `{}`", .0.display())]
    Root(PathBuf, #[source] io::Error),
}

impl WalkError {
    /// A name that tells it from the others.
    pub fn code(&self) -> &'static str {
        match self {
            WalkError::Glob { .. } => "pattern",
            WalkError::NotFound(_) => "not_found",
            WalkError::Root(..) => "io",
        }
    }
}

/// What an entry is, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// Anything else.
    Other,
}

impl EntryKind {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            EntryKind::File => "file",
            EntryKind::Directory => "directory",
            EntryKind::Link => "link",
            EntryKind::Other => "other",
        }
    }

    fn of(entry: &DirEntry) -> Self {
        match entry.file_type() {
            Some(kind) if kind.is_file() => EntryKind::File,
            Some(kind) if kind.is_dir() => EntryKind::Directory,
            Some(kind) if kind.is_symlink() => EntryKind::Link,
            _ => EntryKind::Other,
        }
    }
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The root, and the way down from it.
    pub path: PathBuf,
    /// What it is.
    pub kind: EntryKind,
}

/// What a walk found.
#[derive(Debug, Clone, Default)]
pub struct Walked {
    /// The first entries in the order of their paths.
    pub entries: Vec<Entry>,
    /// How many there are in all.
    pub total: usize,
    /// What could not be looked into.
    pub unreadable: Unreadable,
}

/// What could not be read: how many, and one of them.
#[derive(Debug, Clone, Default)]
pub struct Unreadable {
    /// How many.
    pub count: usize,
    /// The first in order, with the reason.
    pub first: Option<String>,
}

impl Unreadable {
    pub(crate) fn add(&mut self, what: String) {
        self.count += 1;
        if self.first.as_ref().is_none_or(|first| what < *first) {
            self.first = Some(what);
        }
    }
}

/// How much of a tree is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// How many entries are given.
    pub limit: usize,
    /// After how many entries, wanted or not, the walk ends. What it has found then depends on
    /// chance.
    pub max_visited: usize,
}

impl Bounds {
    /// All of a tree is looked at, and so many entries are given.
    pub fn first(limit: usize) -> Self {
        Self {
            limit,
            max_visited: usize::MAX,
        }
    }
}

/// Finds the first entries below `root` in the order of their paths, of one kind or any.
///
/// # Errors
///
/// [`WalkError`]. What cannot be read further down is left out and counted.
pub fn walk(
    root: &Path,
    selection: &Selection,
    kind: Option<EntryKind>,
    bounds: Bounds,
    stop: &Stop,
) -> Result<Walked, WalkError> {
    let globs = Globs::new(&selection.globs)?;
    let builder = selection.builder(root)?;
    std::fs::read_dir(root).map_err(|error| WalkError::Root(root.to_owned(), error))?;
    // The least that are wanted are kept, so that memory has a bound and the answer is always the same.
    let found: Mutex<(BTreeSet<Entry>, Walked)> = Mutex::default();
    let visited = AtomicUsize::new(0);
    builder.build_parallel().run(|| {
        Box::new(|entry| {
            let is_enough = visited.fetch_add(1, Ordering::Relaxed) >= bounds.max_visited;
            if is_enough || stop.is_asked() {
                return WalkState::Quit;
            }
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    found.lock().1.unreadable.add(error.to_string());
                    return WalkState::Continue;
                }
            };
            let is = EntryKind::of(&entry);
            if entry.depth() == 0
                || kind.is_some_and(|kind| kind != is)
                || !globs.matches(root, entry.path())
            {
                return WalkState::Continue;
            }
            let entry = Entry {
                path: entry.into_path(),
                kind: is,
            };
            let (kept, walked) = &mut *found.lock();
            walked.total += 1;
            kept.insert(entry);
            if kept.len() > bounds.limit {
                kept.pop_last();
            }
            WalkState::Continue
        })
    });
    let (kept, mut walked) = found.into_inner();
    walked.entries = kept.into_iter().collect();
    Ok(walked)
}

/// Paths that are there and look like one that is not, the most alike first.
///
/// Only names in the nearest directory above it that exists are looked at.
pub fn nearest(path: &Path, limit: usize) -> Vec<PathBuf> {
    let mut wanted = path;
    loop {
        let (Some(parent), Some(name)) = (wanted.parent(), wanted.file_name()) else {
            return Vec::new();
        };
        let folder = match parent == Path::new("") {
            true => Path::new("."),
            false => parent,
        };
        let Ok(entries) = std::fs::read_dir(folder) else {
            wanted = parent;
            continue;
        };
        let mut names: Vec<(String, PathBuf)> = entries
            .take(MAX_NAMES)
            .filter_map(Result::ok)
            .map(|entry| {
                let name = entry.file_name();
                (name.to_string_lossy().to_lowercase(), parent.join(name))
            })
            .collect();
        names.sort();
        let lower: Vec<&str> = names.iter().map(|(lower, _)| lower.as_str()).collect();
        let name = name.to_string_lossy().to_lowercase();
        let close = similar::get_close_matches(name.as_str(), &lower, limit, ALIKE);
        let found = close.iter().filter_map(|close| {
            let (_, path) = names.iter().find(|(lower, _)| lower == close)?;
            Some(path.clone())
        });
        return found.collect();
    }
}

impl Selection {
    /// What walks `root`; globs apart.
    pub(crate) fn builder(&self, root: &Path) -> Result<WalkBuilder, WalkError> {
        if let Err(error) = std::fs::metadata(root) {
            return Err(match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                    WalkError::NotFound(root.to_owned())
                }
                _ => WalkError::Root(root.to_owned(), error),
            });
        }
        let mut builder = WalkBuilder::new(root);
        builder
            .standard_filters(!self.ignored)
            .hidden(!self.hidden)
            .max_depth(self.depth)
            // A tree need not be a repository, and what a user ignores everywhere is not the tree's.
            .require_git(false)
            .git_global(false);
        if !self.ignored {
            builder.filter_entry(|entry| {
                let name = entry.file_name();
                entry.depth() == 0 || !VERSION_CONTROL.iter().any(|own| name == *own)
            });
        }
        Ok(builder)
    }
}

/// Patterns, ready to be matched.
pub(crate) struct Globs {
    wanted: Option<GlobSet>,
    unwanted: GlobSet,
}

impl Globs {
    pub(crate) fn new(patterns: &[String]) -> Result<Self, WalkError> {
        let (unwanted, wanted): (Vec<&str>, Vec<&str>) = patterns
            .iter()
            .map(String::as_str)
            .partition(|pattern| pattern.starts_with('!'));
        let unwanted: Vec<&str> = unwanted.iter().map(|pattern| &pattern[1..]).collect();
        Ok(Self {
            wanted: match wanted.is_empty() {
                true => None,
                false => Some(set(&wanted)?),
            },
            unwanted: set(&unwanted)?,
        })
    }

    /// Whether an entry below `root` is meant.
    pub(crate) fn matches(&self, root: &Path, path: &Path) -> bool {
        let below = path.strip_prefix(root).unwrap_or(path);
        let below = match below == Path::new("") {
            // The root itself is a file.
            true => Path::new(path.file_name().unwrap_or_default()),
            false => below,
        };
        let wanted = self.wanted.as_ref();
        wanted.is_none_or(|set| set.is_match(below)) && !self.unwanted.is_match(below)
    }
}

fn set(patterns: &[&str]) -> Result<GlobSet, WalkError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let wrong = |source| WalkError::Glob {
            glob: (*pattern).to_owned(),
            source,
        };
        let from_root = pattern.strip_prefix("./").unwrap_or(pattern);
        let mut full = match from_root.trim_end_matches('/').contains('/') {
            true => from_root.trim_start_matches('/').to_owned(),
            false => format!("**/{from_root}"),
        };
        if full.ends_with('/') {
            full.push_str("**");
        }
        let glob = GlobBuilder::new(&full)
            .literal_separator(true)
            .build()
            .map_err(wrong)?;
        set.add(glob);
    }
    set.build().map_err(|source| WalkError::Glob {
        glob: patterns.join(" "),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        folder
    }

    fn paths(root: &Path, selection: &Selection, limit: usize) -> (String, usize) {
        let kind = Some(EntryKind::File);
        let walked = walk(
            root,
            selection,
            kind,
            Bounds::first(limit),
            &Stop::default(),
        )
        .unwrap();
        let below = |entry: &Entry| entry.path.strip_prefix(root).unwrap().display().to_string();
        let paths: Vec<_> = walked.entries.iter().map(below).collect();
        (paths.join(" "), walked.total)
    }

    fn matching(root: &Path, globs: &[&str]) -> String {
        let selection = Selection {
            globs: globs.iter().map(ToString::to_string).collect(),
            ..Selection::default()
        };
        paths(root, &selection, 100).0
    }

    #[test]
    fn a_tree_is_walked_in_order_without_what_is_ignored_or_hidden() {
        let folder = tree(&[
            "b",
            "a/z",
            "a/y",
            ".hidden",
            "target/x",
            "c.log",
            ".git/config",
        ]);
        std::fs::write(folder.path().join(".gitignore"), "target/\n*.log\n").unwrap();
        let mut selection = Selection::default();
        assert_eq!(
            paths(folder.path(), &selection, 100),
            ("a/y a/z b".to_owned(), 3)
        );
        assert_eq!(
            paths(folder.path(), &selection, 2),
            ("a/y a/z".to_owned(), 3)
        );
        selection.hidden = true;
        let hidden = ".gitignore .hidden a/y a/z b".to_owned();
        assert_eq!(paths(folder.path(), &selection, 100), (hidden, 5));
        selection.ignored = true;
        selection.depth = Some(1);
        let all = ".gitignore .hidden b c.log".to_owned();
        assert_eq!(paths(folder.path(), &selection, 100), (all, 4));
    }

    #[test]
    fn a_pattern_is_for_names_unless_it_has_a_slash() {
        let folder = tree(&["a.rs", "b.txt", "src/c.rs", "src/deep/d.rs"]);
        let root = folder.path();
        assert_eq!(matching(root, &["*.rs"]), "a.rs src/c.rs src/deep/d.rs");
        assert_eq!(matching(root, &["src/*.rs"]), "src/c.rs");
        assert_eq!(matching(root, &["./src/**/*.rs"]), "src/c.rs src/deep/d.rs");
        assert_eq!(matching(root, &["src/"]), "src/c.rs src/deep/d.rs");
        assert_eq!(matching(root, &["/b.{txt,md}"]), "b.txt");
        assert_eq!(matching(root, &["*.rs", "!deep/"]), "a.rs src/c.rs");
        assert_eq!(matching(root, &["!*.rs"]), "b.txt");
        let broken = ["[".to_owned()];
        assert!(Globs::new(&broken).is_err_and(|error| error.code() == "pattern"));
    }

    #[test]
    fn what_is_not_there_has_names_that_are() {
        let folder = tree(&["README.md", "src/main.rs", "src/mail.rs"]);
        let near = |path: &str| -> Vec<String> {
            nearest(&folder.path().join(path), 3)
                .iter()
                .map(|path| {
                    path.strip_prefix(folder.path())
                        .unwrap()
                        .display()
                        .to_string()
                })
                .collect()
        };
        assert_eq!(near("readme.md"), ["README.md"]);
        assert_eq!(near("src/mian.rs"), ["src/main.rs", "src/mail.rs"]);
        assert_eq!(near("scr/main.rs"), ["src"]);
        assert_eq!(near("nothing/like/it"), [""; 0]);
    }
}
