//! Lines of a tree's files that match a pattern, by ripgrep's engine.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use ignore::types::TypesBuilder;
use ignore::{DirEntry, WalkState};
use parking_lot::Mutex;

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
        let searched = File::open(&path).and_then(|file| {
            let file = self.stop.reader(file);
            self.searcher.search_reader(&self.matcher, file, &mut lines)
        });
        match searched {
            Ok(()) if lines.is_binary => self.gathered.state.lock().binary += 1,
            Ok(()) if lines.lines.is_empty() => {}
            Ok(()) => self.gathered.add(path, lines),
            Err(_) if self.stop.is_asked() => {}
            Err(error) => self
                .gathered
                .unreadable(format!("{}: {error}", path.display())),
        }
    }
}

/// What all threads have found.
struct Gathered {
    max_matches: usize,
    max_bytes: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<PathBuf, Kept>,
    matches: usize,
    bytes: usize,
    is_cut: bool,
    binary: usize,
    unreadable: Unreadable,
}

struct Kept {
    lines: Vec<Line>,
    matches: usize,
    bytes: usize,
}

impl Gathered {
    fn new(query: &Query) -> Self {
        Self {
            max_matches: query.max_matches,
            max_bytes: query.max_bytes,
            state: Mutex::default(),
        }
    }

    /// Whether there is enough in files that come before this one.
    fn is_beyond(&self, path: &Path) -> bool {
        let mut state = self.state.lock();
        let is_full = state.matches >= self.max_matches || state.bytes >= self.max_bytes;
        let is_beyond = is_full
            && state
                .files
                .last_key_value()
                .is_some_and(|(last, _)| path > last);
        state.is_cut |= is_beyond;
        is_beyond
    }

    fn add(&self, path: PathBuf, lines: Lines<'_>) {
        let mut state = self.state.lock();
        state.matches += lines.matches;
        state.bytes += lines.bytes;
        state.is_cut |= lines.is_cut;
        let kept = Kept {
            lines: lines.lines,
            matches: lines.matches,
            bytes: lines.bytes,
        };
        state.files.insert(path, kept);
        // The last go for as long as there is enough without them.
        while let Some(last) = state.files.last_entry() {
            let (matches, bytes) = (last.get().matches, last.get().bytes);
            let enough = state.matches - matches >= self.max_matches
                || state.bytes - bytes >= self.max_bytes;
            if !enough {
                break;
            }
            state.files.pop_last();
            state.matches -= matches;
            state.bytes -= bytes;
            state.is_cut = true;
        }
    }

    fn unreadable(&self, what: String) {
        self.state.lock().unreadable.add(what);
    }

    /// What is within the bounds, in order.
    fn found(self) -> Found {
        let state = self.state.into_inner();
        let mut found = Found {
            is_cut: state.is_cut,
            binary: state.binary,
            unreadable: state.unreadable,
            ..Found::default()
        };
        let mut bytes = 0;
        for (path, kept) in state.files {
            let mut lines = Vec::with_capacity(kept.lines.len());
            for line in kept.lines {
                let is_over = !line.is_context && found.matches >= self.max_matches;
                if is_over || bytes >= self.max_bytes {
                    found.is_cut = true;
                    break;
                }
                bytes += line.text.len();
                found.matches += usize::from(!line.is_context);
                lines.push(line);
            }
            if !lines.is_empty() {
                found.files.push(FileMatches { path, lines });
            }
        }
        found
    }
}

/// The lines of one file.
struct Lines<'a> {
    matcher: &'a RegexMatcher,
    query: &'a Query,
    lines: Vec<Line>,
    matches: usize,
    bytes: usize,
    is_cut: bool,
    is_binary: bool,
}

