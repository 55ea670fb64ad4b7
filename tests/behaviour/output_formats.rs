//! The same conversation in each output format.

use serde_json::Value;

use crate::support::Machine;

/// Says something, calls a tool that it does not have, is cut off once, and answers.
const SCRIPT: &str = r#"
[[steps]]
play = [
    { thinking = "hm" },
    { text = "Let me see.", chunks = 3 },
    { tool = "read", input = { path = "x" } },
    { usage = { input = 10, output = 4 } },
]

[[steps]]
play = [{ text = "It is forty-", chunks = 2 }, { fault = "disconnect", at_event = 1 }]

[[steps]]
play = [
    { text = "It is 42\u2028\u0007.", chunks = 4 },
    { usage = { input = 20, output = 6 } },
]
"#;

#[test]
fn text_leaves_a_pipe_message_by_message_and_a_retried_attempt_only_once() {
    let machine = Machine::with_script(SCRIPT);
    let ran = machine.run(&["-p", "go"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stdout, "Let me see.\nIt is 42\u{2028}\u{7}.\n");
    let note = ran.stderr.lines().next().unwrap();
    assert!(
        note.starts_with("panto: retry 1 of 5 in "),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stderr.lines().count(), 1);
}

#[test]
fn json_is_one_object() {
    let machine = Machine::with_script(SCRIPT);
    let ran = machine.run(&["-p", "go", "--output", "json"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stdout.lines().count(), 1);
    let mut result = ran.result();
    assert_eq!(result["session_id"], machine.only_session());
    result["session_id"] = "ID".into();
    assert!(result["duration_ms"].take().is_u64());
    insta::assert_json_snapshot!(result, @r#"
    {
      "type": "result",
      "status": "completed",
      "stop": "end",
      "text": "It is 42 \u0007.",
      "session_id": "ID",
      "saved": true,
      "model": "test:model",
      "usage": {
        "input": 30,
        "output": 10
      },
      "requests": 2,
      "cost": null,
      "turns": 1,
      "duration_ms": null,
      "exit_code": 0
    }
    "#);
}

#[test]
fn stream_json_tells_everything_and_ends_in_one_result() {
    let machine = Machine::with_script(SCRIPT);
    let ran = machine.run(&["-p", "go", "--output", "stream-json"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stderr, "");
    let objects: Vec<Value> = ran
        .stdout
        .split_terminator('\n')
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = objects
        .iter()
        .map(|object| object["type"].as_str().unwrap())
        .collect();
    insta::assert_snapshot!(kinds.join(" "), @"init turn_start user_message thinking thinking_delta thinking_complete assistant_text assistant_text_delta assistant_text_delta assistant_text_delta assistant_text_complete tool tool_details tool_delta tool_call_complete usage tool_dispatch_start tool_result assistant_text assistant_text_delta attempt_discarded retry assistant_text assistant_text_delta assistant_text_delta assistant_text_delta assistant_text_delta assistant_text_complete usage result");
    assert_eq!(objects[0]["version"], 1);
    assert_eq!(objects[0]["model"], "test:model");
    assert_eq!(objects[0]["cwd"], machine.work().to_str().unwrap());
}

#[test]
fn a_failure_before_the_session_is_a_result_too() {
    let machine = Machine::without_config();
    for format in ["json", "stream-json"] {
        let ran = machine.run(&["-p", "go", "--output", format]);
        assert_eq!(ran.code, Some(2));
        assert_eq!(ran.stdout.lines().count(), 1);
        let result = ran.result();
        assert_eq!(result["status"], "failed");
        assert_eq!(result["exit_code"], 2);
        assert_eq!(result["error"]["kind"], "config");
        assert!(ran.stderr.starts_with("error: no model is set"));
    }
}

#[test]
fn verbose_tells_about_tools_on_standard_error() {
    let machine = Machine::with_script(
        r#"
        [[steps]]
        play = [{ tool = "read", input = { path = "x" } }]
        [[steps]]
        play = [{ text = "done" }]
        "#,
    );
    let ran = machine.run(&["-p", "go", "--verbose"]);
    assert_eq!(ran.stdout, "done\n");
    insta::assert_snapshot!(ran.stderr, @r#"
    panto: session ID
    panto: model test:model
    panto: read {"path":"x"}
    panto: read error: `x` does not exist
    panto: end, usage not reported
    "#);
}

#[test]
fn logs_appear_only_when_asked_for_and_hold_no_prompt() {
    let machine =
        Machine::with_script("[[steps]]\nrepeat = true\nplay = [{ text = \"secret answer\" }]");
    let plain = machine.run(&["-p", "secret prompt"]);
    assert_eq!(plain.stderr, "");
    let logged = machine
        .command(&["-p", "secret prompt"])
        .env("PANTO_LOG", "trace")
        .output()
        .unwrap();
    let log = String::from_utf8(logged.stderr).unwrap();
    assert!(!log.contains("secret"), "{log}");
}
