//! Who answers in a session that is gone on with.

use crate::support::loopback::{Loopback, chat, messages};
use crate::support::{Machine, Ran};

const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-test");

fn run_with(machine: &Machine, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let mut command = machine.command(arguments);
    command.envs(variables.iter().copied());
    machine.start_command(&mut command).finish()
}

/// A machine with a session of `anthropic:claude-opus-5`, and another model in its configuration.
fn begun(server: &Loopback) -> Machine {
    let machine = Machine::with_script("[[steps]]\nrepeat = true\nplay = [{ text = \"Mine.\" }]");
    let file = machine.config_dir().join("config.toml");
    let text = std::fs::read_to_string(file).unwrap();
    machine.write_config(&format!(
        "{text}\n[providers.anthropic]\nbase_url = {:?}\n",
        server.url()
    ));
    let arguments = ["-p", "hi", "--model", "anthropic:claude-opus-5"];
    let answer = run_with(&machine, &[KEY], &arguments).answer();
    assert_eq!(answer, "Hello.\n");
    machine
}

#[test]
fn the_model_of_the_session_answers_again() {
    let server = Loopback::start([messages("Hello."), messages("Again."), messages("Again.")]);
    let machine = begun(&server);
    let id = machine.only_session();
    for arguments in [&["-p", "and?", "-c"][..], &["-p", "and?", "--resume", &id]] {
        let ran = run_with(&machine, &[KEY], arguments);
        assert_eq!(ran.stderr, "");
        assert_eq!(ran.answer(), "Again.\n");
    }
    // `--model` wins, and then is the session's.
    let ran = run_with(
        &machine,
        &[KEY],
        &["-p", "you?", "-c", "--model", "test:model"],
    );
    assert_eq!(ran.answer(), "Mine.\n");
    assert_eq!(
        run_with(&machine, &[KEY], &["-p", "you?", "-c"]).answer(),
        "Mine.\n"
    );
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn another_answers_if_the_model_of_the_session_cannot_and_both_are_named() {
    let server = Loopback::start([messages("Hello.")]);
    let machine = begun(&server);
    insta::assert_snapshot!(machine.run(&["-p", "and?", "-c"]).shown(), @"
    exit 0
    -- stdout
    Mine.
    -- stderr
    panto: the session's model `anthropic:claude-opus-5` cannot be asked (there is no key for `anthropic`); going on with test:model
    ");
}

#[test]
fn a_session_of_a_url_goes_on_there() {
    let server = Loopback::start([chat("Hello."), chat("Again."), messages("Never.")]);
    let other = Loopback::start([chat("Elsewhere.")]);
    let machine = Machine::without_config();
    let (url, elsewhere) = (
        format!("{}/v1", server.url()),
        format!("{}/v1", other.url()),
    );
    let first = ["-p", "hi", "--base-url", &url, "--model", "qwen3:8b"];
    assert_eq!(machine.run(&first).answer(), "Hello.\n");
    // A key that there is now belongs to somebody else, and gets nothing.
    let ran = run_with(&machine, &[KEY], &["-p", "and?", "-c"]);
    assert_eq!((ran.stderr.as_str(), ran.stdout.as_str()), ("", "Again.\n"));
    for asked in server.all_asked() {
        assert_eq!(asked.header("authorization"), None);
        assert_eq!(asked.body()["model"], "qwen3:8b");
    }
    let ran = machine.run(&["-p", "and?", "-c", "--base-url", &elsewhere]);
    assert_eq!(ran.answer(), "Elsewhere.\n");
    assert_eq!(other.asked().body()["model"], "qwen3:8b");
}

#[test]
fn a_session_that_is_not_there_comes_before_a_key_that_is_not() {
    let machine = Machine::without_config();
    insta::assert_snapshot!(machine.run(&["-p", "hi", "-c"]).shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: there is no session of `ROOT/work` to go on with
      hint: leave --continue out to begin one, or name the directory with --cwd
    ");
}