impl Lines<'_> {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_context: bool) {
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (text, is_cut) = self.shown(line, is_context);
        self.bytes += text.len();
        self.lines.push(Line {
            number: number.unwrap_or(0),
            text,
            is_context,
            is_cut,
        });
    }

    /// A line, or the part of a long one in which the match is.
    fn shown(&self, line: &[u8], is_context: bool) -> (String, bool) {
        let max = self.query.max_line_bytes;
        if line.len() <= max {
            return (String::from_utf8_lossy(line).into_owned(), false);
        }
        let at = match is_context {
            true => 0,
            false => match self.matcher.find(line) {
                Ok(Some(found)) => found.start(),
                _ => 0,
            },
        };
        let start = at.saturating_sub(max / 4).min(line.len() - max);
        let part = &line[start..start + max];
        // Bytes of a character that was cut in two go.
        let is_middle = |byte: &u8| (0x80..0xC0).contains(byte);
        let lead = part
            .iter()
            .take(3)
            .take_while(|byte| is_middle(byte))
            .count();
        let lead = if start == 0 { 0 } else { lead };
        let text = String::from_utf8_lossy(&part[lead..]);
        (text.trim_end_matches('\u{fffd}').to_owned(), true)
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        // One more is looked for, so that what stands behind the last is there.
        if self.matches >= self.query.max_matches || self.bytes >= self.query.max_bytes {
            self.is_cut = true;
            return Ok(false);
        }
        self.matches += 1;
        self.push(found.line_number(), found.bytes(), false);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        let is_enough = self.matches >= self.query.max_matches;
        if !(is_enough && *context.kind() == SinkContextKind::Before) {
            self.push(context.line_number(), context.bytes(), true);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (file, bytes) in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        folder
    }

    /// What is found, as ripgrep shows it.
    fn shown(root: &Path, query: &Query) -> String {
        let found = match search(root, query, &Stop::default()) {
            Ok(found) => found,
            Err(error) => return format!("{}: {}", error.code(), pantograph::with_causes(&error)),
        };
        let mut shown = String::new();
        for file in &found.files {
            let path = file.path.strip_prefix(root).unwrap().display();
            for line in &file.lines {
                let mark = if line.is_context { '-' } else { ':' };
                let cut = if line.is_cut { " (cut)" } else { "" };
                let (number, text) = (line.number, &line.text);
                shown.push_str(&format!("{path}{mark}{number}{mark}{text}{cut}\n"));
            }
        }
        let more = if found.is_cut { ", cut" } else { "" };
        shown + &format!("{} matches{more}, {} data", found.matches, found.binary)
    }

    #[test]
    fn matches_come_in_the_order_of_paths_and_lines() {
        let folder = tree(&[
            ("b.txt", b"two\none\r\nthree"),
            ("a/a.rs", b"one\n"),
            ("target/x", b"one\n"),
            (".gitignore", b"target\n"),
            ("data", b"one\n\0"),
            ("wide", b"\xFF\xFEo\0n\0e\0\n\0"),
            ("flawed", b"\xE9 one\n"),
        ]);
        symlink("b.txt", folder.path().join("link")).unwrap();
        insta::assert_snapshot!(shown(folder.path(), &Query::new("on[e]$")), @"
        a/a.rs:1:one
        flawed:1:� one
        wide:1:one
        3 matches, 1 data
        ");
        let literal = Query {
            literal: true,
            ..Query::new("on[e]")
        };
        insta::assert_snapshot!(shown(folder.path(), &literal), @"0 matches, 1 data");
        let one_type = Query {
            types: vec!["rust".to_owned()],
            ignore_case: true,
            ..Query::new("ONE")
        };
        insta::assert_snapshot!(shown(folder.path(), &one_type), @"
        a/a.rs:1:one
        1 matches, 0 data
        ");
        let file = folder.path().join("link");
        assert_eq!(
            search(&file, &Query::new("one"), &Stop::default())
                .unwrap()
                .matches,
            1
        );
    }

    #[test]
    fn bounds_leave_what_comes_first() {
        let lines = "x\n".repeat(100);
        let names = ["a", "b", "c", "d"];
        let files: Vec<_> = names.iter().map(|name| (*name, lines.as_bytes())).collect();
        let folder = tree(&files);
        let query = Query {
            max_matches: 102,
            ..Query::new("x")
        };
        for _ in 0..20 {
            let found = search(folder.path(), &query, &Stop::default()).unwrap();
            let counts: Vec<_> = found.files.iter().map(|file| file.lines.len()).collect();
            assert_eq!((counts, found.is_cut), (vec![100, 2], true));
        }
        let query = Query {
            max_bytes: 3,
            ..Query::new("x")
        };
        insta::assert_snapshot!(shown(folder.path(), &query), @"
        a:1:x
        a:2:x
        a:3:x
        3 matches, cut, 0 data
        ");
    }

    #[test]
    fn lines_around_the_last_match_are_there_and_none_of_the_next() {
        let folder = tree(&[("f", b"1\n2\nx3\n4\n5\n6\n7\nx8\n9\n")]);
        let query = Query {
            before: 1,
            after: 2,
            max_matches: 1,
            ..Query::new("x")
        };
        insta::assert_snapshot!(shown(folder.path(), &query), @"
        f-2-2
        f:3:x3
        f-4-4
        f-5-5
        1 matches, cut, 0 data
        ");
    }

    #[test]
    fn a_long_line_is_cut_to_where_the_match_is() {
        let line = format!("{}needle{}\n", "\u{e9}".repeat(500), "z".repeat(1_000_000));
        let folder = tree(&[("f", line.as_bytes())]);
        let query = Query {
            max_line_bytes: 20,
            ..Query::new("needle")
        };
        insta::assert_snapshot!(shown(folder.path(), &query), @"
        f:1:ééneedlezzzzzzzzz (cut)
        1 matches, 0 data
        ");
    }

    #[test]
    fn what_cannot_be_looked_for_is_said() {
        let folder = tree(&[("f", b"x")]);
        let mut said = Vec::new();
        let mut say = |query: Query, root: &Path| {
            let shown = shown(root, &query);
            said.push(shown.replace(&folder.path().display().to_string(), "ROOT"));
        };
        say(Query::new("(x"), folder.path());
        say(Query::new("x\\ny"), folder.path());
        let mut query = Query::new("x");
        query.types.push("cobolt".to_owned());
        say(query, folder.path());
        let mut query = Query::new("x");
        query.selection.globs.push("[".to_owned());
        say(query, folder.path());
        say(Query::new("x"), &folder.path().join("no"));
        say(Query::new("x"), Path::new("/dev/null"));
        insta::assert_snapshot!(said.join("\n"), @r#"
        pattern: the pattern is not a regular expression: regex parse error:
            (?:(x)
            ^
        error: unclosed group
        pattern: the pattern is not a regular expression: the literal "\n" is not allowed in a regex
        type: there is no file type `cobolt`
        pattern: `[` is not a pattern for paths: error parsing glob '**/[': unclosed character class; missing ']'
        not_found: `ROOT/no` does not exist
        not_a_file: `/dev/null` is a device, not a file
        "#);
    }

    #[test]
    fn nothing_more_is_read_once_it_is_to_stop() {
        let folder = tree(&[("f", b"x")]);
        let stop = Stop::default();
        stop.ask();
        let found = search(folder.path(), &Query::new("x"), &stop).unwrap();
        assert_eq!(found.matches, 0);
    }
}
