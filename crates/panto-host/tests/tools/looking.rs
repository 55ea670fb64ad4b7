//! `read`, `grep`, `find` and `ls`.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Machine, machine};

/// What each call shows, one below the other.
async fn all(machine: &mut Machine, tool: &str, inputs: impl IntoIterator<Item = Value>) -> String {
    let mut shown = Vec::new();
    for input in inputs {
        let answer = machine.shown(tool, input.clone()).await;
        shown.push(format!("== {input}\n{answer}"));
    }
    shown.join("\n")
}

#[tokio::test]
async fn read_shows_every_kind_of_text() {
    let mut machine = machine(&[
        ("plain", b"one\ntwo\n"),
        ("unfinished", b"one\ntwo"),
        ("crlf", b"one\r\ntwo\r\n"),
        ("mixed", b"one\r\ntwo\n"),
        ("bom", b"\xEF\xBB\xBFone\n"),
        ("wide", b"\xFF\xFEo\0n\0e\0\r\0\n\0"),
        ("latin", b"caf\xE9\n"),
        ("flawed", b"\xC3\xA9 \xE9\n"),
        ("empty", b""),
        ("a\nb", b"odd name\n"),
    ]);
    symlink("plain", machine.path("link")).unwrap();
    let names = [
        "plain",
        "unfinished",
        "crlf",
        "mixed",
        "bom",
        "wide",
        "latin",
        "flawed",
        "empty",
        "a\nb",
        "link",
        "./plain",
    ];
    let inputs = names.map(|name| json!({ "path": name }));
    insta::assert_snapshot!(all(&mut machine, "read", inputs).await, @r#"
    == {"path":"plain"}
         1→one
         2→two
    == {"path":"unfinished"}
         1→one
         2→two
    == {"path":"crlf"}
         1→one
         2→two
    [lines end with CRLF]
    == {"path":"mixed"}
         1→one
         2→two
    [some lines end with CRLF, others with LF]
    == {"path":"bom"}
         1→one
    [encoding utf-8-bom]
    == {"path":"wide"}
         1→one
    [encoding utf-16le; lines end with CRLF]
    == {"path":"latin"}
         1→café
    [encoding latin-1]
    == {"path":"flawed"}
         1→é �
    [bytes that are not UTF-8 are shown as �]
    == {"path":"empty"}
    [the file is empty]
    == {"path":"a\nb"}
         1→odd name
    == {"path":"link"}
         1→one
         2→two
    == {"path":"./plain"}
         1→one
         2→two
    "#);
}

#[tokio::test]
async fn read_says_why_it_shows_nothing() {
    let mut machine = machine(&[
        ("src/main.rs", b"x"),
        ("data.bin", b"\x7FELF\0\x01"),
        ("README.md", b"x"),
    ]);
    make_fifo(&machine, "pipe");
    symlink("circle", machine.path("circle")).unwrap();
    symlink("nowhere", machine.path("dangling")).unwrap();
    let names = [
        "src",
        "data.bin",
        "pipe",
        "/dev/zero",
        "src/mian.rs",
        "readme.md",
        "lib/main.rs",
        "circle",
        "dangling",
        "src/main.rs/below",
        "",
    ];
    let inputs = names
        .map(|name| json!({ "path": name }))
        .into_iter()
        .chain([
            json!({ "path": "README.md", "offset": 7 }),
            json!({ "path": "README.md", "offset": "one" }),
            json!({ "path": "README.md", "offset": null, "limit": "1" }),
        ]);
    insta::assert_snapshot!(all(&mut machine, "read", inputs).await, @r#"
    == {"path":"src"}
    error: `src` is a directory; `ls` shows what is in it
    == {"path":"data.bin"}
    error: `data.bin` is binary (6 bytes); look at it with `shell`, such as `file` or `xxd`
    == {"path":"pipe"}
    error: `pipe` is a named pipe, not a file
    == {"path":"/dev/zero"}
    error: `/dev/zero` is a device, not a file
    == {"path":"src/mian.rs"}
    error: `src/mian.rs` does not exist; there is `src/main.rs`
    == {"path":"readme.md"}
    error: `readme.md` does not exist; there is `README.md`
    == {"path":"lib/main.rs"}
    error: `lib/main.rs` does not exist; there is `src/main.rs`
    == {"path":"circle"}
    error: could not read `circle`: Too many levels of symbolic links (os error 40)
    == {"path":"dangling"}
    error: `dangling` is a link to something that does not exist
    == {"path":"src/main.rs/below"}
    error: `src/main.rs/below` does not exist; there is `src/main.rs`
    == {"path":""}
    error: `path` must be a path
    == {"path":"README.md","offset":7}
    error: `offset` is 7, but `README.md` has only 1 line
    == {"path":"README.md","offset":"one"}
    error: `offset` must be an integer
    == {"path":"README.md","offset":null,"limit":"1"}
         1→x
    "#);
}

/// A regular file that nobody can read, not even its owner.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_the_system_does_not_let_read_is_said() {
    let mut machine = machine(&[]);
    let shown = machine
        .shown("read", json!({ "path": "/proc/self/mem" }))
        .await;
    assert_eq!(
        shown,
        "error: could not read `/proc/self/mem`: Input/output error (os error 5)"
    );
}

fn make_fifo(machine: &Machine, name: &str) {
    let made = std::process::Command::new("mkfifo")
        .arg(machine.path(name))
        .status();
    assert!(made.unwrap().success());
}

#[tokio::test]
async fn read_is_bounded_and_says_how_to_go_on() {
    let lines: String = (1..=5000).map(|line| format!("line {line}\n")).collect();
    let wide = format!("{}\n", "x".repeat(1000)).repeat(100);
    let huge = "y".repeat(1024 * 1024);
    let mut machine = machine(&[
        ("lines", lines.as_bytes()),
        ("wide", wide.as_bytes()),
        ("huge", huge.as_bytes()),
    ]);
    let answer = machine.call("read", json!({ "path": "lines" })).await;
    let ends: Vec<_> = answer.text.lines().rev().take(2).collect();
    assert_eq!(
        ends,
        [
            "[lines 1-2000 of 5,000; use offset=2001 to go on]",
            "  2000→line 2000"
        ]
    );
    assert_eq!(
        answer.details,
        json!({ "path": "lines", "first": 1, "last": 2000, "total": 5000 })
    );
    let input = json!({ "path": "lines", "offset": 4999, "limit": 10 });
    assert_eq!(
        machine.shown("read", input).await,
        "  4999→line 4999\n  5000→line 5000"
    );
    let wide = machine.call("read", json!({ "path": "wide" })).await.text;
    assert!(
        wide.ends_with("[lines 1-51 of 100; use offset=52 to go on]"),
        "{wide}"
    );
    let huge = machine.call("read", json!({ "path": "huge" })).await.text;
    assert!(huge.ends_with("yy … [cut; the line has 1,048,576 bytes]"));
    assert!(huge.len() < 2100);
}

#[tokio::test]
async fn read_attaches_what_a_model_sees_as_it_is() {
    let mut machine = machine(&[("a.txt", b"\x89PNG\r\n\x1a\n...."), ("b", b"%PDF-1.7\n")]);
    let answer = machine.call("read", json!({ "path": "a.txt" })).await;
    assert_eq!(answer.text, "`a.txt`: image/png, 12 bytes");
    assert_eq!(answer.attachments, [("image/png".to_owned(), 12)]);
    let answer = machine.call("read", json!({ "path": "b" })).await;
    assert_eq!(answer.attachments, [("application/pdf".to_owned(), 9)]);
}

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
