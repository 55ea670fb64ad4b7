//! Scripts in TOML and JSON, and what is said of those that are none.

use pantograph_scripted::{Script, ScriptError, ScriptedProtocol};

use crate::support::{answer, ask};

const EVERYTHING: &str = r#"
allow_removed_tools = true

[[steps]]
when = { last = "go", last_role = "user" }
play = [
  { thinking = "Hm.", signature = "c2ln" },
  { text = "Let me look.", chunks = 2 },
  { opaque = { type = "search", n = 1 } },
  { tool = "read", input = { path = "a.txt", at = { z = 1, a = 2 } }, id = "first" },
  { tool = "read", input_raw = '{"path": "b', chunks = 2, raw = { x = [1, 2] } },
  { delay_ms = 1 },
  { usage = { input = 10, output = 2, cache_read = 5 } },
  { stop = "limit" },
]

[[steps]]
open = [{ error = "rate_limit", message = "slow down", retry_after_ms = 1500, status = 429, code = "x" }]

[[steps]]
play = [
  { text = "ab", count = 2 },
  { error = "server", at_event = 3 },
]

[[steps]]
repeat = true
ignore_cancel = true
play = [{ text = "always" }, { fault = "disconnect" }]
"#;

async fn play_all(script: Script) -> String {
    let protocol = ScriptedProtocol::new(script);
    let mut text = String::new();
    for _ in 0..5 {
        text.push_str(&answer(&protocol, ask("go")).await);
        text.push_str("\n--\n");
    }
    text
}

