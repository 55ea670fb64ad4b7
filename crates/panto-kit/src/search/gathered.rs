//! What the threads of a search have found together, within its bounds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::lines::Lines;
use super::{FileMatches, Found, Line, Query};
use crate::walk::Unreadable;

/// What all threads have found.
pub(super) struct Gathered {
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
    pub(super) fn new(query: &Query) -> Self {
        Self {
            max_matches: query.max_matches,
            max_bytes: query.max_bytes,
            state: Mutex::default(),
        }
    }

    /// Whether there is enough in files that come before this one.
    pub(super) fn is_beyond(&self, path: &Path) -> bool {
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

    pub(super) fn add(&self, path: PathBuf, lines: Lines<'_>) {
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

    pub(super) fn binary(&self) {
        self.state.lock().binary += 1;
    }

    pub(super) fn unreadable(&self, what: String) {
        self.state.lock().unreadable.add(what);
    }

    /// What is within the bounds, in order.
    pub(super) fn found(self) -> Found {
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
