//! Searches of small trees.

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
