//! What people choose, and what they are told.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pantograph::protocol::{Protocol, ProtocolStream, Request};
use pantograph::{Attachments, ForcedTool, ProviderError, ReasoningControl};
use pantograph_providers::catalog;

use super::*;
use crate::config::LoadConfig;
use crate::dirs::{Dirs, Environment};

struct Silent;

#[async_trait]
impl Protocol for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    async fn open(&self, _request: Request) -> Result<Box<dyn ProtocolStream>, ProviderError> {
        Err(ProviderError::transport("silent"))
    }
}

const CONFIG: &str = r#"
[providers.local]
protocol = "silent"
base_url = "http://127.0.0.1:8080/v1"
connect_timeout_s = 2.5
idle_timeout_s = 60
request_timeout_s = 600
max_retries = 1

[providers.local.models.big]
id = "qwen3-coder"
context_window = 131072
max_output = 16384
reasoning = ["off", "low", "high"]
price = { input = 0.5 }

[providers.local.models.bag]

[providers.locale]
protocol = "silent"
[providers.locale.models.only]
[providers.locale.models.bag]

[providers.mute]

[providers.odd]
protocol = "silnet"

[providers.picky]
protocol = "picky"
"#;

/// Models of `CONFIG` with `top` before it, as one user file at `/config.toml`.
fn models(top: &str) -> (tempfile::TempDir, Models) {
    with_file(&format!("{top}\n{CONFIG}"))
}

fn with_file(text: &str) -> (tempfile::TempDir, Models) {
    let base = tempfile::tempdir().unwrap();
    let file = base.path().join("config.toml");
    std::fs::write(&file, text).unwrap();
    let models = loaded(base.path(), Some(file));
    (base, models)
}

fn loaded(base: &Path, explicit: Option<std::path::PathBuf>) -> Models {
    let environment = Environment {
        home: Some(base.join("home").into_os_string()),
        ..Environment::default()
    };
    let loaded = Config::load(&LoadConfig {
        dirs: &Dirs::new(&environment),
        project_root: base.join("project"),
        explicit,
        trusted: true,
    })
    .unwrap();
    let mut registry = ProtocolRegistry::default();
    for name in [
        "silent",
        "anthropic-messages",
        "openai-responses",
        "openai-chat",
        "google-generate",
    ] {
        registry.register(name, |_| Ok(Arc::new(Silent)));
    }
    registry.register("picky", |_| Err("it has no `script`".into()));
    Models::new(Arc::new(loaded.config), registry)
}

fn ask<'a>(model: &'a str, reasoning: &'a str) -> ChoiceRequest<'a> {
    let set = |text: &'a str| Some(text).filter(|text| !text.is_empty());
    ChoiceRequest {
        model: set(model),
        reasoning: set(reasoning),
        ..ChoiceRequest::default()
    }
}

/// The error's text with its causes, or what was chosen and the warnings.
fn told(models: &(tempfile::TempDir, Models), model: &str, reasoning: &str) -> String {
    told_of(models, &ask(model, reasoning))
}

fn told_of((base, models): &(tempfile::TempDir, Models), request: &ChoiceRequest<'_>) -> String {
    let told = match models.choose(request) {
        Err(error) => pantograph::with_causes(&error),
        Ok(chosen) => {
            let notes = chosen.notes.iter().map(|note| format!("\n{note}"));
            let warnings = chosen.warnings.iter().map(|warning| format!("\n{warning}"));
            format!(
                "{} {}{}",
                chosen.model.reference,
                chosen.model.reasoning.as_deref().unwrap_or("-"),
                notes.chain(warnings).collect::<String>()
            )
        }
    };
    told.replace(&base.path().display().to_string(), "")
}

#[test]
fn a_listed_model_has_its_settings_and_its_providers() {
    let (_base, models) = models("");
    let chosen = models.choose(&ask("local:big", "high")).unwrap();
    assert!(chosen.warnings.is_empty());
    assert_eq!(chosen.protocol.name(), "silent");
    let model = chosen.model;
    assert_eq!(model.wire_model, "qwen3-coder");
    assert_eq!(model.base_url.as_deref(), Some("http://127.0.0.1:8080/v1"));
    assert_eq!(model.reasoning.as_deref(), Some("high"));
    assert_eq!(
        (model.context_window, model.max_output),
        (Some(131_072), Some(16_384))
    );
    assert_eq!(model.price.unwrap().input, Some(0.5));
    assert_eq!(model.limits.connect, Some(Duration::from_millis(2500)));
    assert_eq!(model.limits.idle, Some(Duration::from_secs(60)));
    assert_eq!(model.limits.total, Some(Duration::from_secs(600)));
    assert_eq!(model.retry.max_retries, 1);
}

