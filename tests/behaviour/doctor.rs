//! `panto doctor`: what is configured, what is found, and what is wrong with it.

use crate::support::Machine;

/// What it says, without the extensions that panto ships.
fn diagnosis(machine: &Machine, arguments: &[&str]) -> String {
    let ran = machine.run(&[&["doctor"], arguments].concat());
    let text = machine.readable(&ran.shown());
    let lines = text
        .lines()
        .filter(|line| !line.contains(" (base): active; "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_machine_where_all_is_well() {
    let machine = Machine::with_script("steps = []");
    machine.extension("notes", "");
    insta::assert_snapshot!(diagnosis(&machine, &[]), @"
    exit 0
    -- stdout
    project: ROOT/work
      brings nothing of its own
    configuration:
      ROOT/home/.config/panto/config.toml
    model:
      test:model
    providers:
      test: needs no key, 1 models listed
      ollama: needs no key, 0 models listed
      llama-cpp: needs no key, 0 models listed
      vllm: needs no key, 0 models listed
      lm-studio: needs no key, 0 models listed
      without a key: anthropic, openai, google, openrouter, deepseek, mistral, groq, xai, moonshot, zai
    extensions:
      notes (user): active; ROOT/home/.config/panto/extensions/notes.lua
    places:
      sessions: ROOT/sessions/+ROOT+work (not there yet)
      data: ROOT/home/.local/share/panto
      rocks: ROOT/home/.local/share/panto/rocks/lua-5.4 (not there yet)
      lua: 5.4.9
    -- stderr
    ");
}

#[test]
fn every_problem_comes_with_its_remedy() {
    let machine = Machine::with_script("steps = []");
    machine.write_config(
        "model = \"mine:big\"\nproviders.mine.protocol = \"nobodys\"\nproviders.openai.max_retries = 1\n\
         [extensions]\ndeny = [\"denied\"]\n",
    );
    machine.extension("raises", "error('no luck')");
    machine.extension("denied", "");
    machine.extension("twice", "");
    machine.file(
        "home/.config/panto/tools/twice.lua",
        "return { name = 'twice', activate = print }",
    );
    insta::assert_snapshot!(diagnosis(&machine, &[]), @"
    exit 2
    -- stdout
    project: ROOT/work
      brings nothing of its own
    configuration:
      ROOT/home/.config/panto/config.toml
    model:
      mine:big
      problem: there is no protocol `nobodys` (ROOT/home/.config/panto/config.toml:2:16): none is built in, and no extension has registered one
    providers:
      mine: needs no key, 1 models listed
      openai: no key, 29 models listed
      problem: `openai` is configured and has no key: `panto login openai`, or set `api_key_env`
      ollama: needs no key, 0 models listed
      llama-cpp: needs no key, 0 models listed
      vllm: needs no key, 0 models listed
      lm-studio: needs no key, 0 models listed
      without a key: anthropic, google, openrouter, deepseek, mistral, groq, xai, moonshot, zai
    extensions:
      denied (user): left out by `[extensions]`; ROOT/home/.config/panto/extensions/denied.lua
      twice (user): failed; ROOT/home/.config/panto/tools/twice.lua
      raises (user): failed; ROOT/home/.config/panto/extensions/raises.lua
      twice (user): active; ROOT/home/.config/panto/extensions/twice.lua
      problem: ROOT/home/.config/panto/tools/twice.lua: extension `twice`: `ROOT/home/.config/panto/extensions/twice.lua` has an extension of this name too, and neither beats the other; the first one is used
      problem: ROOT/home/.config/panto/extensions/raises.lua:3: extension `raises`: no luck
    places:
      sessions: ROOT/sessions/+ROOT+work (not there yet)
      data: ROOT/home/.local/share/panto
      rocks: ROOT/home/.local/share/panto/rocks/lua-5.4 (not there yet)
      lua: 5.4.9
    -- stderr
    ");
}

#[test]
fn without_anything_it_says_where_things_would_be() {
    let machine = Machine::without_config();
    insta::assert_snapshot!(diagnosis(&machine, &["--no-extensions"]), @"
    exit 2
    -- stdout
    project: ROOT/work
      brings nothing of its own
    configuration:
      no file; yours would be ROOT/home/.config/panto/config.toml
    model:
      problem: no model is set, and there is no key to choose one by: none of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, GOOGLE_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY, MISTRAL_API_KEY, GROQ_API_KEY, XAI_API_KEY, MOONSHOT_API_KEY, ZAI_API_KEY is set, and `ROOT/home/.local/share/panto/auth/credentials.json` has none; set a key, such as with `export ANTHROPIC_API_KEY=…` (https://platform.claude.com/settings/keys has them) or `panto login anthropic`; a server on this machine needs none: `--base-url http://127.0.0.1:8080/v1 --model NAME`; `panto models --all` lists what there is, and `panto demo` needs nothing
    providers:
      ollama: needs no key, 0 models listed
      llama-cpp: needs no key, 0 models listed
      vllm: needs no key, 0 models listed
      lm-studio: needs no key, 0 models listed
      without a key: anthropic, openai, google, openrouter, deepseek, mistral, groq, xai, moonshot, zai
    extensions:
      none
    places:
      sessions: ROOT/sessions/+ROOT+work (not there yet)
      data: ROOT/home/.local/share/panto (not there yet)
      rocks: ROOT/home/.local/share/panto/rocks/lua-5.4 (not there yet)
      lua: 5.4.9
    -- stderr
    ");
}

#[test]
fn a_project_that_brings_something_is_trusted_or_not() {
    let machine = Machine::with_script("steps = []");
    machine.file("work/.panto/extensions/a/init.lua", "error('no luck')");
    let said = diagnosis(&machine, &[]);
    assert!(
        said.contains("  not trusted; `panto trust` trusts it"),
        "{said}"
    );
    // What is wrong is said once.
    let said = diagnosis(&machine, &["--trust"]);
    assert!(said.contains("  trusted\n"), "{said}");
    assert_eq!(said.matches("no luck").count(), 1, "{said}");
    // What is wrong with a layer itself, too.
    std::fs::remove_dir_all(machine.work().join(".panto")).unwrap();
    machine.file("work/.panto", "");
    let said = diagnosis(&machine, &["--trust"]);
    assert_eq!(said.matches("problem: ").count(), 1, "{said}");
    assert_eq!(said.matches("this is no directory").count(), 1, "{said}");
}