#[tokio::test]
async fn a_toml_script_plays_everything() {
    let script = Script::from_toml(EVERYTHING).unwrap();
    insta::assert_snapshot!(play_all(script).await, @r#"
    0 thinking "Hm."
    0 signature c2ln
    0 end
    1 text "Let me"
    1 text " look."
    1 end
    2 opaque {"type":"search","n":1}
    3 call first read
    3 input {"path":"a.txt","at":{"z":1,"a":2}}
    3 end
    4 call call_1 read
    4 input {"pat
    4 input h": "b
    4 raw {"x":[1,2]}
    4 end
    usage {"input":10,"output":2,"cache_read":5}
    done limit
    (over)
    --
    not opened: error rate_limit: slow down (retry after 1.5s) (status 429) (code x)
    --
    0 text "ab"
    0 text "ab"
    0 end
    error server: scripted server error

    --
    0 text "always"
    (over)
    --
    0 text "always"
    (over)
    --
    "#);
}

#[tokio::test]
async fn the_same_script_in_json_plays_the_same() {
    let value: toml::Table = toml::from_str(EVERYTHING).unwrap();
    let json = serde_json::to_string_pretty(&value).unwrap();
    assert_eq!(
        play_all(Script::from_json(&json).unwrap()).await,
        play_all(Script::from_toml(EVERYTHING).unwrap()).await
    );
}

fn toml_errors<const N: usize>(texts: [&str; N]) -> String {
    let errors = texts.map(|text| Script::from_toml(text).unwrap_err().to_string());
    errors.join("\n\n")
}

#[test]
fn what_is_no_toml_script_is_explained() {
    insta::assert_snapshot!(toml_errors([
        "steps = [\n  { play = [] },\n  { play = [}\n]",
        "",
        "[[step]]\nplay = []",
        "[[steps]]\nplay = []\n\n[[steps]]\nrepeat = true",
        "[[steps]]\nplay = []\nwhen = { last = \"x\", lable = \"y\" }",
        "[[steps]]\nplay = [\n  { text = \"a\" },\n  { txt = \"b\" },\n]",
        "[[steps]]\nplay = [{ text = \"a\" }, { signature = \"b\" }]",
        "[[steps]]\nplay = [{ text = \"a\", tool = \"b\" }]",
        "[[steps]]\nplay = [{ text = \"é\" }, { text = \"a\", id = \"b\" }]",
        "[[steps]]\nplay = [{ tool = \"a\", input = {}, input_raw = \"\" }]",
        "[[steps]]\nplay = [{ error = \"flaky\" }]",
        "[[steps]]\nplay = [{ usage = { inputs = 1 } }]",
        "[[steps]]\nplay = [{ stop = \"cancelled\" }]",
        "[[steps]]\nplay = [{ text = 7 }]",
        "[[steps]]\nplay = [{ delay_ms = -1 }]",
        "[[steps]]\nopen = [{ text = \"a\" }]",
        "[[steps]]\nopen = [{ fault = \"stall\", at_event = 1 }]",
        "[[steps]]\nwhen = { last_role = \"model\" }\nplay = []",
        "[[steps]]\nplay = [{ stop = \"end\", count = 2 }]",
    ]), @r#"
    script:3:13: missing inline table opening, expected `{`
      |   { play = [}
      |             ^

    script:1:1: missing field `steps`

    script:1:3: unknown field `step`, expected `allow_removed_tools` or `steps`
      | [[step]]
      |   ^

    script:4:1: a step needs `play`, or `open` with a failure
      | [[steps]]
      | ^

    script:3:22: unknown field `lable`, expected one of `asked`, `last`, `last_role`, `system`, `label`, `model`, `purpose`
      | when = { last = "x", lable = "y" }
      |                      ^

    script:4:5: unknown field `txt`, expected one of `text`, `thinking`, `tool`, `opaque`, `usage`, `stop`, `delay_ms`, `fault`, `error`, `chunks`, `count`, `pace_ms`, `raw`, `signature`, `input`, `input_raw`, `id`, `message`, `retry_after_ms`, `code`, `status`, `at_event`
      |   { txt = "b" },
      |     ^

    script:2:25: an item has exactly one of `text`, `thinking`, `tool`, `opaque`, `usage`, `stop`, `delay_ms`, `fault` or `error`; this has none
      | play = [{ text = "a" }, { signature = "b" }]
      |                         ^

    script:2:9: an item has exactly one of `text`, `thinking`, `tool`, `opaque`, `usage`, `stop`, `delay_ms`, `fault` or `error`; this has `text` and `tool`
      | play = [{ text = "a", tool = "b" }]
      |         ^

    script:2:25: `id` does not go with `text`; `chunks`, `count`, `pace_ms` and `raw` do
      | play = [{ text = "é" }, { text = "a", id = "b" }]
      |                         ^

    script:2:9: a tool call has `input` or `input_raw`, not both
      | play = [{ tool = "a", input = {}, input_raw = "" }]
      |         ^

    script:2:19: unknown variant `flaky`, expected one of `rate_limit`, `overloaded`, `authentication`, `invalid_request`, `model_not_found`, `context_overflow`, `server`, `transport`, `terminal`
      | play = [{ error = "flaky" }]
      |                   ^

    script:2:21: unknown field `inputs`, expected one of `input`, `output`, `cache_read`, `cache_write`, `reasoning`
      | play = [{ usage = { inputs = 1 } }]
      |                     ^

    script:2:18: unknown variant `cancelled`, expected one of `end`, `tool_calls`, `limit`
      | play = [{ stop = "cancelled" }]
      |                  ^

    script:2:18: invalid type: integer `7`, expected a string
      | play = [{ text = 7 }]
      |                  ^

    script:2:22: invalid value: integer `-1`, expected u64
      | play = [{ delay_ms = -1 }]
      |                      ^

    script:2:9: `open` holds `delay_ms`, `fault` and `error` only
      | open = [{ text = "a" }]
      |         ^

    script:2:9: `at_event` is for `play`: nothing is out while opening
      | open = [{ fault = "stall", at_event = 1 }]
      |         ^

    script:2:22: unknown variant `model`, expected one of `system`, `user`, `assistant`, `tool`
      | when = { last_role = "model" }
      |                      ^

    script:2:9: `count` does not go with `stop`, and no other key does
      | play = [{ stop = "end", count = 2 }]
      |         ^
    "#);
}

#[test]
fn what_is_no_json_script_is_explained() {
    let texts = [
        "{\"steps\": [\n  {\"play\": []},\n  {\"play\": [}\n]}",
        "",
        "[]",
        "{\n  \"steps\": [{\"play\": [{\"txt\": \"a\"}]}]\n}",
        "{\n  \"steps\": [{\"play\": [{\"text\": \"é\", \"id\": \"b\"}]}]\n}",
        "{\"steps\": [{}]}",
        "{\"steps\": []} x",
    ];
    let errors = texts.map(|text| Script::from_json(text).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n\n"), @r#"
    script:3:13: expected value
      |   {"play": [}
      |             ^

    script:1:1: EOF while parsing a value

    script:1:1: invalid type: sequence, expected a table of keys
      | []
      | ^

    script:2:28: unknown field `txt`, expected one of `text`, `thinking`, `tool`, `opaque`, `usage`, `stop`, `delay_ms`, `fault`, `error`, `chunks`, `count`, `pace_ms`, `raw`, `signature`, `input`, `input_raw`, `id`, `message`, `retry_after_ms`, `code`, `status`, `at_event`
      |   "steps": [{"play": [{"txt": "a"}]}]
      |                            ^

    script:2:46: `id` does not go with `text`; `chunks`, `count`, `pace_ms` and `raw` do
      |   "steps": [{"play": [{"text": "é", "id": "b"}]}]
      |                                              ^

    script:1:13: a step needs `play`, or `open` with a failure
      | {"steps": [{}]}
      |             ^

    script:1:15: trailing characters
      | {"steps": []} x
      |               ^
    "#);
}

#[test]
fn a_file_is_read_by_its_extension_and_named_in_errors() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let toml = folder.join("script.toml");
    std::fs::write(&toml, "[[steps]]\nplay = [{ text = \"a\" }]\n").unwrap();
    assert!(Script::load(&toml).is_ok());
    let json = folder.join("script.json");
    std::fs::write(&json, "{\"steps\": 1}").unwrap();
    let said = |error: ScriptError| {
        error
            .to_string()
            .replace(&folder.display().to_string(), "FOLDER")
    };
    insta::assert_snapshot!(said(Script::load(&json).unwrap_err()), @r#"
    FOLDER/script.json:1:11: invalid type: integer `1`, expected a sequence
      | {"steps": 1}
      |           ^
    "#);
    insta::assert_snapshot!(said(Script::load(folder.join("none.toml")).unwrap_err()), @r#"
    could not read the script `FOLDER/none.toml`
    "#);
    let pipe = folder.join("pipe.toml");
    // The folder outlives the run.
    let _ = std::fs::remove_file(&pipe);
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let error = Script::load(&pipe).unwrap_err();
    assert_eq!(
        pantograph::with_causes(&error).replace(&folder.display().to_string(), "FOLDER"),
        "could not read the script `FOLDER/pipe.toml`: it is not a regular file"
    );
    insta::assert_snapshot!(said(Script::load(folder.join("script.yaml")).unwrap_err()), @r#"
    `FOLDER/script.yaml` is neither a `.toml` nor a `.json` file
    "#);
}
