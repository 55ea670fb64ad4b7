//! Command lines that contradict themselves.

use crate::support::Machine;

#[track_caller]
fn refusal(arguments: &[&str]) -> String {
    let ran = Machine::without_config().run(arguments);
    assert_eq!(ran.code, Some(2), "{}", ran.shown());
    assert_eq!(ran.stdout, "");
    // The rest is usage, which changes with every flag.
    ran.stderr
        .lines()
        .take_while(|line| !line.starts_with("Usage"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn without_a_prompt_the_terminal_is_not_there_yet() {
    insta::assert_snapshot!(refusal(&[]), @r#"
    error: the interactive terminal is not there yet

      Ask one thing:       panto -p "what does this project do?"
      Go on with it:       panto -p "and how is it tested?" --continue
      See it without keys: panto demo
    "#);
}

#[test]
fn flags_that_do_not_go_together() {
    let refusals: Vec<String> = [
        &["-p", "x", "--continue", "--resume", "1"][..],
        &["-p", "x", "--continue", "--no-session"],
        &["-p", "x", "--output", "yaml"],
        &["--model", "a:b"],
        &["--model", "a:b", "sessions"],
        &["-p"],
    ]
    .into_iter()
    .map(refusal)
    .collect();
    insta::assert_snapshot!(refusals.join("\n"), @"
    error: the argument '--continue' cannot be used with '--resume <ID>'

    error: the argument '--continue' cannot be used with '--no-session'

    error: invalid value 'yaml' for '--output <FORMAT>'
      [possible values: text, json, stream-json]

    For more information, try '--help'.
    error: `--model` needs `-p`, with the prompt behind it

    error: `--model` is about answering a prompt and cannot stand before a command

    error: no model is set, and there is no key to choose one by: none of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, GOOGLE_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY, MISTRAL_API_KEY, GROQ_API_KEY, XAI_API_KEY, MOONSHOT_API_KEY, ZAI_API_KEY is set, and `ROOT/home/.local/share/panto/auth/credentials.json` has none
      hint: set a key, such as with `export ANTHROPIC_API_KEY=…` (https://platform.claude.com/settings/keys has them) or `panto login anthropic`; a server on this machine needs none: `--base-url http://127.0.0.1:8080/v1 --model NAME`; `panto models --all` lists what there is, and `panto demo` needs nothing
    ");
}

#[test]
fn a_prompt_in_the_wrong_place() {
    insta::assert_snapshot!(refusal(&["-p", "fix", "the", "build"]), @r#"
    error: unrecognized subcommand 'the'

      tip: a prompt stands behind `-p`, in quotes: panto -p "…"
    "#);
}

#[test]
fn a_tip_stands_only_where_it_fits() {
    for arguments in [&["sesions"][..], &["session", "shwo"], &["sessions", "foo"]] {
        let said = refusal(arguments);
        assert!(!said.contains("a prompt stands"), "{said}");
    }
    let said = refusal(&["sessions", "--limit", "0"]);
    assert!(said.contains("not a whole number from 1"), "{said}");
    let help = Machine::without_config()
        .run(&["help", "sessions"])
        .answer();
    assert!(help.contains("--limit"), "{help}");
}

#[test]
fn json_hears_of_a_usage_error_too() {
    let machine = Machine::without_config();
    for arguments in [
        &["-p", "x", "--output=json", "--nope"][..],
        &["--nope", "-p", "x", "-o", "json"],
        &["-phi", "-ojson", "--bogus"],
        &["-phi", "--bogus", "-ojson"],
        &["-p", "hi", "too", "many", "-o", "json"],
        &[
            "-p",
            "hi",
            "-o",
            "stream-json",
            "--continue",
            "--no-session",
        ],
        &["-p", "hi", "-o", "json", "--resume"],
        &["-vpo", "-o", "json", "-x"],
        &["--model", "a:b", "-o", "json"],
        &["demo", "-o", "json", "--bogus"],
        &["demo", "--bogus", "--output=stream-json"],
    ] {
        let ran = machine.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "{arguments:?}");
        assert_eq!(ran.result()["error"]["kind"], "usage", "{arguments:?}");
    }
    for arguments in [
        &["-p", "-o", "--bogus"][..],
        &["-p", "x", "--print", "-o", "yaml"],
        &["-p-ojson", "--bogus"],
        &["sessions", "-o", "json"],
    ] {
        assert_eq!(machine.run(arguments).stdout, "", "{arguments:?}");
    }
}

#[test]
fn json_hears_of_a_bad_log_filter_too() {
    let machine = Machine::without_config();
    for arguments in [
        &["-p", "x", "-o", "json"][..],
        &["demo", "-o", "stream-json"],
    ] {
        let output = machine
            .command(arguments)
            .env("PANTO_LOG", "a=b=c")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["type"], "result");
        assert_eq!(result["error"]["kind"], "usage");
    }
}

#[test]
fn directories_that_are_not_there() {
    let machine = Machine::with_script("");
    insta::assert_snapshot!(machine.run(&["-p", "x", "--cwd", "gone"]).shown(), @r"
    exit 2
    -- stdout
    -- stderr
    error: `--cwd` names `gone`, which cannot be entered
      cause: No such file or directory (os error 2)
    ");
    let gone = machine.work().join("deleted");
    std::fs::create_dir(&gone).unwrap();
    // The shell deletes the directory that it is in, then becomes the program.
    let mut shell = std::process::Command::new("sh");
    shell
        .args([
            "-c",
            "rmdir ../deleted && exec \"$0\" -p x",
            env!("CARGO_BIN_EXE_panto"),
        ])
        .current_dir(&gone)
        .env("HOME", machine.work())
        .stdin(std::process::Stdio::null());
    let output = shell.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @r"
    error: the current directory is gone, or cannot be read
      cause: No such file or directory (os error 2)
      hint: change to another directory, or name one with --cwd DIR
    ");
}

#[test]
fn version_and_help_are_answers() {
    let machine = Machine::without_config();
    let version = machine.run(&["--version"]).answer();
    assert_eq!(version, format!("panto {}\n", env!("CARGO_PKG_VERSION")));
    let help = machine.run(&["--help"]).answer();
    for part in ["Examples:", "Exit codes:", "Environment:"] {
        assert!(help.contains(part), "{help}");
    }
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = machine.run(&["completions", shell]).answer();
        assert!(script.contains("completions"), "{shell}");
    }
}

#[test]
fn the_help_says_what_there_is_not_without_extensions() {
    let machine = Machine::with_script(
        "[[steps]]\nwhen = { system = \"Be terse.\" }\nrepeat = true\nplay = [{ text = \"terse\" }]\n\
         [[steps]]\nrepeat = true\nplay = [{ text = \"free\" }]\n",
    );
    machine.file("work/AGENTS.md", "Be terse.");
    assert_eq!(machine.run(&["-p", "go"]).answer(), "terse\n");
    assert_eq!(
        machine.run(&["-p", "go", "--no-extensions"]).answer(),
        "free\n"
    );
    let help = machine.run(&["--help"]).answer();
    assert!(help.contains("no rules of AGENTS.md"), "{help}");
}
