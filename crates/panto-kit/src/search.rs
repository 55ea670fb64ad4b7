//! Lines of a tree's files that match a pattern, by ripgrep's engine.

mod gathered;
mod lines;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::types::TypesBuilder;
use ignore::{DirEntry, WalkState};

use gathered::Gathered;
use lines::Lines;

use crate::read::{ReadError, regular};
use crate::stop::Stop;
use crate::walk::{Globs, Selection, Unreadable, WalkError};

/// What is looked for, and how much of it is wanted.
#[derive(Debug, Clone)]
pub struct Query {
    /// A regular expression for single lines, or a text.
    pub pattern: String,
    /// Whether the pattern is a text.
    pub literal: bool,
    /// Whether case does not matter.
    pub ignore_case: bool,
    /// Which files of a tree.
    pub selection: Selection,
    /// Kinds of files by ripgrep's names, such as `rust`.
    pub types: Vec<String>,
    /// How many lines are given before each match.
    pub before: usize,
    /// How many lines are given behind each match.
    pub after: usize,
    /// How many matches there may be.
    pub max_matches: usize,
    /// How many bytes the lines may have together.
    pub max_bytes: usize,
    /// How many bytes of a line are given.
    pub max_line_bytes: usize,
}

impl Query {
    /// Looks for a regular expression everywhere, for the first thousand matches.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            literal: false,
            ignore_case: false,
            selection: Selection::default(),
            types: Vec::new(),
            before: 0,
            after: 0,
            max_matches: 1000,
            max_bytes: 1024 * 1024,
            max_line_bytes: 500,
        }
    }
}

/// Why nothing was looked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The pattern is no regular expression.
    #[error("the pattern is not a regular expression")]
    Pattern(#[source] grep_regex::Error),
    /// There is no such kind of files.
    #[error("there is no file type `{0}`")]
    Type(String),
    /// What is to be searched is neither directory nor file.
    #[error(transparent)]
    Root(ReadError),
    /// The tree cannot be walked.
    #[error(transparent)]
    Walk(#[from] WalkError),
}

impl SearchError {
    /// A name that tells it from the others.
    pub fn code(&self) -> &'static str {
        match self {
            SearchError::Pattern(_) => "pattern",
            SearchError::Type(_) => "type",
            SearchError::Root(error) => error.code(),
            SearchError::Walk(error) => error.code(),
        }
    }
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Files with matches, in the order of their paths.
    pub files: Vec<FileMatches>,
    /// How many matches they have together.
    pub matches: usize,
    /// Whether there may be more.
    pub is_cut: bool,
    /// How many files were left out for being data.
    pub binary: usize,
    /// What could not be read.
    pub unreadable: Unreadable,
}

/// What one file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// The root, and the way down from it.
    pub path: PathBuf,
    /// Matches and what stands around them, in order.
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Counted from 1.
    pub number: u64,
    /// Without what ends it; flaws in its UTF-8 are replaced.
    pub text: String,
    /// Whether it only stands around a match.
    pub is_context: bool,
    /// Whether a part of it was left out.
    pub is_cut: bool,
}

/// Looks for a pattern in a file, or in the files of a tree.
///
/// What is found is the same every time: of more matches than are wanted, those that come first in
/// the order of paths and lines.
///
/// # Errors
///
/// [`SearchError`]. What cannot be read further down is left out and counted.
pub fn search(root: &Path, query: &Query, stop: &Stop) -> Result<Found, SearchError> {
    let matcher = matcher(query)?;
    let globs = Globs::new(&query.selection.globs)?;
    let mut builder = query.selection.builder(root)?;
    if !query.types.is_empty() {
        let mut types = TypesBuilder::new();
        types.add_defaults();
        for name in &query.types {
            types.select(name);
        }
        let types = types.build().map_err(|error| match error {
            ignore::Error::UnrecognizedFileType(name) => SearchError::Type(name),
            other => SearchError::Type(other.to_string()),
        })?;
        builder.types(types);
    }
    let metadata = std::fs::metadata(root);
    if let Ok(metadata) = metadata
        && !metadata.is_dir()
    {
        regular(root, &metadata).map_err(SearchError::Root)?;
    }
    let found = Gathered::new(query);
    let (gathered, globs) = (&found, &globs);
    builder.build_parallel().run(|| {
        let mut worker = Worker {
            searcher: searcher(query),
            matcher: matcher.clone(),
            gathered,
            query,
            stop,
        };
        Box::new(move |entry| {
            if stop.is_asked() {
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) if is_wanted(root, &entry, globs) => worker.search(entry.into_path()),
                Ok(_) => {}
                Err(error) => gathered.unreadable(error.to_string()),
            }
            WalkState::Continue
        })
    });
    Ok(found.found())
}

fn matcher(query: &Query) -> Result<RegexMatcher, SearchError> {
    RegexMatcherBuilder::new()
        .case_insensitive(query.ignore_case)
        .fixed_strings(query.literal)
        .multi_line(true)
        // A match within one line lets the engine run through a file without looking for lines.
        .line_terminator(Some(b'\n'))
        .build(&query.pattern)
        .map_err(SearchError::Pattern)
}

fn searcher(query: &Query) -> Searcher {
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .before_context(query.before)
        .after_context(query.after)
        .build()
}

/// A root that is a link to a file is one, too.
fn is_wanted(root: &Path, entry: &DirEntry, globs: &Globs) -> bool {
    let kind = entry.file_type();
    let is_file = kind.is_some_and(|kind| kind.is_file() || entry.depth() == 0 && !kind.is_dir());
    is_file && globs.matches(root, entry.path())
}

/// What one thread searches with.
struct Worker<'a> {
    searcher: Searcher,
    matcher: RegexMatcher,
    gathered: &'a Gathered,
    query: &'a Query,
    stop: &'a Stop,
}

impl Worker<'_> {
    fn search(&mut self, path: PathBuf) {
        if self.gathered.is_beyond(&path) {
            return;
        }
        let mut lines = Lines {
            matcher: &self.matcher,
            query: self.query,
            lines: Vec::new(),
            matches: 0,
            bytes: 0,
            is_cut: false,
            is_binary: false,
        };
        let searched = crate::read::open(&path).and_then(|file| {
            let file = self.stop.reader(file);
            self.searcher.search_reader(&self.matcher, file, &mut lines)
        });
        match searched {
            Ok(()) if lines.is_binary => self.gathered.binary(),
            Ok(()) if lines.lines.is_empty() => {}
            Ok(()) => self.gathered.add(path, lines),
            Err(_) if self.stop.is_asked() => {}
            Err(error) => self
                .gathered
                .unreadable(format!("{}: {error}", path.display())),
        }
    }
}
