//! Which model answers, and what `panto models` says about it.

use serde_json::Value;

use crate::support::Machine;
use crate::support::loopback::{Loopback, chat, messages};

const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-test");

#[test]
fn a_key_alone_is_enough_and_standard_error_says_who_answers() {
    let server = Loopback::start([messages("Hello.")]);
    let machine = Machine::without_config();
    machine.write_config(&format!(
        "providers.anthropic.base_url = {:?}",
        server.url()
    ));
    let ran = machine.run_with(&[KEY], &["-p", "hi"]);
    insta::assert_snapshot!(ran.shown(), @"
    exit 0
    -- stdout
    Hello.
    -- stderr
    panto: using anthropic:claude-sonnet-5-5 (key from the environment variable ANTHROPIC_API_KEY; choose another with `--model` or `model` in `ROOT/home/.config/panto/config.toml`)
    ");
    let asked = server.asked();
    assert_eq!(asked.path(), "/v1/messages");
    assert_eq!(asked.header("x-api-key"), Some("sk-test"));
    assert_eq!(asked.body()["model"], "claude-sonnet-5-5");
    let result = machine.run_with(&[], &["-p", "hi", "-o", "json"]).result();
    assert_eq!(result["exit_code"], 2);
    assert_eq!(result["error"]["kind"], "config");
}

#[test]
fn without_a_key_nothing_is_asked() {
    let machine = Machine::without_config();
    insta::assert_snapshot!(machine.run(&["-p", "hi"]).shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: no model is set, and there is no key to choose one by: none of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, GOOGLE_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY, MISTRAL_API_KEY, GROQ_API_KEY, XAI_API_KEY, MOONSHOT_API_KEY, ZAI_API_KEY is set, and `ROOT/home/.local/share/panto/auth/credentials.json` has none
      hint: set a key, such as with `export ANTHROPIC_API_KEY=…` (https://platform.claude.com/settings/keys has them) or `panto login anthropic`; a server on this machine needs none: `--base-url http://127.0.0.1:8080/v1 --model NAME`; `panto models --all` lists what there is, and `panto demo` needs nothing
    ");
    let blank = machine.run_with(&[("OPENAI_API_KEY", " ")], &["-p", "hi"]);
    assert_eq!(blank, machine.run(&["-p", "hi"]));
    let named = machine.run(&["-p", "hi", "--model", "anthropic:opus-5"]);
    assert_eq!(named.code, Some(2));
    assert!(
        named.stderr.contains("ANTHROPIC_API_KEY"),
        "{}",
        named.shown()
    );
}

#[test]
fn a_local_server_takes_a_url_and_a_name() {
    let server = Loopback::start([chat("Hello.")]);
    let machine = Machine::without_config();
    let url = format!("{}/v1", server.url());
    // A key of somebody else is in the environment, and is not sent.
    let arguments = ["-p", "hi", "--base-url", &url, "--model", "qwen3:8b"];
    let ran = machine.run_with(&[("OPENAI_API_KEY", "sk-test")], &arguments);
    insta::assert_snapshot!(ran.shown(), @"
    exit 0
    -- stdout
    Hello.
    -- stderr
    ");
    let asked = server.asked();
    assert_eq!(asked.path(), "/v1/chat/completions");
    assert_eq!(asked.header("authorization"), None);
    assert_eq!(asked.body()["model"], "qwen3:8b");
}

#[test]
fn a_key_that_goes_to_another_place_is_said() {
    let ask = |model: &str, is_configured: bool| {
        let server = Loopback::start([chat("Hello.")]);
        let machine = Machine::without_config();
        let url = format!("{}/v1", server.url());
        if is_configured {
            machine.write_config(&format!("providers.mistral.base_url = \"{url}/\""));
        }
        let arguments = ["-p", "hi", "--base-url", &url, "--model", model];
        let ran = machine.run_with(&[("MISTRAL_API_KEY", "sk-test")], &arguments);
        let said = ran.stderr.replace(&url, "SERVER");
        assert_eq!(ran.answer(), "Hello.\n");
        (said, server.asked())
    };
    let key = Some("Bearer sk-test");
    // What a server on this machine may call a model, and what is read as one of Mistral's.
    let (said, asked) = ask("mistral:7b", false);
    insta::assert_snapshot!(said.lines().next().unwrap(), @"warning: the key of `mistral` (from the environment variable MISTRAL_API_KEY) goes to `SERVER`, as `--base-url` says; if a server there calls a model `mistral:7b`, ask for it without a key: `--model local:mistral:7b`");
    assert_eq!(asked.header("authorization"), key);
    let (said, asked) = ask("local:mistral:7b", false);
    assert!(!said.contains("the key of"), "{said}");
    assert_eq!(asked.header("authorization"), None);
    assert_eq!(asked.body()["model"], "mistral:7b");
    let (said, asked) = ask("mistral:7b", true);
    assert!(!said.contains("the key of"), "{said}");
    assert_eq!(asked.header("authorization"), key);
}

#[test]
fn a_gateway_wants_a_key_as_its_provider_does() {
    let server = Loopback::start([messages("Hello.")]);
    let machine = Machine::without_config();
    let place = format!("providers.anthropic.base_url = {:?}\n", server.url());
    machine.write_config(&place);
    let arguments = ["-p", "hi", "--model", "anthropic:opus-5"];
    let ran = machine.run(&arguments);
    assert_eq!(ran.code, Some(2), "{}", ran.shown());
    assert!(ran.stderr.contains("ANTHROPIC_API_KEY"), "{}", ran.shown());
    let listed = machine.run(&["models", "--all", "opus-5"]).answer();
    assert!(listed.contains("Anthropic: no key\n"), "{listed}");
    machine.write_config(&format!(
        "{place}providers.anthropic.headers.x-api-key = \"k\"\n"
    ));
    assert_eq!(machine.run(&arguments).answer(), "Hello.\n");
    assert_eq!(server.asked().header("x-api-key"), Some("k"));
}

#[test]
fn a_request_asks_for_what_small_accounts_are_given() {
    let server = Loopback::start([messages("Hello."), messages("Hello.")]);
    let machine = Machine::without_config();
    let place = format!("providers.anthropic.base_url = {:?}\n", server.url());
    let arguments = ["-p", "hi", "--model", "anthropic:claude-opus-5"];
    machine.write_config(&place);
    machine.run_with(&[KEY], &arguments).answer();
    machine.write_config(&format!(
        "{place}providers.anthropic.models.claude-opus-5.max_output = 64000\n"
    ));
    machine.run_with(&[KEY], &arguments).answer();
    let asked: Vec<_> = server
        .all_asked()
        .iter()
        .map(|asked| asked.body()["max_tokens"].clone())
        .collect();
    assert_eq!(asked, [32_000, 64_000]);
}

#[test]
fn a_project_that_chooses_the_model_is_named() {
    let machine = Machine::with_script("[[steps]]\nrepeat = true\nplay = [{ text = \"Hello.\" }]");
    let directory = machine.work().join(".panto");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("config.toml"), "model = \"test:other\"\n").unwrap();
    insta::assert_snapshot!(machine.run(&["-p", "hi"]).shown(), @"
    exit 0
    -- stdout
    Hello.
    -- stderr
    panto: using test:other (`model` of the project, ROOT/work/.panto/config.toml:1:1; choose another with `--model`)
    ");
}

#[test]
fn names_that_are_nearly_one_get_it() {
    let machine = Machine::without_config();
    let said = ["sonet", "gemni", "opuss"].map(|word| machine.run(&["models", word]).answer());
    insta::assert_snapshot!(said.concat(), @"
    no model has `sonet` in its name; near it: anthropic:claude-sonnet-5-5, anthropic:claude-sonnet-5, anthropic:claude-sonnet-4-6
    no model has `gemni` in its name; near it: google:gemini-pro-latest, google:gemini-flash-lite-latest, google:gemini-flash-latest
    no model has `opuss` in its name; near it: anthropic:claude-opus-5, openrouter:anthropic/claude-opus-5, anthropic:claude-opus-5-5
    ");
}

#[test]
fn a_local_server_takes_two_lines() {
    let server = Loopback::start([chat("Hello.")]);
    let machine = Machine::without_config();
    machine.write_config(&format!(
        "model = \"local:qwen\"\nproviders.local.base_url = {:?}\n",
        server.url()
    ));
    let ran = machine.run(&["-p", "hi"]);
    assert_eq!(ran.stderr, "");
    assert_eq!(ran.answer(), "Hello.\n");
    let asked = server.asked().body();
    assert_eq!(asked["model"], "qwen");
    assert_eq!(asked.get("max_tokens"), None);
    insta::assert_snapshot!(machine.run(&["models", "qwen"]).answer(), @"
    local: takes no key
      MODEL       CONTEXT  OUTPUT  $/M IN  $/M OUT  REASONING
      local:qwen      32k       -       -        -  any

    More with `qwen` without a key: 21 at openrouter, groq; --all lists them.
    ");
    let listed = machine.run(&["models", "--json", "local:"]).answer();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed[0]["model"], "local:qwen");
}

#[test]
fn a_place_that_is_none_is_refused() {
    let machine = Machine::without_config();
    let refusals = [
        &["-p", "x", "--base-url", "http://127.0.0.1:1"][..],
        &["-p", "x", "--base-url", "ftp://host", "--model", "m"],
        &["-p", "x", "--base-url", "127.0.0.1:8080", "--model", "m"],
        &["-p", "x", "--base-url", "http://a:b@host", "--model", "m"],
    ]
    .map(|arguments| machine.run(arguments).shown());
    insta::assert_snapshot!(refusals.join("\n"), @"
    exit 2
    -- stdout
    -- stderr
    error: `--base-url` says where a model is reached, and needs `--model NAME` to say which

    exit 2
    -- stdout
    -- stderr
    error: `--base-url` cannot be used
      cause: the base URL `ftp://host` must be `http://HOST` or `https://HOST`, perhaps with a path

    exit 2
    -- stdout
    -- stderr
    error: `--base-url` cannot be used
      cause: the base URL `127.0.0.1:8080` must be `http://HOST` or `https://HOST`, perhaps with a path

    exit 2
    -- stdout
    -- stderr
    error: `--base-url` cannot be used
      cause: the base URL must not hold a user name or password
    ");
    machine.write_config("providers.local.base_url = \"nonsense\"");
    insta::assert_snapshot!(machine.run(&["-p", "x", "--model", "local:m"]).shown(), @"
    exit 2
    -- stdout
    -- stderr
    error: could not set up the protocol `openai-chat` for provider `local` (ROOT/home/.config/panto/config.toml:1:11)
      cause: the base URL `nonsense` must be `http://HOST` or `https://HOST`, perhaps with a path
    ");
}

#[test]
fn a_name_that_may_mean_several_is_refused_with_them() {
    let machine = Machine::without_config();
    let said = |model: &str| {
        machine
            .run_with(&[KEY], &["-p", "x", "--model", model])
            .shown()
    };
    let said = ["anthropic:haiku", "opus", "antropic:opus-5", "grok-4.7"].map(said);
    insta::assert_snapshot!(said.join("\n"), @"
    exit 2
    -- stdout
    -- stderr
    error: `anthropic:haiku` (from `--model`) may be any of `anthropic:claude-haiku-4-5`, `anthropic:claude-haiku-5-5`; write more of the name, or list one of exactly this name under `[providers.anthropic.models.haiku]`

    exit 2
    -- stdout
    -- stderr
    error: `opus` (from `--model`) may be any of `anthropic:claude-opus-4-5`, `anthropic:claude-opus-4-6`, `anthropic:claude-opus-4-7`, `anthropic:claude-opus-4-8`, `anthropic:claude-opus-5`, `anthropic:claude-opus-5-5`; write more of the name

    exit 2
    -- stdout
    -- stderr
    error: unknown provider `antropic` (from `--model`); there are `anthropic`, `openai`, `google`, `openrouter`, `deepseek`, `mistral`, `groq`, `xai`, `moonshot`, `zai`, `ollama`, `llama-cpp`, `vllm`, `lm-studio`; others are added under `[providers]` (no configuration file was found); did you mean `anthropic`?

    exit 2
    -- stdout
    -- stderr
    error: `grok-4.7` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`, such as `xai:grok-4.7`
    ");
}

#[test]
fn a_session_keeps_the_whole_reference() {
    let server = Loopback::start([messages("Hello.")]);
    let machine = Machine::without_config();
    machine.write_config(&format!(
        "providers.anthropic.base_url = {:?}",
        server.url()
    ));
    let ran = machine.run_with(&[KEY], &["-p", "hi", "--model", "haiku-5.5", "-o", "json"]);
    assert_eq!(ran.result()["model"], "anthropic:claude-haiku-5-5");
    assert_eq!(
        ran.stderr,
        "panto: `haiku-5.5` is anthropic:claude-haiku-5-5\n"
    );
    let sessions = machine.run(&["sessions", "--json"]).answer();
    assert!(
        sessions.contains("\"anthropic:claude-haiku-5-5\""),
        "{sessions}"
    );
    server.asked();
}

/// A configuration with one model of each kind.
const OWN_MODELS: &str = r#"
[providers.local]
base_url = "http://127.0.0.1:1/v1"
[providers.local.models.big]
id = "qwen3-coder"
context_window = 131072
max_output = 16384
reasoning = ["off", "high"]
price = { input = 0.5, output = 1.5 }
[providers.local.models.bare]
"#;

#[test]
fn models_lists_what_can_be_asked() {
    let machine = Machine::without_config();
    machine.write_config(OWN_MODELS);
    insta::assert_snapshot!(machine.run_with(&[KEY], &["models", "opus", "5"]).shown(), @"
    exit 0
    -- stdout
    Anthropic: key from the environment variable ANTHROPIC_API_KEY
      MODEL                               CONTEXT  OUTPUT  $/M IN  $/M OUT  REASONING
      anthropic:claude-opus-4-5              200k     64k       5       25  off minimal low medium high xhigh max
      anthropic:claude-opus-4-5-20251101     200k     64k       5       25  off minimal low medium high xhigh max
      anthropic:claude-opus-5                  1M    128k       5       25  off low medium high xhigh max
      anthropic:claude-opus-5-5                1M    128k       4       20  low medium high xhigh max

    More with `opus 5` without a key: 2 at openrouter; --all lists them.
    -- stderr
    ");
    let others =
        "anthropic, openai, google, openrouter, deepseek, mistral, groq, xai, moonshot, zai";
    let listed = machine.run(&["models"]).answer();
    let (own, more) = listed.split_once("\n\n").unwrap();
    insta::assert_snapshot!(own, @"
    local: takes no key
      MODEL       CONTEXT  OUTPUT  $/M IN  $/M OUT  REASONING
      local:bare        -       -       -        -  any
      local:big      131k     16k     0.5      1.5  off high
    ");
    assert!(more.starts_with("More without a key: "), "{more}");
    assert!(
        more.ends_with(&format!(" at {others}; --all lists them.\n")),
        "{more}"
    );
    insta::assert_snapshot!(machine.run(&["models", "opus"]).shown(), @"
    exit 0
    -- stdout
    No provider that has a key has a model with `opus`. Without one: 12 at anthropic, openrouter; --all lists them.
    -- stderr
    ");
    insta::assert_snapshot!(machine.run(&["models", "sonet-5"]).shown(), @"
    exit 0
    -- stdout
    no model has `sonet-5` in its name; near it: anthropic:claude-sonnet-5, openrouter:anthropic/claude-sonnet-5, anthropic:claude-sonnet-5-5
    -- stderr
    ");
    insta::assert_snapshot!(machine.run(&["models", "--json", "sonet-5"]).shown(), @"
    exit 0
    -- stdout
    []
    -- stderr
    ");
    let all = machine.run(&["models", "--all"]).answer();
    for part in [
        "Anthropic: no key\n",
        "local: takes no key\n",
        "  openai:gpt-6.1-sol ",
        "ollama",
    ] {
        assert!(all.contains(part), "{all}");
    }
}

#[test]
fn models_as_json_says_everything() {
    let machine = Machine::without_config();
    machine.write_config(OWN_MODELS);
    let listed = |query: &str| -> Vec<Value> {
        let ran = machine.run_with(&[KEY], &["models", "--json", query]);
        serde_json::from_str(&ran.answer()).unwrap()
    };
    let text = |query: &str| serde_json::to_string_pretty(&listed(query)).unwrap();
    insta::assert_snapshot!(text("local:"), @r#"
    [
      {
        "model": "local:bare",
        "provider": "local",
        "name": null,
        "id": "bare",
        "released": null,
        "context_window": null,
        "max_output": null,
        "price": null,
        "reasoning": null,
        "reasoning_control": null,
        "attachments": [
          "images",
          "documents"
        ],
        "forced_tool": "without_thinking",
        "key": "not_needed",
        "key_source": null
      },
      {
        "model": "local:big",
        "provider": "local",
        "name": null,
        "id": "qwen3-coder",
        "released": null,
        "context_window": 131072,
        "max_output": 16384,
        "price": {
          "input": 0.5,
          "output": 1.5,
          "cache_read": null,
          "cache_write": null
        },
        "reasoning": [
          "off",
          "high"
        ],
        "reasoning_control": null,
        "attachments": [
          "images",
          "documents"
        ],
        "forced_tool": "without_thinking",
        "key": "not_needed",
        "key_source": null
      }
    ]
    "#);
    insta::assert_snapshot!(text("claude-opus-5-5"), @r#"
    [
      {
        "model": "anthropic:claude-opus-5-5",
        "provider": "anthropic",
        "name": "Claude Opus 5.5",
        "id": "claude-opus-5-5",
        "released": "2026-09-22",
        "context_window": 1000000,
        "max_output": 128000,
        "price": {
          "input": 4.0,
          "output": 20.0,
          "cache_read": 0.2,
          "cache_write": 5.0
        },
        "reasoning": [
          "low",
          "medium",
          "high",
          "xhigh",
          "max"
        ],
        "reasoning_control": "effort",
        "attachments": [
          "images",
          "documents"
        ],
        "forced_tool": "no",
        "key": "found",
        "key_source": "the environment variable ANTHROPIC_API_KEY"
      }
    ]
    "#);
    assert!(listed("").len() > 200);
    assert!(
        listed("openai:")
            .iter()
            .all(|model| model["key"] == "missing")
    );
}

#[test]
fn what_a_configuration_calls_its_models_moves_no_cursor() {
    let machine = Machine::without_config();
    machine.write_config(
        "[providers.local]\nbase_url = \"http://h\"\n[providers.local.models.\"a\\u202Eb\"]\n",
    );
    let listed = machine.run(&["models"]).answer();
    assert!(!listed.contains('\u{202e}'), "{listed:?}");
    assert!(listed.contains("local:a"), "{listed:?}");
}
