//! What a script learns from the exit code, and a person from standard error.

use crate::support::{Machine, Ran};

fn answer(items: &str) -> Ran {
    Machine::with_script(&format!("[[steps]]\n{items}")).run(&["-p", "go"])
}

#[test]
fn a_turn_that_failed() {
    let ran =
        answer(r#"open = [{ error = "invalid_request", message = "no such\u001b[2J thing" }]"#);
    insta::assert_snapshot!(ran.shown(), @r"
    exit 1
    -- stdout
    -- stderr
    error: `test:model` gave no answer
      cause: no such thing
    ");
}

#[test]
fn refused_credentials() {
    let ran =
        answer(r#"open = [{ error = "authentication", message = "invalid key", status = 401 }]"#);
    insta::assert_snapshot!(ran.shown(), @"
    exit 3
    -- stdout
    -- stderr
    error: `test:model` gave no answer
      cause: invalid key
      hint: check the key of the provider `test`; `panto login test` stores another
    ");
}

#[test]
fn a_rate_limit_that_is_too_long_to_wait_for() {
    let script = "[[steps]]\nrepeat = true\nopen = [{ error = \"rate_limit\", message = \"slow down\", status = 429, retry_after_ms = 1200000 }]";
    let machine = Machine::with_script(script);
    let ran = machine.run(&["-p", "go", "-o", "json"]);
    let error = ran.result()["error"].take();
    assert_eq!(error["retry_after_ms"], 1_200_000);
    assert_eq!(error["status"], 429);
    let said = "the provider asks to wait 1200 s";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
}

#[test]
fn a_model_that_is_not_there() {
    let ran = answer(r#"open = [{ error = "model_not_found" }]"#);
    insta::assert_snapshot!(ran.shown(), @r"
    exit 1
    -- stdout
    -- stderr
    error: `test:model` gave no answer
      cause: scripted model_not_found error
      hint: the provider `test` does not have this model, or your key may not use it
    ");
}

#[test]
fn an_answer_of_nothing() {
    insta::assert_snapshot!(answer("play = []").shown(), @r"
    exit 1
    -- stdout
    -- stderr
    error: the model answered with nothing
    ");
}

#[test]
fn an_answer_that_a_limit_cut() {
    let machine = Machine::with_script(
        "[[steps]]\nrepeat = true\nplay = [{ text = \"and so\" }, { stop = \"limit\" }]",
    );
    insta::assert_snapshot!(machine.run(&["-p", "go"]).shown(), @r#"
    exit 1
    -- stdout
    and so
    -- stderr
    error: the answer was cut where the model's longest ends (`max_output`)
      hint: `panto -p "go on" --resume ID` asks for the rest
    "#);
    let result = machine.run(&["-p", "go", "--output", "json"]).result();
    assert_eq!(result["status"], "limit");
    assert_eq!(result["stop"], "limit");
    assert_eq!(result["text"], "and so");
    assert_eq!(result["exit_code"], 1);
}

#[test]
fn a_broken_user_configuration_names_file_line_and_column() {
    let machine = Machine::without_config();
    machine.write_config("model = \"a:b\"\n[providers.x\nprotocol = 1\n");
    insta::assert_snapshot!(machine.run(&["-p", "go"]).shown(), @r"
    exit 2
    -- stdout
    -- stderr
    error: ROOT/home/.config/panto/config.toml:2:13: not valid TOML: unclosed table, expected `]`
          |
        2 | [providers.x
          |             ^
    ");
}

#[test]
fn a_provider_that_is_not_configured() {
    let machine = Machine::with_script("[[steps]]\nplay = [{ text = \"never\" }]");
    insta::assert_snapshot!(machine.run(&["-p", "go", "--model", "tset:model"]).shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: unknown provider `tset` (from `--model`); there are `anthropic`, `openai`, `google`, `openrouter`, `deepseek`, `mistral`, `groq`, `xai`, `moonshot`, `zai`, `ollama`, `llama-cpp`, `vllm`, `lm-studio`; configured: `test` (read `ROOT/home/.config/panto/config.toml`); did you mean `test`?
    ");
}

#[test]
fn a_script_that_is_not_there() {
    let machine = Machine::with_script("");
    std::fs::remove_file(machine.config_dir().join("script.toml")).unwrap();
    insta::assert_snapshot!(machine.run(&["-p", "go"]).shown(), @r"
    exit 2
    -- stdout
    -- stderr
    error: could not set up the protocol `scripted` for provider `test` (ROOT/home/.config/panto/config.toml:3:12)
      cause: could not read the script `ROOT/home/.config/panto/script.toml`
      cause: No such file or directory (os error 2)
    ");
}
