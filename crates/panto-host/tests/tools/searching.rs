//! `grep`, `find` and `ls`.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::{all, machine};

#[tokio::test]
async fn grep_shows_lines_by_file() {
    let mut machine = machine(&[
        ("b.txt", b"1\nneedle one\n3\n4\n5\n6\nNeedle\n"),
        ("src/a.rs", b"let needle = (1);\r\n"),
        (".github/ci.yml", b"needle\n"),
        (".gitignore", b"target\n"),
        ("target/out", b"needle\n"),
        (".git/config", b"needle\n"),
        ("data", b"needle\0"),
        ("odd\nname", b"needle\n"),
    ]);
    let inputs = [
        json!({ "pattern": "needle" }),
        json!({ "pattern": "needle", "path": "b.txt", "ignore_case": true, "context": 1 }),
        json!({ "pattern": "= (1)", "literal": true, "path": "", "glob": "*.rs" }),
        json!({ "pattern": "needle", "limit": 2 }),
        json!({ "pattern": "needle", "path": "target" }),
        json!({ "pattern": "needle", "path": "data" }),
        json!({ "pattern": "none of this" }),
        json!({ "pattern": "(" }),
        json!({ "pattern": "" }),
        json!({ "pattern": "x", "path": "scr" }),
        json!({ "pattern": "x", "glob": "[" }),
    ];
    insta::assert_snapshot!(all(&mut machine, "grep", inputs).await, @r#"
    == {"pattern":"needle"}
    .github/ci.yml
    1:needle

    b.txt
    2:needle one

    "odd\nname"
    1:needle

    src/a.rs
    1:let needle = (1);
    == {"pattern":"needle","path":"b.txt","ignore_case":true,"context":1}
    b.txt
    1-1
    2:needle one
    3-3
    --
    6-6
    7:Needle
    == {"pattern":"= (1)","literal":true,"path":"","glob":"*.rs"}
    src/a.rs
    1:let needle = (1);
    == {"pattern":"needle","limit":2}
    .github/ci.yml
    1:needle

    b.txt
    2:needle one

    [2 matches shown, there are more; narrow the search, or raise `limit`]
    == {"pattern":"needle","path":"target"}
    target/out
    1:needle
    == {"pattern":"needle","path":"data"}
    No matches. 1 binary file was not looked at.
    == {"pattern":"none of this"}
    No matches. 1 binary file was not looked at.
    == {"pattern":"("}
    error: the pattern is not a regular expression: regex parse error:
        (?:()
        ^
    error: unclosed group
    == {"pattern":""}
    error: `pattern` is empty
    == {"pattern":"x","path":"scr"}
    error: `scr` does not exist; there is `src`
    == {"pattern":"x","glob":"["}
    error: `[` is not a pattern for paths: error parsing glob '**/[': unclosed character class; missing ']'
    "#);
}

#[tokio::test]
async fn find_and_ls_show_paths_in_order() {
    let mut machine = machine(&[
        ("b.rs", b""),
        ("a/deep/c.rs", b""),
        ("a/d.txt", b""),
        (".hidden", b""),
        (".gitignore", b"target\n"),
        ("target/x.rs", b""),
        (".git/config", b""),
        ("odd\nname", b""),
    ]);
    std::fs::create_dir(machine.path("nothing")).unwrap();
    symlink("b.rs", machine.path("link")).unwrap();
    let inputs = [
        json!({ "pattern": "*.rs" }),
        json!({ "pattern": "a/**" }),
        json!({ "pattern": "*", "limit": 2 }),
        json!({ "pattern": "*.rs", "path": "a" }),
        json!({ "pattern": "*.cobol" }),
        json!({ "pattern": "*", "path": "b.rs" }),
        json!({ "pattern": "*", "path": "no" }),
    ];
    let found = all(&mut machine, "find", inputs).await;
    insta::assert_snapshot!(found, @r#"
    == {"pattern":"*.rs"}
    a/deep/c.rs
    b.rs
    == {"pattern":"a/**"}
    a/d.txt
    a/deep/
    a/deep/c.rs
    == {"pattern":"*","limit":2}
    .gitignore
    .hidden
    [2 of 10 shown; narrow `pattern` or `path`, or raise `limit`]
    == {"pattern":"*.rs","path":"a"}
    a/deep/c.rs
    == {"pattern":"*.cobol"}
    Nothing found.
    == {"pattern":"*","path":"b.rs"}
    error: could not look into `b.rs`: Not a directory (os error 20)
    == {"pattern":"*","path":"no"}
    error: `no` does not exist
    "#);
    let inputs = [
        json!({}),
        json!({ "path": "a" }),
        json!({ "path": "a/../a/" }),
        json!({ "limit": 2 }),
        json!({ "path": "nothing" }),
        json!({ "path": "b.rs" }),
        json!({ "path": "target/y" }),
    ];
    insta::assert_snapshot!(all(&mut machine, "ls", inputs).await, @r#"
    == {}
    .git/
    .gitignore
    .hidden
    a/
    b.rs
    link@
    nothing/
    "odd\nname"
    target/
    == {"path":"a"}
    d.txt
    deep/
    == {"path":"a/../a/"}
    d.txt
    deep/
    == {"limit":2}
    .git/
    .gitignore
    [2 of 9 shown; raise `limit`, or use `find`]
    == {"path":"nothing"}
    The directory is empty.
    == {"path":"b.rs"}
    error: could not look into `b.rs`: Not a directory (os error 20)
    == {"path":"target/y"}
    error: `target/y` does not exist
    "#);
}
