//! `write` and `edit`.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::support::{Answer, Machine, machine};

async fn edit(machine: &mut Machine, path: &str, edits: Value) -> Answer {
    let input = json!({ "path": path, "edits": edits });
    machine.call("edit", input).await
}

/// The one edit that makes `old` `new`.
fn one(old: &str, new: &str) -> Value {
    json!([{ "old_text": old, "new_text": new }])
}

/// Its name, what it holds, what is replaced by what, and what it holds then.
type Kept<'a> = (&'a str, &'a [u8], &'a str, &'a str, &'a [u8]);

#[tokio::test]
async fn an_edit_keeps_how_a_file_is_written() {
    let cases: &[Kept<'_>] = &[
        ("plain", b"a\nb\n", "b", "c", b"a\nc\n"),
        ("unfinished", b"a\nb", "b", "c", b"a\nc"),
        ("crlf", b"a\r\nb\r\n", "a\nb\n", "1\n2\n", b"1\r\n2\r\n"),
        (
            "crlf, said so",
            b"a\r\nb\r\n",
            "a\r\nb",
            "1\r\n2",
            b"1\r\n2\r\n",
        ),
        (
            "lf, said otherwise",
            b"a\nb\n",
            "a\r\nb",
            "1\r\n2",
            b"1\n2\n",
        ),
        ("mixed", b"a\r\nb\nc\r\n", "a\nb", "1\n2", b"1\r\n2\nc\r\n"),
        (
            "mixed, in its LF part",
            b"a\r\nb\nc\n",
            "b\nc",
            "1\n2",
            b"a\r\n1\n2\n",
        ),
        (
            "mixed, in its CRLF part",
            b"a\r\nb\r\nc\n",
            "a\nb",
            "1\n2",
            b"1\r\n2\r\nc\n",
        ),
        ("bom", b"\xEF\xBB\xBFa\n", "a", "b", b"\xEF\xBB\xBFb\n"),
        (
            "bom, said too",
            b"\xEF\xBB\xBFa\n",
            "a",
            "\u{FEFF}b",
            b"\xEF\xBB\xBFb\n",
        ),
        (
            "utf-16le",
            b"\xFF\xFEa\0\n\0",
            "a",
            "\u{20ac}",
            b"\xFF\xFE\xAC\x20\n\0",
        ),
        (
            "utf-16be",
            b"\xFE\xFF\0a\0\r\0\n",
            "a\n",
            "b\n",
            b"\xFE\xFF\0b\0\r\0\n",
        ),
        (
            "latin-1",
            b"caf\xE9\n",
            "caf\u{e9}",
            "th\u{e9}",
            b"th\xE9\n",
        ),
        (
            "flawed",
            b"\xC3\xA9 \xFF a\n",
            "a",
            "\u{e9}",
            b"\xC3\xA9 \xFF \xC3\xA9\n",
        ),
        ("a\nb", b"a", "a", "b", b"b"),
    ];
    for (name, before, old, new, after) in cases {
        let mut machine = machine(&[(name, before)]);
        let answer = edit(&mut machine, name, one(old, new)).await;
        assert_eq!(answer.status, "ok", "{name}: {}", answer.text);
        assert_eq!(machine.bytes(name), *after, "{name}");
    }
}