#[test]
fn the_models_of_a_provider_share_its_protocol_and_its_governor() {
    let (_base, models) = models("");
    let choose = |model| models.choose(&ask(model, "")).unwrap();
    let (one, two) = (choose("local:big"), choose("local:new"));
    let other = choose("locale:only");
    assert!(Arc::ptr_eq(&one.protocol, &two.protocol));
    assert!(Arc::ptr_eq(&one.model.governor, &two.model.governor));
    assert!(!Arc::ptr_eq(&one.model.governor, &other.model.governor));
}

#[test]
fn the_command_line_wins_over_the_configuration() {
    let models = models("model = \"locale:only\"\nreasoning = \"low\"");
    assert_eq!(told(&models, "", ""), "locale:only low");
    assert_eq!(told(&models, "local:big", ""), "local:big low");
    assert_eq!(told(&models, "", "xhigh"), "locale:only xhigh");
}

#[test]
fn an_unlisted_model_is_taken_with_conservative_limits_and_one_warning() {
    let models = models("");
    let chosen = models.1.choose(&ask("openai:gpt6", "max")).unwrap();
    assert_eq!(chosen.model.wire_model, "gpt6");
    assert_eq!(chosen.model.context_window, Some(UNLISTED_CONTEXT_WINDOW));
    assert_eq!(chosen.model.max_output, Some(UNLISTED_MAX_OUTPUT));
    insta::assert_snapshot!(told(&models, "openai:gpt6", "max"), @"
    openai:gpt6 max
    neither the catalog nor a configuration lists the model `openai:gpt6`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.openai.models.gpt6]`; did you mean `openai:gpt-6.1-terra`, `openai:gpt-6.1-sol` or `openai:gpt-6-sol`?
    ");
    insta::assert_snapshot!(told(&models, "openai:hf/x:7b", ""), @r#"
    openai:hf/x:7b -
    neither the catalog nor a configuration lists the model `openai:hf/x:7b`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.openai.models."hf/x:7b"]`
    "#);
}

