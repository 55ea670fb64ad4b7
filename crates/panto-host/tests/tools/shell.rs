//! `shell`.

use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use serde_json::json;

use crate::support::machine;

#[tokio::test]
async fn output_and_how_it_ended_are_told() {
    let mut machine = machine(&[("dir/f", b"x")]);
    let cases = [
        json!({ "command": "echo out; echo err >&2; echo more" }),
        json!({ "command": "true" }),
        json!({ "command": "printf 'no end'; exit 3" }),
        json!({ "command": "kill -9 $$" }),
        json!({ "command": "cat; ls", "cwd": "dir" }),
        json!({ "command": "printf 'a\\303\\251\\377\\303'" }),
        json!({ "command": "true", "cwd": "no" }),
        json!({ "command": "true", "timeout_s": "soon" }),
        json!({ "command": "" }),
        json!({ "command": "no-such-program-here 2>/dev/null" }),
    ];
    let mut said = Vec::new();
    for input in cases {
        let shown = machine.shown("shell", input.clone()).await;
        said.push(format!("== {input}\n{shown}"));
    }
    insta::assert_snapshot!(said.join("\n"), @r#"
    == {"command":"echo out; echo err >&2; echo more"}
    out
    err
    more
    == {"command":"true"}
    [no output]
    == {"command":"printf 'no end'; exit 3"}
    error: no end
    [exit code 3]
    == {"command":"kill -9 $$"}
    error: [no output]
    [ended by signal 9]
    == {"command":"cat; ls","cwd":"dir"}
    f
    == {"command":"printf 'a\\303\\251\\377\\303'"}
    aé��
    == {"command":"true","cwd":"no"}
    error: `cwd` is not a directory: `no`
    == {"command":"true","timeout_s":"soon"}
    error: `timeout_s` must be a number
    == {"command":""}
    [no output]
    == {"command":"no-such-program-here 2>/dev/null"}
    error: [no output]
    [exit code 127]
    "#);
    let failed = machine.call("shell", json!({ "command": "exit 3" })).await;
    assert_eq!(failed.details, json!({ "exit_code": 3, "signal": 0 }));
}

#[tokio::test]
async fn a_command_ends_when_it_does_whoever_keeps_its_output_open() {
    let mut machine = machine(&[]);
    let began = Instant::now();
    let command = "echo before; sleep 60 & echo $! > pid; echo after";
    let answer = machine.call("shell", json!({ "command": command })).await;
    assert!(began.elapsed().as_secs() < 30);
    insta::assert_snapshot!(answer.shown(), @"
    before
    after
    [something that it started still runs, and is heard no longer]
    ");
    let pid = String::from_utf8(machine.bytes("pid")).unwrap();
    let command = format!("kill {}", pid.trim());
    assert_eq!(
        machine
            .call("shell", json!({ "command": command }))
            .await
            .status,
        "ok"
    );
}

#[tokio::test]
async fn a_timeout_ends_the_whole_group_and_keeps_the_output() {
    let mut machine = machine(&[]);
    // Neither of the two heeds a polite signal.
    let command =
        "trap '' TERM; echo begun; (trap '' TERM; sleep 60; echo late) & echo $! > pid; sleep 60";
    let began = Instant::now();
    let input = json!({ "command": command, "timeout_s": 0.3 });
    let answer = machine.call("shell", input).await;
    assert!(began.elapsed().as_secs() < 30);
    insta::assert_snapshot!(answer.shown(), @"
    error: begun
    [timed out after 0.3 s; the command and what it started were ended]
    ");
    let pid = String::from_utf8(machine.bytes("pid")).unwrap();
    // A zombie that nobody reaps is not running either.
    let command = format!(
        "test ! -e /proc/{0} || grep -q Z /proc/{0}/stat",
        pid.trim()
    );
    assert_eq!(
        machine
            .call("shell", json!({ "command": command }))
            .await
            .status,
        "ok"
    );
}

#[tokio::test]
async fn a_cancel_ends_the_whole_group_and_keeps_the_output() {
    let mut machine = machine(&[]);
    let command = "echo begun; sleep 60 & echo $! > pid; wait; echo late";
    let began = Instant::now();
    let input = json!({ "command": command });
    let (answer, shown) = machine.cancel_at("shell", input, "begun").await;
    assert!(began.elapsed().as_secs() < 30);
    assert_eq!(shown, "begun\n");
    insta::assert_snapshot!(answer.shown(), @"
    cancelled: begun
    [cancelled; the command and what it started were ended]
    ");
    let pid = String::from_utf8(machine.bytes("pid")).unwrap();
    let command = format!(
        "test ! -e /proc/{0} || grep -q Z /proc/{0}/stat",
        pid.trim()
    );
    assert_eq!(
        machine
            .call("shell", json!({ "command": command }))
            .await
            .status,
        "ok"
    );
}

#[tokio::test]
async fn a_cancel_does_not_wait_for_what_does_not_heed_it() {
    let mut machine = machine(&[]);
    let command = "trap '' TERM; echo begun; while :; do sleep 60; done";
    let began = Instant::now();
    let input = json!({ "command": command });
    let (answer, _) = machine.cancel_at("shell", input, "begun").await;
    // The tool itself answers, before its turn would have to.
    assert!(
        answer.text.starts_with("begun\n[cancelled;"),
        "{}",
        answer.text
    );
    assert!(began.elapsed().as_secs() < 30);
}

#[tokio::test]
async fn long_output_is_in_a_file_that_nobody_else_reads() {
    let mut machine = machine(&[]);
    let command = "i=0; while [ $i -lt 20000 ]; do echo \"line $i\"; i=$((i+1)); done";
    let answer = machine.call("shell", json!({ "command": command })).await;
    assert!(answer.text.len() < 50_000, "{}", answer.text.len());
    assert!(answer.text.starts_with("line 0\nline 1\n"));
    assert!(answer.text.ends_with("line 19998\nline 19999"));
    let path = answer.details["output_file"].as_str().unwrap();
    let note = answer
        .text
        .lines()
        .find(|line| line.starts_with('['))
        .unwrap();
    assert!(
        note.contains(&format!("bytes left out; all of it is in {path}")),
        "{note}"
    );
    let whole: String = (0..20000).map(|n| format!("line {n}\n")).collect();
    assert_eq!(std::fs::read_to_string(path).unwrap(), whole);
    let mode = std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_flood_of_bytes_is_taken() {
    let mut machine = machine(&[]);
    let command = "head -c 20000000 /dev/urandom; echo; echo end";
    let answer = machine.call("shell", json!({ "command": command })).await;
    assert_eq!(answer.status, "ok");
    assert!(answer.text.ends_with("end"));
    let path = answer.details["output_file"].as_str().unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().len(), 20_000_005);
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn output_is_shown_while_it_comes_in_whole_characters() {
    let mut machine = machine(&[]);
    let command = "printf 'h\\303'; sleep 0.2; printf '\\251 there\\n'; sleep 60";
    let input = json!({ "command": command });
    let (_, shown) = machine.cancel_at("shell", input, "there").await;
    assert_eq!(shown, "h\u{e9} there\n");
}

#[tokio::test]
async fn the_environment_is_what_the_host_gives() {
    let mut machine = machine(&[]);
    machine
        .lua
        .load(
            r#"require("panto").ext.shell_environment = function()
              return { "PATH=" .. require("luv").os_getenv("PATH"), "GIVEN=yes" }
            end"#,
        )
        .exec()
        .unwrap();
    let command = "echo $GIVEN; env | grep -c CARGO";
    let answer = machine.call("shell", json!({ "command": command })).await;
    assert_eq!(answer.text, "yes\n0\n[exit code 1]");
}

#[tokio::test]
async fn sixteen_calls_of_one_batch_run_side_by_side() {
    let mut machine = machine(&[]);
    // Each waits for all others.
    let command = "touch here.$$; while [ $(ls | grep -c '^here') -lt 16 ]; do sleep 0.05; done";
    let calls = (0..16)
        .map(|_| ("shell", json!({ "command": command, "timeout_s": 60 })))
        .collect();
    for answer in machine.batch(calls).await {
        assert_eq!(answer.status, "ok", "{}", answer.text);
    }
}

#[tokio::test]
async fn a_time_that_cannot_be_meant_is_refused() {
    let mut machine = machine(&[]);
    for timeout_s in [json!(-1), json!(0), json!(1e9)] {
        let input = json!({ "command": "touch ran", "timeout_s": timeout_s });
        let answer = machine.call("shell", input).await;
        assert_eq!(
            answer.shown(),
            "error: `timeout_s` must be from 0.1 to 3600, in seconds"
        );
    }
    assert!(!machine.path("ran").exists());
}
