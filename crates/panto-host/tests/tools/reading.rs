//! `read`.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::{Machine, all, machine};

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

// Elsewhere there is none such that every machine has.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_that_would_wait_is_not_waited_for() {
    let mut machine = machine(&[]);
    for (tool, input) in [
        ("read", json!({ "path": "/proc/kmsg" })),
        (
            "grep",
            json!({ "path": "/proc/kmsg", "pattern": "no such text" }),
        ),
    ] {
        let call = machine.call(tool, input);
        let answer = tokio::time::timeout(std::time::Duration::from_secs(20), call).await;
        assert!(answer.is_ok(), "{tool}");
    }
}
