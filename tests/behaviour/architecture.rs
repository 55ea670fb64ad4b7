//! `docs/architecture.md` keeps up with the code.

use std::collections::BTreeSet;

use crate::repository::{folders, root, text};

#[test]
fn every_crate_and_rock_has_its_section_and_no_section_has_gone_stale() {
    let described: Vec<String> = text("docs/architecture.md")
        .lines()
        .filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'))
        .map(str::to_owned)
        .collect();
    let there: BTreeSet<String> = ["crates", "rocks"]
        .iter()
        .flat_map(|parent| {
            folders(parent)
                .into_iter()
                .map(move |name| format!("{parent}/{name}"))
        })
        .collect();
    let sections: BTreeSet<String> = described.iter().cloned().collect();
    assert_eq!(sections, there, "sections of docs/architecture.md, folders");
    assert_eq!(described.len(), sections.len(), "a section is there twice");
}

#[test]
fn every_section_says_what_its_crate_does_not_know() {
    let page = text("docs/architecture.md");
    let silent: Vec<&str> = page
        .split("\n### `")
        .skip(1)
        // The last section of a chapter ends where the next chapter begins.
        .map(|section| section.split("\n## ").next().unwrap_or(section))
        .filter(|section| !section.contains("\nIt does not know "))
        .filter_map(|section| section.lines().next())
        .collect();
    assert_eq!(silent, [""; 0]);
}

#[test]
fn every_file_that_it_sends_the_reader_to_exists() {
    let page = text("docs/architecture.md");
    let start = page
        .split("\n## ")
        .find(|chapter| chapter.starts_with("Where to start"))
        .expect("the page has a chapter on where to start");
    let missing: Vec<&str> = start
        .split('`')
        .filter(|quoted| quoted.starts_with("crates/") || quoted.starts_with("tests/"))
        .filter(|path| !root().join(path).exists())
        .collect();
    assert_eq!(missing, [""; 0]);
}