#[test]
fn of_a_server_of_ones_own_any_model_is_taken_without_an_output_limit() {
    let models = models("");
    for model in ["local:new", "ollama:qwen3:8b", "llama-cpp:x"] {
        let chosen = models.1.choose(&ask(model, "")).unwrap();
        assert_eq!(chosen.model.context_window, Some(UNLISTED_CONTEXT_WINDOW));
        assert_eq!(chosen.model.max_output, None);
        assert_eq!(
            (&chosen.notes[..], &chosen.warnings[..]),
            (&[][..], &[][..])
        );
    }
    // Whoever has made a list may have mistyped a name of it.
    insta::assert_snapshot!(told(&models, "local:bug", "max"), @"
    local:bug max
    the configuration does not list the model `local:bug`; did you mean `local:big` or `local:bag`?
    ");
}

#[test]
fn a_request_asks_for_less_than_the_longest_answer() {
    let models =
        with_file("[providers.openai.models.mine]\nid = \"gpt-6.1-sol\"\nmax_output = 100000");
    let asked = |model| models.1.choose(&ask(model, "")).unwrap().model.max_output;
    let known = catalog::provider("openai").unwrap();
    let (most, less) = ("gpt-6.1-sol", known.models().iter());
    assert!(known.model(most).unwrap().max_output > DEFAULT_MAX_OUTPUT);
    assert_eq!(asked("openai:gpt-6.1-sol"), Some(DEFAULT_MAX_OUTPUT));
    assert_eq!(asked("openai:mine"), Some(100_000));
    let small = less.filter(|model| model.max_output < DEFAULT_MAX_OUTPUT);
    for model in small {
        let name = format!("openai:{}", model.id);
        let chosen = models.1.choose(&ask(&name, "")).unwrap();
        assert_eq!(chosen.model.max_output, Some(model.max_output));
    }
    // What is listed is what the model can do.
    let offered = models.1.offered();
    let openai = offered.iter().find(|provider| provider.name == "openai");
    let listed = &openai.unwrap().models;
    let sol = listed.iter().find(|model| model.reference.alias() == most);
    assert_eq!(
        sol.unwrap().max_output,
        Some(known.model(most).unwrap().max_output)
    );
}

/// As an answer in a session says it.
fn origin(reference: &str, model: &str, base_url: Option<&str>) -> Origin {
    Origin {
        style: "openai-chat".to_owned(),
        base_url: base_url.map(str::to_owned),
        model: model.to_owned(),
        reference: reference.to_owned(),
        reasoning: Some("high".to_owned()),
    }
}

#[test]
fn a_session_goes_on_with_its_model() {
    let models = with_keys(
        "model = \"mistral:mistral-medium-latest\"\nproviders.own.base_url = \"http://own/v1\"",
        &["anthropic", "mistral"],
    );
    let on = |origin: &Origin, request: ChoiceRequest<'_>| {
        let request = ChoiceRequest {
            session: Some(origin),
            ..request
        };
        let place = models.1.choose(&request).ok();
        let place = place.and_then(|chosen| chosen.model.base_url);
        format!(
            "{} at {}",
            told_of(&models, &request),
            place.unwrap_or_default()
        )
    };
    let plain = ChoiceRequest::default;
    let home = "https://api.anthropic.com";
    let opus = origin("anthropic:claude-opus-5", "claude-opus-5", Some(home));
    insta::assert_snapshot!(on(&opus, plain()), @"anthropic:claude-opus-5 - at https://api.anthropic.com");
    insta::assert_snapshot!(on(&opus, ask("mistral:mistral-medium-latest", "")), @"mistral:mistral-medium-latest - at https://api.mistral.ai/v1");
    let at = ChoiceRequest {
        base_url: Some("http://there"),
        ..plain()
    };
    insta::assert_snapshot!(on(&opus, at), @"
    anthropic:claude-opus-5 -
    the key of `anthropic` (from variable ANTHROPIC_API_KEY) goes to `http://there/`, as `--base-url` says; if a server there calls a model `anthropic:claude-opus-5`, ask for it without a key: `--model local:anthropic:claude-opus-5` at http://there
    ");
    // After `--base-url` the place is that of the session, unless the configuration has one.
    let local = origin("local:qwen3:8b", "qwen3:8b", Some("http://127.0.0.1:9/v1"));
    insta::assert_snapshot!(on(&local, plain()), @"local:qwen3:8b - at http://127.0.0.1:9/v1");
    insta::assert_snapshot!(on(&local, at), @"local:qwen3:8b - at http://there");
    let own = origin("own:m", "m", Some("http://127.0.0.1:9/v1"));
    insta::assert_snapshot!(on(&own, plain()), @"
    own:m -
    own:m was asked at `http://127.0.0.1:9/v1` in this session, and now is at `http://own/v1` at http://own/v1
    ");
    // What cannot be asked is passed over.
    let passed_over = [
        origin("openai:gpt-6.1-sol", "gpt-6.1-sol", None),
        origin("gone:m", "m", None),
        origin("own:alias", "m", None),
        origin("\u{1b}[2J", "m", None),
    ];
    let passed_over = passed_over.map(|origin| on(&origin, plain()));
    insta::assert_snapshot!(passed_over.join("\n"), @"
    mistral:mistral-medium-latest -
    the session's model `openai:gpt-6.1-sol` cannot be asked (there is no key for `openai`); going on with mistral:mistral-medium-latest at https://api.mistral.ai/v1
    mistral:mistral-medium-latest -
    the session's model `gone:m` cannot be asked (there is no provider `gone` any more); going on with mistral:mistral-medium-latest at https://api.mistral.ai/v1
    mistral:mistral-medium-latest -
    the session's model `own:alias` cannot be asked (nothing lists it any more); going on with mistral:mistral-medium-latest at https://api.mistral.ai/v1
    mistral:mistral-medium-latest -
    the session's model `�[2J` cannot be asked (its name is no model reference); going on with mistral:mistral-medium-latest at https://api.mistral.ai/v1
    ");
}

#[test]
fn a_model_that_the_project_chose_is_named() {
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("project/.panto");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(
        directory.join("config.toml"),
        "model = \"openai:gpt-6.1-sol\"",
    )
    .unwrap();
    let models = loaded(base.path(), None);
    let models = (base, models);
    insta::assert_snapshot!(told(&models, "", ""), @"
    openai:gpt-6.1-sol -
    using openai:gpt-6.1-sol (`model` of the project, /project/.panto/config.toml:1:1; choose another with `--model`)
    ");
    insta::assert_snapshot!(told(&models, "openai:gpt-6.1-sol", ""), @"openai:gpt-6.1-sol -");
}

#[test]
fn half_a_name_gets_the_other_half() {
    let models = models("");
    let texts = [
        "anthropic:",
        "local:",
        "ollama:",
        "antropic:",
        ":",
        ":x",
        ":sonnet-5",
        "\u{1b}[2J:",
    ];
    insta::assert_snapshot!(texts.map(|text| told(&models, text, "")).join("\n"), @"
    `anthropic:` (from `--model`) names no model; write it as `provider:alias`, such as `anthropic:claude-sonnet-5-5`
    `local:` (from `--model`) names no model; write it as `provider:alias`, such as `local:bag`, `local:big`
    `ollama:` (from `--model`) names no model; write it as `provider:alias`
    unknown provider `antropic` (from `--model`); there are `anthropic`, `openai`, `google`, `openrouter`, `deepseek`, `mistral`, `groq`, `xai`, `moonshot`, `zai`, `ollama`, `llama-cpp`, `vllm`, `lm-studio`; configured: `local`, `locale`, `mute`, `odd`, `picky` (read `/config.toml`); did you mean `anthropic`?
    `:` (from `--model`) names no provider; write it as `provider:alias`
    `:x` (from `--model`) names no provider; write it as `provider:alias`, such as `openrouter:x-ai/grok-build-0.1`, `openrouter:x-ai/grok-4.7`, `openrouter:x-ai/grok-4.6`
    `:sonnet-5` (from `--model`) names no provider; write it as `provider:alias`, such as `anthropic:claude-sonnet-5`, `openrouter:anthropic/claude-sonnet-5`, `anthropic:claude-sonnet-5-5`
    `�[2J:` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`
    ");
}

#[test]
fn a_mistyped_name_gets_the_nearest() {
    let models = models("");
    let texts = [
        "sonet",
        "gemni",
        "opuss",
        "gpt6",
        "openai:gpt6",
        "anthropic:opuss",
    ];
    insta::assert_snapshot!(texts.map(|text| told(&models, text, "")).join("\n"), @"
    `sonet` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`, such as `anthropic:claude-sonnet-5-5`, `anthropic:claude-sonnet-5`, `anthropic:claude-sonnet-4-6`
    `gemni` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`, such as `google:gemini-pro-latest`, `google:gemini-flash-lite-latest`, `google:gemini-flash-latest`
    `opuss` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`, such as `anthropic:claude-opus-5`, `openrouter:anthropic/claude-opus-5`, `anthropic:claude-opus-5-5`
    `gpt6` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`, such as `openai:gpt-6.1-terra`, `openai:gpt-6.1-sol`, `openai:gpt-6-sol`
    openai:gpt6 -
    neither the catalog nor a configuration lists the model `openai:gpt6`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.openai.models.gpt6]`; did you mean `openai:gpt-6.1-terra`, `openai:gpt-6.1-sol` or `openai:gpt-6-sol`?
    anthropic:opuss -
    neither the catalog nor a configuration lists the model `anthropic:opuss`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.anthropic.models.opuss]`; did you mean `anthropic:claude-opus-5`, `anthropic:claude-opus-5-5` or `anthropic:claude-opus-4-8`?
    ");
}

#[test]
fn googles_own_spelling_is_understood() {
    let models = with_keys("", &["google"]);
    let texts = [
        "google:models/gemini-3.8-flash",
        "models/gemini-3.8-flash",
        "google:models/gemini-99",
    ];
    insta::assert_snapshot!(texts.map(|text| told(&models, text, "")).join("\n"), @"
    google:gemini-3.8-flash -
    `google:models/gemini-3.8-flash` is google:gemini-3.8-flash
    google:gemini-3.8-flash -
    `models/gemini-3.8-flash` is google:gemini-3.8-flash
    google:gemini-99 -
    `google:models/gemini-99` is google:gemini-99
    neither the catalog nor a configuration lists the model `google:gemini-99`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.google.models.gemini-99]`; did you mean `google:gemini-pro-latest`, `google:gemini-flash-lite-latest` or `google:gemini-flash-latest`?
    ");
}

#[test]
fn a_model_takes_the_labels_of_its_list_or_any() {
    let from_file = models("reasoning = \"medium\"");
    insta::assert_snapshot!(told(&from_file, "local:big", ""), @"
    local:big low
    the model `local:big` does not know the reasoning label `medium` (from /config.toml:1:1); it gets `low`, the nearest that it knows
    ");
    assert_eq!(told(&from_file, "local:bag", ""), "local:bag medium");
    let models = models("");
    insta::assert_snapshot!(told(&models, "local:big", "max"), @"model `local:big` does not take the reasoning label `max` (from `--reasoning`); it takes `off`, `low`, `high` (/config.toml:15:1); choose with `--reasoning`");
    insta::assert_snapshot!(told(&models, "local:bag", "hihg"), @"unknown reasoning label `hihg` (from `--reasoning`); the labels are `off`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`; did you mean `high`?");
    assert_eq!(told(&models, "local:bag", "xhigh"), "local:bag xhigh");
    let none = with_file("[providers.p]\nprotocol = \"silent\"\nmodels.a.reasoning = []");
    insta::assert_snapshot!(told(&none, "p:a", "low"), @"model `p:a` does not take the reasoning label `low` (from `--reasoning`); its list is empty (/config.toml:3:10)");
}

#[test]
fn no_model_and_no_key_says_what_was_looked_at() {
    let base = tempfile::tempdir().unwrap();
    let models_of_nothing = loaded(base.path(), None);
    let nothing = (base, models_of_nothing);
    insta::assert_snapshot!(told(&nothing, "", ""), @"no model is set, and there is no key to choose one by: none of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, GOOGLE_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY, MISTRAL_API_KEY, GROQ_API_KEY, XAI_API_KEY, MOONSHOT_API_KEY, ZAI_API_KEY is set");
    let hint = |models: &(tempfile::TempDir, Models)| {
        let error = models.1.choose(&ask("", "")).unwrap_err();
        let hint = error.hint().unwrap();
        hint.replace(&models.0.path().display().to_string(), "")
    };
    insta::assert_snapshot!(hint(&nothing), @"set a key, such as with `export ANTHROPIC_API_KEY=…` (https://platform.claude.com/settings/keys has them) or `panto login anthropic`; a server on this machine needs none: `--base-url http://127.0.0.1:8080/v1 --model NAME`; `panto models --all` lists what there is, and `panto demo` needs nothing");
    insta::assert_snapshot!(hint(&models("")), @r#"name a model with `--model`, or with `model = "…"` in `/config.toml`; configured: `local:bag`, `local:big`, `locale:bag`, `locale:only`"#);
    struct Nowhere;
    impl KeyLookup for Nowhere {
        fn find(&self, _provider: &Provider) -> Option<String> {
            None
        }

        fn file(&self) -> Option<std::path::PathBuf> {
            Some("/keys.json".into())
        }
    }
    let changed = with_file("[providers.openai]\napi_key_env = \"WORK_KEY\"");
    let changed = (changed.0, changed.1.with_keys(Nowhere));
    insta::assert_snapshot!(told(&changed, "", ""), @"no model is set, and there is no key to choose one by: none of ANTHROPIC_API_KEY, WORK_KEY, GEMINI_API_KEY, GOOGLE_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY, MISTRAL_API_KEY, GROQ_API_KEY, XAI_API_KEY, MOONSHOT_API_KEY, ZAI_API_KEY is set, and `/keys.json` has none");
}

/// Models of `text`, with keys for these providers.
fn with_keys(text: &str, providers: &'static [&'static str]) -> (tempfile::TempDir, Models) {
    let (base, models) = with_file(text);
    let models = models.with_keys(move |provider: &Provider| {
        let variable = provider
            .key_variables()
            .first()
            .map(|name| format!("variable {name}"));
        variable.filter(|_| providers.contains(&provider.name.as_str()))
    });
    (base, models)
}

#[test]
fn without_a_model_the_first_provider_with_a_key_answers() {
    let models = with_keys("", &["openrouter", "google", "mistral"]);
    insta::assert_snapshot!(told(&models, "", ""), @"
    google:gemini-3.8-flash -
    using google:gemini-3.8-flash (key from variable GEMINI_API_KEY; choose another with `--model` or `model` in `/config.toml`)
    ");
    let models = with_keys(
        "[providers.openrouter]\napi_key_env = \"MINE\"",
        &["openrouter"],
    );
    insta::assert_snapshot!(told(&models, "", "high"), @"
    openrouter:anthropic/claude-sonnet-5.5 high
    using openrouter:anthropic/claude-sonnet-5.5 (key from variable MINE; choose another with `--model` or `model` in `/config.toml`)
    ");
    // A model that is named wins, whoever has a key.
    let models = with_keys("model = \"openai:gpt-6.1-sol\"", &["anthropic"]);
    assert_eq!(told(&models, "", ""), "openai:gpt-6.1-sol -");
}

#[test]
fn the_catalog_lies_below_the_configuration() {
    let text = r#"
[providers.openai]
headers = { "x-team" = "a" }
max_retries = 1
[providers.openai.models."gpt-6.1-sol"]
max_output = 1000
price = { output = 1 }
[providers.openai.models.mine]
id = "gpt-6.1-terra"
reasoning = ["low"]
forced_tool = "no"
attachments = false
[providers.xai]
base_url = "http://127.0.0.1:1/v1"
protocol = "silent"
server = "vllm"
"#;
    let (_base, models) = with_file(text);
    let choose = |model| models.choose(&ask(model, "")).unwrap();
    let sol = choose("openai:gpt-6.1-sol");
    assert!(sol.warnings.is_empty() && sol.notes.is_empty());
    assert_eq!(sol.model.max_output, Some(1000));
    let known = catalog::provider("openai").unwrap();
    let known_sol = known.model("gpt-6.1-sol").unwrap();
    assert_eq!(sol.model.context_window, Some(known_sol.context_window));
    let price = sol.model.price.unwrap();
    let known_price = known_sol.price.unwrap();
    assert_eq!((price.input, price.output), (known_price.input, Some(1.0)));
    assert_eq!(sol.model.retry.max_retries, 1);
    assert_eq!(sol.model.base_url.as_deref(), Some(known.base_url));
    assert_eq!(sol.provider.protocol.unwrap().value, "openai-responses");
    assert_eq!(sol.provider.server.unwrap().value, "openai");
    let mine = choose("openai:mine").model;
    assert_eq!(mine.wire_model, "gpt-6.1-terra");
    assert_eq!(mine.context_window, Some(1_050_000));
    assert_eq!(
        (mine.attachments, mine.forced_tool),
        (Attachments::NONE, ForcedTool::No)
    );
    assert_eq!(sol.model.attachments, Attachments::ALL);
    let images = Attachments {
        documents: false,
        ..Attachments::ALL
    };
    assert_eq!(choose("google:gemma-4-31b-it").model.attachments, images);
    let grok = choose("xai:grok-4.7");
    assert_eq!(
        grok.model.base_url.as_deref(),
        Some("http://127.0.0.1:1/v1")
    );
    assert_eq!(grok.protocol.name(), "silent");
    assert_eq!(
        grok.provider.server.as_deref().map(String::as_str),
        Some("vllm")
    );
    assert_eq!(grok.provider.key_variables(), ["XAI_API_KEY"]);
}

#[test]
fn a_place_alone_is_a_provider_that_speaks_openai_chat() {
    let (_base, models) = with_file("[providers.local]\nbase_url = \"http://127.0.0.1:1/v1\"");
    let chosen = models.choose(&ask("local:qwen", "")).unwrap();
    assert_eq!(chosen.provider.protocol.unwrap().value, DEFAULT_PROTOCOL);
    assert_eq!(chosen.model.wire_model, "qwen");
}

#[test]
fn a_part_of_a_name_is_enough_if_it_is_of_one_model() {
    let models = with_keys("", &["anthropic", "openai"]);
    for (text, model) in [
        ("anthropic:sonnet-5", "anthropic:claude-sonnet-5"),
        ("anthropic:haiku-5.5", "anthropic:claude-haiku-5-5"),
        ("gpt-6.1-sol", "openai:gpt-6.1-sol"),
        ("opus-5.5", "anthropic:claude-opus-5-5"),
        // Its provider has no key, but is named.
        (
            "openrouter:claude-opus-5.5",
            "openrouter:anthropic/claude-opus-5.5",
        ),
    ] {
        let chosen = models.1.choose(&ask(text, "")).unwrap();
        assert_eq!(chosen.model.reference.to_string(), model);
        assert!(chosen.warnings.is_empty());
    }
    insta::assert_snapshot!(told(&models, "anthropic:sonnet-5", ""), @"
    anthropic:claude-sonnet-5 -
    `anthropic:sonnet-5` is anthropic:claude-sonnet-5
    ");
    insta::assert_snapshot!(told(&models, "anthropic:sonnet", ""), @"`anthropic:sonnet` (from `--model`) may be any of `anthropic:claude-sonnet-4-5`, `anthropic:claude-sonnet-4-6`, `anthropic:claude-sonnet-5`, `anthropic:claude-sonnet-5-5`; write more of the name, or list one of exactly this name under `[providers.anthropic.models.sonnet]`");
    insta::assert_snapshot!(told(&models, "opus", ""), @"`opus` (from `--model`) may be any of `anthropic:claude-opus-4-5`, `anthropic:claude-opus-4-6`, `anthropic:claude-opus-4-7`, `anthropic:claude-opus-4-8`, `anthropic:claude-opus-5`, `anthropic:claude-opus-5-5`; write more of the name");
    insta::assert_snapshot!(told(&models, "anthropic:sonet-5", ""), @"
    anthropic:sonet-5 -
    neither the catalog nor a configuration lists the model `anthropic:sonet-5`; taken with a context window of 32768 tokens and answers of at most 4096; to set its limits, add `[providers.anthropic.models.sonet-5]`; did you mean `anthropic:claude-sonnet-5` or `anthropic:claude-sonnet-5-5`?
    ");
    insta::assert_snapshot!(told(&models, "grok-4.7", ""), @"`grok-4.7` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`, such as `xai:grok-4.7`");
    insta::assert_snapshot!(told(&models, "openrouter:google/gemma-4-31b-it:free", ""), @"openrouter:google/gemma-4-31b-it:free -");
    insta::assert_snapshot!(told(&models, "google/gemma-4-31b-it:free", ""), @"`google/gemma-4-31b-it:free` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`, such as `openrouter:google/gemma-4-31b-it:free`");
}

#[test]
fn a_model_that_takes_no_label_gets_none() {
    let models = with_file("reasoning = \"medium\"");
    insta::assert_snapshot!(told(&models, "openai:gpt-4.1", ""), @"
    openai:gpt-4.1 -
    the model `openai:gpt-4.1` takes no reasoning label; `medium` (from /config.toml:1:1) is left out
    ");
    insta::assert_snapshot!(told(&models, "openai:gpt-4.1", "off"), @"openai:gpt-4.1 -");
    insta::assert_snapshot!(told(&models, "openai:gpt-6.1-sol", "off"), @"model `openai:gpt-6.1-sol` does not take the reasoning label `off` (from `--reasoning`); it takes `low`, `medium`, `high`, `xhigh`, `max` (panto's defaults); choose with `--reasoning`");
    let told_how = with_file("[providers.openai.models.\"gpt-4.1\"]\nreasoning = [\"low\"]");
    assert_eq!(
        told(&told_how, "openai:gpt-4.1", "low"),
        "openai:gpt-4.1 low"
    );
}

#[test]
fn a_place_on_the_command_line() {
    let at = |models: &(tempfile::TempDir, Models), model: &str, url: &str| {
        let request = ChoiceRequest {
            base_url: Some(url),
            ..ask(model, "")
        };
        let told = told_of(models, &request);
        match models.1.choose(&request) {
            Ok(chosen) => format!(
                "{told}\n{} {} {}",
                chosen.provider.protocol.as_deref().unwrap(),
                chosen.model.base_url.unwrap(),
                chosen.provider.takes_key()
            ),
            Err(_) => told,
        }
    };
    let url = "http://127.0.0.1:8080/v1";
    let nothing = with_file("");
    insta::assert_snapshot!(at(&nothing, "qwen3:8b", url), @"
    local:qwen3:8b -
    openai-chat http://127.0.0.1:8080/v1 false
    ");
    assert_eq!(
        at(&nothing, "local:qwen3:8b", url),
        at(&nothing, "qwen3:8b", url)
    );
    insta::assert_snapshot!(at(&nothing, "anthropic:opus-5", url), @"
    anthropic:claude-opus-5 -
    `anthropic:opus-5` is anthropic:claude-opus-5
    anthropic-messages http://127.0.0.1:8080/v1 true
    ");
    insta::assert_snapshot!(at(&nothing, "", url), @"`--base-url` says where a model is reached, and needs `--model NAME` to say which");
    insta::assert_snapshot!(at(&nothing, "a b", url), @"`a b` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`");
    for url in ["nonsense", "ftp://host/v1", "http://", "http://me:key@host"] {
        assert!(at(&nothing, "x", url).starts_with("`--base-url` cannot be used: "));
    }
    insta::assert_snapshot!(at(&nothing, "x", "ftp://host/v1"), @"`--base-url` cannot be used: the base URL `ftp://host/v1` must be `http://HOST` or `https://HOST`, perhaps with a path");
    let own = with_file(
        "[providers.local]\nprotocol = \"silent\"\napi_key_env = \"K\"\n[providers.local.models.big]\nid = \"b\"",
    );
    insta::assert_snapshot!(at(&own, "big", url), @"
    local:big -
    silent http://127.0.0.1:8080/v1 true
    ");
    // Another place is another server: it has a protocol and a governor of its own.
    let here = own.1.choose(&ask("local:big", "")).unwrap();
    let there = ChoiceRequest {
        base_url: Some(url),
        ..ask("local:big", "")
    };
    let there = own.1.choose(&there).unwrap();
    assert!(!Arc::ptr_eq(&here.model.governor, &there.model.governor));
}

#[test]
fn what_there_is_to_choose_from() {
    let text = r#"
[providers.local]
base_url = "http://127.0.0.1:1"
[providers.local.models.big]
context_window = 1000
[providers.groq]
headers = { Authorization = "Bearer x" }
[providers.deepseek.models.mine]
[providers.xai]
base_url = "http://gateway/v1"
"#;
    let text = &format!("model = \"local:mine:7b\"\n{text}");
    let (_base, models) = with_keys(text, &["mistral"]);
    let offered = models.offered();
    let names: Vec<_> = offered
        .iter()
        .map(|provider| provider.name.as_str())
        .collect();
    assert_eq!(names[..4], ["local", "anthropic", "openai", "google"]);
    let of = |name: &str| {
        offered
            .iter()
            .find(|provider| provider.name == name)
            .unwrap()
    };
    let aliases = |name: &str| -> Vec<String> {
        let models = of(name).models.iter();
        models
            .map(|model| model.reference.alias().to_owned())
            .collect()
    };
    assert_eq!(of("local").key, KeyState::NotNeeded);
    assert_eq!(of("local").title, "local");
    assert_eq!(of("local").models[0].context_window, Some(1000));
    assert_eq!(
        of("mistral").key,
        KeyState::Found("variable MISTRAL_API_KEY".into())
    );
    assert_eq!(of("groq").key, KeyState::NotNeeded);
    assert_eq!(of("ollama").key, KeyState::NotNeeded);
    assert_eq!(of("ollama").models, []);
    assert_eq!(of("deepseek").key, KeyState::Missing);
    // A gateway of a company wants a key as the provider does.
    assert_eq!(of("xai").key, KeyState::Missing);
    // The model that answers is listed, whoever has the list.
    assert_eq!(aliases("local"), ["big", "mine:7b"]);
    assert_eq!(
        aliases("deepseek"),
        ["deepseek-flash", "deepseek-v4-pro", "mine"]
    );
    assert!(of("deepseek").is_configured && !of("openai").is_configured);
}

#[test]
fn an_alias_alone_is_looked_for_where_it_can_be_asked() {
    let from_file = models("model = \"only\"");
    assert_eq!(told(&from_file, "", ""), "locale:only -");
    let models = models("");
    insta::assert_snapshot!(told(&models, "bag", ""), @"`bag` (from `--model`) may be any of `local:bag`, `locale:bag`; write more of the name");
    insta::assert_snapshot!(told(&models, "nowhere", ""), @"`nowhere` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`");
    insta::assert_snapshot!(told(&models, "\u{1b}[2J\u{202e}", ""), @"`�[2J�` (from `--model`) is not a model of a provider that is configured or has a key; write it as `provider:alias`");
}

#[test]
fn an_unknown_provider_is_an_error_with_the_nearest_names() {
    insta::assert_snapshot!(told(&models("model = \"lokal:big\""), "", ""), @"unknown provider `lokal` (from /config.toml:1:1); there are `anthropic`, `openai`, `google`, `openrouter`, `deepseek`, `mistral`, `groq`, `xai`, `moonshot`, `zai`, `ollama`, `llama-cpp`, `vllm`, `lm-studio`; configured: `local`, `locale`, `mute`, `odd`, `picky` (read `/config.toml`); did you mean `local`?");
    insta::assert_snapshot!(told(&models(""), "zzz:big", ""), @"unknown provider `zzz` (from `--model`); there are `anthropic`, `openai`, `google`, `openrouter`, `deepseek`, `mistral`, `groq`, `xai`, `moonshot`, `zai`, `ollama`, `llama-cpp`, `vllm`, `lm-studio`; configured: `local`, `locale`, `mute`, `odd`, `picky` (read `/config.toml`)");
    insta::assert_snapshot!(told(&with_file(""), "zzz:big", ""), @"unknown provider `zzz` (from `--model`); there are `anthropic`, `openai`, `google`, `openrouter`, `deepseek`, `mistral`, `groq`, `xai`, `moonshot`, `zai`, `ollama`, `llama-cpp`, `vllm`, `lm-studio`; others are added under `[providers]` (read `/config.toml`)");
    let base = tempfile::tempdir().unwrap();
    let models = loaded(base.path(), None);
    insta::assert_snapshot!(told(&(base, models), "zzz:big", ""), @"unknown provider `zzz` (from `--model`); there are `anthropic`, `openai`, `google`, `openrouter`, `deepseek`, `mistral`, `groq`, `xai`, `moonshot`, `zai`, `ollama`, `llama-cpp`, `vllm`, `lm-studio`; others are added under `[providers]` (no configuration file was found)");
}

#[test]
fn a_provider_that_cannot_be_reached_says_why() {
    let models = models("");
    insta::assert_snapshot!(told(&models, "mute:x", ""), @"provider `mute` (/config.toml:25:12) has neither a `base_url` nor a `protocol`; set the first, or the second to one of `anthropic-messages`, `google-generate`, `openai-chat`, `openai-responses`, `picky`, `silent`");
    insta::assert_snapshot!(told(&models, "odd:x", ""), @"provider `odd` has the unknown protocol `silnet` (/config.toml:28:1); there are `anthropic-messages`, `google-generate`, `openai-chat`, `openai-responses`, `picky`, `silent`; did you mean `silent`?");
    insta::assert_snapshot!(told(&models, "picky:x", ""), @"could not set up the protocol `picky` for provider `picky` (/config.toml:30:12): it has no `script`");
}

#[test]
fn what_a_model_can_do_is_as_it_is_set_or_as_most_can() {
    let (_base, models) = with_file(
        "[providers.p]\n\
         protocol = \"silent\"\n\
         [providers.p.models.set]\n\
         reasoning_control = \"budget\"\n\
         attachments = false\n\
         forced_tool = \"no\"\n\
         [providers.p.models.bare]\n",
    );
    let can = |model| {
        let model = models.choose(&ask(model, "")).unwrap().model;
        (
            model.reasoning_control,
            model.attachments,
            model.forced_tool,
        )
    };
    let set = (
        Some(ReasoningControl::Budget),
        Attachments::NONE,
        ForcedTool::No,
    );
    assert_eq!(can("p:set"), set);
    let most = (None, Attachments::ALL, ForcedTool::WithoutThinking);
    assert_eq!(can("p:bare"), most);
    assert_eq!(can("p:unlisted"), most);
}