#[tokio::test]
async fn an_edit_tells_what_it_changed() {
    let mut machine = machine(&[("src/f", b"one\ntwo\nthree\ntwo\n")]);
    let edits = json!([
        { "old_text": "one", "new_text": "1" },
        { "old_text": "two", "new_text": "2", "all": true },
        { "old_text": "1\n2", "new_text": "12", "all": null },
    ]);
    let answer = edit(&mut machine, "src/f", edits).await;
    assert_eq!(answer.text, "Changed `src/f` in 4 places.");
    assert_eq!(machine.bytes("src/f"), b"12\nthree\n2\n");
    let diff = answer.details["diff"].as_str().unwrap();
    insta::assert_snapshot!(diff, @"
    --- a/src/f
    +++ b/src/f
    @@ -1,4 +1,3 @@
    -one
    -two
    +12
     three
    -two
    +2
    ");
    let mut rest = answer.details.clone();
    rest.as_object_mut().unwrap().remove("diff");
    assert_eq!(
        rest,
        json!({ "changed": ["src/f"], "added": 2, "removed": 3 })
    );
}

#[tokio::test]
async fn an_edit_that_does_not_fit_changes_nothing_and_says_why() {
    let text = b"fn one() {\n    call(1);\n}\n\nfn two() {\n\tcall(2);\n}\nsame\nsame\n";
    let mut machine = machine(&[("f", text), ("data", b"a\0b"), ("latin", b"\xE9")]);
    std::fs::create_dir(machine.path("dir")).unwrap();
    let cases = [
        one("no such thing", "x"),
        one("fn one() {\n  call(1);", "x"),
        one("fn two() {\n  called(2);", "x"),
        one("     1→fn one() {", "x"),
        one("same", "x"),
        one("same", "same"),
        one("", "x"),
        json!([
            { "old_text": "fn one", "new_text": "fn first" },
            { "old_text": "fn one", "new_text": "fn other" },
        ]),
        json!([{ "old_text": "same" }]),
        json!([]),
        json!("[]"),
        json!(["x"]),
    ];
    let mut said = Vec::new();
    for edits in cases {
        let answer = edit(&mut machine, "f", edits).await;
        said.push(answer.shown());
    }
    for (path, new) in [
        ("data", "x"),
        ("dir", "x"),
        ("no", "x"),
        ("latin", "\u{20ac}"),
    ] {
        let answer = edit(&mut machine, path, one("\u{e9}", new)).await;
        said.push(answer.shown());
    }
    insta::assert_snapshot!(said.join("\n"), @"
    error: `f`: `old_text` was not found
    error: `f`: `old_text` was not found; text that differs only in whitespace is at line 1
    error: `f`: `old_text` was not found; its first line is at line 5, but what follows differs
    error: `f`: `old_text` was not found; it has the line numbers that `read` shows, which are not part of the file
    error: `f`: `old_text` was found 2 times (lines 8, 9); add what stands around it, or set `all`
    error: `f`: `old_text` and `new_text` are the same
    error: `f`: `old_text` is empty
    error: `f`: edit 2 of 2: `old_text` was not found; an earlier edit of this call has changed it. Nothing was changed
    error: edit 1: `new_text` is missing
    error: `edits` must be a list of `{ old_text, new_text, all? }`
    error: `edits` must be a list of `{ old_text, new_text, all? }`
    error: edit 1 must be `{ old_text, new_text, all? }`
    error: `data`: this is data, not text
    error: `dir` is a directory; `ls` shows what is in it
    error: `no` does not exist
    error: `latin`: `€` (U+20AC) cannot be written as latin-1
    ");
    assert_eq!(machine.bytes("f"), text);
}

#[tokio::test]
async fn edits_given_as_text_are_read() {
    let mut machine = machine(&[("f", b"a")]);
    let edits = one("a", "b").to_string();
    assert_eq!(edit(&mut machine, "f", json!(edits)).await.status, "ok");
    assert_eq!(machine.bytes("f"), b"b");
}

#[tokio::test]
async fn mode_and_link_stay() {
    let mut machine = machine(&[("run.sh", b"a\n")]);
    let mode = |machine: &Machine| {
        let metadata = std::fs::metadata(machine.path("run.sh")).unwrap();
        metadata.permissions().mode() & 0o7777
    };
    let executable = std::fs::Permissions::from_mode(0o751);
    std::fs::set_permissions(machine.path("run.sh"), executable).unwrap();
    symlink("run.sh", machine.path("link")).unwrap();
    edit(&mut machine, "link", one("a", "b")).await;
    assert_eq!(
        (machine.bytes("run.sh"), mode(&machine)),
        (b"b\n".to_vec(), 0o751)
    );
    machine.call("read", json!({ "path": "run.sh" })).await;
    let input = json!({ "path": "link", "content": "c\n" });
    assert_eq!(machine.call("write", input).await.status, "ok");
    assert_eq!(
        (machine.bytes("run.sh"), mode(&machine)),
        (b"c\n".to_vec(), 0o751)
    );
    assert!(machine.path("link").is_symlink());
}

#[tokio::test]
async fn what_changed_since_it_was_read_is_not_overwritten() {
    let mut machine = machine(&[("f", b"a\n")]);
    machine.call("read", json!({ "path": "f" })).await;
    machine.write("f", b"a\nsomebody else\n");
    let mut said = vec![edit(&mut machine, "f", one("a", "b")).await.shown()];
    let write = json!({ "path": "f", "content": "b\n" });
    said.push(machine.call("write", write.clone()).await.shown());
    assert_eq!(machine.bytes("f"), b"a\nsomebody else\n");
    // Read again, and changed by oneself, it may be.
    machine.call("read", json!({ "path": "f" })).await;
    said.push(edit(&mut machine, "f", one("a", "b")).await.shown());
    said.push(machine.call("write", write.clone()).await.shown());
    // What another agent has read is not what this one has.
    machine.forget();
    said.push(machine.call("write", write).await.shown());
    insta::assert_snapshot!(said.join("\n"), @"
    error: `f` has changed since you read it; read it again first
    error: `f` has changed since you read it; read it again before you write it
    Changed `f` in 1 place.
    Replaced `f` (2 bytes).
    error: `f` exists and you have not read it; read it first, or change parts of it with `edit`
    ");
}

#[tokio::test]
async fn write_makes_files_and_replaces_what_was_read() {
    let mut machine = machine(&[
        ("crlf", b"\xEF\xBB\xBFa\r\nb\r\n"),
        ("ro", b"x"),
        ("data", b"\0"),
    ]);
    let read_only = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(machine.path("ro"), read_only).unwrap();
    for name in ["crlf", "ro", "data"] {
        machine.call("read", json!({ "path": name })).await;
    }
    let answer = machine
        .call("write", json!({ "path": "new/dir/f", "content": "one\n" }))
        .await;
    assert_eq!(answer.text, "Made `new/dir/f` (4 bytes).");
    insta::assert_snapshot!(answer.details, @r#"{"added":1,"changed":["new/dir/f"],"diff":"--- a/new/dir/f\n+++ b/new/dir/f\n@@ -0,0 +1 @@\n+one\n","is_new":true,"removed":0}"#);
    let answer = machine
        .call("write", json!({ "path": "crlf", "content": "a\nc\n" }))
        .await;
    insta::assert_snapshot!(answer.details, @r#"{"added":1,"changed":["crlf"],"diff":"--- a/crlf\n+++ b/crlf\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n","is_new":false,"removed":1}"#);
    assert_eq!(machine.bytes("crlf"), b"\xEF\xBB\xBFa\r\nc\r\n");
    let mut said = Vec::new();
    for (path, content) in [
        ("ro", "y"),
        ("data", "now text"),
        ("new", "x"),
        ("/dev/null", "x"),
        ("crlf/below", "x"),
        ("empty", ""),
    ] {
        let input = json!({ "path": path, "content": content });
        said.push(machine.shown("write", input).await);
    }
    insta::assert_snapshot!(said.join("\n"), @"
    error: `ro` is read-only (mode 0444)
    Replaced `data` (8 bytes).
    error: `new` is a directory; `ls` shows what is in it
    error: `/dev/null` is a device, not a file
    error: could not write `crlf/below`: Not a directory (os error 20)
    Made `empty` (0 bytes).
    ");
}

#[tokio::test]
async fn calls_of_one_batch_do_not_lose_what_another_changed() {
    let text: String = (0..16).map(|n| format!("line {n:02}\n")).collect();
    let mut machine = machine(&[("f", text.as_bytes())]);
    symlink("f", machine.path("link")).unwrap();
    let calls = (0..16)
        .map(|n| {
            let path = if n % 2 == 0 { "f" } else { "link" };
            let edits = one(&format!("line {n:02}"), &format!("changed {n:02}"));
            ("edit", json!({ "path": path, "edits": edits }))
        })
        .collect();
    for answer in machine.batch(calls).await {
        assert_eq!(answer.status, "ok", "{}", answer.text);
    }
    let expected: String = (0..16).map(|n| format!("changed {n:02}\n")).collect();
    assert_eq!(String::from_utf8(machine.bytes("f")).unwrap(), expected);
    // Of two that make one file, the second replaces what the first made.
    let calls = ["one", "two"]
        .map(|content| ("write", json!({ "path": "new", "content": content })))
        .to_vec();
    let mut statuses: Vec<_> = machine
        .batch(calls)
        .await
        .into_iter()
        .map(|answer| answer.status)
        .collect();
    statuses.sort();
    assert_eq!(statuses, ["ok", "ok"]);
    assert_eq!(machine.bytes("new"), b"two");
}

#[tokio::test]
async fn what_ends_like_a_directory_is_no_file() {
    let mut machine = machine(&[]);
    let answer = machine
        .call("write", json!({ "path": "x/", "content": "c" }))
        .await;
    insta::assert_snapshot!(answer.shown(), @"error: `path` names a directory: `x/`");
    assert!(!machine.path("x").exists());
}
