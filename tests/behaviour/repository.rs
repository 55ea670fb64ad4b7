//! The repository's own files, for the checks that read them.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may unwrap as tests do"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The repository's top folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of the file at `path`, from the top folder.
pub(crate) fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names of the folders in `path`; none if it is not there.
pub(crate) fn folders(path: &str) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(root().join(path)) else {
        return BTreeSet::new();
    };
    entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

/// Every text file under `path`, as its path from the top folder and its text, by name.
///
/// Leaves out what builds and version control keep there, and files that are not UTF-8.
pub(crate) fn texts_under(path: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect(&root().join(path), path, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, shown: &str, found: &mut Vec<(String, String)>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{shown}: {error}"));
    for entry in entries {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if matches!(name.as_str(), "target" | ".git") {
            continue;
        }
        let shown = if shown == "." {
            name
        } else {
            format!("{shown}/{name}")
        };
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect(&entry.path(), &shown, found);
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            found.push((shown, text));
        }
    }
}

/// The lines of all `texts` for which `is_wrong` holds, as `file:line: text`.
pub(crate) fn lines_where(
    texts: &[(String, String)],
    is_wrong: impl Fn(&str) -> bool,
) -> Vec<String> {
    texts
        .iter()
        .flat_map(|(path, text)| {
            text.lines()
                .enumerate()
                .filter(|(_, line)| is_wrong(line))
                .map(move |(number, line)| format!("{path}:{}: {}", number + 1, line.trim()))
        })
        .collect()
}
